"""Dates as people and programs write them: a day, a month, a year, a range, or an instant.

Only written-out forms are read here; "last spring" is the business of retrieval. Nothing is
guessed: a date that does not exist is refused, and so is any form that has two readings.
"""

import calendar
import math
import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import NamedTuple

from shiyi.core.errors import UsageError

_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_SEPARATORS = re.compile(r"(?<=[0-9])[/.](?=[0-9])")
_INSTANT = re.compile(
    r"""([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})
        (?:\s*\([A-Za-z]{2,9}\))?                               # 2023/05/20 (Sat) 02:21
        (?:(?:[Tt]|\s+)([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?
           \s*([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?""",
    re.VERBOSE,
)
_MILLISECONDS_FROM = 1e11  # as seconds this would be the year 5138
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMS = "2021, 2021-03, 2021-03-05 or 2021-03-05..2021-04"
_MAX_LENGTH = 64


class DayRange(NamedTuple):
    """The inclusive days that a written date covers, and how precise it is."""

    start: date
    end: date
    precision: str


def parse_day_range(text: str) -> DayRange:
    """Return the days meant by `2021`, `2021-03`, `2021-03-05` or `2021-03-05..2021-04`.

    The precision is year, month, day or range. Slashes and dots may stand for the hyphens.
    Raises UsageError for another form, for a date that does not exist, and for a range that ends
    before it starts.
    """
    if len(text) > _MAX_LENGTH:
        raise UsageError(f"A date is written as {_FORMS}.")
    first, dots, last = text.partition("..")
    start = _one_date(first)
    if not dots:
        return start
    end = _one_date(last)
    if end.end < start.start:
        raise UsageError("A range of dates cannot end before it starts; swap its two ends.")
    return DayRange(start.start, end.end, "range")


def parse_timestamp(value: str | float) -> datetime:
    """Return the aware instant meant by an ISO 8601 text or by seconds since 1970.

    A text keeps its offset; without one it is read as UTC, and without a time of day as midnight.
    A number from 100,000,000,000 on is read as milliseconds.
    Raises UsageError for another form, for a time that does not exist, and for a number that is
    not finite or lies outside the years 1 to 9999.
    """
    if isinstance(value, str):
        return _instant_of_text(value)
    return _instant_of_number(value)


def _one_date(text: str) -> DayRange:
    found = _DAY.fullmatch(_SEPARATORS.sub("-", text.strip()))
    if found is None:
        raise UsageError(f"A date is written as {_FORMS}.")
    year, month, day = (None if part is None else int(part) for part in found.groups())
    assert year is not None
    if day is not None and month is not None:
        only = _existing_day(year, month, day)
        return DayRange(only, only, "day")
    if month is not None:
        first = _existing_day(year, month, 1)
        return DayRange(first, first.replace(day=calendar.monthrange(year, month)[1]), "month")
    return DayRange(_existing_day(year, 1, 1), date(year, 12, 31), "year")


def _existing_day(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise UsageError(
            f"There is no such date as {year:04}-{month:02}-{day:02}; correct it."
        ) from None


def _instant_of_text(text: str) -> datetime:
    found = _INSTANT.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if found is None:
        raise UsageError("A time is written as 2021-03-05T14:30:00+08:00, 2021-03-05T06:30:00Z "
                         "or 2021-03-05, or as seconds since 1970.")  # fmt: skip
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    microsecond = int((found[7] or "0").ljust(6, "0")[:6])
    _existing_day(year, month, day)
    try:
        instant = datetime(
            year, month, day, hour, minute, second, microsecond, tzinfo=_offset(found[8])
        )
        instant.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            "There is no such time of day or offset; hours go from 00 to 23, minutes and seconds "
            "from 00 to 59, and the instant lies in the years 1 to 9999."
        ) from None
    return instant


def _offset(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[2:])
    if minutes >= 60:  # noqa: PLR2004 - minutes of an hour
        raise ValueError(text)
    distance = timedelta(hours=int(digits[:2]), minutes=minutes)
    return timezone(-distance if text[0] == "-" else distance)


def _instant_of_number(value: float) -> datetime:
    try:
        if not isinstance(value, bool) and math.isfinite(value):
            seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
            return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise UsageError("A time given as a number lies in the years 1 to 9999.") from None
    raise UsageError("A time given as a number is finite seconds since 1970.")
