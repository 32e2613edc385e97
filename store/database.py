"""The DuckDB file: opened, recognised, locked down, migrated, and written in transactions."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from shiyi.core.errors import (
    HomeBusyError,
    HomeDamagedError,
    HomeError,
    HomeForeignError,
    HomeUnwritableError,
    ShiyiError,
)
from shiyi.core.files import owner_only
from shiyi.core.ids import new_id
from shiyi.store.migrations import MIGRATIONS, SCHEMA_VERSION

FILE_NAME = "shiyi.duckdb"
_FORMAT = "shiyi"
_HEADER_BYTES = 3 * 4096

# Nothing that a text could make DuckDB do leaves the database file: no other files, no network,
# no extensions, no Python variables by name. The order matters: the last line seals the others.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "threads": 2,
}
_LOCKDOWN = (
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class Database:
    """One owner's connection. Every use goes through a lock, so threads may share it."""

    def __init__(self, home: Path, *, create: bool) -> None:
        """Open the database of `home`, making it when it is missing and `create` is set.

        Raises HomeForeignError, HomeDamagedError, HomeUnwritableError or HomeBusyError; a file
        that is not ours, is damaged or is newer is left untouched.
        """
        self.path = home / FILE_NAME
        self.lock = threading.RLock()
        fresh = not self.path.exists()
        if fresh and not create:
            raise HomeError(f"There is no memory at {home}; make one with `shiyi init`.")
        with _translated(self.path), owner_only():
            self._connection = duckdb.connect(str(self.path), config=_CONFIG)
            for statement in _LOCKDOWN:
                self._connection.execute(statement)
        try:
            if fresh:
                self._initialise()
            self._recognise()
            self._migrate()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Checkpoint and close. A checkpoint that fails loses nothing: the log is replayed."""
        with self.lock, owner_only():
            self._connection.close()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return all of its rows."""
        with self.lock, _translated(self.path):
            return self._connection.execute(query, values).fetchall()

    def batches(
        self, query: str, values: Sequence[Any] = (), size: int = 2048
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Run a query on a cursor of its own and yield its rows `size` at a time."""
        with self.lock, _translated(self.path):
            cursor = self._connection.cursor()
            cursor.execute(query, values)
        try:
            while True:
                with self.lock, _translated(self.path):
                    batch = cursor.fetchmany(size)
                if not batch:
                    return
                yield batch
        finally:
            cursor.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block wrote, durably, or nothing of it."""
        with self.lock, _translated(self.path), owner_only():
            self._connection.begin()
            try:
                yield
                self._connection.commit()
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        try:
            self._connection.rollback()
        except duckdb.Error:
            # A commit that failed for want of space has already rolled back, or has closed the
            # database; either way nothing of the transaction stays.
            return

    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Run an `INSERT … SELECT unnest(?), …` with one list a column; ~15× quicker than rows."""
        if not rows:
            return []
        return self.rows(statement, [list(column) for column in zip(*rows, strict=True)])

    def meta(self, name: str) -> str | None:
        """Return the value kept under `name`, or None."""
        found = self.rows("SELECT value FROM meta WHERE name = ?", [name])
        return None if not found else str(found[0][0])

    def set_meta(self, name: str, value: str) -> None:
        """Keep `value` under `name`; call it inside a transaction."""
        self.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, value])

    def _initialise(self) -> None:
        with self.transaction():
            self.rows("CREATE TABLE meta (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
            self.set_meta("format", _FORMAT)
            self.set_meta("home_id", new_id())
            self.set_meta("schema", "0")

    def _recognise(self) -> None:
        try:
            known = self.meta("format") == _FORMAT
            version = int(self.meta("schema") or 0)
        except (HomeError, ValueError):
            known, version = False, 0
        if not known:
            raise HomeForeignError(
                f"{self.path} is a DuckDB database but not Shiyi's; it was left untouched. "
                "Choose another home with --home."
            )
        if version > SCHEMA_VERSION:
            raise HomeForeignError(
                f"{self.path} was written by a newer Shiyi (schema {version}; this one reads up "
                f"to {SCHEMA_VERSION}); it was left untouched. Upgrade Shiyi to open it."
            )
        blocks = self.rows("SELECT block_size, total_blocks FROM pragma_database_size()")
        if self.path.stat().st_size < _HEADER_BYTES + blocks[0][0] * blocks[0][1]:
            raise HomeDamagedError(_damaged(self.path, "it is shorter than its header says"))

    def _migrate(self) -> None:
        version = int(self.meta("schema") or 0)
        for number in range(version + 1, SCHEMA_VERSION + 1):
            with self.transaction():
                for statement in MIGRATIONS[number - 1]:
                    self.rows(statement)
                self.set_meta("schema", str(number))


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn DuckDB's errors into ours; none of ours repeats a statement or a value."""
    try:
        yield
    except duckdb.Error as error:
        raise _translate(str(error), type(error).__name__, path) from None
    except OSError as error:
        if isinstance(error, ShiyiError):
            raise
        raise _translate(str(error), type(error).__name__, path) from None


def _translate(message: str, name: str, path: Path) -> HomeError:
    lowered = message.lower()
    if "conflicting lock" in lowered or "could not set lock" in lowered:
        return HomeBusyError(
            f"Another program has {path} open. Close it and try again; nothing was changed."
        )
    if "no space left" in lowered or "file too large" in lowered:
        return HomeUnwritableError(
            f"The disk that holds {path} is full: this write was refused and not stored. "
            "Free some space and repeat it; what was saved before is safe."
        )
    if "permission denied" in lowered or "read-only file system" in lowered:
        return HomeUnwritableError(
            f"{path} cannot be written (no permission or a read-only disk); nothing was changed. "
            "Make it writable or choose another home with --home."
        )
    if "not a valid duckdb" in lowered:
        return HomeForeignError(
            f"{path} is not a Shiyi database; it was left untouched. "
            "Choose another home with --home."
        )
    if "version number" in lowered:
        return HomeForeignError(
            f"{path} was written by a newer DuckDB; it was left untouched. Upgrade Shiyi to "
            "open it."
        )
    if any(sign in lowered for sign in ("checksum", "corrupt", "enough bytes", "serialization")):
        return HomeDamagedError(_damaged(path, "its checksums or its length do not fit"))
    return HomeError(
        f"The database {path} refused the operation ({name}); nothing was changed. "
        "Run `shiyi doctor`."
    )


def _damaged(path: Path, how: str) -> str:
    return (
        f"{path} is damaged ({how}); it was left untouched. Restore it from a backup, or copy "
        "the whole home aside before trying anything else."
    )


def utc(value: datetime | None) -> datetime | None:
    """Read a TIMESTAMP column: it is UTC and comes without a zone."""
    return None if value is None else value.replace(tzinfo=UTC)


def naive(value: datetime | None) -> datetime | None:
    """Write an aware time into a TIMESTAMP column, as UTC."""
    return None if value is None else value.astimezone(UTC).replace(tzinfo=None)
