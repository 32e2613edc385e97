"""A window: the days, or the phase, that somebody wants to look at.

A record fits `certain` when it must have been then, and `possible` when its date is wider than the
window: one dated "2024" may have been in May 2024. A range says that something lasted, so a range
that meets the window was certainly going on in it.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import UsageError
from shiyi.indexer.fold import fold
from shiyi.retrieval.asof import Mask, Standing, day_of, days_of
from shiyi.retrieval.when import read_times
from shiyi.store import Record
from shiyi.store.kinds import DATE_PRECISIONS
from shiyi.store.rolls import NO_DAY

Fit = Literal["certain", "possible"]
NONE, POSSIBLE, CERTAIN = 0, 1, 2
_RANGE = DATE_PRECISIONS.index("range")
_EVER = (-(2**31) + 1, 2**31 - 1)
_FORMS = (
    "A window is written as 2025-03, 2025-03:2025-08, 2025-03: or :2024, or is the name of a phase."
)
_BACKWARDS = "A window cannot end before it starts; swap its two ends."


@dataclass(frozen=True, slots=True)
class Window:
    """Inclusive days, each side open when None; or a phase, and then the days that it covers."""

    first: date | None
    last: date | None
    phase: str | None = None

    def fit(self, record: Record) -> Fit | None:
        """Tell how a record fits, or None when it does not."""
        if record.phase is not None and self.phase is not None:
            return "certain" if same_name(record.phase, self.phase) else None
        if record.date_start is None:
            return None
        first, last = days_of(record.date_start), days_of(record.date_end or record.date_start)
        precision = DATE_PRECISIONS.index(record.date_precision)
        code = int(self._fits(np.array([first]), np.array([last]), np.array([precision]))[0])
        return name_of_fit(code)

    def fits(self, standing: Standing) -> NDArray[np.int8]:
        """Return for every record NONE, POSSIBLE or CERTAIN."""
        found = self._fits(standing["first"], standing["last"], standing["date_precision"])
        if self.phase is None:
            return found
        phases = standing["phase"]
        named = [key for key, name in standing.phase_names.items() if same_name(name, self.phase)]
        own = np.isin(phases, np.array(named, np.uint64))
        return np.where(own, CERTAIN, np.where(phases == 0, found, NONE)).astype(np.int8)

    def _fits(self, first: Any, last: Any, precision: Any) -> NDArray[np.int8]:
        begins = _EVER[0] if self.first is None else days_of(self.first)
        ends = _EVER[1] if self.last is None else days_of(self.last)
        meets = (first != NO_DAY) & (last >= begins) & (first <= ends)
        within = (first >= begins) & (last <= ends) | (precision == _RANGE)
        if self.phase is not None:  # without the phase's name it may have been something else
            within = np.zeros_like(meets)
        return np.where(meets, np.where(within, CERTAIN, POSSIBLE), NONE).astype(np.int8)


def name_of_fit(code: int) -> Fit | None:
    """Return how a code is shown."""
    return {CERTAIN: "certain", POSSIBLE: "possible"}.get(code)  # type: ignore[return-value]


def parse_window(text: str, standing: Standing, now: datetime) -> Window:
    """Return what a window means: a phase of the scope, days, or time words such as 去年三月.

    Raises UsageError with one sentence for anything else, and when it ends before it starts.
    """
    wanted = text.strip()
    phase = next((name for name in standing.phase_names.values() if same_name(name, wanted)), None)
    if phase is not None:
        return _of_phase(phase, standing)
    if wanted.count(":") == 1 and wanted != ":":
        left, right = (part.strip() for part in wanted.split(":"))
        first = parse_day_range(left).start if left else None
        last = parse_day_range(right).end if right else None
        if first and last and last < first:
            raise UsageError(_BACKWARDS)
        return Window(first, last)
    try:
        days = parse_day_range(wanted)
    except UsageError:
        if wanted[:1].isdigit() and wanted.isascii():  # a date that is written wrongly
            raise
        return _of_words(wanted, now)
    return Window(days.start, days.end)


def _of_phase(phase: str, standing: Standing) -> Window:
    """Return the phase with the days between its first and its last dated record."""
    keys = [key for key, name in standing.phase_names.items() if same_name(name, phase)]
    inside = np.isin(standing["phase"], np.array(keys, np.uint64)) & standing.dated()
    if not inside.any():
        return Window(date.max, date.max, phase)
    first, last = int(standing["first"][inside].min()), int(standing["last"][inside].max())
    return Window(day_of(first), day_of(last), phase)


def _of_words(text: str, now: datetime) -> Window:
    for reading in read_times(text, now):
        if (reading.start, reading.end) == (0, len(text)):
            first, last = reading.intervals[0]
            return Window(first, None if last is None else last - timedelta(days=1))
    raise UsageError(_FORMS)


def same_name(one: str, other: str) -> bool:
    """Tell whether two names are the same in either script and case."""
    return fold(one).strip() == fold(other).strip()


def narrowed(among: Mask, window: Window | None, standing: Standing) -> Mask:
    """Return which of the records `among` fit a window; all of them without one."""
    if window is None:
        return among
    fitting: Mask = among & (window.fits(standing) > NONE)
    return fitting
