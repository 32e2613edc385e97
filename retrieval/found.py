"""What is found out about all records of a scope, and how it follows what changed."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import Mask, Standing
from shiyi.retrieval.news import News, widened
from shiyi.retrieval.standings import Standings
from shiyi.store import Record, Store

T = TypeVar("T")
_MENTIONS = ("mentions", "about", "member_of")


def untouched(known: dict[str, T], _: Standing, news: News) -> dict[str, T]:
    """Leave out of what is known of records what it may not be true of."""
    return news.untouched(known)


def contradictions(
    store: Store, standings: Standings, standing: Standing, among: Mask
) -> list[tuple[int, int]]:
    """Return the pairs of places that contradict one another while both are among some."""
    scope, as_of = standing.scope, standing.as_of

    def follow(known: _Pairs, now: Standing, news: News) -> _Pairs | None:
        if news.cut or news.is_merged() or any(news.added(["contradicts"])):
            return None
        if not known.ends.isdisjoint(news.after):
            return _Pairs.of(known.edges, now)
        return replace(known, places=news.moved(known.places))

    def read() -> _Pairs:
        edges = store.rolls.edges(scope, ["contradicts"], as_of)
        return _Pairs.of([(src, dst) for src, _, dst in edges], standing)

    pairs = standings.once(standing, "contradicts", read, follow).places
    both = pairs[among[pairs].all(axis=1)]
    return sorted(set(map(tuple, both.tolist())))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Edges between ids, their ends, and the places of those of which both ends stand."""

    edges: list[tuple[str, str]]
    ends: frozenset[str]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, edges: list[tuple[str, str]], standing: Standing) -> Self:
        ends = frozenset(id_ for edge in edges for id_ in edge)
        at = {id_: place for place, id_ in standing.by_place({id_: id_ for id_ in ends}).items()}
        pairs = [
            sorted((at[src], at[dst]))
            for src, dst in edges
            if src in at and dst in at and src != dst
        ]
        return cls(edges, ends, np.array(pairs, np.int64).reshape(-1, 2))


def redirects(store: Store, standings: Standings, standing: Standing) -> dict[str, str]:
    """Return for each entity that was merged the one that stands for it."""

    def follow(known: dict[str, str], _: Standing, news: News) -> dict[str, str] | None:
        return None if news.is_merged() else known

    def read() -> dict[str, str]:
        return store.redirects(standing.scope, as_of=standing.as_of)

    return standings.once(standing, "redirects", read, follow)


def arrivals(store: Store, standings: Standings, standing: Standing) -> NDArray[np.int64]:
    """Return how many records are linked to each."""
    scope, as_of = standing.scope, standing.as_of

    def follow(known: _Counts, now: Standing, news: News) -> _Counts | None:
        last = redirects(store, standings, now)
        # Of an entity that was merged, others may have the same links.
        if news.cut or news.is_merged() or any(one.src in last for one in news.added(_MENTIONS)):
            return None
        return known.after(now, news, last)

    def read() -> _Counts:
        by_id, counts = store.rolls.arrivals(scope, _MENTIONS, as_of), np.zeros(len(standing), int)
        for place, count in standing.by_place(by_id).items():
            counts[place] = count
        return _Counts(by_id, counts)

    redirects(store, standings, standing)  # known to whoever follows
    return standings.once(standing, "arrivals", read, follow).counts


@dataclass(frozen=True, slots=True)
class _Counts:
    """How many records are linked to each, whether it stands or not, and by place."""

    by_id: dict[str, int]
    counts: NDArray[np.int64]

    def after(self, now: Standing, news: News, last: Mapping[str, str]) -> Self:
        """Return them with the links that came; last: what stands for merged entities."""
        more: Counter[str] = Counter()
        for id_, count in news.came.items():
            own = [link for link in news.links.get(id_, ()) if link.rel in _MENTIONS]
            fresh = [link for link in news.links.get(id_, [])[-count:] if link.rel in _MENTIONS]
            old = {last.get(link.dst, link.dst) for link in own[: len(own) - len(fresh)]}
            more.update({last.get(link.dst, link.dst) for link in fresh} - old)
        by_id = self.by_id | {id_: self.by_id.get(id_, 0) + count for id_, count in more.items()}
        counts = widened(self.counts, news.fresh)
        changed = {id_: by_id[id_] for id_ in more.keys() | news.after.keys() if id_ in by_id}
        for place, count in now.by_place(changed).items():
            counts[place] = count
        return type(self)(by_id, counts)


def topics(store: Store, standings: Standings, standing: Standing) -> "Topics":
    """Return how many active records have each topic."""

    def follow(known: Topics, _: Standing, news: News) -> Topics:
        fresh = Counter(_topics_of(news.after))
        fresh.subtract(_topics_of(news.before))
        known.add(fresh)
        return known

    def read() -> Topics:
        return Topics(store.rolls.topic_counts(standing.scope, None, standing.as_of))

    return standings.once(standing, "topics", read, follow)


class Topics:
    """How many records have each topic."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Take the counts, most first and then by name."""
        self._counts = dict(counts)
        self._order = [(-count, topic) for topic, count in counts.items()]

    def add(self, more: Mapping[str, int]) -> None:
        """Count more of some, or fewer."""
        for topic, change in more.items():
            count = self._counts.pop(topic, 0)
            if count:
                del self._order[bisect_left(self._order, (-count, topic))]
            if count + change:
                self._counts[topic] = count + change
                insort(self._order, (-count - change, topic))

    def most(self, limit: int) -> dict[str, int]:
        """Return the topics of most records, most first; equal ones by name."""
        return {topic: -count for count, topic in islice(self._order, limit)}


def _topics_of(records: Mapping[str, Record]) -> Iterator[str]:
    for record in records.values():
        if record.status == "active":
            yield from record.topics
