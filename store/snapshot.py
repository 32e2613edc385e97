"""Every row of a home as lines of JSON, and back: what a backup holds of the database.

A line is an array with the values of one row, in the order of the columns, rows in the order in
which they were written. Times are ISO 8601 in UTC, so a home that is loaded dumps the same bytes.
A database file of unknown origin is never opened: it would be like running a program.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from shiyi.core.errors import HomeForeignError
from shiyi.store.database import Database
from shiyi.store.lease import LOCK_FILE, OWNER_FILE, Lease
from shiyi.store.migrations import MIGRATIONS, SCHEMA_VERSION
from shiyi.store.quoting import quoted, unnested

ROWS_AT_ONCE = 500
_TABLES = """
    SELECT table_name, list(column_name ORDER BY column_index),
           list(data_type ORDER BY column_index)
    FROM duckdb_columns() WHERE NOT internal GROUP BY table_name ORDER BY table_name
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, its columns in order and their types."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]


class Snapshots:
    """Reads the rows of one home, and writes those of an empty one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Let nothing be written while the block reads, so that all tables are of one moment."""
        with self._database.lock:
            yield

    @property
    def schema(self) -> int:
        """The number of the last migration."""
        return int(self._database.meta("schema") or 0)

    @property
    def home_id(self) -> str | None:
        """The id of the home, as its rows have it."""
        return self._database.meta("home_id")

    @property
    def last_seq(self) -> int:
        """The number of the newest change that was ever made, as the rows have it."""
        found: int = self._database.rows("SELECT coalesce(max(seq), 0) FROM changes")[0][0]
        lost: list[dict[str, int]] = json.loads(self._database.meta("lost_tails") or "[]")
        return max(found, *(tail["expected"] for tail in lost), 0)

    def tables(self) -> list[Table]:
        """Return every table, by name."""
        rows = self._database.rows(_TABLES)
        return [Table(name, tuple(columns), tuple(types)) for name, columns, types in rows]

    def lines(self, table: Table) -> Iterator[bytes]:
        """Yield each row of a table as a line, in the order of writing."""
        query = f"SELECT {quoted(*table.columns)} FROM {quoted(table.name)} ORDER BY rowid"  # noqa: S608
        for batch in self._database.batches(query):
            for row in batch:
                yield _line(row)

    def attachments(self) -> list[str]:
        """Return the SHA-256 of every attachment, each once."""
        rows = self._database.rows("SELECT DISTINCT sha256 FROM attachments ORDER BY sha256")
        return [row[0] for row in rows]

    def empty(self, table: Table) -> None:
        """Remove every row of a table; call it inside `Building.filling`."""
        self._database.rows(f"DELETE FROM {quoted(table.name)}")  # noqa: S608

    def load(self, table: Table, lines: Sequence[bytes]) -> None:
        """Append rows given as lines; raises HomeForeignError for what is no row of the table."""
        rows = [_row(table, line) for line in lines]
        columns, values = quoted(*table.columns), unnested(len(table.columns))
        insert = f"INSERT INTO {quoted(table.name)} ({columns}) SELECT {values}"
        self._database.insert(insert, rows)


class Building:
    """A home that is being built under another name; it becomes a home by being renamed.

    What an earlier attempt left there is removed first. Raises HomeBusyError when another process
    is building there.
    """

    def __init__(self, directory: Path, schema: int) -> None:
        self._lease = Lease(directory)
        try:
            for leftover in directory.iterdir():
                if leftover.name not in {LOCK_FILE, OWNER_FILE}:
                    shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
            self._database = Database(directory, create=True, migrations=MIGRATIONS[:schema])
        except BaseException:
            self._lease.release()
            raise
        self.snapshots = Snapshots(self._database)

    @contextmanager
    def filling(self) -> Iterator[None]:
        """Commit what the block loads, or nothing."""
        with self._database.transaction():
            yield

    def finish(self) -> None:
        """Move everything into the file and close it. The lease is kept until `release`."""
        self._database.checkpoint()
        self._database.close()

    def release(self) -> None:
        """Give the place up."""
        self._database.close()
        self._lease.release()


def check_schema(schema: int) -> None:
    """Raise HomeForeignError for the rows of a schema that is newer than ours."""
    if not 1 <= schema <= SCHEMA_VERSION:
        raise HomeForeignError(
            f"The backup was written by a newer Shiyi (schema {schema}; this one reads up to "
            f"{SCHEMA_VERSION}); nothing was changed. Upgrade Shiyi to restore it."
        )


def _line(row: Sequence[Any]) -> bytes:
    values = [value.isoformat() if isinstance(value, date) else value for value in row]
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n".encode()


def _row(table: Table, line: bytes) -> list[Any]:
    try:
        values = json.loads(line)
        read = [_READERS.get(type_, _as_it_is) for type_ in table.types]
        return [reader(value) for reader, value in zip(read, values, strict=True)]
    except (ValueError, TypeError, RecursionError):
        raise HomeForeignError(
            f"The backup holds a line that is no row of the table {table.name}; nothing was "
            "changed."
        ) from None


def _as_it_is(value: Any) -> Any:
    return value


def _day(value: Any) -> date | None:
    return None if value is None else date.fromisoformat(value)


def _moment(value: Any) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


_READERS: Mapping[str, Any] = {"DATE": _day, "TIMESTAMP": _moment}
