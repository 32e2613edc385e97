"""Encoders: text in, unit vectors out.

default           multilingual-e5-small, embedded (bundled.py)
a directory       any sentence-transformers model (sentence.py)
a hub name        the same, from the local hub cache; nothing is ever fetched
hashing           character n-grams, for tests only (hashing.py)
none              no model: keyword search alone
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shiyi.core.errors import ModelUnavailableError
from shiyi.models.bundled import load_bundled
from shiyi.models.calibration import Calibration
from shiyi.models.hashing import HashingEncoder
from shiyi.models.interaction import Embedded, Signs, Vectors
from shiyi.models.sentence import load_sentence_encoder


class Encoder(Protocol):
    """Turns texts into float32 rows of unit length, shape (texts, dimension), in C order.

    `fingerprint` is a hex sha256 over weights, pooling, prompts and dimension; vectors of equal
    fingerprints may be compared. `max_tokens` is the longest input; longer texts are cut to it.
    A blank text raises UsageError, no texts give no rows, and lone surrogates are read as
    U+FFFD. Any method may raise ModelUnavailableError at its first use.
    """

    name: str
    fingerprint: str
    dimension: int
    max_tokens: int
    calibration: Calibration | None

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to be found, in bulk."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode what is looked for, quickly."""
        ...

    def embed_passages(self, texts: Sequence[str], *, quickly: bool = False) -> Embedded[Signs]:
        """Encode texts to be found, with their tokens where the encoder tells them.

        quickly: without loading what bulk encoding needs, which is better for a few texts.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> Embedded[Vectors]:
        """Encode what is looked for, with its tokens where the encoder tells them."""
        ...


def load_encoder(
    model: str,
    *,
    cache: Path,
    query_prompt: str | None = None,
    passage_prompt: str | None = None,
) -> Encoder:
    """Load an encoder by name (see above), offline.

    `cache` holds prepared models and calibrations. A prompt of None is the model's own, "" is
    none. Raises ModelUnavailableError with one sentence on what to do.
    """
    if model == "none":
        raise ModelUnavailableError(
            "No embedding model is chosen, so only keywords are searched; set the model to "
            "'default' for search by meaning."
        )
    if model == "default":
        return load_bundled(cache=cache, query_prompt=query_prompt, passage_prompt=passage_prompt)
    if model == "hashing":
        return HashingEncoder(query_prompt=query_prompt or "", passage_prompt=passage_prompt or "")
    return load_sentence_encoder(
        model, cache=cache, query_prompt=query_prompt, passage_prompt=passage_prompt
    )
