"""Centred unit vectors of one scope: an exact scan while it is cheap, 1-bit codes above that.

FAISS computes; slots are ours. A row of zeros means that the document is not embedded yet.
"""

from math import isqrt
from typing import Any

import faiss as _faiss
import numpy as np

from shiyi.indexer.segment import Array

faiss: Any = _faiss  # its stubs leave out half of what is used here
EXACT_LIMIT = 10_000  # documents; above, 1-bit RaBitQ finds candidates that are scored exactly
RERANK = 400  # candidates scored exactly, at the least
_CODES_FROM = 1 / 8  # share of the vectors that a filter must leave for the codes to be of use
_TRAINED = 80_000  # vectors whose mean the codes are taken from
_AT_ONCE = 20_000
_ROUND = 6  # decimals; engines differ in the seventh


class VectorTable:
    """The vectors of every slot: a base, possibly a mapped file, and what was added since."""

    def __init__(self, base: Array, embedded: Array, quantised: bytes | None = None) -> None:
        """Take base float32 (n, d), which rows are embedded, bool (n,), and the coarse index."""
        self._base = base
        self.embedded = np.array(embedded, bool)
        self.any_embedded = bool(self.embedded.any())
        self._added = np.zeros((0, base.shape[1]), np.float32)
        self.slots = len(base)
        self._coarse: Any = None
        if quantised is not None:
            self._coarse = faiss.deserialize_index(np.frombuffer(quantised, np.uint8))

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._base.shape[1])

    def add(self, vector: Array | None) -> None:
        """Append the next slot; None when its text is not embedded yet."""
        self.slots += 1
        if self.slots > len(self.embedded):
            self.embedded = np.resize(self.embedded, max(64, 2 * len(self.embedded)))
        position = self.slots - 1 - len(self._base)
        if position == len(self._added):
            grown = np.zeros((max(64, 2 * position), self.dimension), np.float32)
            grown[:position] = self._added
            self._added = grown
        self.embedded[self.slots - 1] = vector is not None
        self.any_embedded |= vector is not None
        self._added[position] = 0.0 if vector is None else vector

    def set(self, slot: int, vector: Array) -> None:
        """Give a slot the vector that it was waiting for."""
        self.embedded[slot] = self.any_embedded = True
        if slot < len(self._base):
            self._base[slot] = vector
        else:
            self._added[slot - len(self._base)] = vector

    def scores(self, query: Array) -> Array:
        """Return the inner product of `query` float32 (d,) with every slot, float64 (slots,)."""
        query = np.ascontiguousarray(query, np.float32)
        found = np.empty(self.slots, np.float32)
        base = len(self._base)
        _inner_products(query, self._base, found[:base])
        _inner_products(query, self._added[: self.slots - base], found[base:])
        return np.round(found.astype(np.float64), _ROUND)

    def scores_of(self, query: Array, slots: Array) -> Array:
        """Return the inner product of `query` with the given slots, float64 (len(slots),)."""
        query = np.ascontiguousarray(query, np.float32)
        base = len(self._base)
        old = slots < base
        if old.all():
            found = _inner_products_of(query, self._base, slots)
        else:
            found = np.empty(len(slots), np.float32)
            found[old] = _inner_products_of(query, self._base, slots[old])
            found[~old] = _inner_products_of(query, self._added, slots[~old] - base)
        return np.round(found.astype(np.float64), _ROUND)

    @property
    def is_large(self) -> bool:
        """Whether candidates come from the quantised index."""
        return self._coarse is not None

    def candidates(self, query: Array, allowed: Array) -> Array:
        """Return slots that hold the nearest allowed ones, for a large table.

        allowed is bool (slots,). What was added since the build is always among them.
        """
        base = len(self._base)
        count = int(np.count_nonzero(allowed[:base]))
        if count > EXACT_LIMIT:
            near = self._nearest(query, allowed[:base], count)
        else:
            near = np.flatnonzero(allowed[:base])
        if base == self.slots:
            return near
        return np.concatenate([near, base + np.flatnonzero(allowed[base : self.slots])])

    def _nearest(self, query: Array, allowed: Array, count: int) -> Array:
        """Return the allowed slots of the base that are nearest, by their codes or exactly.

        The codes know no filter, so more of them are asked for than are wanted. Where a filter
        leaves few, reading just those vectors costs no more than reading all codes.
        """
        # In a larger table more of them crowd around the best: 2 √n keep recall@10 at 0.99.
        wanted = min(max(RERANK, 2 * isqrt(len(self._base))), count)
        share = count / len(self._base)
        if share >= _CODES_FROM:
            query_row = np.ascontiguousarray(query[None], np.float32)
            found: Array = self._coarse.search(query_row, int(wanted / share))[1][0]
            found = found[found >= 0]
            found = found[allowed[found]][:wanted]
            if len(found) >= wanted // 2:
                return found
        selected = np.flatnonzero(allowed)
        scores = self.scores_of(query, selected)
        return selected[np.argpartition(-scores, wanted - 1)[:wanted]]


def quantise(vectors: Array) -> bytes:
    """Return a serialised 1-bit index of vectors float32 (n, d); deterministic."""
    index = faiss.index_factory(vectors.shape[1], "RaBitQfs", faiss.METRIC_INNER_PRODUCT)
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        index.train(np.ascontiguousarray(vectors[:_TRAINED]))
        for start in range(0, len(vectors), _AT_ONCE):
            index.add(np.ascontiguousarray(vectors[start : start + _AT_ONCE]))
    finally:
        faiss.omp_set_num_threads(threads)
    return bytes(faiss.serialize_index(index))


def _inner_products(query: Array, rows: Array, out: Array) -> None:
    """Fill out float32 (n,) by FAISS's own kernel, which treats each row by itself."""
    if len(rows):
        faiss.fvec_inner_products_ny(
            faiss.swig_ptr(out), faiss.swig_ptr(query), faiss.swig_ptr(rows),
            rows.shape[1], len(rows),
        )  # fmt: skip


def _inner_products_of(query: Array, rows: Array, positions: Array) -> Array:
    """Return what the same kernel makes of some of the rows, without copying them."""
    found = np.empty(len(positions), np.float32)
    if len(positions):
        wanted = np.ascontiguousarray(positions, np.int64)
        faiss.fvec_inner_products_by_idx(
            faiss.swig_ptr(found), faiss.swig_ptr(query), faiss.swig_ptr(rows),
            faiss.swig_ptr(wanted), rows.shape[1], 1, len(positions),
        )  # fmt: skip
    return found
