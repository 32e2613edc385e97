"""Rows 1, 2 and 5: keyword search against rank_bm25 and bm25s, and changes in place."""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from benchmarks import corpus
from benchmarks.measure import Result, Row, Skipped, in_turn, milliseconds
from shiyi.indexer.analyze import term_key, terms
from shiyi.indexer.lexical import LiveOkapi, top
from shiyi.indexer.okapi import NonNegativeOkapi
from shiyi.indexer.segment import Segment, count_terms

K = 10
_CHANGES = 200  # documents added, and as many deleted, before live statistics are measured
_JUDGED = 100_000  # the size that the limits were set for; rank_bm25 holds a dict a document
_SAME = 1e-9


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure keyword search at every size."""
    for size in sizes:
        segment = corpus.segment(size)
        asked = [terms(text) for text in corpus.queries(200, size)]
        if 1 in wanted and size <= _JUDGED:
            yield _live(segment, asked, size)
        if 2 in wanted:
            yield _prepared(segment, asked, size)
        if 5 in wanted and size <= _JUDGED:
            yield from _changes(segment, size)


def _live(segment: Segment, asked: Sequence[list[str]], size: int) -> Row:
    index = _changed(segment, size)
    living = np.flatnonzero(index.alive[: index.slots])
    reference = NonNegativeOkapi(cast("Any", _Documents(index, living)))
    keys = [[term_key(term) for term in query] for query in asked]
    took = in_turn(
        {
            "ours": lambda i: top(index.get_scores(asked[i]), K),
            "rank_bm25": lambda i: np.argsort(-reference.get_scores(keys[i]))[:K],
        },
        rounds=40,
    )
    worst = max(_deviation(index, reference, living, asked[i], keys[i]) for i in range(10))
    ratio = took["ours"] / took["rank_bm25"]
    return Row(
        row=1,
        what="BM25 top 10, live statistics, against rank_bm25",
        size=size,
        measured=ratio if worst <= _SAME else float("inf"),
        limit=1 / 120 if size == _JUDGED else None,
        ours=milliseconds(took["ours"]),
        peer=milliseconds(took["rank_bm25"]),
        notes=f"same ranks; scores differ by at most {worst:.0e}",
    )


def _prepared(segment: Segment, asked: Sequence[list[str]], size: int) -> Result:
    try:
        import bm25s  # noqa: PLC0415 - an optional peer
        import numba  # noqa: F401, PLC0415 - its backend
    except ImportError:
        return Skipped(2, "needs bm25s and numba: pip install 'shiyi[bench]'")
    peer = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
    vocabulary = {str(key): place for place, key in enumerate(segment.keys.tolist())}
    peer.index((_ids(segment), vocabulary), show_progress=False)
    index = LiveOkapi(segment)
    index.prepare()
    names = [[str(term_key(term)) for term in query] for query in asked]
    took = in_turn(
        {
            "ours": lambda i: top(index.get_scores(asked[i]), K),
            "bm25s": lambda i: peer.retrieve([names[i]], k=K, show_progress=False, n_threads=0),
        },
        rounds=len(asked),
    )
    agreed = np.mean([_overlap(index, peer, asked[i], names[i]) for i in range(50)])
    return Row(
        row=2,
        what="BM25 top 10, weights ready, against bm25s with numba",
        size=size,
        measured=took["ours"] / took["bm25s"],
        limit=1.3 if size >= _JUDGED else None,
        ours=milliseconds(took["ours"]),
        peer=milliseconds(took["bm25s"]),
        notes=f"float64 against float32; {100 * agreed:.1f} % of the same documents",
    )


def _changes(segment: Segment, size: int) -> Iterator[Row]:
    index = LiveOkapi(segment)
    fresh = [count_terms(terms(text)) for text in corpus.queries(300, size, seed=11)]
    long = [count_terms(terms(text)) for text, _ in zip(corpus.texts(300), range(300), strict=True)]
    doomed = random.Random(3).sample(range(size), 300)
    index.add(*fresh[0])
    took = in_turn(
        {"add": lambda i: index.add(*long[i]), "delete": lambda i: index.delete(doomed[i])},
        rounds=250,
    )
    for name, limit in (("add", 0.2), ("delete", 0.05)):
        yield Row(
            row=5,
            what=f"{name} one document in the keyword index",
            size=size,
            measured=took[name],
            limit=limit,
            unit="ms",
            ours=milliseconds(took[name]),
        )


def _changed(segment: Segment, size: int) -> LiveOkapi:
    """Return an index with documents added to its base and others deleted from it."""
    index = LiveOkapi(segment)
    generator = random.Random(5)
    for slot in generator.sample(range(size), _CHANGES):
        index.delete(slot)
    for text in corpus.queries(_CHANGES, size, seed=12):
        index.add(*count_terms(terms(text)))
    return index


class _Documents:
    """The living documents as lists of terms, one at a time."""

    def __init__(self, index: LiveOkapi, living: Any) -> None:
        self._index, self._living = index, living

    def __len__(self) -> int:
        return len(self._living)

    def __iter__(self) -> Iterator[list[int]]:
        for slot in self._living.tolist():
            keys, frequencies = self._index.terms_of(slot)
            yield np.repeat(keys, frequencies).tolist()


def _ids(segment: Segment) -> list[list[int]]:
    """Return the documents of a segment as lists of positions in its vocabulary."""
    pointers = segment.forward_pointers.tolist()
    return [
        np.repeat(segment.forward_terms[start:end], segment.forward_frequencies[start:end]).tolist()
        for start, end in pairwise(pointers)
    ]


def _deviation(
    index: LiveOkapi, reference: Any, living: Any, query: list[str], keys: list[int]
) -> float:
    """Return how far the scores are apart; infinite when the first ten are not the same."""
    ours, theirs = index.get_scores(query), reference.get_scores(keys)
    worst = float(np.abs(ours[living] - theirs).max())
    best = living[np.lexsort((living, -theirs.round(9)))[:K]]
    same = np.abs(ours[top(ours, K)] - ours[best]).max() <= _SAME
    return worst if same else float("inf")


def _overlap(index: LiveOkapi, peer: Any, query: list[str], names: list[str]) -> float:
    ours = set(top(index.get_scores(query), K).tolist())
    theirs = set(peer.retrieve([names], k=K, show_progress=False).documents[0].tolist())
    return len(ours & theirs) / K
