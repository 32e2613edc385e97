"""A home that is open, as what a backup is made of: nothing of it is written anywhere else.

It is read in one piece, while nothing is written: `Snapshots.standing`.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from shiyi.core.iterate import batched
from shiyi.lifecycle.snapshots import BLOCK, Manifest, SavedFile, SavedTable, checked
from shiyi.store import Store
from shiyi.store.attachments import ATTACHMENTS, attachment_path
from shiyi.store.snapshot import Table

_ROWS = 5_000  # of a file; never changed, so that files of older rows are the same again
Content = Callable[[], Iterator[bytes]]
Take = Callable[[SavedFile, Content], None]


def read_manifest(store: Store, take: Take) -> Manifest:
    """Read a home once, hand each file of its backup to `take`, and return what names them all."""
    files: list[SavedFile] = []

    def note(file: SavedFile, content: Content) -> None:
        files.append(file)
        take(file, content)

    tables = [_read_table(store, table, note) for table in store.snapshots.tables()]
    missing = _read_attachments(store, note)
    return Manifest(
        home_id=store.home_id,
        created_at=datetime.now(UTC).isoformat(),
        program=metadata.version("shiyi"),
        schema=store.snapshots.schema,
        last_seq=store.last_seq,
        tables=tables,
        files=files,
        missing=missing,
    )


class LiveSource:
    """An open home as a source: read once for its manifest, and again for each use of `files`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.manifest = read_manifest(store, lambda _, __: None)

    def files(self) -> Iterator[tuple[SavedFile, Iterator[bytes]]]:
        """Yield every file with its bytes; raises HomeDamagedError when one has changed since."""
        expected = iter(self.manifest.files)
        for table in self._store.snapshots.tables():
            for lines in _cut(self._store, table):
                file = next(expected)
                yield file, checked(file, iter([lines]), self._store.home)
        for file in expected:
            blocks = _blocks(attachment_path(self._store.home, file.sha256))
            yield file, checked(file, blocks, self._store.home)


def _read_table(store: Store, table: Table, take: Take) -> SavedTable:
    rows = 0
    for number, content in enumerate(_cut(store, table)):
        name, digest = f"tables/{table.name}.{number:06d}.jsonl", hashlib.sha256(content)
        rows += content.count(b"\n")  # a line of JSON has none within
        _give(take, SavedFile(name, len(content), digest.hexdigest()), content)
    return SavedTable(table.name, list(table.columns), rows)


def _give(take: Take, file: SavedFile, content: bytes) -> None:
    take(file, lambda: iter([content]))


def _cut(store: Store, table: Table) -> Iterator[bytes]:
    """Yield the rows of a table in pieces of one length, the last one shorter."""
    for lines in batched(store.snapshots.lines(table), _ROWS):
        yield b"".join(lines)


def _read_attachments(store: Store, take: Take) -> list[str]:
    """Read the bytes of all attachments; return the hashes of those that do not fit them."""
    missing = []
    for sha256 in store.snapshots.attachments():
        path = attachment_path(store.home, sha256)
        try:
            with path.open("rb") as file:
                fits = hashlib.file_digest(file, "sha256").hexdigest() == sha256
                size = file.tell()
        except OSError:
            fits = False
        if fits:
            _give_file(take, SavedFile(f"{ATTACHMENTS}/{sha256}", size, sha256), path)
        else:
            missing.append(sha256)
    return missing


def _give_file(take: Take, file: SavedFile, path: Path) -> None:
    take(file, lambda: _blocks(path))


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block
