"""Starting a daemon, so that only one client does."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from filelock import FileLock, Timeout

from shiyi.core.errors import DaemonError, HomeBusyError, HomeUnwritableError, ShiyiError
from shiyi.core.files import owner_only
from shiyi.service.daemon.endpoint import LOG_FILE, SPAWN_LOCK
from shiyi.store.home import prepare_home
from shiyi.store.lease import busy, is_held_by_program


class Starter:
    """Starts a daemon, unless somebody else is just doing that."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock: FileLock | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.refused = False  # because somebody owned the home

    def step(self) -> None:
        """Take the next step; raises what the home, or its owner, is refused for."""
        if self._lock is None:
            self._take_lock()
            return  # and look once more: whoever had the lock before has started one
        if self._process is None:
            self._process = spawn(self._home)
            return
        code = self._process.poll()
        if code is None:
            return
        if code == HomeBusyError.exit_code:
            # A daemon will tell where it is, or is just leaving; anybody else may stay for long.
            self.refused = True
            if is_held_by_program(self._home):
                raise busy(self._home)
            self._process = None
            return
        if code:
            raise DaemonError(
                f"The daemon of {self._home} ended at once (exit code {code}). Nothing was sent. "
                f"Its log: {self._home / LOG_FILE}. SHIYI_DAEMON=off does without one."
            )
        self._process = None  # it came, had nothing to do, and left

    def _take_lock(self) -> None:
        try:
            prepare_home(self._home, create=True)
            lock = FileLock(self._home / SPAWN_LOCK, mode=0o600, timeout=0, thread_local=False)
            with owner_only():
                lock.acquire()
        except Timeout:
            return
        except OSError as error:
            if isinstance(error, ShiyiError):
                raise
            raise HomeUnwritableError(
                f"The home {self._home} cannot be written ({error.strerror}); nothing was changed."
            ) from None
        self._lock = lock

    def release(self) -> None:
        """Let others start one."""
        if self._lock is not None:
            self._lock.release()


def spawn(home: Path) -> "subprocess.Popen[bytes]":
    """Start a daemon in a session of its own; it outlives us, and is no zombie when we stay."""
    process = subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "shiyi", "daemon", "run", "--home", os.fspath(home)],
        cwd="/",
        # A passphrase is sent with a call; a daemon that stays is not to hold one.
        env={name: one for name, one in os.environ.items() if name != "SHIYI_PASSPHRASE"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        close_fds=True,
    )
    threading.Thread(target=process.wait, name="daemon's end", daemon=True).start()
    return process
