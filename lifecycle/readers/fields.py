"""The fields of one JSON object, taken one by one with their type; what is left is kept."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from typing import Any

from shiyi.core.dates import DayRange, parse_day_range, parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.store.salience import LEVELS, salience_of

_TYPES = {
    bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list",
    dict: "an object",
}  # fmt: skip
_MAX_SALIENCE = 100


class Fields:
    """Takes fields out of an object. null is the same as a field that is not there."""

    def __init__(self, content: dict[str, Any]) -> None:
        """Take fields from a copy of `content`."""
        self._left = dict(content)

    def __contains__(self, name: str) -> bool:
        """Tell whether the field stands there, be it null."""
        return name in self._left

    def take(self, name: str) -> Any:
        """Take a field of any type; None when it is not there."""
        return self._left.pop(name, None)

    def text(self, name: str) -> str | None:
        """Take a text; a blank one is as good as none."""
        value = self.take(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise wrong_type(name, "a text", value)
        return value if value.strip() else None

    def name(self, name: str) -> str | None:
        """Take an identifier: a text or a whole number."""
        value = self.take(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is None:
            return None
        return checked_name(name, value)

    def names(self, name: str) -> tuple[str, ...]:
        """Take a list of identifiers."""
        return tuple(checked_name(name, one) for one in self.list(name))

    def texts(self, name: str) -> tuple[str, ...]:
        """Take a list of texts, without the blank ones."""
        values = self.list(name)
        for one in values:
            if not isinstance(one, str):
                raise wrong_type(name, "a list of texts", one, inside=True)
        return tuple(one for one in values if one.strip())

    def list(self, name: str) -> list[Any]:
        """Take a list; empty when it is not there."""
        value = self.take(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise wrong_type(name, "a list", value)
        return value

    def choice(self, name: str, allowed: Iterable[str], default: str | None = None) -> str:
        """Take one of the `allowed` words."""
        value = self.take(name)
        if value is None and default is not None:
            return default
        if value not in tuple(allowed):
            raise UsageError(f"{name} is one of: {', '.join(allowed)}.")
        return str(value)

    def instant(self, name: str) -> datetime | None:
        """Take a point in time: ISO 8601, or seconds since 1970."""
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise wrong_type(name, "a time", value)
        return parse_timestamp(value)

    def days(self, name: str) -> DayRange | None:
        """Take a date in its short form."""
        value = self.take(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise wrong_type(name, 'a date in quotes, such as "2021-03-05"', value)
        return parse_day_range(value)

    def salience(self, name: str) -> int | None:
        """Take a salience: 0, 1, 2, 3 are levels (passing, related, key, axis), else 0 to 100."""
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
            raise wrong_type(name, "a whole number", value)
        if not 0 <= value <= _MAX_SALIENCE:
            raise UsageError(f"{name} is a level from 0 to 3 or a number up to {_MAX_SALIENCE}.")
        number = int(value)
        return salience_of(number) if number < len(LEVELS) else number

    def span(self, whose: str) -> tuple[int, int] | None:
        """Take start and end, code points, end exclusive; None when neither is there."""
        start, end = self.take("start"), self.take("end")
        if start is None and end is None:
            return None
        for value in (start, end):
            if isinstance(value, bool) or not isinstance(value, int):
                raise UsageError(f"{whose} has both start and end, whole numbers, or neither.")
        if not 0 <= start < end:
            raise UsageError(f"{whose} starts at 0 or later and ends after its start.")
        return start, end

    def rest(self) -> dict[str, Any]:
        """Take everything that is left; the fields of an `attrs` object join it."""
        attrs = self.take("attrs")
        if attrs is None:
            attrs = {}
        if not isinstance(attrs, dict):
            raise wrong_type("attrs", "an object", attrs)
        left, self._left = self._left, {}
        return {**attrs, **left}


def wrong_type(name: str, wanted: str, value: Any, *, inside: bool = False) -> UsageError:
    """Return the error for a value of another type than `wanted`."""
    found = _TYPES.get(type(value), "something else")
    return UsageError(f"{name} is {wanted}, not {'one with ' if inside else ''}{found}.")


def checked_name(field: str, value: Any) -> str:
    """Return an identifier of sensible length."""
    if not isinstance(value, str):
        raise wrong_type(field, "a text", value)
    if not value.strip() or len(value) > MAX_EXTERNAL_ID:
        raise UsageError(f"{field} is a text of 1 to {MAX_EXTERNAL_ID} characters.")
    return value


def short_form(days: DayRange) -> str:
    """Return the date in the one short form that stands for these days."""
    if days.precision == "range":
        return f"{days.start.isoformat()}..{days.end.isoformat()}"
    return days.start.isoformat()[: {"year": 4, "month": 7, "day": 10}[days.precision]]


def midnight(day: date) -> datetime:
    """Return the first instant of a day, in UTC."""
    return datetime.combine(day, time(), UTC)


def written_when(value: Any) -> dict[str, Any]:
    """Return captured_at, and date when only a date is given, for a date as a source writes it.

    Raises UsageError when it is not understood.
    """
    if isinstance(value, str) and ":" not in value:
        days = parse_day_range(value)
        return {"date": short_form(days), "captured_at": midnight(days.start)}
    if isinstance(value, (str, int, float)):
        return {"captured_at": parse_timestamp(value)}
    raise UsageError("A date is a text or a number.")


def plain(value: Any) -> str | None:
    """Return a text with a UTF-8 form; None for what is no text, or blank."""
    if not isinstance(value, str) or not value.strip():
        return None
    return value.encode("utf-8", "replace").decode("utf-8")
