"""What a record is made of, and what it must be whole."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import ConflictError, NotFoundError, UsageError
from shiyi.core.text import check_text, visible
from shiyi.lifecycle.names import record_id_of
from shiyi.lifecycle.recalled import refuse_recalled
from shiyi.store import Record, Store, Transaction, encode_json
from shiyi.store.kinds import FOOTPRINT
from shiyi.store.salience import level_of, salience_of
from shiyi.store.shapes import check_attrs, with_ids

MAX_STATEMENT = 8192  # bytes of a statement; longer words are kept, but as words only
MOST_OF_FOOTPRINT = 1  # the level of salience
MAX_ATTRS = 65_536  # bytes of attrs, as JSON
_TITLE = 40  # characters of a title made from the words
_CLAUSE = re.compile(r"[。！？!?…\n；;，,]|\.\s")
_CLEARABLE = frozenset({"detail", "phase"})
_DATE = ("date", "date_precision", "date_basis")
_READ_APART = frozenset({*_DATE, "salience", "level"})
LOOSE = frozenset({"phase", "relative"})  # how a date may be known less exactly than written
_NO_DATE: dict[str, Any] = {
    "date_start": None, "date_end": None, "date_precision": "unknown", "date_basis": "unknown",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What somebody said, and nothing that recall showed.

    session puts it after the newest words of that session.
    """

    text: str
    speaker: str = "user"
    session: str | None = None
    turn: str | None = None
    said_at: str | None = None
    origin: str = "conversation"

    def __post_init__(self) -> None:
        """Raise UsageError for what recall showed."""
        refuse_recalled(self.text)


def new_record(
    scope: str, columns: Mapping[str, Any], transaction: Transaction, *, whole: bool = False
) -> Record:
    """Return the first version of a record; with `whole`, one that has all that its kind needs.

    Raises UsageError when its attrs do not fit its kind, or when it is too long.
    """
    given = {name: one for name, one in columns.get("attrs", {}).items() if one is not None}
    attrs = own_attrs(scope, columns["kind"], given, whole=whole)
    record = Record(
        **{"layer": "core", **columns, "attrs": attrs},
        scope=scope,
        record_id=transaction.new_id(),
        version=1,
        created_at=transaction.now,
        updated_at=transaction.now,
    )
    check_whole(record)
    return record


def own_attrs(
    scope: str, kind: str, attrs: Mapping[str, Any], *, whole: bool = False
) -> dict[str, Any]:
    """Return attrs that fit the kind, with records named by their ids; raises UsageError."""
    check_attrs(kind, attrs, whole=whole)
    return with_ids(kind, attrs, lambda name: record_id_of(scope, name))


def record_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what a person gave into columns: lists to tuples, a date to days, blanks to nothing."""
    columns = {**_date_columns(fields), **_salience_columns(fields)}
    for name, value in fields.items():
        if value is None or name in _READ_APART:
            continue
        if name in _CLEARABLE and not value.strip():
            columns[name] = None
        elif name in {"topics", "aliases"}:
            columns[name] = tuple(check_text(one, name) for one in value)
        elif isinstance(value, str):
            refuse_recalled(value)
            columns[name] = check_text(value, name)
        else:
            columns[name] = value
    return columns


def _salience_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    level, salience = fields.get("level"), fields.get("salience")
    if level is None and salience is None:
        return {}
    if level is not None and salience is not None:
        raise UsageError("Give level, 0 to 3, or salience, 0 to 100; not both.")
    number = salience if level is None else salience_of(level)
    return {"salience": number, "salience_source": "stated"}


def _date_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    text, precision, basis = (fields.get(name) for name in _DATE)
    if not (text and text.strip()) and (precision or basis):
        raise UsageError("date-precision and date-basis belong to a date; give the date.")
    if text is None:
        return {}
    return _dated(text, precision, basis) if text.strip() else _NO_DATE


def _dated(text: str, precision: str | None, basis: str | None) -> dict[str, Any]:
    """Return the columns of a date, as precise as it is written or, when asked, less."""
    start, end, written = parse_day_range(text)
    if precision not in {None, written, *LOOSE}:
        raise UsageError(
            f"The date is written as a {written}, so its precision is {written}, or phase or "
            "relative when it is known less exactly; write the date as exactly as it is known."
        )
    return {
        "date_start": start, "date_end": end, "date_precision": precision or written,
        "date_basis": basis or "stated",
    }  # fmt: skip


def check_whole(record: Record) -> None:
    """Raise UsageError for a record that is too long or weighty, or whose dates cannot be."""
    _check_size(record)
    _check_recalled(record)
    if record.attrs.get(FOOTPRINT) and level_of(record.salience) > MOST_OF_FOOTPRINT:
        raise UsageError(
            f"A footprint has at most level {MOST_OF_FOOTPRINT}; what matters more is a record of "
            "its own."
        )


def _check_recalled(record: Record) -> None:
    """Raise UsageError when something was told again before it happened."""
    recalled = record.attrs.get("recalled")
    if record.date_start is None or not isinstance(recalled, str):
        return
    if parse_day_range(recalled).end < record.date_start:
        raise UsageError("recalled lies before the date of what happened; correct one of them.")


def _check_size(record: Record) -> None:
    if len(encode_json(record.attrs).encode()) > MAX_ATTRS:
        raise UsageError(f"The attrs are longer than {MAX_ATTRS} bytes of JSON; keep them short.")
    size = sum(len((text or "").encode()) for text in (record.title, record.gist, record.detail))
    if size > MAX_STATEMENT:
        raise UsageError(
            f"The statement has {size} bytes; a record holds at most {MAX_STATEMENT}. Say it "
            "shorter; the words themselves can be of any length."
        )


def check_match(head: Record, if_match: str | None) -> None:
    """Raise ConflictError when `if_match` is given and is not the etag of the newest version."""
    if if_match is not None and if_match != head.etag:
        raise ConflictError(
            f"The record is at etag {head.etag} now, not at the one given; read it again "
            "with `shiyi show` and repeat the change. Nothing was changed."
        )


def head_of(store: Store, scope: str, reference: str) -> Record:
    """Return the newest version of a record, by its id or its source's name for it.

    Raises NotFoundError, which names it as it was given.
    """
    versions = store.versions(scope, record_id_of(scope, reference))
    if not versions:
        raise NotFoundError(f"There is no record {visible(reference)} in the scope {scope}.")
    return versions[-1]


def title_of(text: str) -> str:
    """Return the first clause of a text, cut to a title's length."""
    stripped = text.strip()
    first = _CLAUSE.split(stripped, maxsplit=1)[0].strip() or stripped
    return first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…"
