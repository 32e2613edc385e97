"""The survey: a map of a scope, or of one domain of it, from records alone.

Sections: phases and years; a timeline trunk (`retrieval.timeline`); the five blocks of the state
(`retrieval.state`); entities; facets and topics; hypotheses, by title unless the query's words hit
them; follow-ups that are overdue, due today or within three days; and gaps. A query makes what is
near to it worth more, by the scores of search, and so shown first and in place of what is not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import UsageError
from shiyi.indexer.analyze import terms
from shiyi.retrieval.asof import Mask, Standing, Standings, day_of, days_of
from shiyi.retrieval.layout import Format
from shiyi.retrieval.listing import Group, Listing, Written, entry_of, repeats_words, sizes
from shiyi.retrieval.map_results import BLOCKS, Block, MapEntry
from shiyi.retrieval.state import OPEN_KINDS, Facts, Stated, state_blocks
from shiyi.retrieval.timeline import TRUNK_KINDS, Stem, heaviest, stems, trunk
from shiyi.retrieval.window import Window
from shiyi.store import Record, Store
from shiyi.store.kinds import KINDS

SOON = 3  # days
_CONTEXT = 300  # characters
_EXAMPLES = 3
_NAME = 80  # characters of a topic
_MENTIONS = ("mentions", "about", "member_of")
_ATTRIBUTES = ("block", "due", "state", "context")
_KEPT = 4096  # of what was worked out, of each kind
_HIT = 2.0  # what the query's words add to a topic or hypothesis that they name


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many of each a map may list; the budget then chooses among them."""

    trunk: int
    names: int
    state: int


SURVEY_ROOM = Room(trunk=400, names=60, state=3)
ROUTING_ROOM = Room(trunk=1200, names=200, state=9)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is looked at: the records `among` all that stand, and what each counts."""

    standing: Standing
    among: Mask
    weight: NDArray[np.float64]
    words: frozenset[str] = frozenset()
    window: Window | None = None
    whole: bool = True  # no window and no domain narrow it
    short: Callable[[str], str] = str  # how an id is shown
    room: Room = SURVEY_ROOM


@dataclass(frozen=True, slots=True)
class _Draft:
    """A record to list: its place, what it is worth, and what is said of it beside itself."""

    place: int
    value: float
    more: dict[str, object] = field(default_factory=dict)
    stub: bool = False


def survey_groups(store: Store, standings: Standings, view: View) -> list[Group]:
    """Return everything that a survey may show, each section in its order."""
    standing = view.standing
    blocks, due, context = stated_attributes(store, standings, view)
    pairs = _contradictions(store, standings, view)
    against: dict[int, int] = {}
    for one, other in pairs:
        against.setdefault(one, other)
        against.setdefault(other, one)
    facts = Facts(
        standing=standing, among=view.among, weight=view.weight, blocks=blocks, due=due,
        against=against,
    )  # fmt: skip
    found = stems(standing, view.among)
    seats = trunk(standing, found, view.weight, view.room.trunk)
    arrivals = _arrivals(store, standings, view)
    drafts: dict[str, list[_Draft]] = {
        "timeline": [_Draft(seat.place, seat.value) for seat in seats],
        "state": _state(view, state_blocks(facts, view.room.state)),
        "entities": _named(view, "entity", arrivals),
        "facets": _named(view, "facet", arrivals),
        "hypotheses": _named(view, "hypothesis", np.zeros_like(arrivals)),
        "followups": _followups(view, due, context),
    }
    book = _read(store, standings, view, drafts)
    listed = {
        name: [_listing(view, name, draft, book) for draft in own if draft.place in book.records]
        for name, own in drafts.items()
    }
    listed["facets"] += _topics(store, standings, view)
    return [
        Group("phases", _phases(found), 2.0),
        Group("timeline", listed["timeline"]),
        Group("state", listed["state"], 3.0),
        Group("followups", listed["followups"], 4.0),
        Group("entities", listed["entities"], 0.8),
        Group("facets", listed["facets"]),
        Group("hypotheses", listed["hypotheses"], 0.5),
        Group("gaps", _gaps(view, pairs), 2.0),
    ]


# What is chosen


def stated_attributes(
    store: Store, standings: Standings, view: View
) -> tuple[dict[int, Block], dict[int, int], dict[int, str]]:
    """Return the blocks of states, and the due days and contexts of what is open, by place.

    The date of a follow-up is when it is due, unless its attribute `due` says otherwise. What has
    a `state` other than open is no longer due.
    """
    standing = view.standing
    found = standings.once(
        standing,
        "attributes",
        lambda: store.rolls.attributes(
            standing.scope, ["state", *OPEN_KINDS], _ATTRIBUTES, standing.as_of
        ),
    )
    dated = standing.of_kinds(["followup"]) & standing.dated() & view.among
    places = np.flatnonzero(dated)
    due: dict[int, int] = dict(zip(places.tolist(), standing["last"][places].tolist(), strict=True))
    blocks: dict[int, Block] = {}
    contexts: dict[int, str] = {}
    for place, (block, date, state, context) in standing.by_place(found).items():
        if KINDS[standing["kind"][place]] == "state":
            if block in BLOCKS and view.among[place]:
                blocks[place] = block
        elif view.among[place]:
            day = None if date is None else _day(date)
            if day is not None:
                due[place] = day
            if (state or "open") != "open":
                due.pop(place, None)
            if context is not None:
                contexts[place] = context
    return blocks, due, contexts


def _contradictions(store: Store, standings: Standings, view: View) -> list[tuple[int, int]]:
    """Return the pairs that contradict one another while both hold."""
    standing = view.standing
    edges = standings.once(
        standing,
        "contradicts",
        lambda: store.rolls.edges(standing.scope, ["contradicts"], standing.as_of),
    )
    pairs = set()
    for src, _, dst in edges:
        ends = [int(place) for place in standing.places([src, dst])]
        if len(set(ends)) == 2 and view.among[ends].all():  # noqa: PLR2004 - a pair
            pairs.add((min(ends), max(ends)))
    return sorted(pairs)


def _arrivals(store: Store, standings: Standings, view: View) -> NDArray[np.int64]:
    """Return how many records are linked to each."""
    standing = view.standing

    def read() -> NDArray[np.int64]:
        counts = np.zeros(len(standing), np.int64)
        found = store.rolls.arrivals(standing.scope, _MENTIONS, standing.as_of)
        for place, count in standing.by_place(found).items():
            counts[place] = count
        return counts

    return standings.once(standing, "arrivals", read)


def _state(view: View, stated: Sequence[Stated]) -> list[_Draft]:
    weight = view.weight
    drafts = []
    for one in stated:
        more: dict[str, object] = {"block": one.block}
        if one.against is not None:
            more["against"] = one.against
        drafts.append(_Draft(one.place, float(weight[one.place]), more))
    return drafts


def _named(view: View, kind: str, arrivals: NDArray[np.int64]) -> list[_Draft]:
    """Return the entities, facets or hypotheses that count most."""
    places = np.flatnonzero(view.standing.of_kinds([kind]) & view.among)
    counts = arrivals[places]
    weight = view.weight[places] * (1.0 + np.log1p(counts) / 4.0)
    best = np.lexsort((places, -weight))[: view.room.names]
    return [
        _Draft(int(places[i]), float(weight[i]), {"records": int(counts[i]) or None})
        for i in best.tolist()
    ]


def _followups(view: View, due: Mapping[int, int], context: Mapping[int, str]) -> list[_Draft]:
    """Return what is overdue, due today or soon, in the order of the due dates."""
    weight, today = view.weight, view.standing.today()
    drafts = []
    near = [(day, place) for place, day in due.items() if day <= today + SOON]
    for day, place in sorted(nlargest(view.room.names, near)):  # of very many, the latest
        when = "overdue" if day < today else "today" if day == today else "soon"
        more: dict[str, object] = {"due": day_of(day).isoformat(), "when": when}
        if place in context:
            more["context"] = context[place][:_CONTEXT]
        drafts.append(_Draft(place, float(weight[place]), more))
    return drafts


# What is written


@dataclass(frozen=True, slots=True)
class _Book:
    """The records to list, whole, by place, and what was worked out of them before.

    silent: whether the gist is what a capture says. words: of hypotheses. sizes: of what was
    listed, with how it was written, by all that is said of it. The last three outlive the answer.
    """

    records: Mapping[int, Record]
    silent: dict[int, bool]
    words: dict[int, frozenset[str]]
    sizes: dict[Any, tuple[tuple[MapEntry, ...], dict[Format, Written]]]


def _read(
    store: Store, standings: Standings, view: View, drafts: Mapping[str, Iterable[_Draft]]
) -> _Book:
    standing = view.standing
    wanted = {draft.place for own in drafts.values() for draft in own}
    wanted |= {
        int(str(draft.more["against"])) for draft in drafts["state"] if "against" in draft.more
    }
    book = _Book(
        standings.read(standing, sorted(wanted)),
        *(standings.once(standing, name, dict[Any, Any]) for name in ("silent", "words", "sizes")),
    )
    for kept in (book.silent, book.words, book.sizes):
        if len(kept) > _KEPT:
            kept.clear()
    fresh = {p: record for p, record in book.records.items() if p not in book.silent}
    silent = repeats_words(store, standing.scope, list(fresh.values()))
    book.silent.update((place, record.record_id in silent) for place, record in fresh.items())
    return book


def _listing(view: View, name: str, draft: _Draft, book: _Book) -> Listing:
    record, more = book.records[draft.place], dict(draft.more)
    against = more.pop("against", None)
    if isinstance(against, int):
        more |= {
            "with_id": view.short(view.standing.id(against)),
            "context": f"but: {book.records[against].title}",
        }
    if view.window is not None:
        more["fit"] = view.window.fit(record)
    value, stub = draft.value, False
    if name == "hypotheses":
        stub = not (view.words and view.words & _words(draft.place, book))
        value += 0.0 if stub else _HIT
    if name in {"entities", "hypotheses", "followups"}:
        more["kind"] = None  # the section says it
    shown_id = view.short(record.record_id)
    key = (draft.place, shown_id, stub, *more.items())
    if key not in book.sizes:
        entry = entry_of(record, shown_id, silent=book.silent[draft.place], **more)
        book.sizes[key] = sizes(entry, stub=stub), {}
    return Listing(record.record_id, value, *book.sizes[key])


def _words(place: int, book: _Book) -> frozenset[str]:
    """Return the terms of a hypothesis."""
    if place not in book.words:
        record = book.records[place]
        text = f"{record.title}\n{record.gist}\n{record.detail or ''}"
        book.words[place] = frozenset(terms(text))
    return book.words[place]


def _phases(found: Sequence[Stem]) -> list[Listing]:
    return [
        Listing(entry.id, 1.0 if stem.is_phase else 0.5, (MapEntry(id=entry.id), entry))
        for stem, entry in ((stem, stem.entry()) for stem in found)
    ]


def all_topics(store: Store, standings: Standings, standing: Standing) -> dict[str, int]:
    """Return how many active records have each topic, most first."""
    return standings.once(
        standing,
        "topics",
        lambda: store.rolls.topic_counts(standing.scope, None, standing.as_of),
    )


def _topics(store: Store, standings: Standings, view: View) -> list[Listing]:
    """Return the topics of the records looked at, those with most records first."""
    standing = view.standing
    if view.whole:
        counts = all_topics(store, standings, standing)
    else:
        ids = standing["id"][view.among].tolist()
        counts = store.rolls.topic_counts(standing.scope, ids, standing.as_of)
    most = next(iter(counts.values()), 1)
    worth = {
        topic: count / most + (_HIT if view.words and view.words & set(terms(topic)) else 0.0)
        for topic, count in islice(counts.items(), 10 * view.room.names)
    }
    best = sorted(worth, key=lambda topic: (-worth[topic], topic))[: view.room.names]
    entries = [
        MapEntry(
            id=f"topic:{topic[:_NAME]}", kind="topic", title=topic[:_NAME], records=counts[topic]
        )
        for topic in best
    ]
    return [
        Listing(entry.id, worth[topic], (entry,))
        for topic, entry in zip(best, entries, strict=True)
    ]


def _gaps(view: View, pairs: Sequence[tuple[int, int]]) -> list[Listing]:
    """Return what is undated although it happened, unsourced, or unresolved: counts, examples."""
    standing, among = view.standing, view.among
    unresolved = np.zeros(len(standing), bool)
    unresolved[[place for pair in pairs for place in pair]] = True
    masks = {
        "undated": ("happened at no known time", among & ~standing.dated()
                    & standing.of_kinds(TRUNK_KINDS)),
        "unsourced": ("quotes no source", among & ~standing["sourced"]),
        "unresolved": ("contradicts another that holds too", unresolved),
    }  # fmt: skip
    listings = []
    for name, (title, mask) in masks.items():
        places = np.flatnonzero(mask)
        if len(places):
            best = heaviest(places, view.weight[places], _EXAMPLES)
            line = MapEntry(id=name, title=title, records=len(places))
            examples = [view.short(standing.id(p)) for p in best.tolist()]
            whole = line.model_copy(update={"examples": examples})
            listings.append(Listing(name, 1.0, (MapEntry(id=name), line, whole)))
    return listings


def _day(text: str) -> int | None:
    try:
        return days_of(parse_day_range(text[:10] if "T" in text else text).end)
    except UsageError:
        return None
