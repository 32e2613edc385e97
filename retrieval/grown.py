"""The timeline of all that holds, kept from one survey to the next.

A write touches few phases and years; only those are looked at again. The stems stay as they are
as long as there are few enough for each to have a place, none comes and none goes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import Standing
from shiyi.retrieval.news import News, widened
from shiyi.retrieval.standings import Standings
from shiyi.retrieval.timeline import (
    NO_STEM,
    PHASES,
    YEARS,
    Places,
    Seat,
    Stem,
    Worth,
    branch,
    branches,
    in_time_order,
    seated,
    seats_of_each,
    trunk,
    weights,
)


def timeline(standings: Standings, standing: Standing, most: int) -> tuple[list[Stem], list[Seat]]:
    """Return the stems and the seats of all that holds, leaning nowhere; about `most` seats."""
    name = f"timeline {most}"

    def read() -> _Grown:
        return _Grown.of(standing, most)

    def follow(known: _Grown, now: Standing, news: News) -> _Grown | None:
        return known.after(now, news)

    grown = standings.once(standing, name, read, follow)
    if not grown.begun <= standing.instant < grown.until:
        del standing.worked_out[name]
        grown = standings.once(standing, name, read, follow)
    return sorted(grown.stems, key=in_time_order), seated(standing, grown.seats)


@dataclass(frozen=True, slots=True)
class _Grown:
    """Stems, the seats of each, and which of them each record is of, by `own`.

    From the moment `begun` up to `until` the same records hold, as far as nothing is written.
    seats_each is what a stem may have.
    """

    begun: int
    until: int
    own: NDArray[np.uint8]
    stems: list[Stem]
    seats: list[tuple[Places, Worth]]
    seats_each: int

    @classmethod
    def of(cls, standing: Standing, most: int) -> Self:
        """Look at all records."""
        found = branches(standing, standing.current())
        own = np.full(len(standing), NO_STEM, np.uint8)
        for number, one in enumerate(found):
            own[one.places] = number
        begun, expires = standing.instant, standing["expires"]
        later = expires[expires > begun]
        until = int(later.min()) if len(later) else begun + 1
        seats = seats_of_each(len(found), most)
        parts = [one.places for one in found]
        weight = weights(standing, np.zeros(len(standing)))
        return cls(
            begun, until, own, [one.stem for one in found],
            trunk(standing, parts, weight, seats), seats,
        )  # fmt: skip

    def after(self, standing: Standing, news: News) -> Self | None:
        """Return them as they are after the news, or None when all has to be looked at."""
        phases = sum(stem.is_phase for stem in self.stems)
        if phases >= PHASES or len(self.stems) - phases >= YEARS:
            return None
        own = widened(self.own, news.fresh)
        own[news.fresh + np.arange(len(news.fresh))] = NO_STEM
        touched: set[int] = set()
        places = standing.places(news.after)
        for place, number in zip(places.tolist(), self._stems_of(standing, places), strict=True):
            if number is None:
                return None
            touched |= {int(own[place]), number}
            own[place] = number
        touched.discard(NO_STEM)
        parts = [np.flatnonzero(own == number) for number in touched]
        if not all(map(len, parts)):
            return None
        stems = list(self.stems)
        seats = [(news.moved(at), worth) for at, worth in self.seats]
        weight = weights(standing, np.zeros(len(standing)))
        fresh = trunk(standing, parts, weight, self.seats_each)
        for number, part, taken in zip(touched, parts, fresh, strict=True):
            stem = stems[number]
            stems[number] = branch(standing, stem.name, part, phase=stem.is_phase).stem
            seats[number] = taken
        expires = standing["expires"][places]
        until = min([self.until, *expires[expires > self.begun].tolist()])
        return replace(self, until=until, own=own, stems=stems, seats=seats)

    def _stems_of(self, standing: Standing, places: Places) -> Iterator[int | None]:
        """Yield the stem of each record, NO_STEM where it is of none; None for a new one."""
        numbers = {(one.name, one.is_phase): number for number, one in enumerate(self.stems)}
        holds = standing.current(self.begun)
        for place in places.tolist():
            phase, year = standing.phase(place), int(standing.periods.year[place])
            if not holds[place] or (phase is None and not year):
                yield NO_STEM
            else:
                yield numbers.get((f"{year:04}", False) if phase is None else (phase, True))
