"""The long work of a process: what waits, what runs and how far it is, what ended lately."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import Literal, TypeVar

T = TypeVar("T")
_KEPT = 20

JobState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job. done and total count what the operation counts; total is 0 while unknown."""

    number: int
    operation: str
    scope: str
    asked_at: str
    state: JobState = "waiting"
    done: int = 0
    total: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.state in {"waiting", "running"}


class Jobs:
    """The jobs of one process; the newest are kept. Any thread may ask and tell."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._jobs: dict[int, Job] = {}
        self._ended: deque[int] = deque()

    def all(self) -> list[Job]:
        """Return what is known, newest first."""
        with self._lock:
            return sorted(self._jobs.values(), key=lambda one: -one.number)

    def find(self, number: int) -> tuple[Job, int] | None:
        """Return a job, and how many are before it; None when it is not known any more."""
        with self._lock:
            job = self._jobs.get(number)
            before = sum(one.is_open and one.number < number for one in self._jobs.values())
        return None if job is None else (job, before)

    def add(self, operation: str, scope: str) -> int:
        """Note that a job waits, and return its number."""
        with self._lock:
            number = next(self._numbers)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._jobs[number] = Job(number=number, operation=operation, scope=scope, asked_at=now)
            return number

    def follow(self, number: int, done: int, total: int) -> None:
        """Note how far a job is."""
        with self._lock:
            self._jobs[number] = replace(
                self._jobs[number], state="running", done=done, total=total
            )

    def run(self, number: int, work: Callable[[], T]) -> T:
        """Do the work of a job, and note how it ends."""
        with self._lock:
            self._jobs[number] = replace(self._jobs[number], state="running")
        try:
            result = work()
        except BaseException:
            self.end(number, "failed")
            raise
        self.end(number, "done")
        return result

    def end(self, number: int, state: JobState) -> None:
        """Note that a job ended, unless it did before."""
        with self._lock:
            if self._jobs[number].is_open:
                self._jobs[number] = replace(self._jobs[number], state=state)
                self._ended.append(number)
            while len(self._ended) > _KEPT:
                del self._jobs[self._ended.popleft()]
