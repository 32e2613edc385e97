"""Measuring: CPU time, peers in turn within one run, and the rows of the table."""

import gc
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

Calls = Mapping[str, Callable[[int], object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. `measured` is what is held to the limit; at_least turns it round.

    A row without a limit is of a size for which none was set.
    """

    row: int
    what: str
    size: int
    measured: float
    limit: float | None
    unit: str = "×"
    ours: str = ""
    peer: str = ""
    at_least: bool = False
    notes: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the limit is kept; None where there is none."""
        if self.limit is None:
            return None
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def written(self, value: float) -> str:
        """Write a value in the unit of the row; small ratios as fractions."""
        if self.unit == "×" and 0 < value < 0.5:
            return f"1/{1 / value:.3g}"
        return f"{value:.3g}{self.unit if self.unit == '×' else ' ' + self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that could not be measured, and why."""

    row: int
    why: str


def in_turn(
    calls: Calls,
    rounds: int,
    *,
    clock: Callable[[], float] = time.process_time,
    budget: float = 120.0,
    warm: Iterable[int] = range(2),
) -> dict[str, float]:
    """Return the median milliseconds of each call; in every round each is called once.

    The machine is shared, so only what was measured side by side can be compared. `clock` is CPU
    time of all threads unless said. `warm` are calls made before, to have files mapped and code
    loaded. Stops after `budget` seconds, with at least three rounds.
    """
    for call in calls.values():
        for position in warm:
            call(position)
    gc.collect()
    took: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + budget
    for position in range(rounds):
        for name, call in calls.items():
            start = clock()
            call(position)
            took[name].append((clock() - start) * 1e3)
        if position >= 2 and time.perf_counter() > end:
            break
    return {name: float(np.median(times)) for name, times in took.items()}


def milliseconds(value: float) -> str:
    """Write a time for the table."""
    return f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.3g} s"


def memory_of_this_process() -> dict[str, int]:
    """Return the bytes of VmRSS, RssAnon and RssFile."""
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123
        lines = [line.split() for line in file]
    wanted = {"VmRSS:", "RssAnon:", "RssFile:"}
    return {line[0][:-1]: int(line[1]) * 1024 for line in lines if line and line[0] in wanted}


def one_thread() -> None:
    """Hold numeric libraries to one thread; call it before they are imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("LANCE_LOG", "error")  # it warns of its own defaults at every query


Result = Row | Skipped
