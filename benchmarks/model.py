"""Rows 8 and 9: the embedded model, one query at a time and in a reindex job."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import shiyi
from benchmarks import corpus
from benchmarks.measure import Result, Row, Skipped, in_turn, milliseconds
from shiyi.core.errors import ModelUnavailableError
from shiyi.indexer import documents
from shiyi.indexer.analyze import terms
from shiyi.models.cache import default_cache
from shiyi.models.encoder import load_encoder

_TEXTS = 2000
_LONGEST = 200  # characters of a text in the reindex job; memories are short


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure the model; the sizes do not matter."""
    if not wanted & {8, 9} or not sizes:
        return
    try:
        encoder: Any = load_encoder("default", cache=default_cache())
        encoder.encode_passages(["拾忆"])
    except ModelUnavailableError as error:
        yield Skipped(8, str(error))
        return
    if 8 in wanted:
        yield _one_query(encoder)
    if 9 in wanted:
        yield _reindex()


def _one_query(encoder: Any) -> Row:
    import torch  # noqa: PLC0415 - takes seconds

    torch.set_num_threads(1)
    asked = corpus.queries(40, 10_000)
    bulk = encoder._bulk_engine()  # noqa: SLF001 - the same weights in torch
    took = in_turn(
        {
            "int8": lambda i: encoder.encode_queries([asked[i]]),
            "torch": lambda i: bulk.encode([asked[i]], query=True),
        },
        rounds=len(asked),
    )
    cosines = [
        float(encoder.encode_queries([text])[0] @ _unit(bulk.encode([text], query=True)[0]))
        for text in asked[:20]
    ]
    return Row(
        row=8,
        what=f"embed one short query, int8 ONNX against {bulk.name}",
        size=len(asked),
        measured=took["int8"] / took["torch"],
        limit=1 / 4,
        ours=milliseconds(took["int8"]),
        peer=milliseconds(took["torch"]),
        notes=f"cosine between the two at least {min(cosines):.4f}",
    )


def _reindex() -> Result:
    texts = [text for text in corpus.real_texts()[0] if len(text) <= _LONGEST][:_TEXTS]
    if not texts:
        return Skipped(9, "needs the labelled sets for real texts: set SHIYI_DATASETS")
    spent: dict[str, float] = {"encoder": 0.0, "segmenter": 0.0}
    with (
        tempfile.TemporaryDirectory(prefix="shiyi-bench-") as place,
        shiyi.open(Path(place) / "home", model="default", embedded=True) as memory,
    ):
        scope = memory.scope("me")
        for text in texts:
            scope.remember(text, words_only=True)
        caller: Any = memory._caller  # noqa: SLF001 - to look inside
        encoder = caller.session.indexes.model().encoder
        encoder.encode_passages(["拾忆"])  # both are loaded before anything is measured
        terms("拾忆")
        encoder.embed_passages = _timed(encoder.embed_passages, spent, "encoder")
        with patch.object(documents, "terms", _timed(terms, spent, "segmenter")):
            start = time.process_time()
            memory.reindex(scope="me", full=True)
            whole = time.process_time() - start
    other = whole - sum(spent.values())
    return Row(
        row=9,
        what="reindex: share of CPU outside the encoder and the analyser",
        size=len(texts),
        measured=100 * other / whole,
        limit=10,
        unit="%",
        ours=f"{whole:.1f} s",
        notes=", ".join(f"{name} {value:.1f} s" for name, value in spent.items()),
    )


def _timed(call: Callable[..., Any], spent: dict[str, float], name: str) -> Callable[..., Any]:
    def timed(*given: Any) -> Any:
        start = time.process_time()
        try:
            return call(*given)
        finally:
            spent[name] += time.process_time() - start

    return timed


def _unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)
