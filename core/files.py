"""Files that only their owner can read, written whole or not at all."""

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from shiyi.core.errors import UsageError

_PRIVATE_UMASK = 0o077
_lock = threading.Lock()
_depth = 0
_outer_umask = 0


@contextmanager
def owner_only() -> Iterator[None]:
    """Create every file inside the block as 0600 and every directory as 0700.

    The umask belongs to the process, so nested and concurrent blocks share one depth counter
    and the last one out restores it.
    """
    global _depth, _outer_umask
    with _lock:
        if _depth == 0:
            _outer_umask = os.umask(_PRIVATE_UMASK)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                os.umask(_outer_umask)


def make_private_directory(path: Path) -> Path:
    """Make `path` and its missing parents, 0700, durably, and return it.

    Raises OSError when it cannot be made.
    """
    if not path.is_dir():
        if path.parent != path:
            make_private_directory(path.parent)
        with owner_only():
            path.mkdir(exist_ok=True, mode=0o700)
        sync_directory(path.parent)
    return path


def sync_directory(path: Path) -> None:
    """Make renames and creations inside `path` durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write that takes the place of `path`, whole and durable, when the block ends.

    Raises OSError when the disk is full or read-only; the old file is then untouched.
    """
    # A name of its own: two threads may replace the same file at once.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with owner_only(), temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content`: readers see the old bytes or the new ones, never a mixture.

    Raises OSError when the disk is full or read-only; the old file is then untouched.
    """
    with replacing(path) as file:
        file.write(content)


def expanded(place: str | os.PathLike[str]) -> Path:
    """Return the path that a person wrote, with `~` and `~name` as the home of that user.

    Raises UsageError when there is no such user.
    """
    try:
        return Path(place).expanduser()
    except RuntimeError:
        raise UsageError(
            "The path begins with the home of a user that this machine does not know; write it "
            "out, or begin it with ./ when the name really begins with ~."
        ) from None
