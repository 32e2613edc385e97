"""Two lanes to one home: quick calls, one after the other, and jobs beside them.

What is quick changes the live indexes as it goes, so one thread does all of it; with the
interpreter's lock, more threads would not be quicker. A job gives way: between two of its batches
it lets everything pass that has come meanwhile.
"""

import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from shiyi.core.closable import Closable

T = TypeVar("T")
_PATIENCE = 0.1  # seconds that a job waits at most between two batches: it goes on, slowly
_POLL = 0.001


class Lanes(Closable):
    """Threads that work for one home."""

    def __init__(self) -> None:
        self._quick = ThreadPoolExecutor(1, "quick")
        self._jobs = ThreadPoolExecutor(1, "job")
        self._lock = threading.Lock()
        self._waiting = 0  # quick calls that are not done
        self._working = 0  # jobs that are not done
        self._last = time.monotonic()

    def quick(self, work: Callable[[], T]) -> "Future[T]":
        """Do something that others wait for."""
        with self._lock:
            self._waiting += 1
        return self._submit(self._quick, work, self._quick_done)

    def job(self, work: Callable[[], T]) -> "Future[T]":
        """Do something long, beside what is quick and after the jobs before it."""
        with self._lock:
            self._working += 1
        return self._submit(self._jobs, work, self._job_done)

    @property
    def jobs(self) -> int:
        """How many jobs are not done."""
        return self._working

    def idle_for(self) -> float:
        """Return for how many seconds nothing was done; 0 while something is."""
        with self._lock:
            busy = self._waiting or self._working
            return 0.0 if busy else time.monotonic() - self._last

    def give_way(self) -> None:
        """Let what is quick pass; called by a job between two batches."""
        until = time.monotonic() + _PATIENCE
        while self._waiting and time.monotonic() < until:
            time.sleep(_POLL)

    def close(self) -> None:
        """End the threads once what they do is done."""
        self._jobs.shutdown(cancel_futures=True)
        self._quick.shutdown(cancel_futures=True)

    def _submit(
        self, pool: ThreadPoolExecutor, work: Callable[[], T], done: Callable[[object], None]
    ) -> "Future[T]":
        try:
            future = pool.submit(contextvars.copy_context().run, work)
        except BaseException:
            done(None)
            raise
        future.add_done_callback(done)
        return future

    def _quick_done(self, _: object) -> None:
        with self._lock:
            self._waiting -= 1
            self._last = time.monotonic()

    def _job_done(self, _: object) -> None:
        with self._lock:
            self._working -= 1
            self._last = time.monotonic()
