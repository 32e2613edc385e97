"""The reindex job: from the rows of a scope to a new generation.

It can be killed at any moment: vectors are kept as they come, the old generation serves until the
new one is whole. What the old generation already knows (terms of unchanged documents) and what
was embedded before is not computed again.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shiyi.core.errors import IndexUnusableError
from shiyi.core.files import owner_only
from shiyi.core.iterate import batched
from shiyi.indexer.documents import (
    COLUMNS,
    Document,
    documents_fingerprint,
    documents_of_batch,
    record_document,
    row,
    topic_key,
)
from shiyi.indexer.embeddings import EmbeddingStore, passage_key
from shiyi.indexer.generation import (
    EMBEDDED,
    QUANTISED,
    VECTORS,
    CardWriter,
    Generation,
    begin,
    publish,
    scope_directory,
)
from shiyi.indexer.lexical import LiveOkapi, largest_deviation
from shiyi.indexer.quotes import QUOTES
from shiyi.indexer.relations import write_graph
from shiyi.indexer.segment import Array, Segment, SegmentBuilder
from shiyi.indexer.vectors import EXACT_LIMIT, quantise
from shiyi.models.calibration import Calibration
from shiyi.models.encoder import Encoder
from shiyi.store import Store

_ROWS = 2048  # captures or records read at a time
_EMBED = 512  # passages sorted by length and embedded together
_KEEP = 64  # passages embedded between two writes to disk
_SAMPLE = 200  # documents that are checked against rank_bm25
_TOLERANCE = 1e-9


class Progress(Protocol):
    """Told how far a job is: documents done, of how many."""

    def __call__(self, done: int, total: int) -> None: ...


def no_progress(done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Model:
    """An encoder with the calibration that its scores are read by, and its kept vectors."""

    encoder: Encoder
    calibration: Calibration
    embeddings: EmbeddingStore


def build_generation(
    store: Store,
    scope: str,
    *,
    model: Model | None,
    embed: bool = True,
    reuse: Generation | None = None,
    progress: Progress = no_progress,
) -> Generation:
    """Build the generation of a scope as the store stands now, and let it serve.

    Without a model only keywords are indexed; with one but not `embed`, only vectors that are
    already kept are used. `reuse` gives the terms of documents that did not change.

    Raises OSError when the disk is full, ModelUnavailableError when the model fails, and
    IndexUnusableError when the result does not score as rank_bm25 does.
    """
    seq = store.last_seq
    with owner_only(), _building(scope_directory(store.home, scope)) as building:
        columns = _write_documents(
            store, scope, building, model=model if embed else None, reuse=reuse, progress=progress
        )
        write_graph(store, scope, building, columns)
        embedded = _write_vectors(building, columns, model)
        _check_against_rank_bm25(Segment.load(building))
        return publish(
            building,
            home_id=store.home_id,
            scope=scope,
            seq=seq,
            analyzer=documents_fingerprint(),
            encoder=model.encoder.fingerprint if model else "",
            calibration=model.calibration.digest if model else "",
            documents=len(columns),
            embedded=embedded,
            dimension=model.encoder.dimension if model and len(columns) else 0,
        )


@contextmanager
def _building(directory: Path) -> Iterator[Path]:
    """Give a directory to build in; what a build that fails has written makes room again."""
    building = begin(directory)
    try:
        yield building
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def _write_documents(
    store: Store,
    scope: str,
    building: Path,
    *,
    model: Model | None,
    reuse: Generation | None,
    progress: Progress,
) -> Array:
    """Write what is known of every document, and embed what is new. Return the columns."""
    total = sum(store.counts(scope)[name] for name in ("captures", "records"))
    owners, owner = 0, ""
    embedder = _Embedder(model, lambda: progress(owners, total)) if model else None
    with closing(_DocumentWriter(building, reuse)) as writer:
        for document in iterate_documents(store, scope):
            key = writer.add(document)
            if embedder:
                embedder.add(key, document.passage)
            if document.key[1] != owner:
                owners, owner = owners + 1, document.key[1]
                progress(owners, total)
        if embedder:
            embedder.flush()
        return writer.finish()


class _DocumentWriter:
    """Writes postings, cards, topics, quotes and columns of documents given in order."""

    def __init__(self, building: Path, reuse: Generation | None) -> None:
        self._directory = building
        self._segment, self._cards = SegmentBuilder(building), CardWriter(building)
        self._counter = _TermCounter(reuse)
        self._rows: list[tuple[Any, ...]] = []
        self._parts: list[Array] = []
        self._topic_keys: list[int] = []
        self._topic_pointers = [0]
        self._quotes: list[tuple[int, str, int]] = []
        self._size = 0

    def add(self, document: Document) -> bytes:
        """Append a document and return the SHA-256 of its passage."""
        self._segment.add(*self._counter.count(document))
        self._cards.add(document.card)
        key = passage_key(document.passage)
        self._rows.append(row(document, key))
        if len(self._rows) == _ROWS:
            self._parts.append(np.array(self._rows, COLUMNS))
            self._rows.clear()
        self._topic_keys += sorted({topic_key(topic) for topic in document.topics})
        self._topic_pointers.append(len(self._topic_keys))
        quotes = document.card.get("quotes", ())
        self._quotes += ((self._size, capture, start) for capture, start, _ in quotes)
        self._size += 1
        return key

    def finish(self) -> Array:
        """Write what is left and return the columns."""
        columns = np.concatenate([*self._parts, np.array(self._rows, COLUMNS)])
        self._segment.finish()
        self._cards.finish()
        for name, array in (
            ("columns", columns),
            ("topic_pointers", np.asarray(self._topic_pointers, np.int64)),
            ("topic_keys", np.asarray(self._topic_keys, np.uint64)),
            ("quotes", np.array(self._quotes, QUOTES)),
        ):
            np.save(self._directory / f"{name}.npy", array, allow_pickle=False)
        return columns

    def close(self) -> None:
        """Release the files."""
        self._segment.close()
        self._cards.close()


def iterate_documents(store: Store, scope: str) -> Iterator[Document]:
    """Yield every document of the scope, ordered by (type, id, start)."""
    for heads in batched(store.iterate_heads(scope), _ROWS):
        quotes = store.links_from(scope, [head.record_id for head in heads])
        for head in heads:
            links = quotes.get(head.record_id, [])
            yield record_document(head, [link for link in links if link.rel == "quotes"])
    for captures in batched(store.iterate_captures(scope), _ROWS):
        for documents in documents_of_batch(store, scope, captures):
            yield from documents


class _TermCounter:
    """Counts the terms of documents given in order, taking them from a generation where it can.

    Both come ordered by key, so one pass over the generation finds every unchanged document.
    """

    def __init__(self, reuse: Generation | None) -> None:
        usable = reuse is not None and reuse.manifest.analyzer == documents_fingerprint()
        self._known = reuse if usable else None
        self._position = 0

    def count(self, document: Document) -> tuple[Array, Array]:
        """Return the keys and frequencies of the terms of a document."""
        if self._known is None:
            return document.counts()
        kind, id_, start = document.key
        wanted = (kind, id_.encode("ascii"), start)
        columns = self._known.columns
        while self._position < len(columns) and _key(columns[self._position]) < wanted:
            self._position += 1
        if self._position < len(columns):
            line = columns[self._position]
            if _key(line) == wanted and line["version"] == document.columns["version"]:
                return self._known.segment.terms_of(self._position)
        return document.counts()


def _key(line: Any) -> tuple[int, bytes, int]:
    return int(line["type"]), bytes(line["id"]), int(line["start"])


class _Embedder:
    """Embeds passages that have no vector yet, many at a time, and keeps each batch on disk."""

    def __init__(self, model: Model, kept: Callable[[], None]) -> None:
        """kept: called after each batch; it may raise, to end the job there."""
        self._model, self._kept = model, kept
        self._waiting: dict[bytes, str] = {}

    def add(self, key: bytes, passage: str) -> None:
        if key not in self._model.embeddings:
            self._waiting[key] = passage
            if len(self._waiting) >= _EMBED:
                self.flush()

    def flush(self) -> None:
        # Texts of like length share a batch, so that little is spent on padding.
        ordered = sorted(self._waiting.items(), key=lambda item: (len(item[1]), item[0]))
        for batch in batched(ordered, _KEEP):
            made = self._model.encoder.embed_passages([passage for _, passage in batch])
            self._model.embeddings.add([key for key, _ in batch], made)
            self._kept()
        self._waiting.clear()


def _write_vectors(building: Path, columns: Array, model: Model | None) -> int:
    """Write the centred vectors and return how many documents have one."""
    if model is None or not len(columns):
        np.save(building / EMBEDDED, np.zeros(len(columns), bool), allow_pickle=False)
        return 0
    shape = (len(columns), model.encoder.dimension)
    vectors = np.lib.format.open_memmap(building / VECTORS, "w+", np.float32, shape)
    embedded = np.zeros(len(columns), bool)
    for start in range(0, len(columns), _ROWS):
        part = slice(start, start + _ROWS)
        keys = [bytes(key) for key in columns["passage"][part]]
        raw, found = model.embeddings.get(keys)
        embedded[part] = found
        vectors[part] = 0.0
        if found.any():
            block = np.zeros_like(raw)
            block[found] = model.calibration.center_passages(raw[found])
            vectors[part] = block
    vectors.flush()
    np.save(building / EMBEDDED, embedded, allow_pickle=False)
    if len(columns) > EXACT_LIMIT and embedded.all():
        (building / QUANTISED).write_bytes(quantise(vectors))
    return int(embedded.sum())


def _check_against_rank_bm25(segment: Segment) -> None:
    """Compare the scores of sampled documents with rank_bm25's own loop over them."""
    documents = len(segment.lengths)
    if not documents:
        return
    slots = np.unique(np.linspace(0, documents - 1, _SAMPLE).astype(int)).tolist()
    index = LiveOkapi(segment)
    asked = slots[:: max(1, len(slots) // 5)]
    queries = [[int(key) for key in index.terms_of(slot)[0][:8]] for slot in asked]
    worst = largest_deviation(index, slots, queries)
    if worst > _TOLERANCE:
        raise IndexUnusableError(f"its scores differ from rank_bm25's by {worst:.2g}")
