"""The columns of every document of a scope, one contiguous array for each that is in use."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shiyi.indexer.documents import COLUMNS
from shiyi.indexer.segment import Array

_NAMES = COLUMNS.names or ()


class Line(NamedTuple):
    """The row of one document, as plain values in the order of COLUMNS."""

    id: str
    type: int
    start: int
    end: int
    version: int
    kind: int
    layer: int
    status: int
    salience: int
    date_start: int
    date_end: int
    expires: int
    han: float
    previous: str
    passage: bytes


class Columns:
    """The rows of a generation, which stay on disk, and those added since.

    A field is copied out of the rows when it is first asked for and grows with them from then
    on: reading one field of all rows through the rows would touch every page of the file.
    """

    def __init__(self, base: Array) -> None:
        """Take the rows of the generation, a COLUMNS array."""
        self._base = base
        self._added: list[tuple[Any, ...]] = []
        self._fields: dict[str, Array] = {}

    def __len__(self) -> int:
        return len(self._base) + len(self._added)

    def append(self, row: tuple[Any, ...]) -> None:
        """Add the row of the next slot."""
        slot = len(self)
        self._added.append(row)
        for name, values in self._fields.items():
            if slot == len(values):
                self._fields[name] = np.resize(values, max(64, 2 * slot))
            self._fields[name][slot] = row[_NAMES.index(name)]

    def __getitem__(self, name: str) -> Array:
        """Return one field of every row; do not write to it."""
        if name not in self._fields:
            added = np.array(self._added, COLUMNS)[name]
            self._fields[name] = np.concatenate([self._base[name], added])
        return self._fields[name][: len(self)]

    def rows(self, slots: Array) -> Array:
        """Return the rows of the given slots, a COLUMNS array."""
        base = len(self._base)
        old = slots < base
        if old.all():
            chosen: Array = self._base[slots]
            return chosen
        found = np.empty(len(slots), COLUMNS)
        found[old] = self._base[slots[old]]
        for place in np.flatnonzero(~old).tolist():
            found[place] = self._added[int(slots[place]) - base]
        return found

    def lines(self, slots: Sequence[int]) -> list[Line]:
        """Return the rows of the given slots, which costs less than one after the other."""
        rows = self.rows(np.array(slots, np.int64))
        return [_line(values) for values in rows.tolist()]

    def row(self, slot: int) -> Line:
        """Return the row of one slot."""
        base = len(self._base)
        if slot >= base:
            return Line._make(self._added[slot - base])
        return _line(self._base[slot].item())


def _line(values: Sequence[Any]) -> Line:
    id_, *numbers, previous, passage = values
    return Line._make((id_.decode("ascii"), *numbers, previous.decode("ascii"), passage))


def positions_of(names: Sequence[str], wanted: frozenset[str]) -> Array:
    """Return a table, bool (256,), of which numbers stand for one of the wanted names."""
    table = np.zeros(256, bool)
    table[[names.index(name) for name in wanted]] = True
    return table
