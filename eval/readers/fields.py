"""The fields of an object in a labelled set, each with its type; anything else is refused."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from itertools import pairwise
from typing import Any, TypeVar

from shiyi.core.dates import parse_day_range, parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.eval.dataset import Document, View

_END_OF_DAY = time(23, 59, 59)
_Words = TypeVar("_Words", bound=str | None)
_PLURALS: dict[type, str] = {str: "texts", dict: "objects", list: "lists"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a reader found: a Dataset without its name, licence and digest."""

    documents: tuple[Document, ...]
    views: tuple[View, ...]
    archive: bool = False
    notes: tuple[str, ...] = field(default=())


def text_of(content: dict[str, Any], name: str, place: str) -> str:
    """Return a field that holds a text with something in it."""
    value = content.get(name)
    if value is None:
        raise UsageError(f"{place}: There is no {name}.")
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{place}: {name} is a text that is not empty.")
    return value


def id_of(content: dict[str, Any], name: str, place: str) -> str:
    """Return a field that holds an id: a text or a whole number."""
    value = content.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(content, name, place)


def optional_id(content: dict[str, Any], name: str, place: str) -> str | None:
    """Return a field that holds an id, or nothing."""
    return None if content.get(name) is None else id_of(content, name, place)


def number_of(content: dict[str, Any], name: str, place: str) -> float | None:
    """Return a field that holds a number, or nothing."""
    value = content.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise UsageError(f"{place}: {name} is a number.")
    return value


def object_of(content: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    """Return a field that holds an object; an empty one when it is not there."""
    value = content.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{place}: {name} is an object.")
    return value


def list_of(content: dict[str, Any], name: str, kind: type, place: str) -> list[Any]:
    """Return a field that holds a list of one type; an empty one when it is not there."""
    value = content.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
        raise UsageError(f"{place}: {name} is a list of {_PLURALS[kind]}.")
    return value


def words_of(content: dict[str, Any], *names: str) -> str | None:
    """Return the first of these fields that says something, as text."""
    for name in names:
        value = content.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            words = str(value).strip()
            if words:
                return words
    return None


def short(value: _Words, name: str, place: str) -> _Words:
    """Return what the memory takes as a name; raises UsageError when it is too long for one."""
    if value is not None and len(value) > MAX_EXTERNAL_ID:
        raise UsageError(f"{place}: {name} has over {MAX_EXTERNAL_ID} characters.")
    return value


def end_of(written: str | None) -> datetime | None:
    """Return the instant that a written date ends: a day at its last second in UTC.

    A date in words that are not understood is as good as none.
    """
    if written is None:
        return None
    try:
        return datetime.combine(parse_day_range(written).end, _END_OF_DAY, UTC)
    except UsageError:
        pass
    try:
        return parse_timestamp(written).astimezone(UTC)
    except UsageError:
        return None


def linked(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return the documents, each with the one before it in its session.

    Only a session whose order grows strictly is a dialogue.
    """
    kept = list(documents)
    sessions: dict[tuple[str | None, str], list[int]] = {}
    for number, document in enumerate(kept):
        if document.session is not None:
            sessions.setdefault((document.scope, document.session), []).append(number)
    for numbers in sessions.values():
        orders = [kept[number].order for number in numbers]
        if _grows(orders):
            for before, number in pairwise(numbers):
                kept[number] = replace(kept[number], previous=kept[before].id)
    return tuple(kept)


def _grows(orders: list[float | None]) -> bool:
    known = [order for order in orders if order is not None]
    return len(known) == len(orders) and all(first < second for first, second in pairwise(known))
