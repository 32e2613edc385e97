"""The quick engine: an int8 ONNX graph through onnxruntime, one text at a time.

Loads in about two seconds, most of it the tokenizer's 250,002 pieces. Each text is run alone
on one thread, so its vector depends on nothing but the text; several texts are spread over
the processors.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.core.errors import ModelUnavailableError

GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
_ERRORS_ONLY = 3
_VECTOR, _STATES = "vector", "states"  # outputs of the graph
_SILENCE = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")  # its name differs by version


class QuickEngine:
    """A directory with `model.onnx` (see graph.py) and `tokenizer.json`."""

    name = "onnx-int8"

    def __init__(
        self, directory: Path, *, query_prompt: str, passage_prompt: str, max_tokens: int
    ) -> None:
        self._query_prompt = query_prompt
        self._passage_prompt = passage_prompt
        try:
            self._session = _session(directory / GRAPH)
            self._tokenizer = import_module("tokenizers").Tokenizer.from_file(
                str(directory / TOKENIZER)
            )
        except Exception as error:
            raise ModelUnavailableError(
                f"The model in {directory} cannot be loaded ({type(error).__name__}); delete that "
                "directory, and it will be made again."
            ) from error
        # A prompt begins with <s> and has </s> after it, as every text does.
        self._before = {
            query: len(self._tokenizer.encode(prompt.rstrip()).ids) - 1
            for query, prompt in ((True, query_prompt), (False, passage_prompt))
        }
        self._tokenizer.enable_truncation(max_length=max_tokens)

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[Any]:
        """Encode each text by itself, shape (texts, dimension)."""
        return np.stack([vector for (vector,) in self._run(texts, query=query, wanted=[_VECTOR])])

    def states(
        self, texts: Sequence[str], *, query: bool
    ) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """Return the vectors, and the last states of each text's own tokens, (tokens, hidden)."""
        runs = self._run(texts, query=query, wanted=[_VECTOR, _STATES])
        before = self._before[query]
        return np.stack([vector for vector, _ in runs]), [states[before:-1] for _, states in runs]

    def _run(
        self, texts: Sequence[str], *, query: bool, wanted: list[str]
    ) -> list[list[NDArray[Any]]]:
        """Return what is wanted of each text."""
        prompt = self._query_prompt if query else self._passage_prompt

        def run(text: str) -> list[NDArray[Any]]:
            ids = np.array([self._tokenizer.encode(prompt + text).ids], np.int64)
            return [found[0] for found in self._session.run(wanted, {"ids": ids})]

        workers = min(len(texts), os.cpu_count() or 1)
        if workers == 1:
            return [run(text) for text in texts]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(run, texts))


def _session(path: Path) -> Any:
    for name in _SILENCE:  # else the library tells its maker of every session
        os.environ[name] = "1"
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    # A second thread makes a short query slower; without spinning an idle session costs nothing.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = _ERRORS_ONLY
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
