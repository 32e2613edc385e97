"""The temporary directory of a trial, and what trials that were killed left behind.

A living trial holds the lock of its directory. The lock is taken before it gets its name, so a
directory with a lock file that nobody holds has lost its process, at whatever moment.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "shiyi-trial-"
_LOCK = "lock"
_UNLOCKED = 86_400.0  # seconds that a directory may be without a lock: it is just being made


@contextmanager
def temporary_home() -> Iterator[Path]:
    """Lend a private temporary directory; those of dead trials are removed first."""
    remove_dead_homes(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        directory = Path(name)
        with (directory / f".{_LOCK}").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (directory / f".{_LOCK}").rename(directory / _LOCK)
            yield directory


def remove_dead_homes(parent: Path) -> None:
    """Remove your own directories of trials that no process holds."""
    for directory in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            mine = directory.lstat().st_uid == os.getuid()
            if mine and directory.is_dir() and not directory.is_symlink():
                _remove_if_dead(directory)


def _remove_if_dead(directory: Path) -> None:
    """Remove a directory unless its lock is held. Raises OSError when it is."""
    try:
        lock = (directory / _LOCK).open("rb")
    except FileNotFoundError:
        if time.time() - directory.stat().st_mtime > _UNLOCKED:
            shutil.rmtree(directory, ignore_errors=True)
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(directory, ignore_errors=True)
