"""What comes back every year: months, days, seasons, festivals, school holidays."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from borax.calendars.lunardate import LunarDate, TermUtils

from shiyi.retrieval.when.spans import Days, day, month, years

_DECEMBER = 12
_LUNAR_YEARS = range(1901, 2100)
_TRIES = range(1, -9, -1)  # next year, for what starts before it; eight back, for 29 February


@dataclass(frozen=True, slots=True)
class Rule:
    """Days that come back every year."""

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return when it starts in `year`; nothing when there is none."""
        raise NotImplementedError

    def named_in(self, year: int) -> tuple[Days, ...]:
        """Return what its name with that year may mean, best first."""
        return self.in_year(year)

    def latest(self, today: date) -> tuple[Days, ...]:
        """Return the last time that it started, `today` included."""
        for step in _TRIES:
            found = [days for days in self.in_year(today.year + step) if days.first <= today]
            if found:
                return (found[-1],)
        return ()

    @property
    def grain(self) -> str:
        """The unit that it is told in."""
        return "day"

    @property
    def fuzzy(self) -> bool:
        """Whether its ends are a matter of opinion."""
        return False

    @property
    def recurring(self) -> tuple[int, int] | int | None:
        """The month and day, or the month, that it always falls on."""
        return None


@dataclass(frozen=True, slots=True)
class Day(Rule):
    """A day of a month."""

    month: int
    number: int

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return that day, unless the year has none."""
        try:
            return (day(date(year, self.month, self.number)),)
        except ValueError:
            return ()

    @property
    def recurring(self) -> tuple[int, int]:
        """Month and day."""
        return self.month, self.number


@dataclass(frozen=True, slots=True)
class Window(Rule):
    """Days from one date up to, and without, another, which may lie in the next year."""

    first: tuple[int, int]
    last: tuple[int, int]
    unit: str
    vague: bool = False
    of_year_before: bool = False  # a winter is named after either of its years

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return the window that starts in `year`."""
        later = year + (self.last <= self.first)
        return (Days(date(year, *self.first), date(later, *self.last)),)

    def named_in(self, year: int) -> tuple[Days, ...]:
        """Return the window that starts in `year`, and perhaps the one that ends in it."""
        earlier = self.in_year(year - 1) if self.of_year_before else ()
        return self.in_year(year) + earlier

    @property
    def grain(self) -> str:
        """Month, season, quarter and so on."""
        return self.unit

    @property
    def fuzzy(self) -> bool:
        """Whether its ends are a matter of opinion."""
        return self.vague

    @property
    def recurring(self) -> int | None:
        """Return the month, for a month."""
        return self.first[0] if self.unit == "month" else None


def month_rule(number: int) -> Window:
    """Return the rule of a whole month."""
    return Window((number, 1), (number % _DECEMBER + 1, 1), "month")


@dataclass(frozen=True, slots=True)
class Part(Rule):
    """A part of a month that comes back every year."""

    month: int
    part: str

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return those days of the month."""
        return (part_of(month(year, self.month), "month", self.part),)

    @property
    def grain(self) -> str:
        """About ten days."""
        return "range"

    @property
    def fuzzy(self) -> bool:
        """Thirds of a month are exact."""
        return self.part in _VAGUE

    @property
    def recurring(self) -> int:
        """Return the month."""
        return self.month


@dataclass(frozen=True, slots=True)
class Weekday(Rule):
    """The n-th weekday of a month, counted from 1, or from its end with -1; then moved."""

    month: int
    nth: int
    weekday: int
    move: int = 0

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return that day."""
        first, last = month(year, self.month)
        start = first if self.nth > 0 else last
        ahead = (self.weekday - start.weekday()) % 7
        weeks = self.nth - (self.nth > 0)
        return (day(start + timedelta(days=ahead + 7 * weeks + self.move)),)


@dataclass(frozen=True, slots=True)
class Lunar(Rule):
    """Days of the lunar calendar; the 0th is the last of the month before."""

    month: int
    number: int
    days: int = 1
    leap: bool = False

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return what falls in the solar year."""
        both = (*self._of(year - 1), *self._of(year))
        return tuple(days for days in both if days.first.year == year)

    def named_in(self, year: int) -> tuple[Days, ...]:
        """Return what falls in the solar year, then what belongs to the lunar one."""
        solar = self.in_year(year)
        # New Year's Eve is counted from the first month, but closes the year before.
        of_lunar = self._of(year + (self.month == 1 and self.number < 1 and self.days == 1))
        return solar + tuple(days for days in of_lunar if days not in solar)

    @property
    def grain(self) -> str:
        """A day, or some."""
        return "day" if self.days == 1 else "range"

    def _of(self, year: int) -> tuple[Days, ...]:
        first = _solar(year, self.month, max(self.number, 1), self.leap)
        if first is None:
            return ()
        first += timedelta(days=min(self.number - 1, 0))
        return (Days(first, first + timedelta(days=self.days)),)


@lru_cache(maxsize=512)
def _solar(year: int, number: int, on: int, leap: bool) -> date | None:
    if year not in _LUNAR_YEARS:
        return None
    try:
        found: date = LunarDate(year, number, on, int(leap)).to_solar_date()
    except ValueError:  # this month has 29 days, or this year no such leap month
        return None
    return found


@dataclass(frozen=True, slots=True)
class LunarMonth(Rule):
    """A month of the lunar calendar."""

    month: int

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return the month that starts in the solar year."""
        starts = (_solar(of, self.month, 1, leap=False) for of in (year - 1, year))
        return tuple(
            Days(
                first, first + timedelta(days=30 if _solar(of, self.month, 30, leap=False) else 29)
            )
            for first, of in zip(starts, (year - 1, year), strict=True)
            if first is not None and first.year == year
        )

    @property
    def grain(self) -> str:
        """A month."""
        return "month"


@dataclass(frozen=True, slots=True)
class Term(Rule):
    """A solar term, counted from 小寒 = 0."""

    index: int

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return its day."""
        if year not in _LUNAR_YEARS:
            return ()
        return (day(TermUtils.nth_term_day(year, self.index)),)


@dataclass(frozen=True, slots=True)
class Easter(Rule):
    """Easter Sunday of the western churches, moved by some days."""

    move: int = 0

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return its day, by the anonymous Gregorian computus."""
        golden, century = year % 19, year // 100
        epact = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
        moon = epact - epact // 28 * (1 - 29 // (epact + 1) * ((21 - golden) // 11))
        sunday = (year + year // 4 + moon + 2 - century + century // 4) % 7
        from_march = moon - sunday + 28
        return (day(date(year, 3, 1) + timedelta(days=from_march - 1 + self.move)),)


@dataclass(frozen=True, slots=True)
class Either(Rule):
    """One name of several things, the likeliest first."""

    rules: tuple[Rule, ...]

    def in_year(self, year: int) -> tuple[Days, ...]:
        """Return all of them."""
        return tuple(days for rule in self.rules for days in rule.in_year(year))

    def named_in(self, year: int) -> tuple[Days, ...]:
        """Return all of them."""
        return tuple(days for rule in self.rules for days in rule.named_in(year))

    def latest(self, today: date) -> tuple[Days, ...]:
        """Return the last time of each."""
        return tuple(days for rule in self.rules for days in rule.latest(today))

    @property
    def grain(self) -> str:
        """Return the likeliest one's."""
        return self.rules[0].grain

    @property
    def recurring(self) -> tuple[int, int] | int | None:
        """Return the likeliest one's."""
        return self.rules[0].recurring


THIRDS = frozenset({"first", "second", "third"})
_VAGUE = frozenset({"early", "middle", "late", "end"})
_PARTS = {  # of a year, as months; of a month, as days
    "year": {"early": (1, 4), "middle": (5, 9), "late": (10, 13), "end": (11, 13)},
    "month": {
        "early": (1, 11), "middle": (11, 21), "late": (21, 32), "end": (21, 32),
        "first": (1, 11), "second": (11, 21), "third": (21, 32),
    },
}  # fmt: skip


def year_part(part: str) -> Window:
    """Return the early, middle or late months of a year."""
    first, last = _PARTS["year"][part]
    return Window((first, 1), ((last - 1) % _DECEMBER + 1, 1), "range", vague=True)


def part_of(whole: Days, grain: str, part: str) -> Days:
    """Return a part of a month, a year, or anything else by thirds."""
    first, last = whole
    if grain == "month":
        begins, ends = _PARTS["month"][part]
        return Days(first + timedelta(days=begins - 1), min(last, first + timedelta(days=ends - 1)))
    if part in THIRDS:
        raise ValueError(part)  # only a month has them
    if grain == "year":
        return year_part(part).in_year(first.year)[0]
    if grain in {"decade", "century"}:
        span = last.year - first.year
        begins, ends = {"early": (0, 4), "middle": (3, 7)}.get(part, (7, 10))
        return years(first.year + begins * span // 10, first.year + ends * span // 10 - 1)
    length = max((last - first).days // 3, 1)
    begins, ends = {"early": (0, length), "middle": (length, 2 * length)}.get(
        part, (2 * length, (last - first).days)
    )
    return Days(
        first + timedelta(days=begins),
        max(first + timedelta(days=ends), first + timedelta(days=begins + 1)),
    )
