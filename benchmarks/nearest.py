"""Row 4, the vectors alone: against FAISS in time, and against exact search in recall."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import faiss
import numpy as np

from benchmarks import corpus
from benchmarks.measure import Result, Row, Skipped, in_turn, milliseconds
from shiyi.indexer import vectors as ours

K = 10
_ROUNDS = 60
_JUDGED = 100_000  # the smallest size that a limit was set for


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure vector search at every size, and its recall."""
    if 4 not in wanted:
        return
    for size in sizes:
        yield _against_faiss(size)
    if max(sizes) >= _JUDGED:
        yield from _recall(max(sizes))


def _against_faiss(size: int) -> Row:
    vectors, asked = corpus.vectors(size)
    flat = faiss.IndexFlatIP(corpus.DIMENSION)
    flat.add(vectors)
    nearest = nearest_of(vectors)
    found = in_turn(
        {"ours": lambda i: nearest(asked[i]), "faiss": lambda i: flat.search(asked[i : i + 1], K)},
        rounds=_ROUNDS,
    )
    exact = flat.search(asked[:_ROUNDS], K)[1]
    return Row(
        row=4,
        what="vectors, top 10, against faiss IndexFlatIP",
        size=size,
        measured=found["ours"] / found["faiss"],
        limit=1 / 5 if size >= _JUDGED else None,
        ours=milliseconds(found["ours"]),
        peer=milliseconds(found["faiss"]),
        notes=f"recall@10 {_recall_of(nearest, asked, exact):.4f} (synthetic)",
    )


def nearest_of(vectors: Any) -> Callable[[Any], Any]:
    """Return a function that finds the ten nearest as a search in a scope does."""
    count = len(vectors)
    coarse = ours.quantise(vectors) if count > ours.EXACT_LIMIT else None
    table = ours.VectorTable(vectors, np.ones(count, bool), coarse)
    allowed = np.ones(count, bool)

    def nearest(query: Any) -> Any:
        slots = table.candidates(query, allowed) if table.is_large else np.arange(count)
        scores = table.scores_of(query, slots) if table.is_large else table.scores(query)
        best = np.argpartition(-scores, K - 1)[:K]
        return slots[best]

    return nearest


def _recall(largest: int) -> Iterator[Result]:
    """Report recall@10 against exact search on vectors of real texts, bare and grown."""
    rows_, asked = corpus.real_vectors()
    if not len(rows_):
        yield Skipped(4, "needs the labelled sets for real vectors: set SHIYI_DATASETS")
        return
    for count in (len(rows_), largest):
        vectors = rows_ if count == len(rows_) else corpus.replicated(rows_, count)
        flat = faiss.IndexFlatIP(corpus.DIMENSION)
        flat.add(vectors)
        exact = flat.search(asked, K)[1]
        with patch.object(ours, "EXACT_LIMIT", 0):
            nearest = nearest_of(vectors)
            found = _recall_of(nearest, asked, exact)
        yield Row(
            row=4,
            what="recall@10 of 1-bit codes and rescoring, real vectors"
            + ("" if count == len(rows_) else ", replicated with noise"),
            size=count,
            measured=found,
            limit=0.99 if count == len(rows_) else None,
            unit="",
            at_least=True,
        )


def _recall_of(nearest: Callable[[Any], Any], asked: Any, exact: Any) -> float:
    shares = [
        len(set(nearest(query).tolist()) & set(right.tolist())) / K
        for query, right in zip(asked, exact, strict=False)
    ]
    return float(np.mean(shares))
