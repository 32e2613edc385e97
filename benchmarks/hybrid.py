"""Rows 3, 4 and 6: whole searches and additions, against LanceDB."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import corpus, homes
from benchmarks.measure import Result, Row, Skipped, in_turn, milliseconds
from shiyi.indexer.analyze import terms
from shiyi.indexer.fold import to_simplified
from shiyi.indexer.indexes import Indexes
from shiyi.indexer.lexicon import segmenter
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.write import Words
from shiyi.models.tokens import get_counter
from shiyi.retrieval.results import SearchResult
from shiyi.retrieval.search import Query, search
from shiyi.store import Store

K = 10
_JUDGED = 100_000  # the size at which whole searches are judged
_ROUNDS = 60
_CHANNELS = ("lexical", "dense")


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure whole searches, and adding one record, in homes of up to 100,000 documents."""
    for size in (size for size in sizes if size <= _JUDGED and wanted & {3, 4, 6}):
        vectors, given = corpus.vectors(size)
        with ExitStack() as stack:
            try:
                table = stack.enter_context(lance_table(size, vectors))
            except ImportError:
                yield Skipped(min(wanted & {3, 4, 6}), "needs lancedb: pip install 'shiyi[bench]'")
                return
            del vectors
            yield from _searching(size, wanted, table, given)
            if 6 in wanted:
                yield _adding(size, table, given)


class Searcher:
    """Our search in an opened home, with query vectors given beforehand."""

    def __init__(self, home: Path, asked: Sequence[str], vectors: Any) -> None:
        self.store = Store(home)
        known = dict(zip(map(to_simplified, asked), vectors, strict=False))
        encoder = homes.StubEncoder(known=known)
        self.indexes = Indexes(self.store, lambda: encoder)
        self._counter = get_counter()

    def search(self, scope: str, text: str, channels: Sequence[str] = _CHANNELS) -> SearchResult:
        """Return ten hits with their texts and reasons."""
        query = Query(text=text, limit=K, budget=1_000_000, weak=True, channels=frozenset(channels))
        return search(self.indexes, scope, query, self._counter)

    def close(self) -> None:
        """Give the home up."""
        self.indexes.close()
        self.store.close()


def _searching(size: int, wanted: set[int], table: Any, given: Any) -> Iterator[Row]:
    asked = corpus.queries(2 * _ROUNDS, size)  # the second half is asked first, to warm up
    words = [_words(text) for text in asked]
    ours = Searcher(homes.home_of(size), asked, given)
    try:
        for row, scope, limit in ((3, homes.PART, 1 / 5), (4, homes.ALL, 1 / 2)):
            if row not in wanted:
                continue
            filtered = scope == homes.PART
            took = in_turn(
                {
                    "ours": lambda i, scope=scope: ours.search(scope, asked[i]),  # type: ignore[misc]
                    "analysis": lambda i: terms(asked[i]),
                    "lancedb": _hybrid(table, words, given, filtered=filtered),
                },
                rounds=_ROUNDS,
                warm=range(_ROUNDS, 2 * _ROUNDS),
            )
            yield Row(
                row=row,
                what="hybrid top 10 with texts, " + ("in 13 %" if filtered else "unfiltered"),
                size=size,
                measured=took["ours"] / took["lancedb"],
                limit=limit if size == _JUDGED else None,
                ours=milliseconds(took["ours"]),
                peer=milliseconds(took["lancedb"]),
                notes=f"{milliseconds(took['ours'] - took['analysis'])} without query analysis",
            )
    finally:
        ours.close()


def _adding(size: int, table: Any, given: Any) -> Row:
    """Measure a record from its words to being found by words and vector, but for the model."""
    import pyarrow as pa  # noqa: PLC0415 - an optional peer

    texts = [text for text, _ in zip(corpus.texts(200), range(200), strict=True)]
    words = [_words(text) for text in texts]
    with homes.copy_of(homes.home_of(size)) as home:
        ours = Searcher(home, [], [])

        def add(i: int, *, words_only: bool = True) -> None:
            remember(ours.store, homes.ALL, Words(text=texts[i]), {}, words_only=words_only)
            ours.indexes.get(homes.ALL)

        def add_to_lance(i: int) -> None:
            row = _arrow(
                pa, ids=[size + i], inside=[False], texts=[texts[i]], words=[words[i]],
                vectors=given[i : i + 1],
            )  # fmt: skip
            table.add(row)

        try:
            took = in_turn(
                {
                    "ours": add,
                    "lancedb": add_to_lance,
                    "record": lambda i: add(i + 100, words_only=False),
                },
                rounds=60,
                clock=time.perf_counter,
            )
        finally:
            ours.close()
    return Row(
        row=6,
        what="add one text, durable and found at once, without the model",
        size=size,
        measured=took["ours"] / took["lancedb"],
        limit=1 if size == _JUDGED else None,
        ours=milliseconds(took["ours"]),
        peer=milliseconds(took["lancedb"]),
        notes=f"wall time; {milliseconds(took['record'])} with a record that quotes the text",
    )


@contextmanager
def lance_table(size: int, vectors: Any) -> Iterator[Any]:
    """Lend a LanceDB table of the documents, indexed for vectors, words and the filter."""
    import lancedb  # noqa: PLC0415 - an optional peer
    import pyarrow as pa  # noqa: PLC0415

    directory = tempfile.mkdtemp(prefix="shiyi-bench-")
    try:
        texts = list(corpus.texts(size))
        words = [_words(text) for text in texts]
        content = _arrow(
            pa,
            ids=range(size),
            inside=homes.members(size),
            texts=texts,
            words=words,
            vectors=vectors,
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


def _arrow(
    pa: Any, *, ids: Any, inside: Sequence[bool], texts: Any, words: Any, vectors: Any
) -> Any:
    return pa.table(
        {
            "id": pa.array(ids),
            "part": pa.array([int(one) for one in inside], pa.int32()),
            "text": pa.array(texts),
            "words": pa.array(words),
            "vector": pa.FixedSizeListArray.from_arrays(
                pa.array(vectors.ravel()), corpus.DIMENSION
            ),
        }
    )


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
    return " ".join(word for word in segmenter().lcut_for_search(text) if word.isalnum())
