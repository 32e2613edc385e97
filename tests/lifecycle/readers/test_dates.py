"""Dates as they are written: what each form covers, and what is refused."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.dates import parse_day_range, parse_timestamp
from shiyi.core.errors import UsageError


@pytest.mark.parametrize(
    ("written", "start", "end", "precision"),
    [
        ("2021", date(2021, 1, 1), date(2021, 12, 31), "year"),
        ("2020-02", date(2020, 2, 1), date(2020, 2, 29), "month"),
        ("2021-03-05", date(2021, 3, 5), date(2021, 3, 5), "day"),
        ("2021/3/5", date(2021, 3, 5), date(2021, 3, 5), "day"),
        (" 2021.03 ", date(2021, 3, 1), date(2021, 3, 31), "month"),
        ("2021-03-05..2021-04", date(2021, 3, 5), date(2021, 4, 30), "range"),
        ("2021..2021", date(2021, 1, 1), date(2021, 12, 31), "range"),
        ("0001-01-01", date(1, 1, 1), date(1, 1, 1), "day"),
        ("9999", date(9999, 1, 1), date(9999, 12, 31), "year"),
    ],
)
def test_a_short_form_covers_its_days(written: str, start: date, end: date, precision: str) -> None:
    """A year, a month, a day or a range becomes inclusive days."""
    assert (start, end, precision) == parse_day_range(written)


@pytest.mark.parametrize(
    "written",
    ["2021-02-30", "2021-13", "2021-00", "0000", "2023-02-29", "", "..", "2021..", "..2021",
     "2021-04..2021-03", "last spring", "3/5/2021", "21-03-05", "２０２１", "2021-03-05T10:00",
     "2021-03-05..2021-03-06..2021-03-07", "9" * 100],
)  # fmt: skip
def test_a_date_that_does_not_exist_is_refused(written: str) -> None:
    """Nothing is guessed and nothing is moved to the nearest day."""
    with pytest.raises(UsageError, match=r"\w.*[.;]"):
        parse_day_range(written)


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2021-03-05T14:30:00+08:00", "2021-03-05T06:30:00+00:00"),
        ("2021-03-05T14:30:00+0800", "2021-03-05T06:30:00+00:00"),
        ("2021-03-05 14:30", "2021-03-05T14:30:00+00:00"),
        ("2021-03-05", "2021-03-05T00:00:00+00:00"),
        ("2021-03-05T14:30:00.123456789Z", "2021-03-05T14:30:00.123456+00:00"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00+00:00"),
        (1767225601, "2026-01-01T00:00:01+00:00"),
        (1767225600.5, "2026-01-01T00:00:00.500000+00:00"),
        (1767225600500, "2026-01-01T00:00:00.500000+00:00"),
        (-1, "1969-12-31T23:59:59+00:00"),
    ],
)
def test_an_instant_is_read_from_text_and_numbers(written: str | float, instant: str) -> None:
    """ISO 8601, seconds and milliseconds name the same instants."""
    assert parse_timestamp(written).astimezone(UTC).isoformat() == instant


def test_an_instant_keeps_its_offset() -> None:
    """The local day of a message is not lost in UTC."""
    read = parse_timestamp("2021-03-05T06:00:00+08:00")

    assert read.utcoffset() == timedelta(hours=8)
    assert read.date() == date(2021, 3, 5)


@pytest.mark.parametrize(
    "written",
    ["2021-02-30T10:00", "2021-03-05T24:00", "2021-03-05T10:60", "2021-03-05T10:00:60",
     "2021-03-05T10:00+25:00", "2021-03-05T10:00+08:99", "0001-01-01T00:00+14:00", "noon", "",
     "2021-03", float("nan"), float("inf"), 1e300, -1e300, 10**400, True, "1767225601"],
)  # fmt: skip
def test_an_instant_that_does_not_exist_is_refused(written: str | float) -> None:
    """A time outside the clock, the calendar or the years 1 to 9999 is an error, not a guess."""
    with pytest.raises(UsageError):
        parse_timestamp(written)


@given(st.datetimes(), st.integers(-14 * 60, 14 * 60))
def test_what_python_writes_is_read_back(moment: datetime, minutes: int) -> None:
    """Every instant within the calendar survives being written and read."""
    hours, rest = divmod(abs(minutes), 60)
    written = f"{moment.isoformat()}{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"

    try:
        read = parse_timestamp(written)
    except UsageError:
        assert moment.year in (1, 9999)
    else:
        assert read.replace(tzinfo=None) == moment


@given(st.text(max_size=40) | st.from_regex(r"[0-9]{4}([-/.][0-9]{1,2}){0,2}"))
def test_any_text_is_a_range_of_days_or_an_error(written: str) -> None:
    """No text does anything else than name days in order or be refused."""
    try:
        days = parse_day_range(written)
    except UsageError:
        return

    assert all(first <= second for first, second in pairwise(days[:2]))
