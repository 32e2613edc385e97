"""Purge: rows that go for good. A tombstone says that there was something, never what.

What is deleted still lies in the file until `Database.rebuild` has copied the rest into another.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shiyi.store import unlink
from shiyi.store.database import Database, naive

# What goes with an id. A result may name it, and the hash beside it is that of the words.
_DELETIONS = (
    "DELETE FROM captures WHERE scope = $scope AND list_contains($ids, capture_id)",
    "DELETE FROM records WHERE scope = $scope AND list_contains($ids, record_id)",
    "DELETE FROM attachments WHERE scope = $scope AND list_contains($ids, attachment_id)",
    """
    DELETE FROM ledger WHERE scope = $scope
        AND (list_contains($ids, capture_id) OR list_contains($ids, attachment_id))
    """,
    "DELETE FROM corrected WHERE scope = $scope AND list_contains($ids, record_id)",
    """
    DELETE FROM feedback
    WHERE scope = $scope AND (list_contains($ids, target_id) OR list_contains($ids, capture_id))
    """,
    """
    DELETE FROM idempotency WHERE scope = $scope
        AND len(list_filter($ids, lambda id: contains(result, id))) > 0
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


def delete(database: Database, scope: str, doomed: Doomed, now: datetime) -> None:
    """Delete all rows about what is doomed and put up the tombstones; inside a transaction."""
    unlink.remove(database, unlink.links_at(database, scope, doomed.ids))
    for statement in _DELETIONS:
        database.rows(statement, {"scope": scope, "ids": doomed.ids})
    query = "DELETE FROM receipts WHERE scope = ? AND list_contains(?, utf8_sha256)"
    database.rows(query, [scope, list(doomed.hashes)])
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

    def followers(self, scope: str, ids: Sequence[str]) -> list[str]:
        """Return the captures that come right after any of `ids` in a dialogue."""
        query = """
            SELECT capture_id FROM captures WHERE scope = ? AND list_contains(?, previous_id)
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
