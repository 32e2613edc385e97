"""The survey: a map of a scope, or of one domain of it, from records alone.

Sections: phases and years; a timeline trunk (`retrieval.timeline`); the five blocks of the state
(`retrieval.state`); entities; facets and topics; hypotheses, by title unless the query's words hit
them; follow-ups that are overdue, due today or within three days; and gaps. A query makes what is
near to it worth more, by the scores of search, and so shown first and in place of what is not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.indexer.analyze import terms
from shiyi.retrieval.asof import Mask, Standing, day_of
from shiyi.retrieval.found import arrivals, contradictions, topics, untouched
from shiyi.retrieval.grown import timeline
from shiyi.retrieval.listing import Group, Listing, entry_of, repeats_words, sizes
from shiyi.retrieval.map_results import MapEntry
from shiyi.retrieval.standings import Standings
from shiyi.retrieval.state import Chosen, Facts, state_blocks
from shiyi.retrieval.stated import Stated, stated
from shiyi.retrieval.timeline import (
    TRUNK_KINDS,
    Seat,
    Stem,
    branches,
    heaviest,
    seated,
    seats_of_each,
    trunk,
)
from shiyi.retrieval.window import Window
from shiyi.store import Record, Store
from shiyi.store.rolls import NO_DAY

SOON = 3  # days
_CONTEXT = 300  # characters
_EXAMPLES = 3
_NAME = 80  # characters of a topic
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
    leans: bool = False  # a query makes what is near to it count more
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
    said = stated(store, standings, standing)
    due = said.due(standing, view.among)
    pairs = contradictions(store, standings, view.standing, view.among)
    against: dict[int, int] = {}
    for one, other in pairs:
        against.setdefault(one, other)
        against.setdefault(other, one)
    facts = Facts(
        standing=standing, among=view.among, weight=view.weight,
        blocks=said.blocks(standing, view.among), due=due, against=against,
    )  # fmt: skip
    stems, seats = _timeline(standings, view)
    arrived = arrivals(store, standings, standing)
    drafts: dict[str, list[_Draft]] = {
        "timeline": [_Draft(seat.place, seat.value) for seat in seats],
        "state": _state(view, state_blocks(facts, view.room.state)),
        "entities": _named(view, "entity", arrived),
        "facets": _named(view, "facet", arrived),
        "hypotheses": _named(view, "hypothesis", np.zeros_like(arrived)),
        "followups": _followups(view, due, said),
    }
    book = _read(store, standings, view, drafts)
    listed = {
        name: [_listing(view, name, draft, book) for draft in own if draft.place in book.records]
        for name, own in drafts.items()
    }
    listed["facets"] += _topics(store, standings, view)
    return [
        Group("phases", _phases(stems), 2.0),
        Group("timeline", listed["timeline"]),
        Group("state", listed["state"], 3.0),
        Group("followups", listed["followups"], 4.0),
        Group("entities", listed["entities"], 0.8),
        Group("facets", listed["facets"]),
        Group("hypotheses", listed["hypotheses"], 0.5),
        Group("gaps", _gaps(view, pairs), 2.0),
    ]


# What is chosen


def _timeline(standings: Standings, view: View) -> tuple[Sequence[Stem], Sequence[Seat]]:
    standing, most = view.standing, view.room.trunk
    if view.whole and not view.leans:
        return timeline(standings, standing, most)
    found = branches(standing, view.among)
    each = seats_of_each(len(found), most)
    seats = trunk(standing, [one.places for one in found], view.weight, each)
    return [one.stem for one in found], seated(standing, seats)


def _state(view: View, chosen: Sequence[Chosen]) -> list[_Draft]:
    weight = view.weight
    drafts = []
    for one in chosen:
        more: dict[str, object] = {"block": one.block}
        if one.against is not None:
            more["against"] = one.against
        drafts.append(_Draft(one.place, float(weight[one.place]), more))
    return drafts


def _named(view: View, kind: str, arrivals: NDArray[np.int64]) -> list[_Draft]:
    """Return the entities, facets or hypotheses that count most."""
    places = np.flatnonzero(view.standing.of_kinds([kind]) & view.among)
    weight = view.weight[places] * (1.0 + np.log1p(arrivals[places]) / 4.0)
    best = heaviest(places, weight, view.room.names)
    worth = weight[np.searchsorted(places, best)]
    return [
        _Draft(place, value, {"records": count or None})
        for place, value, count in zip(
            best.tolist(), worth.tolist(), arrivals[best].tolist(), strict=True
        )
    ]


def _followups(view: View, due: NDArray[np.int32], said: Stated) -> list[_Draft]:
    """Return what is overdue, due today or soon, in the order of the due dates."""
    weight, today = view.weight, view.standing.today()
    places = np.flatnonzero((due != NO_DAY) & (due <= today + SOON))
    latest = np.lexsort((places, due[places]))[-view.room.names :]  # of very many
    drafts = []
    for place in places[latest].tolist():
        day = int(due[place])
        when = "overdue" if day < today else "today" if day == today else "soon"
        more: dict[str, object] = {"due": day_of(day).isoformat(), "when": when}
        context = said.context_of(place)
        if context is not None:
            more["context"] = context[:_CONTEXT]
        drafts.append(_Draft(place, float(weight[place]), more))
    return drafts


# What is written


@dataclass(frozen=True, slots=True)
class _Book:
    """The records to list, whole, by place, and what was worked out of them before, by their ids.

    silent: whether the gist is what a capture says. words: of hypotheses. listed: by all that is
    said of it. The last three outlive the answer.
    """

    records: Mapping[int, Record]
    silent: dict[str, bool]
    words: dict[str, frozenset[str]]
    listed: dict[str, dict[Any, Listing]]


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
        *(
            standings.once(standing, name, dict[str, Any], untouched)
            for name in ("silent", "words", "listed")
        ),
    )
    for kept in (book.silent, book.words, book.listed):
        if len(kept) > _KEPT:
            kept.clear()
    fresh = [one for one in book.records.values() if one.record_id not in book.silent]
    silent = repeats_words(store, standing.scope, fresh)
    book.silent.update((one.record_id, one.record_id in silent) for one in fresh)
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
        stub = not (view.words and view.words & _words(record, book))
        value += 0.0 if stub else _HIT
    if name in {"entities", "hypotheses", "followups"}:
        more["kind"] = None  # the section says it
    shown_id = view.short(record.record_id)
    key, known = (shown_id, stub, *more.items()), book.listed.setdefault(record.record_id, {})
    found = known.get(key)
    if found is None:
        entry = entry_of(record, shown_id, silent=book.silent[record.record_id], **more)
        made = sizes(entry, stub=stub)
        found = known[key] = Listing(record.record_id, value, made, is_record=True)
    elif found.value != value:
        found = known[key] = found.worth(value)
    return found


def _words(record: Record, book: _Book) -> frozenset[str]:
    """Return the terms of a hypothesis."""
    if record.record_id not in book.words:
        text = f"{record.title}\n{record.gist}\n{record.detail or ''}"
        book.words[record.record_id] = frozenset(terms(text))
    return book.words[record.record_id]


def _phases(found: Sequence[Stem]) -> list[Listing]:
    return [
        Listing(entry.id, 1.0 if stem.is_phase else 0.5, (MapEntry(id=entry.id), entry))
        for stem, entry in ((stem, stem.entry()) for stem in found)
    ]


def _topics(store: Store, standings: Standings, view: View) -> list[Listing]:
    """Return the topics of the records looked at, those with most records first."""
    standing = view.standing
    if view.whole:
        counts = topics(store, standings, standing).most(10 * view.room.names)
    else:
        ids = standing["id"][view.among].tolist()
        found = store.rolls.topic_counts(standing.scope, ids, standing.as_of)
        counts = dict(islice(found.items(), 10 * view.room.names))
    most = next(iter(counts.values()), 1)
    worth = {
        topic: count / most + (_HIT if view.words and view.words & set(terms(topic)) else 0.0)
        for topic, count in counts.items()
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
