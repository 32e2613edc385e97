"""Homes to measure in: built through the store and the reindex job, with vectors put in place.

A home of n documents has the scope `all`, which holds them, and `part`, 13 in 100 of them once
more. They are dialogues of eight turns. The encoder is a stub that returns vectors given to it.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpus
from shiyi.core.ids import derived_id
from shiyi.core.iterate import batched
from shiyi.core.text import text_sha256
from shiyi.indexer.analyze import analyzer_fingerprint
from shiyi.indexer.documents import documents_of_batch
from shiyi.indexer.embeddings import EmbeddingStore, passage_key
from shiyi.indexer.generation import FORMAT
from shiyi.indexer.indexes import Indexes
from shiyi.indexer.vectors import EXACT_LIMIT
from shiyi.models.calibration import Calibration
from shiyi.models.interaction import Embedded, Signs, Vectors, directions
from shiyi.store import Capture, Store
from shiyi.store.migrations import MIGRATIONS

_START = datetime(2018, 1, 1, tzinfo=UTC)
_TURNS = 8
_WRITE = 5000
_VERSION = 2
_TOKENS_EACH = 0.65  # a character: what the embedded model makes of the sample archive
_ASKED_TOKENS = 8
ALL, PART = "all", "part"
PART_SHARE = 0.13


@dataclass
class StubEncoder:
    """An `Encoder` without a model: queries have the vectors given, passages all the same one."""

    name: str = "stub"
    fingerprint: str = "be" * 32
    dimension: int = corpus.DIMENSION
    max_tokens: int = 512
    calibration: Calibration | None = None
    known: dict[str, Any] = field(default_factory=dict)

    def encode_passages(self, texts: Sequence[str]) -> Any:
        """Return unit vectors that depend on the texts."""
        seeds = [int.from_bytes(passage_key(text)[:4], "little") for text in texts]
        rows = [np.random.default_rng(seed).standard_normal(self.dimension) for seed in seeds]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)

    def encode_queries(self, texts: Sequence[str]) -> Any:
        """Return the vectors given for these texts."""
        return np.array([self.known[text] for text in texts], np.float32)

    def embed_passages(self, texts: Sequence[str], *, quickly: bool = False) -> Embedded[Signs]:
        """Return vectors and tokens that depend on the texts."""
        del quickly  # there is one way
        return Embedded(self.encode_passages(texts), [_signs(text) for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Embedded[Vectors]:
        """Return the vectors given for these texts, and tokens."""
        states = [
            np.random.default_rng(len(text)).standard_normal((_ASKED_TOKENS, self.dimension))
            for text in texts
        ]
        centre = np.zeros(self.dimension, np.float32)
        return Embedded(self.encode_queries(texts), [directions(one, centre) for one in states])


def _signs(text: str) -> Signs:
    """Return as many tokens as a text of that length has, of no meaning."""
    seed = int.from_bytes(passage_key(text)[:4], "little")
    shape = max(1, round(_TOKENS_EACH * len(text))), corpus.DIMENSION // 8
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def members(count: int) -> list[bool]:
    """Tell which documents `part` holds: whole dialogues, 13 in 100 of them."""
    dialogues = -(-count // _TURNS)
    chosen = np.random.default_rng(8).random(dialogues) < PART_SHARE
    inside: list[bool] = np.repeat(chosen, _TURNS)[:count].tolist()
    return inside


def home_of(count: int) -> Path:
    """Return a home of `count` documents with indexes and vectors, built once and kept."""
    tables = hashlib.sha256(repr(MIGRATIONS).encode()).hexdigest()[:8]
    made_by = (_VERSION, analyzer_fingerprint(), FORMAT, tables, EXACT_LIMIT)
    name = "-".join(["home", *map(str, made_by), str(count)])
    home = corpus.cache_directory() / name
    if not home.exists():
        building = home.with_suffix(".building")
        shutil.rmtree(building, ignore_errors=True)
        _build(building, count)
        building.rename(home)
    return home


@contextmanager
def copy_of(home: Path) -> Iterator[Path]:
    """Lend a copy of a home that may be written to."""
    copy = home.with_suffix(".copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(home, copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def add_others(home: Path, count: int) -> None:
    """Add `count` documents to a home, in ten scopes of their own."""
    with Store(home) as store:
        for place, batch in enumerate(batched(corpus.texts(count), _WRITE)):
            scope = f"other-{place % 10}"
            _write(store, scope, list(enumerate(batch, place * _WRITE)))


def _build(home: Path, count: int) -> None:
    rows, _ = corpus.vectors(count)
    inside = members(count)
    with Store(home, create=True) as store:
        for batch in batched(enumerate(corpus.texts(count)), _WRITE):
            _write(store, ALL, batch)
            _write(store, PART, [(number, text) for number, text in batch if inside[number]])
        encoder = StubEncoder()
        indexes = Indexes(store, lambda: encoder)
        for scope in (ALL, PART):
            _keep_vectors(store, scope, encoder, rows)
            indexes.reindex(scope)
        indexes.close()
        store.checkpoint()


def _write(store: Store, scope: str, batch: Sequence[tuple[int, str]]) -> None:
    captures = [_capture(scope, number, text) for number, text in batch]
    store.write(scope, lambda transaction: {"new": len(transaction.add_captures(captures))})


def _capture(scope: str, number: int, text: str) -> Capture:
    moment = _START + timedelta(minutes=number)
    return Capture(
        scope=scope,
        capture_id=derived_id(scope, str(number)),
        text=text,
        utf8_sha256=text_sha256(text),
        recorded_at=moment,
        captured_at=moment,
        speaker="user" if number % 2 else "assistant",
        session_id=str(number // _TURNS),
        previous_id=derived_id(scope, str(number - 1)) if number % _TURNS else None,
        external_id=str(number),
    )


def _keep_vectors(store: Store, scope: str, encoder: StubEncoder, rows: Any) -> None:
    """Keep the vector of each document as if the encoder had made it."""
    directory = store.home / "vectors" / encoder.fingerprint[:32]
    with EmbeddingStore(directory, encoder.dimension) as kept:
        for captures in batched(store.iterate_captures(scope), _WRITE):
            passages, numbers = list[str](), list[int]()
            for documents in documents_of_batch(store, scope, captures):
                passages += [document.passage for document in documents]
                numbers += [int(document.card["external_id"]) for document in documents]
            keys, tokens = map(passage_key, passages), map(_signs, passages)
            kept.add(list(keys), Embedded(rows[numbers], list(tokens)))
