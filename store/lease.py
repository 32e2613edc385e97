"""One process owns a home, by a kernel lock that dies with its holder."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from shiyi.core.errors import HomeBusyError
from shiyi.core.files import write_atomically

LOCK_FILE = "lock"
OWNER_FILE = "owner.json"
DAEMON = "shiyi daemon"


class Lease:
    """Ownership of a home for the life of this object. The lock file is never removed.

    Raises HomeBusyError when another process, or another opening in this one, holds it.
    """

    def __init__(self, home: Path, program: str | None = None) -> None:
        """Take the home; `program` is what people are told that its owner is."""
        self._home = home
        # Not per thread: whoever closes the home may be another thread than the one that opened it.
        self._lock = FileLock(home / LOCK_FILE, mode=0o600, timeout=0, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise busy(home) from None
        owner = {"pid": os.getpid(), "program": program or Path(sys.argv[0] or "python").name}
        with suppress(OSError):  # a courtesy to people; on a full disk we do without
            write_atomically(home / OWNER_FILE, json.dumps(owner).encode("utf-8"))

    def release(self) -> None:
        """Give the home up; a second time does nothing."""
        if self._lock.is_locked:
            with suppress(OSError):
                (self._home / OWNER_FILE).unlink(missing_ok=True)
            self._lock.release()


def busy(home: Path) -> HomeBusyError:
    """Return the error that says who owns a home."""
    holder = _holder(home)
    how = " with `shiyi daemon stop`" if DAEMON in holder else ""
    return HomeBusyError(
        f"The home {home} is in use by {holder}. Wait until it is done or stop it{how}; nothing "
        "was changed."
    )


def is_held_by_program(home: Path) -> bool:
    """Tell whether a program that is no daemon says that it holds the home."""
    return DAEMON not in _holder(home) and (home / OWNER_FILE).exists()


def _holder(home: Path) -> str:
    """Name the holder for a person; what the file says is never acted upon."""
    try:
        owner = json.loads((home / OWNER_FILE).read_text("utf-8"))
        return f"process {int(owner['pid'])} ({str(owner['program'])[:40]})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
