"""An encoder for tests: character n-grams hashed into a few buckets.

Deterministic, instant and without any package, it finds texts that share characters. It knows
nothing of meaning; do not use it for real memories.
"""

import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shiyi.models.calibration import Calibration
from shiyi.models.engine import Identity, checked_texts, unit_rows
from shiyi.models.interaction import Embedded, Signs, Vectors

_DIMENSION = 128
_LONGEST_GRAM = 3
# Counted in characters, as this encoder has no tokens.
_MAX_TOKENS = 8192


class HashingEncoder:
    """Signed counts of 1- to 3-grams of the folded text, in `dimension` buckets."""

    name = "hashing"
    max_tokens = _MAX_TOKENS
    calibration: Calibration | None = None

    def __init__(
        self, *, dimension: int = _DIMENSION, query_prompt: str = "", passage_prompt: str = ""
    ) -> None:
        self.dimension = dimension
        self.fingerprint = Identity(
            model=self.name,
            weights_sha256="",
            pooling="sum",
            query_prompt=query_prompt,
            passage_prompt=passage_prompt,
            dimension=dimension,
            max_tokens=_MAX_TOKENS,
        ).fingerprint
        self._query_prompt = query_prompt
        self._passage_prompt = passage_prompt

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to be found."""
        return self._encode(self._passage_prompt, texts)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode what is looked for."""
        return self._encode(self._query_prompt, texts)

    def embed_passages(self, texts: Sequence[str], *, quickly: bool = False) -> Embedded[Signs]:
        """Encode texts to be found; it tells no tokens."""
        del quickly  # there is one way
        return Embedded(self.encode_passages(texts))

    def embed_queries(self, texts: Sequence[str]) -> Embedded[Vectors]:
        """Encode what is looked for; it tells no tokens."""
        return Embedded(self.encode_queries(texts))

    def _encode(self, prompt: str, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.zeros((len(texts), self.dimension))
        for row, text in zip(counts, checked_texts(texts), strict=True):
            _count(unicodedata.normalize("NFKC", prompt + text).lower()[:_MAX_TOKENS], row)
        return unit_rows(counts)


def _count(text: str, row: NDArray[np.float64]) -> None:
    # The end mark keeps a text of one character from cancelling to nothing.
    row[0] += 1
    for length in range(1, _LONGEST_GRAM + 1):
        for start in range(len(text) - length + 1):
            code = zlib.crc32(text[start : start + length].encode())
            row[1 + (code >> 1) % (len(row) - 1)] += 1 if code & 1 else -1
