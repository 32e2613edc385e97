"""What a time word means."""

from dataclasses import dataclass, field
from datetime import date, timedelta

from shiyi.retrieval.when.rules import Rule
from shiyi.retrieval.when.spans import Interval

_ALTERNATIVE = 0.5
_OVERLAP = 0.5
_LAST_YEAR = 9998  # what starts in it ends in one that there is
_WIDEST = 3  # years; about a longer document "in some May" says nothing


@dataclass(frozen=True, slots=True)
class Reading:
    """A span of the text and the days that it may mean.

    Attributes:
        start, end: the span, in code points of the original text.
        text: that span.
        intervals: alternatives, best first; half-open, and None is an open side.
        grain: day, week, month, season, quarter, half, year, decade, century, or range.
        certain: one interval, whose ends are meant exactly.
        recurring: (month, day) or month when the words name no year.

    """

    start: int
    end: int
    text: str
    intervals: tuple[Interval, ...]
    grain: str
    certain: bool
    recurring: tuple[int, int] | int | None = None
    again: Rule | None = field(default=None, repr=False, compare=False)

    def covers(self, first: date, last: date) -> float:
        """Return how well a document of the days `first` to `last`, both included, fits.

        1.0 inside the best interval; 0.5 inside an alternative, or inside the same days of another
        year when no year was named; half of that where the document only overlaps, as one dated
        2024 does with 2024-05; else 0.0.
        """
        best, *others = self.intervals
        alternatives = [
            _fit(one, first, last) for one in (*others, *self._other_years(first, last))
        ]
        return max(_fit(best, first, last), _ALTERNATIVE * max(alternatives, default=0.0))

    def states(self, first: date, last: date) -> bool:
        """Tell whether the words say as much as that: one reading lies inside these days."""
        after = last + timedelta(days=1) if last < date.max else date.max
        return any(
            (one.first is None or first <= one.first) and (one.last is None or one.last <= after)
            for one in (*self.intervals, *self._other_years(first, last))
            if _fit(one, first, last)
        )

    def _other_years(self, first: date, last: date) -> list[Interval]:
        if self.again is None or last.year - first.year > _WIDEST:
            return []
        return [
            Interval(*days)
            for year in range(max(first.year - 1, 1), min(last.year, _LAST_YEAR) + 1)
            for days in self.again.in_year(year)
        ]


def _fit(interval: Interval, first: date, last: date) -> float:
    begins, ends = interval.first or date.min, interval.last or date.max
    if last < begins or first >= ends:
        return 0.0
    return 1.0 if begins <= first and last < ends else _OVERLAP
