"""Which record quotes which fragment: statements and the words they rest on, as pairs of slots."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from shiyi.indexer.segment import Array

QUOTES = np.dtype([("record", "<i4"), ("capture", "S26"), ("start", "<i4")])
_Quote = tuple[int, str, int]  # the slot of a record, the capture, where in it


class Quotes:
    """The quotes of a generation, and those of documents that came since.

    Pairs may name slots that have died; whoever looks at living slots only never meets those.
    """

    def __init__(self, rows: Array, fragments: Array, first: int) -> None:
        """Take the QUOTES rows and the fragments of a generation.

        fragments are rows of COLUMNS, ordered by id and start; first is the slot of the first one.
        """
        self._rows, self._fragments, self._first = rows, fragments, first
        self._quoting: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._due: list[_Quote] = []
        self._pairs: Array | None = None

    def follow_record(self, slot: int, quotes: Iterable[Sequence[Any]]) -> None:
        """Take the quotes (capture, start, end) of a record that was added."""
        for capture, start, _ in quotes:
            self._quoting[capture].append((slot, start))
            self._due.append((slot, capture, start))

    def follow_capture(self, capture: str, *, replaced: bool) -> None:
        """Note that a capture came, or came anew, so that its quotes are of other slots now."""
        self._due += [(slot, capture, start) for slot, start in self._quoting.get(capture, ())]
        if replaced:
            rows = self._rows[self._rows["capture"] == capture.encode("ascii")]
            self._due += [(int(row["record"]), capture, int(row["start"])) for row in rows]

    def pairs(self, locate: Callable[[str, int], int | None]) -> Array:
        """Return (record slot, fragment slot) of every quote, int64 (n, 2).

        A quote is of the fragment in which it begins. locate gives the slot of a place in a
        capture that came since.
        """
        if self._pairs is None:
            self._pairs = self._of_generation()
        if self._due:
            fresh = [
                (record, slot)
                for record, capture, start in self._due
                if (slot := locate(capture, start)) is not None
            ]
            self._due.clear()
            added = np.array(fresh, np.int64).reshape(-1, 2)
            self._pairs = np.concatenate([self._pairs, added])
        return self._pairs

    def _of_generation(self) -> Array:
        if not len(self._rows):
            return np.empty((0, 2), np.int64)
        ids, captures = np.ascontiguousarray(self._fragments["id"]), self._rows["capture"]
        first = np.searchsorted(ids, captures, side="left")
        last = np.searchsorted(ids, captures, side="right") - 1
        places = first.copy()
        for row in np.flatnonzero(last > first).tolist():  # captures of several fragments
            starts = self._fragments["start"][first[row] : last[row] + 1]
            places[row] += max(0, np.searchsorted(starts, self._rows["start"][row], "right") - 1)
        known = last >= first
        records = self._rows["record"].astype(np.int64)
        pairs: Array = np.stack([records[known], self._first + places[known]], axis=1)
        return pairs
