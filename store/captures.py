"""Captures: append-only, found by id; their words are exactly what was given."""

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from shiyi.core.errors import UsageError
from shiyi.core.text import text_sha256
from shiyi.core.wording import LOST_PLACE
from shiyi.store.database import Database, naive, utc
from shiyi.store.rows import Capture, encode_json

Order = Literal["id", "updated", "newest"]

_COLUMNS = (
    "scope, capture_id, text, utf8_sha256, recorded_at, captured_at, speaker, session_id, "
    "turn_id, previous_id, origin, fidelity, source_path, external_id, attrs, utc_offset"
)
_INSERT = f"""
    INSERT INTO captures ({_COLUMNS})
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?),
           unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?)
"""
# By the id alone: with any other condition beside it, DuckDB reads the whole table instead of the
# index. Whose they are is looked at in the rows.
_BY_ID = f"SELECT {_COLUMNS} FROM captures WHERE capture_id = ?"  # noqa: S608
_BY_IDS = f"SELECT {_COLUMNS} FROM captures WHERE capture_id IN (SELECT unnest(?))"  # noqa: S608
_HASHES = """
    SELECT scope, capture_id, utf8_sha256 FROM captures WHERE capture_id IN (SELECT unnest(?))
"""
_ALL = f"SELECT {_COLUMNS} FROM captures WHERE scope = ? ORDER BY capture_id"  # noqa: S608
# What has the smaller keys comes first: the id alone, or the later time.
_PAGE = f"""
    WITH found AS (
        SELECT capture_id,
            CASE $order WHEN 'updated' THEN -epoch_us(recorded_at) ELSE 0 END AS kept,
            CASE $order WHEN 'id' THEN 0 ELSE -epoch_us(coalesce(captured_at, recorded_at)) END
            AS said
        FROM captures WHERE scope = $scope
    ), page AS (
        SELECT found.capture_id, found.kept, found.said FROM found
        LEFT JOIN (SELECT * FROM found WHERE capture_id = $after) AS last ON true
        WHERE $after IS NULL OR CASE $order WHEN 'id' THEN found.capture_id > $after
            ELSE (found.kept, found.said, found.capture_id)
                > (last.kept, last.said, last.capture_id) END
        ORDER BY found.kept, found.said, found.capture_id LIMIT $limit
    )
    SELECT {_COLUMNS} FROM captures JOIN page USING (capture_id) WHERE scope = $scope
    ORDER BY page.kept, page.said, capture_id
"""  # noqa: S608


def insert_captures(
    database: Database,
    scope: str,
    captures: Sequence[Capture],
    fresh: AbstractSet[str] = frozenset(),
) -> dict[str, Capture]:
    """Append the captures whose id is new in the scope and return them by id.

    Ids known to be `fresh` are not looked up. Raises UsageError when a SHA-256 is not that of
    the words.
    """
    first: dict[str, Capture] = {}
    for capture in captures:
        first.setdefault(capture.capture_id, capture)
    known = capture_hashes(database, scope, [name for name in first if name not in fresh])
    new = {name: capture for name, capture in first.items() if name not in known}
    database.insert(_INSERT, [_row(capture) for capture in new.values()])
    return new


def find_captures(database: Database, scope: str, ids: Sequence[str]) -> dict[str, Capture]:
    """Return the captures among `ids` that exist."""
    if len(ids) == 1:
        rows = database.rows(_BY_ID, ids)
    else:
        rows = database.rows(_BY_IDS, [list(ids)]) if ids else []
    return {row[1]: _capture(row) for row in rows if row[0] == scope}


def iterate_captures(database: Database, scope: str) -> Iterator[Capture]:
    """Yield every capture of the scope in id order, in bounded memory."""
    for batch in database.batches(_ALL, [scope]):
        yield from map(_capture, batch)


def page_captures(
    database: Database, scope: str, order: Order, after: str | None, limit: int
) -> list[Capture]:
    """Return up to `limit` captures in `order`; `after` is the id of the last one shown before.

    "updated": what was kept last comes first, of that what was said last; "newest": what was said
    last. Raises UsageError when `after` was purged, but in the order of ids, which needs none.
    """
    values = {"scope": scope, "order": order, "after": after, "limit": limit}
    rows = database.rows(_PAGE, values)
    is_lost = after is not None and order != "id" and not rows
    if is_lost and not find_captures(database, scope, [after or ""]):
        raise UsageError(LOST_PLACE)
    return [_capture(row) for row in rows]


def capture_hashes(database: Database, scope: str, ids: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of the captures among `ids` that exist."""
    rows = database.rows(_HASHES, [list(ids)]) if ids else []
    return {capture_id: sha256 for owner, capture_id, sha256 in rows if owner == scope}


def last_of_session(database: Database, scope: str, session_id: str) -> str | None:
    """Return the id of the newest capture of a session, or None."""
    query = """
        SELECT capture_id FROM captures WHERE scope = ? AND session_id = ?
        ORDER BY rowid DESC LIMIT 1
    """  # rows are only ever appended, so their numbers are in the order of writing
    found = database.rows(query, [scope, session_id])
    return found[0][0] if found else None


def _row(capture: Capture) -> tuple[Any, ...]:
    if capture.utf8_sha256 != text_sha256(capture.text):
        raise UsageError("The SHA-256 of a capture is not that of its words; nothing was changed.")
    return (
        capture.scope, capture.capture_id, capture.text, capture.utf8_sha256,
        naive(capture.recorded_at), naive(capture.captured_at), capture.speaker,
        capture.session_id, capture.turn_id, capture.previous_id, capture.origin,
        capture.fidelity, capture.source_path, capture.external_id, encode_json(capture.attrs),
        _offset(capture.captured_at),
    )  # fmt: skip


def _capture(row: tuple[Any, ...]) -> Capture:
    return Capture(
        scope=row[0], capture_id=row[1], text=row[2], utf8_sha256=row[3],
        recorded_at=utc(row[4]), captured_at=_local(row[5], row[15]), speaker=row[6],
        session_id=row[7], turn_id=row[8], previous_id=row[9], origin=row[10], fidelity=row[11],
        source_path=row[12], external_id=row[13], attrs=json.loads(row[14]),
    )  # fmt: skip


def _offset(moment: datetime | None) -> int | None:
    """Return the minutes by which the clock that told the time was ahead of UTC."""
    ahead = moment.utcoffset() if moment is not None else None
    return None if ahead is None else int(ahead.total_seconds()) // 60


def _local(moment: datetime | None, offset: int | None) -> datetime | None:
    """Return a time as the clock of its place told it: a day is a day where it was lived."""
    if moment is None:
        return None
    return utc(moment).astimezone(timezone(timedelta(minutes=offset or 0)))
