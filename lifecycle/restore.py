"""Restore: a backup becomes a home, the same to the last row, or nothing happens at all."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from shiyi.core.errors import HomeBusyError, HomeError, HomeUnwritableError, UsageError
from shiyi.core.files import make_private_directory, owner_only, sync_directory
from shiyi.core.iterate import batched
from shiyi.lifecycle.sealed import SealedSource, is_sealed
from shiyi.lifecycle.snapshots import (
    Manifest,
    PlainSource,
    SavedFile,
    Source,
    broken,
    foreign,
    verify,
)
from shiyi.store.attachments import ATTACHMENTS, attachment_path
from shiyi.store.home import prepare_home
from shiyi.store.lease import OWNER_FILE
from shiyi.store.snapshot import ROWS_AT_ONCE, Building, Snapshots, Table, check_schema


def open_backup(path: Path, passphrase: str | None = None) -> Source:
    """Open a backup; raises HomeForeignError, HomeDamagedError, or UsageError without its key."""
    if path.is_dir():
        return PlainSource(path)
    if not is_sealed(path):
        raise foreign(path)
    if passphrase is None:
        raise UsageError(f"{path} is encrypted; give its passphrase.")
    return SealedSource(path, passphrase=passphrase)


def restore(source: Source, home: Path, place: Path) -> Manifest:
    """Make `home` from a backup and return what it holds.

    Every byte is read and compared first. The home is built beside its place, dumped again and
    compared with the backup, and only then gets its name: an interruption leaves no half home.
    `place` is where the backup lies, for messages.

    Raises UsageError unless `home` is missing or an empty directory, HomeDamagedError when the
    backup is not whole, HomeForeignError when it is not ours or newer, HomeUnwritableError.
    """
    home = home.absolute()
    _check_empty(home)
    check_schema(source.manifest.schema)
    verify(source)
    building = home.with_name(f".{home.name}.restoring")
    try:
        made = _begin(building, source.manifest.schema)
        try:
            _fill(made, source, building, place)
            made.finish()
            _take_place(building, home)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        finally:
            made.release()
    except OSError as error:
        if isinstance(error, HomeError):
            raise
        raise HomeUnwritableError(
            f"The home {home} cannot be written ({error.strerror or type(error).__name__}); "
            "nothing was restored. Make room, or choose another with --home."
        ) from None
    return source.manifest


def _begin(building: Path, schema: int) -> Building:
    try:
        prepare_home(building, create=True)
        return Building(building, schema)
    except HomeBusyError:
        raise  # it is another's work
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def _check_empty(home: Path) -> None:
    if home.is_symlink() or (home.exists() and (not home.is_dir() or any(home.iterdir()))):
        raise UsageError(
            f"{home} is not empty, and a backup is restored into an empty or a new directory only; "
            "nothing was changed. Name one with --home, or move what is there aside."
        )


def _fill(made: Building, source: Source, home: Path, place: Path) -> None:
    known = {table.name: table for table in made.snapshots.tables()}
    saved = {table.name: tuple(table.columns) for table in source.manifest.tables}
    if saved != {table.name: table.columns for table in known.values()}:
        raise broken(place, "its tables are not those of its schema")
    digests = {name: hashlib.sha256() for name in known}
    with made.filling():
        for table in known.values():
            made.snapshots.empty(table)
        for file, blocks in source.files():
            folder, _, name = file.name.partition("/")
            if folder == ATTACHMENTS:
                _write_attachment(home, file, blocks)
                continue
            table_name = name.partition(".")[0]
            if table_name not in known:
                raise broken(place, "it has rows of a table that its schema does not know")
            _load(made.snapshots, known[table_name], _noted(blocks, digests[table_name]))
    rows = {table.name: table.rows for table in source.manifest.tables}
    for name, table in known.items():
        digest, count = _dumped(made.snapshots, table)
        if digest != digests[name].hexdigest():
            raise broken(place, f"its rows of {name} do not come back as they are")
        if count != rows[name]:
            raise broken(place, f"its manifest counts other rows of {name}")
    _check_facts(made.snapshots, source.manifest, place)
    if "attachments" in known:
        _check_attachments(made.snapshots, source.manifest, place)


def _check_facts(snapshots: Snapshots, manifest: Manifest, place: Path) -> None:
    """Raise HomeDamagedError when what the manifest says of the home is not what its rows say."""
    try:
        said = (snapshots.home_id, snapshots.schema, snapshots.last_seq)
    except (ValueError, TypeError, KeyError):
        said = (None, 0, 0)
    if said != (manifest.home_id, manifest.schema, manifest.last_seq):
        raise broken(place, "its manifest does not speak of the home that its rows are of")


def _check_attachments(snapshots: Snapshots, manifest: Manifest, place: Path) -> None:
    """Raise HomeDamagedError unless the rows name the attachments that the manifest names."""
    prefix = f"{ATTACHMENTS}/"
    files = [one.name.removeprefix(prefix) for one in manifest.files if prefix in one.name]
    if {*files, *manifest.missing} != set(snapshots.attachments()):
        raise broken(place, "its rows name other attachments than its manifest")


def _noted(blocks: Iterator[bytes], digest: "hashlib._Hash") -> Iterator[bytes]:
    for block in blocks:
        digest.update(block)
        yield block


def _load(snapshots: Snapshots, table: Table, blocks: Iterator[bytes]) -> None:
    for lines in batched(_lines(blocks), ROWS_AT_ONCE):
        snapshots.load(table, lines)


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    left = b""
    for block in blocks:
        *lines, left = (left + block).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if left:
        yield left


def _write_attachment(home: Path, file: SavedFile, blocks: Iterator[bytes]) -> None:
    path = attachment_path(home, file.sha256)
    make_private_directory(path.parent)
    with owner_only(), path.open("xb") as target:
        for block in blocks:
            target.write(block)
        target.flush()
        os.fsync(target.fileno())
    sync_directory(path.parent)


def _dumped(snapshots: Snapshots, table: Table) -> tuple[str, int]:
    """Return the hash of all rows of a table, and how many there are."""
    digest, rows = hashlib.sha256(), 0
    for line in snapshots.lines(table):
        digest.update(line)
        rows += 1
    return digest.hexdigest(), rows


def _take_place(building: Path, home: Path) -> None:
    with suppress(OSError):
        (building / OWNER_FILE).unlink()
    try:
        building.rename(home)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            _check_empty(home)
        raise
    sync_directory(home.parent)
