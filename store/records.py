"""Records: append-only versions; the head of a record is its highest version."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from shiyi.store.database import Database, naive, utc
from shiyi.store.rows import Change, Record, encode_json

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
_HEADS = f"""
    SELECT {_COLUMNS} FROM records WHERE scope = ?
    QUALIFY version = max(version) OVER (PARTITION BY record_id) ORDER BY record_id
"""  # noqa: S608
_VERSIONS_OF = f"""
    SELECT {_COLUMNS} FROM records WHERE scope = ? AND record_id IN (SELECT unnest(?))
    ORDER BY record_id, version
"""  # noqa: S608
# By the id alone: with any other condition beside it, DuckDB does not go by the index.
_VERSIONS_OF_ONE = f"SELECT {_COLUMNS} FROM records WHERE record_id = ?"  # noqa: S608
_REMEMBERED = 256  # records
_ONE_BY_ONE = 4  # ids; one look-up each takes less than one query for all


def insert_records(database: Database, records: Sequence[Record]) -> None:
    """Append versions.

    Raises ConflictError when a version is already there.
    """
    database.insert(_INSERT, [_row(record) for record in records])


def versions_of_records(
    database: Database, scope: str, ids: Sequence[str]
) -> dict[str, list[Record]]:
    """Return the versions, oldest first, of the records among `ids` that exist."""
    found: dict[str, list[Record]] = {}
    if len(ids) <= _ONE_BY_ONE:
        for id_ in sorted(set(ids)):
            own = [row for row in database.rows(_VERSIONS_OF_ONE, [id_]) if row[0] == scope]
            if own:
                found[id_] = sorted(map(_record, own), key=lambda record: record.version)
        return found
    for row in database.rows(_VERSIONS_OF, [scope, list(ids)]):
        found.setdefault(row[1], []).append(_record(row))
    return found


class Versions:
    """Reads versions of records, and remembers the last it read until something is written there.

    After a write the index, the maps and the answer all ask for the same few.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[tuple[str, str], list[Record]] = {}

    def of(self, scope: str, ids: Sequence[str]) -> dict[str, list[Record]]:
        """Return the versions, oldest first, of the records among `ids` that exist, by id."""
        if self._database.is_writing:  # what is read may never be committed
            return versions_of_records(self._database, scope, ids)
        with self._database.lock:
            known = {id_: own for id_ in ids if (own := self._known.get((scope, id_))) is not None}
            found = versions_of_records(self._database, scope, [i for i in ids if i not in known])
            if len(found) <= _REMEMBERED:
                if len(self._known) + len(found) > _REMEMBERED:
                    self._known.clear()
                self._known |= {(scope, id_): own for id_, own in found.items()}
        both = known | found
        return {id_: list(both[id_]) for id_ in sorted(both)}

    def forget(self, changes: Sequence[Change] | None = None) -> None:
        """Forget the records that changed, and all when that is not known or some were purged."""
        for change in changes or ():
            self._known.pop((change.scope, change.id), None)
        if changes is None or any(change.what == "purge" for change in changes):
            self._known.clear()


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
