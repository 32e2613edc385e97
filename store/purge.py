"""Purge: rows that go for good. A tombstone says that there was something, never what.

What is deleted still lies in the file until `Database.rebuild` has copied the rest into another.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shiyi.store import unlink
from shiyi.store.database import Database, naive
from shiyi.store.quoting import quoted

# What goes with an id. A result may name it, and the hash beside it is that of the words.
_DELETIONS = (
    "DELETE FROM captures WHERE scope = $scope AND list_contains($ids, capture_id)",
    "DELETE FROM records WHERE scope = $scope AND list_contains($ids, record_id)",
    "DELETE FROM attachments WHERE scope = $scope AND list_contains($ids, attachment_id)",
    # The step of a transcription stays with it, whatever became of what it was read from.
    """
    DELETE FROM ledger WHERE scope = $scope AND (
        list_contains($ids, capture_id)
        OR (capture_id IS NULL AND list_contains($ids, attachment_id))
    )
    """,
    # Why no record was needed is told in words about the records that were found.
    """
    UPDATE ledger SET reason = $instead
    WHERE scope = $scope AND reason IS NOT NULL AND list_has_any(records, $ids)
    """,
    "DELETE FROM corrected WHERE scope = $scope AND list_contains($ids, record_id)",
    """
    DELETE FROM feedback
    WHERE scope = $scope AND (list_contains($ids, target_id) OR list_contains($ids, capture_id))
    """,
    """
    DELETE FROM idempotency WHERE scope = $scope
        AND len(list_filter($named, lambda name: contains(result, name))) > 0
    """,
    # A reason that rests on the words is told in words about them.
    """
    UPDATE links SET attrs = '{}'
    WHERE scope = $scope AND len(list_filter($ids, lambda id: contains(attrs, id))) > 0
    """,
    """
    UPDATE unlinked SET attrs = '{}'
    WHERE scope = $scope AND len(list_filter($ids, lambda id: contains(attrs, id))) > 0
    """,
    """
    DELETE FROM unlinked
    WHERE scope = $scope AND (list_contains($ids, src) OR list_contains($ids, dst))
    """,
    """
    UPDATE changes SET what = 'purge' WHERE scope = $scope AND list_contains($ids, id)
        AND what IN ('capture', 'record', 'attachment')
    """,
)
_SPOKEN = "What this spoke of was purged."
# Where reasons and notes stand in words, and what stands there instead.
_TOLD = (
    ("ledger", "reason", _SPOKEN), ("feedback", "note", _SPOKEN), ("links", "attrs", "{}"),
    ("unlinked", "attrs", "{}"),
)  # fmt: skip
# The name of a turn is anybody's choice, so it goes with the last that bore it.
_UNNAME_TURNS = """
    UPDATE changes SET id = '' WHERE scope = $scope AND what = 'turn' AND id NOT IN (
        SELECT turn_id FROM ledger WHERE scope = $scope AND turn_id IS NOT NULL
        UNION ALL SELECT turn_id FROM receipts WHERE scope = $scope
        UNION ALL SELECT capture_id FROM captures WHERE scope = $scope
    )
"""
_TOMBSTONES = """
    INSERT INTO tombstones (scope, id, what, purged_at)
    SELECT unnest(?), unnest(?), unnest(?), unnest(?)
"""


@dataclass(frozen=True, slots=True)
class Doomed:
    """What goes, by id. hashes: of the words of the captures. files: of the attachments."""

    captures: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    hashes: tuple[str, ...] = field(default=(), repr=False)
    files: tuple[str, ...] = field(default=(), repr=False)

    @property
    def ids(self) -> list[str]:
        """All of them."""
        return [*self.captures, *self.records, *self.attachments]


def delete(
    database: Database, scope: str, doomed: Doomed, now: datetime, tells: Callable[[str], bool]
) -> None:
    """Delete all rows about what is doomed and put up the tombstones; inside a transaction.

    tells: whether a reason or a note of something else tells of it; then it goes as well.
    """
    unlink.remove(database, unlink.links_at(database, scope, doomed.ids))
    values = {
        "scope": scope, "ids": doomed.ids, "named": [*doomed.ids, *doomed.hashes],
        "instead": _SPOKEN,
    }  # fmt: skip
    for statement in _DELETIONS:
        used = {name: value for name, value in values.items() if f"${name}" in statement}
        database.rows(statement, used)
    for table, column, instead in _TOLD:
        of, told = quoted(table), quoted(column)
        query = f"SELECT rowid, {told} FROM {of} WHERE scope = ? AND {told} IS NOT NULL"  # noqa: S608
        telling = [row for row, text in database.rows(query, [scope]) if tells(text)]
        query = f"UPDATE {of} SET {told} = ? WHERE list_contains(?, rowid)"  # noqa: S608
        if telling:
            database.rows(query, [instead, telling])
    query = "DELETE FROM receipts WHERE scope = ? AND list_contains(?, utf8_sha256)"
    database.rows(query, [scope, list(doomed.hashes)])
    database.rows(_UNNAME_TURNS, {"scope": scope})
    kinds = (
        ("capture", doomed.captures), ("record", doomed.records),
        ("attachment", doomed.attachments),
    )  # fmt: skip
    rows = [(scope, id_, what, naive(now)) for what, ids in kinds for id_ in ids]
    database.insert(_TOMBSTONES, rows)


class Purged:
    """Reads what was purged, and what concerns those who purge."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reasons(self, scope: str) -> list[tuple[str, str]]:
        """Return the records of a scope with the reasons of their versions."""
        query = "SELECT record_id, reason FROM records WHERE scope = ? AND reason IS NOT NULL"
        return [(id_, reason) for id_, reason in self._database.rows(query, [scope])]

    def among(self, scope: str, ids: Sequence[str]) -> AbstractSet[str]:
        """Return those of `ids` that were purged."""
        query = "SELECT id FROM tombstones WHERE scope = ? AND list_contains(?, id)"
        rows = self._database.rows(query, [scope, list(ids)]) if ids else []
        return {row[0] for row in rows}

    def attachments(self, scope: str, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return (id, SHA-256) of the attachments among `ids`."""
        query = """
            SELECT attachment_id, sha256 FROM attachments
            WHERE scope = ? AND list_contains(?, attachment_id) ORDER BY ALL
        """
        return [(id_, sha256) for id_, sha256 in self._database.rows(query, [scope, list(ids)])]

    def is_used(self, sha256: str) -> bool:
        """Tell whether an attachment has these bytes."""
        query = "SELECT 1 FROM attachments WHERE sha256 = ? LIMIT 1"
        return bool(self._database.rows(query, [sha256]))

    def files_like(self, hashes: Sequence[str]) -> list[tuple[str, str]]:
        """Return (scope, id) of all attachments with the same bytes."""
        query = """
            SELECT scope, attachment_id FROM attachments WHERE list_contains(?, sha256) ORDER BY ALL
        """
        return [(scope, id_) for scope, id_ in self._database.rows(query, [list(hashes)])]

    def read_from(self, scope: str, ids: Sequence[str]) -> list[str]:
        """Return the captures that were read from any of the attachments among `ids`."""
        query = """
            SELECT capture_id FROM captures WHERE scope = ?
                AND list_contains(?, json_extract_string(attrs, '$.attachment')) ORDER BY ALL
        """
        return [row[0] for row in self._database.rows(query, [scope, list(ids)])]

    def twins(self, hashes: Sequence[str]) -> list[tuple[str, str]]:
        """Return (scope, id) of all captures with the same words."""
        query = """
            SELECT scope, capture_id FROM captures WHERE list_contains(?, utf8_sha256) ORDER BY ALL
        """
        rows: list[tuple[Any, ...]] = self._database.rows(query, [list(hashes)])
        return [(scope, id_) for scope, id_ in rows]

    def rebuild(self, done: str) -> None:
        """Leave in the file only what is not deleted; the note `done` goes with it."""
        self._database.rebuild(done)
