"""The five blocks of a state, each of at most three records, from what is stored and nothing else.

A `state` record whose attribute `block` names a block stands in it. What room is left is filled:

core        the layer self, then boundaries, values and preferences
situation   other states, as they hold now
load        feelings of the last 90 days, then open promises and follow-ups that `next` leaves
tensions    records that contradict one another while both hold, then feelings of the last year
next        promises and follow-ups by their due dates, the newest checkpoint or handoff, then
            promises and follow-ups without a date, the newest first

Inside each, by salience (and nearness to the query), then newer, then by id. A record stands once.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import Mask, Standing
from shiyi.retrieval.map_results import BLOCKS, Block
from shiyi.store.kinds import LAYERS

OPEN_KINDS = ("promise", "followup")
_CORE_KINDS = ("boundary", "value", "preference", "canon")
_CLOSING_KINDS = ("checkpoint", "handoff")
_ROOM = 3
_ENOUGH = 100  # more than can be taken, by this block and those before
_RECENT, _YEAR = 90, 365  # days
_SELF = LAYERS.index("self")
Taken = AbstractSet[int]


@dataclass(frozen=True, slots=True)
class Stated:
    """A record of a block, and the one that it contradicts, if that is why it stands here."""

    block: Block
    place: int
    against: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the blocks are made from: places of records and, of some, a block or a due day."""

    standing: Standing
    among: Mask
    weight: NDArray[np.float64]
    blocks: Mapping[int, str]
    due: Mapping[int, int]
    against: Mapping[int, int]


def state_blocks(facts: Facts, room: int = _ROOM) -> list[Stated]:
    """Return the records of the five blocks, block by block."""
    taken: set[int] = set()
    chosen: dict[Block, list[int]] = {block: [] for block in BLOCKS}
    rest: tuple[Block, ...] = ("core", "next", "tensions", "situation", "load")
    for block in BLOCKS:
        named = [place for place, name in facts.blocks.items() if name == block]
        _fill(chosen[block], _by_weight(facts, named), taken, room)
    for block in rest:
        for candidates in _CANDIDATES[block](facts, taken):
            _fill(chosen[block], candidates, taken, room)
    return [
        Stated(block, place, facts.against.get(place) if block == "tensions" else None)
        for block in BLOCKS
        for place in chosen[block]
    ]


def _fill(own: list[int], candidates: Iterable[int], taken: set[int], room: int) -> None:
    for place in candidates:
        if len(own) == room:
            return
        if place not in taken:
            taken.add(place)
            own.append(place)


def _core(facts: Facts, _: Taken) -> Iterable[Iterable[int]]:
    durable = facts.standing.of_kinds(_CORE_KINDS)
    yield _best(facts, facts.standing["layer"] == _SELF)
    yield _best(facts, durable)


def _situation(facts: Facts, _: Taken) -> Iterable[Iterable[int]]:
    unnamed = facts.standing.of_kinds(("state",)).copy()
    unnamed[list(facts.blocks)] = False
    yield _best(facts, unnamed)


def _load(facts: Facts, _: Taken) -> Iterable[Iterable[int]]:
    yield _best(facts, _felt(facts, _RECENT))
    yield _best(facts, facts.standing.of_kinds(OPEN_KINDS))


def _tensions(facts: Facts, taken: Taken) -> Iterable[Iterable[int]]:
    apart: list[int] = []
    settled: set[int] = set()
    for place in _by_weight(facts, sorted(facts.against)):
        if place not in taken and place not in settled:
            settled |= {place, facts.against[place]}
            apart.append(place)
    yield apart
    yield _best(facts, _felt(facts, _YEAR) & ~_felt(facts, _RECENT))


def _next(facts: Facts, _: Taken) -> Iterable[Iterable[int]]:
    at = np.fromiter(facts.due, np.int64, len(facts.due))
    days = np.fromiter(facts.due.values(), np.int64, len(facts.due))
    yield at[np.lexsort((at, days))][:_ENOUGH].tolist()
    closing = _newest(facts, facts.standing.of_kinds(_CLOSING_KINDS))
    yield closing[:1]
    yield _newest(facts, facts.standing.of_kinds(OPEN_KINDS))


_CANDIDATES = {
    "core": _core, "situation": _situation, "load": _load, "tensions": _tensions, "next": _next,
}  # fmt: skip


def _felt(facts: Facts, days: int) -> Mask:
    """Return the feelings of the last days."""
    first, today = facts.standing["first"], facts.standing.today()
    feelings: Mask = (
        facts.standing.of_kinds(("feeling",)) & (first > today - days) & (first <= today)
    )
    return feelings


def _best(facts: Facts, mask: Mask) -> list[int]:
    places = np.flatnonzero(mask & facts.among)
    if len(places) > _ENOUGH:
        own = facts.weight[places]
        places = places[own >= np.partition(own, len(own) - _ENOUGH)[len(own) - _ENOUGH]]
    return _by_weight(facts, places.tolist())


def _by_weight(facts: Facts, places: list[int]) -> list[int]:
    at, first = np.array(places, np.int64), facts.standing["first"]
    order = np.lexsort((at, -first[at].astype(np.int64), -facts.weight[at]))
    return list(map(int, at[order]))


def _newest(facts: Facts, mask: Mask) -> list[int]:
    at = np.flatnonzero(mask & facts.among)
    first = facts.standing["first"][at].astype(np.int64)
    if len(at) > _ENOUGH:
        newest = first >= np.partition(first, len(first) - _ENOUGH)[len(first) - _ENOUGH]
        at, first = at[newest], first[newest]
    return list(map(int, at[np.lexsort((at, -first))]))
