"""Rows 3, 4 and 12: whole searches against LanceDB, vectors against FAISS, and growth."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from benchmarks import corpus, homes
from benchmarks.measure import Result, Row, Skipped, in_turn, milliseconds
from shiyi.indexer.analyze import _segmenter, terms
from shiyi.indexer.fold import to_simplified
from shiyi.indexer.indexes import Indexes
from shiyi.indexer.vectors import EXACT_LIMIT, VectorTable, quantise
from shiyi.models.tokens import get_counter
from shiyi.retrieval.search import Query, SearchResult, search
from shiyi.store import Store

K = 10
_HOME = 100_000  # the size at which whole searches are judged
_ROUNDS = 60
_MISSING = "needs lancedb and pyarrow: pip install 'shiyi[bench]'"


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure whole searches and vector search."""
    for size in sizes:
        if size <= _HOME and wanted & {3, 4}:
            yield from _against_lancedb(size, wanted)
        if 4 in wanted:
            yield _against_faiss(size)
    if 4 in wanted:
        yield from _recall(max(sizes))
    if 12 in wanted and len(sizes) > 1:
        yield _growth(*sorted(sizes)[-2:])


class Searcher:
    """Our search in an opened home, with query vectors given beforehand."""

    def __init__(self, home: Path, asked: Sequence[str], vectors: Any) -> None:
        self._store = Store(home)
        known = dict(zip(map(to_simplified, asked), vectors, strict=False))
        encoder = homes.StubEncoder(known=known)
        self._indexes = Indexes(self._store, lambda: encoder)
        self._counter = get_counter()

    def search(self, scope: str, text: str) -> SearchResult:
        """Return ten hits with their texts and reasons."""
        query = Query(text=text, limit=K, budget=1_000_000, weak=True)
        return search(self._indexes, scope, query, self._counter)

    def close(self) -> None:
        """Give the home up."""
        self._indexes.close()
        self._store.close()


def _against_lancedb(size: int, wanted: set[int]) -> Iterator[Result]:
    asked = corpus.queries(_ROUNDS, size)
    vectors, given = corpus.vectors(size)
    with ExitStack() as stack:
        ours = Searcher(homes.home_of(size), asked, given)
        stack.callback(ours.close)
        try:
            table = stack.enter_context(lance_table(size, vectors))
        except ImportError:
            yield Skipped(3, _MISSING)
            return
        words = [_words(text) for text in asked]
        for row, scope, filtered, limit in (
            (3, homes.PART, True, 1 / 5), (4, homes.ALL, False, 1 / 2),
        ):  # fmt: skip
            if row not in wanted:
                continue
            took = in_turn(
                {
                    "ours": lambda i, scope=scope: ours.search(scope, asked[i]),
                    "analysis": lambda i: terms(asked[i]),
                    "lancedb": _hybrid(table, words, given, filtered=filtered),
                },
                rounds=_ROUNDS,
            )
            yield Row(
                row=row,
                what="hybrid top 10 with texts, " + ("in 13 %" if filtered else "unfiltered"),
                size=size,
                measured=took["ours"] / took["lancedb"],
                limit=limit,
                ours=milliseconds(took["ours"]),
                peer=milliseconds(took["lancedb"]),
                notes=f"{milliseconds(took['ours'] - took['analysis'])} without query analysis",
            )


@contextmanager
def lance_table(size: int, vectors: Any) -> Iterator[Any]:
    """Lend a LanceDB table of the documents, indexed for vectors, words and the filter."""
    import lancedb  # noqa: PLC0415 - an optional peer
    import pyarrow as pa  # noqa: PLC0415

    inside = homes.members(size)
    directory = tempfile.mkdtemp(prefix="shiyi-bench-")
    try:
        texts = list(corpus.texts(size))
        content = pa.table(
            {
                "id": pa.array(range(size)),
                "part": pa.array(inside).cast(pa.int32()),
                "text": pa.array(texts),
                "words": pa.array([_words(text) for text in texts]),
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(vectors.ravel()), corpus.DIMENSION
                ),
            }
        )
        table = lancedb.connect(directory).create_table("memories", content)
        table.create_index(metric="dot", index_type="IVF_SQ")
        table.create_scalar_index("part", index_type="BITMAP")
        table.create_fts_index(
            "words", base_tokenizer="whitespace", with_position=False, stem=False,
            remove_stop_words=False, ascii_folding=False, max_token_length=None, replace=True,
        )  # fmt: skip
        yield table
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _hybrid(
    table: Any, words: Sequence[str], given: Any, *, filtered: bool
) -> Callable[[int], object]:
    from lancedb.rerankers import RRFReranker  # noqa: PLC0415

    reranker = RRFReranker()

    def ask(i: int) -> object:
        query = table.search(
            query_type="hybrid", vector_column_name="vector", fts_columns="words"
        ).vector(given[i]).text(words[i]).distance_type("dot").rerank(reranker)  # fmt: skip
        if filtered:
            query = query.where("part = 1", prefilter=True)
        return query.select(["id", "text"]).limit(K).to_arrow().to_pylist()

    return ask


def _words(text: str) -> str:
    """Return the words of a text as LanceDB gets them: cut, with a space between."""
    return " ".join(word for word in _segmenter().lcut_for_search(text) if word.isalnum())


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
        limit=1 / 5 if size > EXACT_LIMIT else 1.5,
        ours=milliseconds(found["ours"]),
        peer=milliseconds(found["faiss"]),
        notes=f"recall@10 {_recall_of(nearest, asked, exact):.4f} (synthetic)",
    )


def nearest_of(vectors: Any) -> Callable[[Any], Any]:
    """Return a function that finds the ten nearest as a search in a scope does."""
    count = len(vectors)
    coarse = quantise(vectors) if count > EXACT_LIMIT else None
    table = VectorTable(vectors, np.ones(count, bool), coarse)
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
        coarse = quantise(vectors)
        table = VectorTable(vectors, np.ones(count, bool), coarse)
        yield Row(
            row=4,
            what="recall@10 of 1-bit codes and rescoring, real vectors"
            + ("" if count == len(rows_) else ", replicated with noise"),
            size=count,
            measured=_recall_of(_coarse_only(table), asked, exact),
            limit=0.99,
            unit="",
            at_least=True,
        )


def _coarse_only(table: VectorTable) -> Callable[[Any], Any]:
    allowed = np.ones(table.slots, bool)

    def nearest(query: Any) -> Any:
        slots = table.coarse_candidates(query, allowed)
        return slots[np.argsort(-table.scores_of(query, slots))[:K]]

    return nearest


def _recall_of(nearest: Callable[[Any], Any], asked: Any, exact: Any) -> float:
    shares = [
        len(set(nearest(query).tolist()) & set(right.tolist())) / K
        for query, right in zip(asked, exact, strict=False)
    ]
    return float(np.mean(shares))


def _growth(small: int, large: int) -> Row:
    small = min(small, _HOME)
    asked = corpus.queries(_ROUNDS, small)
    _, given = corpus.vectors(small)
    home = homes.home_of(small)
    with homes.copy_of(home) as grown, ExitStack() as stack:
        homes.add_others(grown, large - small)
        before, after = Searcher(home, asked, given), Searcher(grown, asked, given)
        stack.callback(before.close)
        stack.callback(after.close)
        took = in_turn(
            {
                "before": lambda i: before.search(homes.PART, asked[i]),
                "after": lambda i: after.search(homes.PART, asked[i]),
            },
            rounds=_ROUNDS,
        )
    return Row(
        row=12,
        what=f"the same scope, in a home that grew from {small:,} documents",
        size=large,
        measured=took["after"] / took["before"],
        limit=1.3,
        ours=milliseconds(took["after"]),
        peer=milliseconds(took["before"]),
    )
