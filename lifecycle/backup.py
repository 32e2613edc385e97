"""Backup: every row and attachment, written, read again and compared before it counts."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from shiyi.core.errors import HomeError, HomeUnwritableError, UsageError
from shiyi.core.files import make_private_directory, owner_only, sync_directory
from shiyi.lifecycle.backups import (
    DIRECTORY,
    PARTIAL,
    SEALED_SUFFIX,
    Kept,
    kept_in,
    name_for,
    note_backup,
    remove,
    sweep,
    to_remove,
)
from shiyi.lifecycle.living import LiveSource, read_manifest
from shiyi.lifecycle.sealed import SealedSource, check_passphrase, home_of, seal
from shiyi.lifecycle.snapshots import (
    MANIFEST,
    Manifest,
    PlainSource,
    SavedFile,
    verify,
)
from shiyi.store import Store


@dataclass(frozen=True, slots=True)
class Made:
    """A backup that was written and read again. linked: bytes shared with the one before."""

    path: Path
    manifest: Manifest
    sealed: bool
    bytes: int
    linked: int
    removed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def back_up(
    store: Store,
    path: Path | None = None,
    *,
    managed: Path | None = None,
    passphrase: str | None = None,
    link: bool = True,
    thin: bool = True,
) -> Made:
    """Write a backup and return what it is; encrypted when there is a passphrase.

    Without a path it goes to `managed`, the directory of backups that are kept by themselves, and
    of those so many stay as `backups.to_remove` says, unless `thin` is not set. A path that is a
    directory gets a backup inside it; any other path becomes the backup. With `link`, files that
    are the same in the backup before are shared with it.

    Raises UsageError for a path that is taken or lies in the home, HomeUnwritableError when there
    is no room; then nothing of it stays.
    """
    if passphrase is not None:
        check_passphrase(passphrase)
    own = managed or store.home / DIRECTORY
    with store.snapshots.standing():
        target = _target(store, path, own, sealed=passphrase is not None)
        partial = target.with_name(f".{target.name}{PARTIAL}")
        try:
            make_private_directory(target.parent)
            if path is None:
                with suppress(OSError):
                    sweep(own)
            if partial.exists():  # of a process that was killed
                remove(partial)
            made = _write(store, target, partial, passphrase, link=link)
        except OSError as error:
            if isinstance(error, HomeError):
                raise
            raise HomeUnwritableError(
                f"The backup cannot be written to {target} ({error.strerror}); nothing of it "
                "stayed, and what was saved before is safe."
            ) from None
        finally:
            with suppress(OSError):
                remove(partial)
        notes = list(made.notes)
        try:
            note_backup(store, target, store.last_seq, managed=path is None)
        except HomeError as error:
            notes.append(f"The backup is whole, but it could not be noted in the home: {error}")
    removed = _thin_out(own, made.manifest.home_id) if path is None and thin else []
    return Made(
        target, made.manifest, made.sealed, made.bytes, made.linked, removed=removed, notes=notes
    )


def managed_backups(directory: Path, home_id: str) -> list[Kept]:
    """Return the backups of this home in a directory that it manages, oldest first."""
    return [one for one in kept_in(directory) if _home_of(one) == home_id]


def unreadable_backups(directory: Path) -> list[Path]:
    """Return what has the name of a backup and tells no more of which home it is."""
    return [one.path for one in kept_in(directory) if _home_of(one) is None]


def _home_of(kept: Kept) -> str | None:
    if kept.sealed:
        return home_of(kept.path)
    try:
        return PlainSource(kept.path).manifest.home_id
    except HomeError:
        return None


def _is_backup(directory: Path) -> bool:
    if not (directory / MANIFEST).is_file():
        return False
    with suppress(HomeError):  # another program's manifest is not ours
        return bool(PlainSource(directory).manifest.home_id)
    return False


def _thin_out(directory: Path, home_id: str) -> list[str]:
    gone = []
    for one in to_remove(managed_backups(directory, home_id)):
        with suppress(OSError):
            remove(one.path)
            gone.append(one.path.name)
    return gone


def _target(store: Store, path: Path | None, managed: Path, *, sealed: bool) -> Path:
    name = name_for(datetime.now(UTC), store.last_seq) + (SEALED_SUFFIX if sealed else "")
    if path is None:
        return _free(managed / name)
    path = path.absolute()
    if path.resolve().is_relative_to(store.home.resolve()):
        raise UsageError(
            f"{path} lies in the home itself; name a place outside, or none for the home's own."
        )
    if any(_is_backup(one) for one in (path, *path.parents)):
        raise UsageError(
            f"{path} is a backup itself, or lies in one, and a backup holds nothing else; name a "
            "new path, or a directory that backups are put into."
        )
    if path.is_dir():
        return _free(path / name)
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} is there already; name a new path or a directory.")
    return path


def _free(path: Path) -> Path:
    """Return the path, with a number behind it when it is taken within the same second."""
    stem, _, suffix = path.name.partition(".")
    number = 1
    while path.exists():
        number += 1
        path = path.with_name(f"{stem}-{number}" + (f".{suffix}" if suffix else ""))
    return path


def _write(
    store: Store, target: Path, partial: Path, passphrase: str | None, *, link: bool
) -> Made:
    if passphrase is None:
        before = _newest(target.parent, store.home_id) if link else None
        manifest, linked = _write_plain(store, partial, before)
        size = verify(PlainSource(partial))
        _rename(partial, target)
        return Made(target, manifest, sealed=False, bytes=size, linked=linked)
    source = LiveSource(store)
    with owner_only(), partial.open("xb") as file:
        key = seal(source, file, passphrase)
        file.flush()
        os.fsync(file.fileno())
    sealed = SealedSource(partial, key=key)
    size = verify(sealed)
    _rename(partial, target)
    return Made(target, sealed.manifest, sealed=True, bytes=size, linked=0)


def _rename(partial: Path, target: Path) -> None:
    partial.rename(target)
    sync_directory(target.parent)


def _newest(directory: Path, home_id: str) -> PlainSource | None:
    """Return the newest plain backup of this home in a directory, for files that are the same."""
    for one in reversed(kept_in(directory)):
        if not one.sealed:
            try:
                source = PlainSource(one.path)
            except HomeError:
                continue
            if source.manifest.home_id == home_id:
                return source
    return None


def _write_plain(store: Store, directory: Path, before: PlainSource | None) -> tuple[Manifest, int]:
    writer = _Writer(directory, before)
    made = read_manifest(store, writer.put)
    writer.write_file(MANIFEST, iter([made.encode()]))
    writer.sync()
    return made, writer.linked


class _Writer:
    """Writes the files of a backup, or links those that are the same in the one before."""

    def __init__(self, directory: Path, before: PlainSource | None) -> None:
        self._directory = make_private_directory(directory)
        self._before = before
        self._known = {file.name: file for file in before.manifest.files} if before else {}
        self.linked = 0

    def put(self, file: SavedFile, content: Callable[[], Iterator[bytes]]) -> None:
        """Take one file, its bytes to be had again as often as they are asked for."""
        if not (self._known.get(file.name) == file and self._link(file)):
            self.write_file(file.name, content())

    def _link(self, file: SavedFile) -> bool:
        """Link a file of the backup before; the whole is read and compared afterwards anyway."""
        assert self._before is not None
        old = self._before.directory / file.name
        try:
            with old.open("rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
                    return False
            path = self._directory / file.name
            make_private_directory(path.parent)
            path.hardlink_to(old)
        except OSError:
            return False  # another disk, or one that knows no links
        self.linked += file.size
        return True

    def write_file(self, name: str, content: Iterator[bytes]) -> None:
        path = self._directory / name
        make_private_directory(path.parent)
        with owner_only(), path.open("xb") as file:
            for block in content:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())

    def sync(self) -> None:
        for path in [*self._directory.rglob("*/"), self._directory]:
            sync_directory(path)
