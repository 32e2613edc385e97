"""How often a token may call: so many times a minute, and for a moment as many at once."""

import threading
import time
from math import ceil

from shiyi.core.errors import TooManyError

_MINUTE = 60.0


class Rates:
    """A bucket for each caller, as full as a minute has calls, that fills up again steadily."""

    def __init__(self, calls: int) -> None:
        """Allow so many calls a minute; 0 for any number."""
        self._calls = calls
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}  # calls left, at a time

    def count(self, name: str) -> None:
        """Note a call; raises TooManyError, which says how long to wait."""
        if not self._calls:
            return
        now, pace = time.monotonic(), self._calls / _MINUTE
        with self._lock:
            left, at = self._left.get(name, (float(self._calls), now))
            left = min(self._calls, left + (now - at) * pace)
            self._left[name] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if left < 1:
            error = TooManyError(
                f"This token made {self._calls} calls within a minute; wait a moment."
            )
            error.wait = ceil((1 - left) / pace)
            raise error
