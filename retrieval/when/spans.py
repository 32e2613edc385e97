"""Days, weeks, months and years as half-open intervals."""

from calendar import monthrange
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = 12
_LAST_YEAR = 9998  # so that the end of a year is still a date


class Interval(NamedTuple):
    """Days from `first` up to, and without, `last`; None is an open side."""

    first: date | None
    last: date | None


class Days(NamedTuple):
    """Days from `first` up to, and without, `last`."""

    first: date
    last: date


def day(when: date) -> Days:
    """Return that one day."""
    return Days(when, when + timedelta(days=1))


def week(when: date, back: int = 0) -> Days:
    """Return the week from Monday that holds `when`, or the one `back` weeks before it."""
    monday = when - timedelta(days=when.weekday() + 7 * back)
    return Days(monday, monday + timedelta(days=7))


def month(year: int, number: int) -> Days:
    """Return that month; numbers beyond 1 to 12 lie in the years around."""
    first = month_start(year, number)
    return Days(first, month_start(first.year, first.month + 1))


def month_start(year: int, number: int) -> date:
    """Return the first day of a month; numbers beyond 1 to 12 lie in the years around."""
    years, index = divmod(number - 1, _MONTHS)
    return date(year + years, index + 1, 1)


def years(first: int, last: int) -> Days:
    """Return the days from the year `first` to the year `last`, both included."""
    if last > _LAST_YEAR:
        raise ValueError(last)
    return Days(date(first, 1, 1), date(last + 1, 1, 1))


def months_back(when: date, count: int) -> date:
    """Return the same day `count` months before, or that month's last day."""
    first = month_start(when.year, when.month - count)
    return first.replace(day=min(when.day, monthrange(first.year, first.month)[1]))


def back(when: date, unit: str, count: int) -> date:
    """Return the day `count` units before `when`."""
    if unit == "day":
        return when - timedelta(days=count)
    if unit == "week":
        return when - timedelta(weeks=count)
    return months_back(when, count * (_MONTHS if unit == "year" else 1))


def unit_back(when: date, unit: str, count: int) -> Days:
    """Return the whole unit (day, week, month, year) that lies `count` units before `when`."""
    if unit == "day":
        return day(back(when, unit, count))
    if unit == "week":
        return week(when, count)
    if unit == "month":
        return month(when.year, when.month - count)
    return years(when.year - count, when.year - count)
