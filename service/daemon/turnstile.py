"""Many at once, or one alone: what removes for good is done while nothing else is."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Turnstile:
    """Lets threads in. One that is in already goes through again; who wants to be alone waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: Counter[int] = Counter()
        self._wanting = 0  # threads that wait to be alone
        self._alone: int | None = None

    @contextmanager
    def among(self) -> Iterator[None]:
        """Do the block beside others, but beside none that is alone."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._may_enter(me))
            self._inside[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                self._inside += Counter()  # whoever has left is forgotten
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Do the block when everybody else has left; newcomers wait."""
        me = threading.get_ident()
        with self._changed:
            self._wanting += 1
            try:
                self._changed.wait_for(lambda: self._alone is None and not self._inside)
                self._alone = me
            finally:
                self._wanting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._alone = None
                self._changed.notify_all()

    def _may_enter(self, me: int) -> bool:
        return self._inside[me] > 0 or self._alone == me or not (self._wanting or self._alone)
