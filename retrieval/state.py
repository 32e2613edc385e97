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

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import Mask, Standing
from shiyi.retrieval.map_results import BLOCKS, Block
from shiyi.retrieval.stated import NO_BLOCK, OPEN_KINDS
from shiyi.store.kinds import LAYERS
from shiyi.store.rolls import NO_DAY

_CORE_KINDS = ("boundary", "value", "preference", "canon")
_CLOSING_KINDS = ("checkpoint", "handoff")
_ROOM = 3
_ENOUGH = 100  # more than can be taken, by this block and those before
_RECENT, _YEAR = 90, 365  # days
_SELF = LAYERS.index("self")
Taken = AbstractSet[int]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A record of a block, and the one that it contradicts, if that is why it stands here."""

    block: Block
    place: int
    against: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the blocks are made from. blocks and due are as `retrieval.stated` has them."""

    standing: Standing
    among: Mask
    weight: NDArray[np.float64]
    blocks: NDArray[np.int8]
    due: NDArray[np.int32]
    against: Mapping[int, int]


def state_blocks(facts: Facts, room: int = _ROOM) -> list[Chosen]:
    """Return the records of the five blocks, block by block."""
    taken: set[int] = set()
    chosen: dict[Block, list[int]] = {block: [] for block in BLOCKS}
    rest: tuple[Block, ...] = ("core", "next", "tensions", "situation", "load")
    for block in BLOCKS:
        named = np.flatnonzero(facts.blocks == BLOCKS.index(block))
        _fill(chosen[block], _by_weight(facts, named.tolist()), taken, room)
    for block in rest:
        candidates = _CANDIDATES[block](facts, taken)
        while len(chosen[block]) < room and (more := next(candidates, None)) is not None:
            _fill(chosen[block], more, taken, room)
    return [
        Chosen(block, place, facts.against.get(place) if block == "tensions" else None)
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


def _core(facts: Facts, _: Taken) -> Iterator[Iterable[int]]:
    durable = facts.standing.of_kinds(_CORE_KINDS)
    yield _best(facts, facts.standing["layer"] == _SELF)
    yield _best(facts, durable)


def _situation(facts: Facts, _: Taken) -> Iterator[Iterable[int]]:
    yield _best(facts, facts.standing.of_kinds(("state",)) & (facts.blocks == NO_BLOCK))


def _load(facts: Facts, _: Taken) -> Iterator[Iterable[int]]:
    yield _best(facts, _felt(facts, _RECENT))
    yield _best(facts, facts.standing.of_kinds(OPEN_KINDS))


def _tensions(facts: Facts, taken: Taken) -> Iterator[Iterable[int]]:
    apart: list[int] = []
    settled: set[int] = set()
    for place in _by_weight(facts, sorted(facts.against)):
        if place not in taken and place not in settled:
            settled |= {place, facts.against[place]}
            apart.append(place)
    yield apart
    yield _best(facts, _felt(facts, _YEAR) & ~_felt(facts, _RECENT))


def _next(facts: Facts, _: Taken) -> Iterator[Iterable[int]]:
    at = np.flatnonzero(facts.due != NO_DAY)
    days = facts.due[at].astype(np.int64)
    if len(at) > _ENOUGH:
        soonest = days <= np.partition(days, _ENOUGH - 1)[_ENOUGH - 1]
        at, days = at[soonest], days[soonest]
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
