"""The trunk of a timeline: some records of each phase, so that none crowds out another.

The rule. A record belongs to the phase that it names, else to the year of its first day. The days
of each phase are cut into eight equal stretches. In each stretch the records stand by weight
(salience, and nearness to the query if there is one), then by date, then by id. A phase shows the
first of each stretch, then the second of each, and so on, up to its seats; and what a record is
worth falls with the round it is shown in. No other phase has a say in any of it, but for the number
of seats: so the turning points of an early phase stay, however much comes later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import Mask, Standing, day_of
from shiyi.retrieval.map_results import MapEntry
from shiyi.store.rolls import NO_DAY

Places = NDArray[np.int64]
Worth = NDArray[np.float64]
TRUNK_KINDS = (
    "event", "experience", "feeling", "state", "decision", "promise", "relationship", "insight",
    "canon", "checkpoint",
)  # fmt: skip
_STRETCHES = 8
_GRADES = 128  # into which weights are sorted, to leave most records out
_LAST_YEAR = 9999
NO_STEM = 255
_NOWHERE = np.empty(0, np.int64)
_LEAST_SEATS, _MOST_SEATS = 4, 48
PHASES = 60  # with places of their own; those of fewest records are shown by year
YEARS = 60
_LATER_ROUND = 0.8
_FIRST_SEAT = 3.0  # a small map keeps the turning point of each phase before all the names


@dataclass(frozen=True, slots=True)
class Stem:
    """A phase or a year, the days from its first to its last dated record, and how many it has."""

    name: str
    is_phase: bool
    first: int
    last: int
    records: int

    def entry(self) -> MapEntry:
        """Return the line of the phase or year."""
        days = None
        if self.first != NO_DAY:
            start, end = (day_of(day).isoformat()[:7] for day in (self.first, self.last))
            days = start if start == end else f"{start}..{end}"
        name = f"phase:{self.name}" if self.is_phase else f"year:{self.name}"
        title = self.name[:80]
        return MapEntry(
            id=name[:100], title=title, date=days, records=self.records,
            kind="phase" if self.is_phase else "year",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Branch:
    """A stem, and the places of its records that are dated, or all when none is."""

    stem: Stem
    places: Places


@dataclass(frozen=True, slots=True)
class Seat:
    """A record of the trunk and what it is worth to show it."""

    place: int
    value: float


def branches(standing: Standing, among: Mask) -> list[Branch]:
    """Return the phases and years of some records, in the order of their first days."""
    periods, places = standing.periods, np.flatnonzero(among)
    phase, year = periods.phase[places], periods.year[places].astype(np.int64)
    counts = np.bincount(phase, minlength=len(periods.phases)).tolist()
    named = sorted(
        (-count, name, number)
        for number, (count, name) in enumerate(zip(counts, periods.phases, strict=True))
        if count and name is not None
    )[:PHASES]
    numbers = np.full(len(periods.phases), NO_STEM, np.uint8)
    numbers[[one[2] for one in named]] = np.arange(len(named))
    own = numbers[phase]
    rest = own == NO_STEM
    found = np.bincount(year[rest], minlength=1)
    years = sorted((-int(found[y]), y) for y in np.flatnonzero(found).tolist() if y)[:YEARS]
    numbers = np.full(_LAST_YEAR + 1, NO_STEM, np.uint8)
    numbers[[one[1] for one in years]] = np.arange(len(named), len(named) + len(years))
    own = np.where(rest, numbers[year], own)
    order = np.argsort(own, kind="stable")[: np.count_nonzero(own != NO_STEM)]
    ends = np.flatnonzero(np.diff(own[order]))
    parts = np.split(places[order], ends + 1) if len(order) else []
    names = [*(name for _, name, _ in named), *(f"{year:04}" for _, year in years)]
    grown = [
        branch(standing, name, part, phase=number < len(named))
        for number, (name, part) in enumerate(zip(names, parts, strict=True))
    ]
    return sorted(grown, key=lambda one: in_time_order(one.stem))


def branch(standing: Standing, name: str, places: Places, *, phase: bool) -> Branch:
    """Return a phase or year with its records."""
    first, last = standing["first"][places], standing["last"][places]
    dated = first != NO_DAY
    if not dated.any():
        return Branch(Stem(name, phase, NO_DAY, NO_DAY, len(places)), places)
    ends = int(first[dated].min()), int(last[dated].max())
    return Branch(Stem(name, phase, *ends, len(places)), places)


def in_time_order(stem: Stem) -> tuple[bool, int, str]:
    """Return by what stems are ordered."""
    return stem.first == NO_DAY, stem.first, stem.name


def seats_of_each(stems: int, most: int) -> int:
    """Return how many seats a stem has, so that about `most` are taken."""
    return max(_LEAST_SEATS, min(_MOST_SEATS, most // max(stems, 1)))


def trunk(
    standing: Standing, parts: Sequence[Places], weight: Worth, seats: int
) -> list[tuple[Places, Worth]]:
    """Return of each part, the records of one stem, those that are seated and their worth."""
    on_trunk = standing.of_kinds(TRUNK_KINDS) & standing.dated()
    own = [places[on_trunk[places]] for places in parts]
    counts = [len(places) for places in own]
    stem, places = np.repeat(np.arange(len(own)), counts), np.concatenate([*own, _NOWHERE])
    if not len(places):
        return [(_NOWHERE, np.empty(0)) for _ in parts]
    first = standing["first"][places].astype(np.int64)
    starts = np.flatnonzero(np.diff(stem, prepend=-1))
    begins, ends = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    begins[stem[starts]] = np.minimum.reduceat(first, starts)
    ends[stem[starts]] = np.maximum.reduceat(first, starts)
    spans = ends - begins + 1
    stretch = stem * _STRETCHES + (first - begins[stem]) * _STRETCHES // spans[stem]
    able = np.flatnonzero(_able(stretch, weight[places], len(own), seats))
    places, first, stretch = places[able], first[able], stretch[able]
    best, worth = _seated(places, first, weight[places], stretch, seats)
    ends = np.cumsum(np.bincount(stretch[best] // _STRETCHES, minlength=len(own)))[:-1]
    return list(zip(np.split(places[best], ends), np.split(worth, ends), strict=True))


def seated(standing: Standing, chosen: Iterable[tuple[Places, Worth]]) -> list[Seat]:
    """Return the seats of all stems, in time order."""
    both = list(zip(*chosen, strict=True)) or [(_NOWHERE,), (np.empty(0),)]
    places, worth = map(np.concatenate, both)
    order = np.lexsort((places, standing["first"][places]))
    return [Seat(*one) for one in zip(places[order].tolist(), worth[order].tolist(), strict=True)]


def weights(standing: Standing, near: Worth) -> Worth:
    """Return what each record counts: half to one by its salience, and up to two if asked for."""
    weight: Worth = 0.5 + standing["salience"] / 200.0 + 2.0 * near
    return weight


def heaviest(places: Places, weight: Worth, most: int) -> Places:
    """Return the places of most weight, given for each of them, equal ones in order."""
    if len(places) > most:
        bound = np.partition(weight, len(weight) - most)[len(weight) - most]
        places, weight = places[weight >= bound], weight[weight >= bound]
    return places[np.lexsort((places, -weight))][:most]


def _able(stretch: Places, weight: Worth, stems: int, seats: int) -> Mask:
    """Return which records can have a seat: all that may be among the first of their stretch.

    No round is looked at beyond the one in which the seats of a phase are filled.
    """
    counts = np.bincount(stretch, minlength=stems * _STRETCHES).reshape(stems, _STRETCHES)
    filled = np.minimum(counts[:, :, None], np.arange(1, seats + 1)).sum(axis=1)  # by each round
    rounds = np.minimum((filled < seats).sum(axis=1) + 1, seats)
    least = weight.min()
    scale = (_GRADES - 1) / max(weight.max() - least, 1e-9)
    grade = ((weight - least) * scale).astype(np.int64)
    counts = np.bincount(stretch * _GRADES + grade, minlength=stems * _STRETCHES * _GRADES)
    above = counts.reshape(stems, _STRETCHES, _GRADES)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    enough = (above >= rounds[:, None, None]).sum(axis=2) - 1  # the grade from which on there are
    able: Mask = grade >= enough.ravel()[stretch]
    return able


def _seated(
    places: Places, first: Places, weight: Worth, stretch: Places, seats: int
) -> tuple[Places, Worth]:
    """Return which records have a seat, stem by stem, and what each is worth."""
    order = np.lexsort((places, first, -weight, stretch))
    round_ = np.empty(len(places), np.int64)
    round_[order] = _ranks(stretch[order])
    stem = stretch // _STRETCHES
    order = np.lexsort((places, first, -weight, round_, stem))
    rank = _ranks(stem[order])
    best, rank = order[rank < seats], rank[rank < seats]
    worth = weight[best] * _LATER_ROUND ** round_[best]
    worth[rank == 0] *= _FIRST_SEAT
    return best, worth


def _ranks(groups: Places) -> Places:
    """Return the place of each among those of its group, which lie together."""
    at = np.arange(len(groups))
    starts = np.diff(groups, prepend=-1) != 0
    ranks: Places = at - np.maximum.accumulate(np.where(starts, at, 0))
    return ranks
