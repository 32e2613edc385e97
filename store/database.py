"""The DuckDB file: made, recognised, locked down, migrated, and written in transactions."""

import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from shiyi.core.errors import HomeError, HomeForeignError, UsageError
from shiyi.core.files import make_private_directory, owner_only, sync_directory
from shiyi.core.ids import new_id
from shiyi.store.faults import damaged, foreign, translated
from shiyi.store.home import FILE_NAME
from shiyi.store.migrations import MIGRATIONS, Migrations
from shiyi.store.quoting import literal, quoted

Values = Sequence[Any] | Mapping[str, Any]
_FORMAT = "shiyi"
_REBUILD = "rebuild"  # where a fresh file is built
_HEADER_BYTES = 3 * 4096
_LOG_LIMIT = 16 * 1024 * 1024
_STATEMENTS_KEPT = 256

# Nothing that a text could make DuckDB do leaves the database file: no other files, no network,
# no extensions, no Python variables by name. A checkpoint is never part of a commit: a disk that
# fills up during one would make the outcome of the commit unknown. One thread: with two, each small
# statement, and a memory is made of those, waits for the other (row 6 of docs/benchmarks.md).
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "threads": 1,
    "checkpoint_threshold": "1TB",
}
_READ_ONLY = {**_CONFIG, "access_mode": "READ_ONLY"}
# The order matters: the last line seals the others. The progress bar would go to standard output,
# which may be carrying a protocol.
_LOCKDOWN = (
    "SET enable_progress_bar = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class Database:
    """One owner's connection. Every use goes through a lock, so threads may share it."""

    def __init__(self, home: Path, *, create: bool, migrations: Migrations = MIGRATIONS) -> None:
        """Open the database of `home`, making it when it is missing and `create` is set.

        Raises HomeForeignError, HomeDamagedError, HomeUnwritableError or HomeBusyError; a file
        that is not ours, is damaged or is newer is left untouched.
        """
        self.path = home / FILE_NAME
        self.lock = threading.RLock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._statements: dict[str, duckdb.Statement] = {}
        self._invalid = self._writing = False
        self._checkpoint_at = _LOG_LIMIT
        self._log = home / f"{FILE_NAME}.wal"
        if not self.path.exists():
            if self._log.exists():
                raise damaged(self.path, "it is missing, and only its log is there")
            if not create:
                raise HomeError(f"There is no memory at {home}; make one with `shiyi init`.")
            self._make(migrations)
        if not self.path.is_file() or not _has_magic(self.path):
            raise foreign(self.path)
        version = self._recognise(len(migrations))
        # What a search spilled to disk, or a rebuild had not finished, when its process was killed.
        shutil.rmtree(home / f"{FILE_NAME}.tmp", ignore_errors=True)
        shutil.rmtree(home / _REBUILD, ignore_errors=True)
        for file in filter(Path.exists, (self.path, self._log)):
            file.chmod(0o600)
        self._connect(self.path)
        try:
            self._migrate(migrations, version)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Checkpoint and close. A checkpoint that fails loses nothing: the log is replayed."""
        with self.lock, owner_only():
            if self._connection is not None:
                with suppress(duckdb.Error):
                    self._connection.close()
            self._connection = None

    def rows(self, query: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Run a query and return all of its rows."""
        with self._usable() as connection:
            return self._execute(connection, query, values).fetchall()

    def columns(self, query: str, values: Values = ()) -> dict[str, Any]:
        """Run a query and return its columns as numpy arrays, which is quick for many rows."""
        with self._usable() as connection:
            return self._execute(connection, query, values).fetchnumpy()

    def batches(
        self, query: str, values: Values = (), size: int = 2048
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Run a query on a cursor of its own and yield its rows `size` at a time.

        It reads what was committed when it began, whatever is written meanwhile.
        """
        with self._usable() as connection:
            cursor = connection.cursor()
            cursor.execute(query, values)
        try:
            while True:
                with self._usable():
                    batch = cursor.fetchmany(size)
                if not batch:
                    return
                yield batch
        finally:
            with self.lock:
                cursor.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block wrote, durably, or nothing of it."""
        with self.lock, owner_only():
            with self._usable() as connection:
                connection.begin()
            self._writing = True
            try:
                yield
                with self._usable() as connection:
                    connection.commit()
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._writing = False

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is open, by whoever holds the lock."""
        return self._writing

    def _roll_back(self) -> None:
        # A commit that failed for want of space has already rolled back, or has closed the
        # database; either way nothing of the transaction stays.
        if self._connection is not None and not self._invalid:
            with suppress(duckdb.Error):
                self._connection.rollback()

    def checkpoint(self) -> None:
        """Move the log into the file. Without room for that the log stays, complete."""
        with self.lock, owner_only(), suppress(HomeError):
            self.rows("CHECKPOINT")

    def checkpoint_when_due(self) -> None:
        """Checkpoint a long log; after one that failed, only when the log has grown again."""
        if self._log_bytes() >= self._checkpoint_at:
            self.checkpoint()
            self._checkpoint_at = self._log_bytes() + _LOG_LIMIT

    def rebuild(self, done: str) -> None:
        """Copy what is not deleted into a fresh file, which then takes the place of this one.

        Deleted text stays in a file until then. The note `done` is left out of the new file, so it
        is there exactly as long as the work is not done. Whoever is interrupted here has the file
        from before. Raises HomeUnwritableError without room for a copy.
        """
        place = self.path.with_name(_REBUILD)
        with self.lock, owner_only():
            self.rows("CHECKPOINT")
            self.close()
            try:
                shutil.rmtree(place, ignore_errors=True)
                make_private_directory(place)
                fresh = place / FILE_NAME
                self._copy_into(fresh, done)
                if self._log.exists():
                    raise HomeError(
                        f"The log of {self.path} could not be emptied; nothing was replaced. Run "
                        "this again."
                    )
                with fresh.open("rb") as file:
                    os.fsync(file.fileno())
                fresh.replace(self.path)
                sync_directory(self.path.parent)
            finally:
                shutil.rmtree(place, ignore_errors=True)
                self._connect(self.path)

    def _copy_into(self, fresh: Path, done: str) -> None:
        # This one connection may write below one directory, and nowhere else.
        with translated(self.path), closing(duckdb.connect(str(self.path), config=_CONFIG)) as copy:
            name = copy.execute("SELECT current_database()").fetchall()[0][0]
            copy.execute("SET enable_progress_bar = false")
            copy.execute(f"SET allowed_directories = [{literal(f'{fresh.parent}/')}]")
            copy.execute("SET enable_external_access = false")
            copy.execute("SET lock_configuration = true")
            copy.execute(f"ATTACH {literal(str(fresh))} AS fresh")
            copy.execute(f"COPY FROM DATABASE {quoted(name)} TO fresh")
            tables = copy.execute(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = 'fresh'"
            ).fetchall()
            for (table,) in tables:
                counts = [
                    copy.execute(f"SELECT count(*) FROM {quoted(of)}.{quoted(table)}").fetchall()  # noqa: S608
                    for of in (name, "fresh")
                ]
                if counts[0] != counts[1]:
                    raise damaged(self.path, f"its copy of {table} has not all rows")
            copy.execute("DELETE FROM fresh.meta WHERE name = ?", [done])
            copy.execute("CHECKPOINT fresh")
            copy.execute("DETACH fresh")

    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run an `INSERT … SELECT unnest(?), …` with one list a column; ~15× quicker than rows."""
        if rows:
            self.rows(statement, [list(column) for column in zip(*rows, strict=True)])

    def meta(self, name: str) -> str | None:
        """Return the value kept under `name`, or None."""
        found = self.rows("SELECT value FROM meta WHERE name = ?", [name])
        return None if not found else str(found[0][0])

    def set_meta(self, name: str, value: str) -> None:
        """Keep `value` under `name`; call it inside a transaction."""
        self.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, value])

    def _log_bytes(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    @contextmanager
    def _usable(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield the connection under the lock.

        A fatal error, such as a disk that filled up during a checkpoint, ends DuckDB's instance
        but not the data: the next use opens it again (never inside a transaction, whose earlier
        steps are gone).
        """
        with self.lock, translated(self.path):
            if self._connection is None:
                raise HomeError(f"The memory at {self.path.parent} was closed; open it again.")
            if self._invalid and not self._writing:
                self._connection.close()
                self._connect(self.path)
            try:
                yield self._connection
            except (duckdb.FatalException, duckdb.InternalException):
                self._invalid = True
                raise

    def _execute(
        self, connection: duckdb.DuckDBPyConnection, query: str, values: Values
    ) -> duckdb.DuckDBPyConnection:
        """Run a query, read once and kept: reading it is a third of the time of a short one."""
        statement = self._statements.get(query)
        if statement is None:
            if len(self._statements) >= _STATEMENTS_KEPT:
                self._statements.clear()
            (statement,) = connection.extract_statements(query)
            self._statements[query] = statement
        return connection.execute(statement, values)

    def _connect(self, path: Path) -> None:
        with translated(path), owner_only():
            connection = duckdb.connect(str(path), config=_CONFIG)
            for statement in _LOCKDOWN:
                connection.execute(statement)
        self._connection, self._invalid = connection, False

    def _make(self, migrations: Migrations) -> None:
        """Make the database under another name, whole, and only then give it its own.

        Whoever is interrupted here leaves a file that the next attempt replaces.
        """
        fresh = self.path.with_name(f"{FILE_NAME}.new")
        for leftover in (fresh, fresh.with_name(f"{fresh.name}.wal")):
            leftover.unlink(missing_ok=True)
        self._connect(fresh)
        try:
            with self.transaction():
                self.rows("CREATE TABLE meta (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
                self.set_meta("format", _FORMAT)
                self.set_meta("home_id", new_id())
                self.set_meta("schema", "0")
            self._migrate(migrations, 0)
            self.rows("CHECKPOINT")
        finally:
            self.close()
        fresh.rename(self.path)
        sync_directory(self.path.parent)

    def _recognise(self, newest: int) -> int:
        """Return the schema version of the file, read without changing a byte of it."""
        with (
            translated(self.path),
            closing(duckdb.connect(str(self.path), config=_READ_ONLY)) as connection,
        ):
            try:
                meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
            except (duckdb.ProgrammingError, ValueError):
                meta = {}
            # A file ends with its last block in use, before the end that its header gives. Of a
            # cut that leaves room for all blocks in use, the first read of a lost one tells.
            sizes = connection.execute(
                "SELECT block_size * used_blocks FROM pragma_database_size()"
            ).fetchall()
        version = str(meta.get("schema"))
        if meta.get("format") != _FORMAT or not version.isdecimal():
            raise foreign(self.path)
        if int(version) > newest:
            raise HomeForeignError(
                f"{self.path} was written by a newer Shiyi (schema {version}; this one reads up "
                f"to {newest}); it was left untouched. Upgrade Shiyi to open it."
            )
        if self.path.stat().st_size < _HEADER_BYTES + sizes[0][0]:
            raise damaged(self.path, "it is shorter than its header says")
        return int(version)

    def _migrate(self, migrations: Migrations, version: int) -> None:
        for number in range(version + 1, len(migrations) + 1):
            with self.transaction():
                for statement in migrations[number - 1]:
                    self.rows(statement)
                self.set_meta("schema", str(number))


def _has_magic(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def utc(value: datetime) -> datetime:
    """Read a TIMESTAMP column: it is UTC and comes without a zone."""
    return value.replace(tzinfo=UTC)


def naive(value: datetime | None) -> datetime | None:
    """Write an aware time into a TIMESTAMP column, as UTC.

    Raises UsageError for a time without a zone: nobody could say which moment it means.
    """
    if value is None:
        return None
    if value.tzinfo is None:
        raise UsageError("A time has no zone; give it one, for example +00:00.")
    return value.astimezone(UTC).replace(tzinfo=None)
