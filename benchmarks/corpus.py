"""The corpora: drawn texts, synthetic vectors, and the vectors of real texts, kept in the cache.

Texts are drawn word by word from jieba's dictionary by frequency. They have the word lengths, the
skew and the vocabulary of Chinese but no meaning, which no row here depends on.
"""

import importlib.resources
import json
import os
import random
import re
import shutil
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.core.iterate import batched
from shiyi.indexer.analyze import analyzer_fingerprint, terms
from shiyi.indexer.segment import Segment, SegmentBuilder, count_terms
from shiyi.models.cache import default_cache
from shiyi.models.encoder import load_encoder

Array = NDArray[Any]
DIMENSION = 384
_BLOCK = 10_000  # documents drawn from one seed, so that a small corpus begins a large one
_MEDIAN, _SPREAD = np.log(42), 0.35  # characters; a mean of about 50
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_QUERIES_FROM = 10_000  # documents that queries are cut from
_VERSION = 1


def cache_directory() -> Path:
    """Return where what is dear to make is kept."""
    directory = default_cache() / "benchmarks"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def texts(count: int) -> Iterator[str]:
    """Yield `count` texts of 15 to 160 characters, about 50 on average."""
    for block in range(-(-count // _BLOCK)):
        yield from _draw(block, min(_BLOCK, count - block * _BLOCK))


def queries(count: int, documents: int, seed: int = 7) -> list[str]:
    """Return spans of 6 to 18 characters of documents."""
    generator = random.Random(seed)
    pool = list(texts(min(documents, _QUERIES_FROM)))
    found: list[str] = []
    while len(found) < count:
        text = generator.choice(pool)
        length = generator.randint(6, 18)
        start = generator.randrange(max(1, len(text) - length))
        found.append(text[start : start + length])
    return found


def segment(count: int) -> Segment:
    """Return the postings of the corpus, analysed once and kept."""
    name = f"lexical-{_VERSION}-{analyzer_fingerprint()}-{count}"
    directory = cache_directory() / name
    if not directory.exists():
        building = directory.with_suffix(".building")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir()
        builder = SegmentBuilder(building)
        for text in texts(count):
            builder.add(*count_terms(terms(text)))
        builder.finish()
        building.rename(directory)
    return Segment.load(directory)


def vectors(count: int, asked: int = 300, seed: int = 5) -> tuple[Array, Array]:
    """Return unit vectors (count, 384) and queries (asked, 384), clustered, of few dimensions.

    2,000 Zipf-weighted topics, 48 dimensions within a topic, and noise in all of them.
    """
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((2000, DIMENSION), np.float32)
    inner = generator.standard_normal((48, DIMENSION), np.float32) / np.sqrt(48) * 0.8
    weights = 1 / np.arange(1, 2001) ** 0.7
    rows = np.empty((count, DIMENSION), np.float32)
    for start in range(0, count, 50_000):
        size = min(50_000, count - start)
        topics = generator.choice(2000, size, p=weights / weights.sum())
        part = centres[topics] * 0.7
        part += generator.standard_normal((size, 48), np.float32) @ inner
        part += 0.3 * generator.standard_normal((size, DIMENSION), np.float32)
        rows[start : start + size] = part
    _normalise(rows)
    asking = rows[generator.integers(0, count, asked)]
    asking = asking + 0.5 / np.sqrt(DIMENSION) * generator.standard_normal(
        (asked, DIMENSION), np.float32
    )
    return rows, _normalise(asking.astype(np.float32))


def replicated(rows: Array, count: int, seed: int = 6) -> Array:
    """Return `count` unit vectors: those given, then copies of them with a little noise."""
    generator = np.random.default_rng(seed)
    grown = np.empty((count, rows.shape[1]), np.float32)
    for start in range(0, count, 50_000):
        part = rows[np.arange(start, min(start + 50_000, count)) % len(rows)]
        noise = generator.standard_normal(part.shape, np.float32) / np.sqrt(rows.shape[1])
        grown[start : start + len(part)] = part + 0.5 * noise
    grown[: len(rows)] = rows[:count]
    return _normalise(grown)


def real_texts() -> tuple[list[str], list[str]]:
    """Return the passages and queries of the labelled sets; empty when they are not there."""
    default = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    place = Path(os.environ.get("SHIYI_DATASETS", default))
    passages: dict[str, None] = {}
    asked: dict[str, None] = {}
    for directory in sorted(path for path in place.glob("*") if path.is_dir()):
        passages |= dict.fromkeys(_texts_of(directory / "corpus.jsonl"))
        asked |= dict.fromkeys(islice(_texts_of(directory / "queries.jsonl"), 40))
    return list(passages), list(asked)


def real_vectors() -> tuple[Array, Array]:
    """Return centred vectors of the real passages and queries by the default model."""
    passages, asked = real_texts()
    encoder = load_encoder("default", cache=default_cache())
    assert encoder.calibration is not None
    name = f"real-{_VERSION}-{encoder.fingerprint[:16]}-{len(passages)}-{len(asked)}.npz"
    path = cache_directory() / name
    if not path.exists():
        ordered = sorted(passages, key=len)  # texts of like length share a batch
        rows = np.concatenate([encoder.encode_passages(part) for part in batched(ordered, 64)])
        with path.open("wb") as file:
            np.savez(file, passages=rows, queries=encoder.encode_queries(asked))
    with np.load(path) as kept:
        return (
            np.asarray(encoder.calibration.center_passages(kept["passages"]), np.float32),
            np.asarray(encoder.calibration.center_queries(kept["queries"]), np.float32),
        )


def _draw(block: int, count: int) -> Iterator[str]:
    words, shares = _dictionary()
    drawing, chance = np.random.default_rng([7, block]), random.Random(7_000_000 + block)
    lengths = np.clip(drawing.lognormal(_MEDIAN, _SPREAD, _BLOCK), 15, 160).astype(int)
    chosen = iter(drawing.choice(len(words), size=int(lengths.sum()), p=shares).tolist())
    for length in lengths[:count].tolist():
        parts: list[str] = []
        size = 0
        while size < length:
            parts.append(words[next(chosen)])
            size += len(parts[-1])
            if chance.random() < 0.08:
                parts.append("，")
            if chance.random() < 0.05 and len(parts) > 2:
                parts.append(chance.choice(parts))  # texts repeat their own words
        yield "".join(parts) + "。"


@cache
def _dictionary() -> tuple[list[str], Array]:
    content = importlib.resources.files("jieba").joinpath("dict.txt").read_text("utf-8")
    lines = [line.split() for line in content.splitlines()]
    kept = [(word, int(count)) for word, count, *_ in lines if _HAN.fullmatch(word) and int(count)]
    shares = np.array([count for _, count in kept], float)
    return [word for word, _ in kept], shares / shares.sum()


def _texts_of(path: Path) -> Iterator[str]:
    if path.exists():
        for line in path.read_text("utf-8").strip("\n").split("\n"):
            text = json.loads(line)["text"]
            if text.strip():
                yield text


def _normalise(rows: Array) -> Array:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows
