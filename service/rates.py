"""How much one caller may ask: so many calls a minute, and only a few at once."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from shiyi.core.errors import TooManyError

MOST_AT_ONCE = 8
_MINUTE = 60.0


class Rates:
    """Counts the calls of each caller, by name.

    A bucket for each, as full as a minute has calls, fills up again steadily.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}  # calls left, at a time
        self._going: Counter[str] = Counter()

    @contextmanager
    def call(self, name: str, *, calls: int) -> Iterator[None]:
        """Count what is done in the block. calls: how many a minute may have; 0 for any number.

        Raises TooManyError, which says how long to wait.
        """
        with self._lock:
            if self._going[name] >= MOST_AT_ONCE:
                raise TooManyError(
                    f"This token has {MOST_AT_ONCE} calls going already; wait for one of them."
                )
            self._take(name, calls)
            self._going[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._going[name] -= 1
                self._going += Counter()  # whoever has none going is forgotten

    def _take(self, name: str, calls: int) -> None:
        """Take a call out of the bucket, if there is one."""
        if not calls:
            return
        now, pace = time.monotonic(), calls / _MINUTE
        left, at = self._left.get(name, (float(calls), now))
        left = min(calls, left + (now - at) * pace)
        self._left[name] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            error = TooManyError(f"This token made {calls} calls within a minute; wait a moment.")
            error.wait = ceil((1 - left) / pace)
            raise error
