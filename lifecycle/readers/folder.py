"""Files of a folder: in the order of their names, never following a link out of it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.items import LineError
from shiyi.lifecycle.readers.source import MAX_UNIT_BYTES, Reading, os_reason, printable, too_long


class Found(NamedTuple):
    """A file: its path as it can be opened, and its path inside the folder, with slashes."""

    path: Path
    name: str


def files_of(
    path: Path, suffixes: tuple[str, ...], reading: Reading, *, without: tuple[str, ...] = ()
) -> Iterator[Found | LineError]:
    """Yield `path` itself when it is a file, else the files below it that have a suffix.

    Other files, hidden folders and the folders named in `without` are counted as skipped. A link
    is followed only to a file inside the folder that would not be read anyway.
    """
    if path.is_dir():
        yield from _Walk(path, suffixes, reading, without).files()
    else:
        yield Found(path, printable(path.name))


def size_of(path: Path, suffixes: tuple[str, ...], *, without: tuple[str, ...] = ()) -> int:
    """Return the bytes of the files that `files_of` yields."""
    found = files_of(path, suffixes, Reading(), without=without)
    return sum(file_size(one.path) for one in found if isinstance(one, Found))


def file_size(path: Path) -> int:
    """Return the size of a file; 0 when it is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_whole(stream: IO[bytes], reading: Reading) -> bytes:
    """Return all bytes of `stream`.

    Raises UsageError when it holds more than one item may.
    """
    content = stream.read(MAX_UNIT_BYTES + 1)
    reading.consumed(len(content))
    if len(content) > MAX_UNIT_BYTES:
        raise UsageError(too_long())
    return content


class _Walk:
    def __init__(
        self, root: Path, suffixes: tuple[str, ...], reading: Reading, without: tuple[str, ...]
    ) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._suffixes = suffixes
        self._reading = reading
        self._without = without

    def files(self) -> Iterator[Found | LineError]:
        waiting = [self._root]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    here = sorted(entries, key=lambda entry: os.fsencode(entry.name))
            except OSError as error:
                yield LineError(printable(folder), None, os_reason(error))
                continue
            folders = []
            for entry in here:
                if entry.is_symlink():
                    yield from self._link(Path(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    yield from self._file(Path(entry.path))
            waiting += [one for one in reversed(folders) if self._enters(one.name)]

    def _enters(self, name: str) -> bool:
        if name.startswith("."):
            self._reading.skip("a hidden folder")
        elif name in self._without:
            self._reading.skip("a folder of tool traffic")
        else:
            return True
        return False

    def _file(self, path: Path) -> Iterator[Found]:
        if path.name.lower().endswith(self._suffixes):
            yield Found(path, printable(path.relative_to(self._root).as_posix()))
        else:
            self._reading.skip("a file of another kind")

    def _link(self, path: Path) -> Iterator[Found | LineError]:
        target = Path(os.path.realpath(path))
        try:
            there = target.exists()
        except OSError as error:
            yield LineError(printable(path), None, os_reason(error))
            return
        if not there:
            yield LineError(printable(path), None, "This link leads nowhere.")
        elif os.path.commonpath([self._real_root, target]) != self._real_root:
            yield LineError(printable(path), None, "This link leaves the folder: not followed.")
        elif target.is_dir() or target.name.lower().endswith(self._suffixes):
            self._reading.skip("a link to what is read in its own place")
        else:
            yield from self._file(path)
