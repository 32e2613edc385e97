"""The trunk of a timeline: some records of each phase, so that none crowds out another.

The rule. A record belongs to the phase that it names, else to the year of its first day. The days
of each phase are cut into eight equal stretches. In each stretch the records stand by weight
(salience, and nearness to the query if there is one), then by date, then by id. A phase shows the
first of each stretch, then the second of each, and so on, up to its seats; and what a record is
worth falls with the round it is shown in. No other phase has a say in any of it, but for the number
of seats: so the turning points of an early phase stay, however much comes later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import Mask, Standing, day_of
from shiyi.retrieval.map_results import MapEntry
from shiyi.store.rolls import NO_DAY

TRUNK_KINDS = (
    "event", "experience", "feeling", "state", "decision", "promise", "relationship", "insight",
    "canon", "checkpoint",
)  # fmt: skip
_STRETCHES = 8
_LEAST_SEATS, _MOST_SEATS = 4, 48
_PHASES = 60  # with places of their own; those of fewest records are shown by year
_YEARS = 60
_LATER_ROUND = 0.8
_FIRST_SEAT = 3.0  # a small map keeps the turning point of each phase before all the names


@dataclass(frozen=True, slots=True)
class Stem:
    """A phase or a year: the places of its records that are dated, or all when none is."""

    name: str
    is_phase: bool
    first: int
    last: int
    places: NDArray[np.int64]

    def entry(self) -> MapEntry:
        """Return the line of the phase or year."""
        days = None
        if self.first != NO_DAY:
            start, end = (day_of(day).isoformat()[:7] for day in (self.first, self.last))
            days = start if start == end else f"{start}..{end}"
        name = f"phase:{self.name}" if self.is_phase else f"year:{self.name}"
        title = self.name[:80]
        return MapEntry(
            id=name[:100], title=title, date=days, records=len(self.places),
            kind="phase" if self.is_phase else "year",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seat:
    """A record of the trunk and what it is worth to show it."""

    place: int
    value: float


def stems(standing: Standing, among: Mask) -> list[Stem]:
    """Return the phases and years of some records, in the order of their first days."""
    periods, places = standing.periods, np.flatnonzero(among)
    by_phase = _parted(places, periods.phase[places])
    named = [
        (len(own), name, own) for key, own in by_phase if (name := periods.phases[key]) is not None
    ]
    named.sort(key=lambda one: (-one[0], one[1]))
    found = [_stem(standing, name, own, phase=True) for _, name, own in named[:_PHASES]]
    left = among & standing.dated()
    for _, _, own in named[:_PHASES]:
        left[own] = False
    places = np.flatnonzero(left)
    by_year = _parted(places, periods.year[places])
    by_year.sort(key=lambda one: (-len(one[1]), one[0]))
    found += [_stem(standing, f"{year:04}", own, phase=False) for year, own in by_year[:_YEARS]]
    return sorted(found, key=lambda one: (one.first == NO_DAY, one.first, one.name))


def trunk(
    standing: Standing, found: Sequence[Stem], weight: NDArray[np.float64], most: int
) -> list[Seat]:
    """Return the seats of all phases, in time order; about `most` of them, by weight."""
    seats = max(_LEAST_SEATS, min(_MOST_SEATS, most // max(len(found), 1)))
    on_trunk = standing.of_kinds(TRUNK_KINDS) & standing.dated()
    chosen: list[Seat] = []
    for stem in found:
        places = stem.places[on_trunk[stem.places]]
        chosen += _seated(standing, places, weight[places], seats)
    return sorted(chosen, key=lambda seat: (int(standing["first"][seat.place]), seat.place))


def weights(standing: Standing, near: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each record counts: half to one by its salience, and up to two if asked for."""
    weight: NDArray[np.float64] = 0.5 + standing["salience"] / 200.0 + 2.0 * near
    return weight


def heaviest(
    places: NDArray[np.int64], weight: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Return the places of most weight, given for each of them, equal ones in order."""
    if len(places) > most:
        bound = np.partition(weight, len(weight) - most)[len(weight) - most]
        places, weight = places[weight >= bound], weight[weight >= bound]
    return places[np.lexsort((places, -weight))][:most]


def _seated(
    standing: Standing, places: NDArray[np.int64], weight: NDArray[np.float64], seats: int
) -> list[Seat]:
    if not len(places):
        return []
    first = standing["first"][places].astype(np.int64)
    span = int(first.max() - first.min()) + 1
    stretch = (first - first.min()) * _STRETCHES // span
    if len(places) > _STRETCHES * seats:  # most of them can have no seat
        able = _able(stretch, weight, seats)
        places, weight, first, stretch = places[able], weight[able], first[able], stretch[able]
    order = np.lexsort((places, first, -weight, stretch))
    starts = np.r_[True, stretch[order][1:] != stretch[order][:-1]]
    round_ = np.empty(len(places), np.int64)
    round_[order] = np.arange(len(places)) - np.maximum.accumulate(
        np.where(starts, np.arange(len(places)), 0)
    )
    best = np.lexsort((places, first, -weight, round_))[:seats]
    value = weight[best] * _LATER_ROUND ** round_[best]
    value[0] *= _FIRST_SEAT
    return [Seat(int(p), float(v)) for p, v in zip(places[best], value, strict=True)]


def _stem(standing: Standing, name: str, places: NDArray[np.int64], *, phase: bool) -> Stem:
    first, last = standing["first"][places], standing["last"][places]
    dated = first != NO_DAY
    if not dated.any():
        return Stem(name, phase, NO_DAY, NO_DAY, places)
    return Stem(name, phase, int(first[dated].min()), int(last[dated].max()), places)


def _able(stretch: NDArray[np.int64], weight: NDArray[np.float64], seats: int) -> NDArray[np.int64]:
    """Return which records are among the first `seats` of their stretch, equal ones included."""
    able = []
    for own in (np.flatnonzero(stretch == one) for one in range(_STRETCHES)):
        few = own
        if len(own) > seats:
            bound = np.partition(weight[own], len(own) - seats)[len(own) - seats]
            few = own[weight[own] >= bound]
        able.append(few)
    return np.concatenate(able)


def _parted(
    places: NDArray[np.int64], keys: NDArray[np.integer[Any]]
) -> list[tuple[int, NDArray[np.int64]]]:
    """Return the places of each key, ascending, by key."""
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    parts = np.split(places[order], firsts[1:]) if len(places) else []
    return list(zip(keys[order][firsts].tolist(), parts, strict=True))
