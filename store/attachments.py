"""Attachments: the original bytes beside the database under their SHA-256, a row for each time.

    attachments/<first two digits>/<SHA-256>

The bytes lie there, durably, before the row that names them is committed; what is being read in
lies beside them under a hidden name until it is whole.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from shiyi.core.files import make_private_directory, owner_only, sync_directory
from shiyi.store.database import Database, naive, utc
from shiyi.store.faults import damaged

ATTACHMENTS = "attachments"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PROCESS = secrets.token_hex(4)  # a home has one owner: what another name began, nobody will end
_COLUMNS = (
    "scope, attachment_id, sha256, bytes, name, media_type, turn_id, source_path, recorded_at"
)
_INSERT = f"INSERT INTO attachments ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
# By the id alone: with a second condition DuckDB reads the whole table, not the index.
_BY_ID = f"SELECT {_COLUMNS} FROM attachments WHERE attachment_id = ?"  # noqa: S608
_ALL = f"SELECT {_COLUMNS} FROM attachments WHERE scope = ? ORDER BY rowid"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One time that a file was given. Files of the same bytes share them."""

    scope: str
    attachment_id: str
    sha256: str
    bytes: int
    name: str
    media_type: str
    turn_id: str | None
    source_path: str | None
    recorded_at: datetime


class Attachments:
    """Reads the attachments of a home, and keeps their bytes."""

    def __init__(self, home: Path, database: Database) -> None:
        self._root = home / ATTACHMENTS
        self._database = database
        self._swept = False

    def find(self, scope: str, attachment_id: str) -> Attachment | None:
        """Return one attachment, or None."""
        rows = self._database.rows(_BY_ID, [attachment_id])
        return next((_attachment(row) for row in rows if row[0] == scope), None)

    def iterate(self, scope: str) -> Iterator[Attachment]:
        """Yield every attachment of the scope, in the order of writing."""
        for batch in self._database.batches(_ALL, [scope]):
            yield from map(_attachment, batch)

    def path(self, sha256: str) -> Path:
        """Return where bytes lie, or would lie."""
        return attachment_path(self._root.parent, sha256)

    def is_there(self, attachment: Attachment) -> bool:
        """Tell whether as many bytes as there should be lie where they should."""
        try:
            return self.path(attachment.sha256).stat().st_size == attachment.bytes
        except OSError:
            return False

    @contextmanager
    def incoming(self) -> Iterator[tuple[Path, IO[bytes]]]:
        """Yield a private file to be filled; when the block ends, what was not placed is gone.

        Raises OSError when there is no room or no right to write.
        """
        make_private_directory(self._root)
        self._sweep()
        path = self._root / f".{_PROCESS}-{secrets.token_hex(8)}.tmp"
        try:
            with owner_only(), path.open("x+b") as file:
                yield path, file
        finally:
            path.unlink(missing_ok=True)

    def place(self, incoming: Path, sha256: str) -> None:
        """Put a filled and synced file in its place, durably; call it inside the write.

        Bytes that lie there already are replaced by the same, which also mends damaged ones.
        """
        target = self.path(sha256)
        make_private_directory(target.parent)
        incoming.replace(target)
        sync_directory(target.parent)

    def discard(self, sha256: str) -> None:
        """Remove bytes that no attachment names, after a write that failed."""
        with self._database.lock, suppress(OSError):
            query = "SELECT 1 FROM attachments WHERE sha256 = ? LIMIT 1"
            if not self._database.rows(query, [sha256]):
                self.path(sha256).unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what a process that was killed had begun to read in."""
        if not self._swept:
            self._swept = True
            for path in self._root.glob(".*.tmp"):
                if not path.name.startswith(f".{_PROCESS}-"):
                    path.unlink(missing_ok=True)


def attachment_path(home: Path, sha256: str) -> Path:
    """Return where the bytes of an attachment lie.

    Raises HomeDamagedError for what is no SHA-256: whatever a row may hold, it leads nowhere else.
    """
    if not _SHA256.fullmatch(sha256):
        raise damaged(home / ATTACHMENTS, "a row names an attachment by what is no SHA-256")
    return home / ATTACHMENTS / sha256[:2] / sha256


def insert_attachment(database: Database, attachment: Attachment) -> None:
    """Append a row."""
    database.rows(
        _INSERT,
        [
            attachment.scope, attachment.attachment_id, attachment.sha256, attachment.bytes,
            attachment.name, attachment.media_type, attachment.turn_id, attachment.source_path,
            naive(attachment.recorded_at),
        ],
    )  # fmt: skip


def _attachment(row: tuple[Any, ...]) -> Attachment:
    return Attachment(
        scope=row[0], attachment_id=row[1], sha256=row[2], bytes=row[3], name=row[4],
        media_type=row[5], turn_id=row[6], source_path=row[7], recorded_at=utc(row[8]),
    )  # fmt: skip
