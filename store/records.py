"""Records: append-only versions; the head of a record is its highest version."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from shiyi.store.database import Database, naive, utc
from shiyi.store.rows import Record, encode_json

_COLUMNS = (
    "scope, record_id, version, kind, layer, status, title, gist, detail, topics, aliases, "
    "salience, salience_source, date_start, date_end, date_precision, date_basis, phase, "
    "created_at, updated_at, expires_at, confidence, sensitivity, reason, external_id, attrs"
)
_INSERT = f"""
    INSERT INTO records ({_COLUMNS})
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?),
           unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?),
           unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?),
           unnest(?), unnest(?)
"""
_VERSIONS = f"""
    SELECT {_COLUMNS} FROM records WHERE scope = ? AND record_id = ? ORDER BY version
"""  # noqa: S608
_HEADS = f"""
    SELECT {_COLUMNS} FROM records WHERE scope = ?
    QUALIFY version = max(version) OVER (PARTITION BY record_id) ORDER BY record_id
"""  # noqa: S608
_VERSIONS_OF = f"""
    SELECT {_COLUMNS} FROM records WHERE scope = ? AND record_id IN (SELECT unnest(?))
    ORDER BY record_id, version
"""  # noqa: S608


def insert_records(database: Database, records: Sequence[Record]) -> None:
    """Append versions.

    Raises ConflictError when a version is already there.
    """
    database.insert(_INSERT, [_row(record) for record in records])


def record_versions(database: Database, scope: str, record_id: str) -> list[Record]:
    """Return every version of a record, oldest first; empty when there is none."""
    return [_record(row) for row in database.rows(_VERSIONS, [scope, record_id])]


def versions_of_records(
    database: Database, scope: str, ids: Sequence[str]
) -> dict[str, list[Record]]:
    """Return the versions, oldest first, of the records among `ids` that exist."""
    found: dict[str, list[Record]] = {}
    if ids:
        for row in database.rows(_VERSIONS_OF, [scope, list(ids)]):
            found.setdefault(row[1], []).append(_record(row))
    return found


def iterate_heads(database: Database, scope: str) -> Iterator[Record]:
    """Yield the head of every record of the scope in id order."""
    for batch in database.batches(_HEADS, [scope]):
        yield from map(_record, batch)


def _row(record: Record) -> tuple[Any, ...]:
    return (
        record.scope, record.record_id, record.version, record.kind, record.layer, record.status,
        record.title, record.gist, record.detail, list(record.topics), list(record.aliases),
        record.salience, record.salience_source, record.date_start, record.date_end,
        record.date_precision, record.date_basis, record.phase, naive(record.created_at),
        naive(record.updated_at), naive(record.expires_at), record.confidence,
        record.sensitivity, record.reason, record.external_id, encode_json(record.attrs),
    )  # fmt: skip


def _record(row: tuple[Any, ...]) -> Record:
    return Record(
        scope=row[0], record_id=row[1], version=row[2], kind=row[3], layer=row[4], status=row[5],
        title=row[6], gist=row[7], detail=row[8], topics=tuple(row[9]), aliases=tuple(row[10]),
        salience=row[11], salience_source=row[12], date_start=row[13], date_end=row[14],
        date_precision=row[15], date_basis=row[16], phase=row[17],
        created_at=utc(row[18]), updated_at=utc(row[19]), expires_at=row[20] and utc(row[20]),
        confidence=row[21], sensitivity=row[22], reason=row[23],
        external_id=row[24], attrs=json.loads(row[25]),
    )  # fmt: skip
