"""What every encoder is made of: an identity, prompts, and one or two engines.

An engine turns texts into vectors with one library. An encoder has a bulk engine (fast for
many texts, slow to load) and a quick one (fast for a single text, quick to load); where there
is only one engine it serves as both. Their vectors may be mixed: they come from the same
weights, so the fingerprint names the weights and not the engine.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shiyi.core.errors import ModelUnavailableError, UsageError
from shiyi.models.calibration import Calibration
from shiyi.models.interaction import Embedded, Signs, Vectors, directions, signs
from shiyi.models.text import without_surrogates


@dataclass(frozen=True)
class Identity:
    """What makes two encoders give the same vectors, up to the noise of their engines."""

    model: str
    weights_sha256: str
    pooling: str
    query_prompt: str
    passage_prompt: str
    dimension: int
    max_tokens: int

    @property
    def fingerprint(self) -> str:
        """The hex sha256 of all fields."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


class Engine(Protocol):
    """Texts to vectors, shape (texts, dimension), of any length and of any float type.

    The engine adds its prompts and cuts what is longer than the model reads.
    """

    name: str

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[Any]: ...

    def states(
        self, texts: Sequence[str], *, query: bool
    ) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """Return the vectors, and the last states of each text's own tokens, (tokens, hidden)."""
        ...


class EngineEncoder:
    """An `Encoder` over a quick engine and, loaded at first use, a bulk engine."""

    def __init__(
        self,
        name: str,
        identity: Identity,
        *,
        quick: Engine,
        load_bulk: Callable[[], Engine] | None = None,
        calibration: Calibration | None = None,
        centre: Vectors | None = None,
    ) -> None:
        """centre: the usual state of a token, (dimension,); without one no tokens are told."""
        self.name = name
        self.fingerprint = identity.fingerprint
        self.dimension = identity.dimension
        self.max_tokens = identity.max_tokens
        self.calibration = calibration
        self._centre = centre
        self._quick = quick
        self._load_bulk = load_bulk
        self._bulk: Engine | None = None if load_bulk else quick
        self._loading = threading.Lock()

    @property
    def engine(self) -> str:
        """The name of the engine that encodes in bulk; loads it."""
        return self._bulk_engine().name

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Encode texts to be found, in bulk."""
        return self._encode(self._bulk_engine, texts, query=False)[0]

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode what is looked for; each row depends on its own text only."""
        return self._encode(lambda: self._quick, texts, query=True)[0]

    def embed_passages(self, texts: Sequence[str], *, quickly: bool = False) -> Embedded[Signs]:
        """Encode texts to be found, with their tokens; quickly: without loading the bulk engine."""
        engine = (lambda: self._quick) if quickly else self._bulk_engine
        vectors, states = self._encode(engine, texts, query=False, told=True)
        if self._centre is None:
            return Embedded(vectors)
        return Embedded(vectors, [signs(one, self._centre) for one in states])

    def embed_queries(self, texts: Sequence[str]) -> Embedded[Vectors]:
        """Encode what is looked for, with its tokens; each depends on its own text only."""
        vectors, states = self._encode(lambda: self._quick, texts, query=True, told=True)
        if self._centre is None:
            return Embedded(vectors)
        return Embedded(vectors, [directions(one, self._centre) for one in states])

    def token_states(self, texts: Sequence[str], *, query: bool) -> list[NDArray[Any]]:
        """Return the last states of each text's tokens, from which their centre is made."""
        return self._bulk_engine().states(checked_texts(texts), query=query)[1]

    def _encode(
        self, engine: Callable[[], Engine], texts: Sequence[str], *, query: bool, told: bool = False
    ) -> tuple[Vectors, list[NDArray[Any]]]:
        """Return the vectors and, `told` and with a centre to see them from, the tokens' states."""
        cleaned = checked_texts(texts)
        if not cleaned:
            return np.empty((0, self.dimension), np.float32), []
        if not told or self._centre is None:
            return unit_rows(engine().encode(cleaned, query=query)), []
        vectors, states = engine().states(cleaned, query=query)
        return unit_rows(vectors), states

    def _bulk_engine(self) -> Engine:
        with self._loading:
            if self._bulk is None:
                assert self._load_bulk is not None
                self._bulk = self._load_bulk()
            return self._bulk


def checked_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts in well-formed Unicode.

    Raises UsageError for a blank text: its vector would be that of the prompt alone, near to
    everything and about nothing.
    """
    if isinstance(texts, str):
        raise UsageError("Texts are a list of strings, not one string.")
    for position, text in enumerate(texts, 1):
        if not text.strip():
            raise UsageError(
                f"Text {position} of {len(texts)} is blank and has no meaning to encode; leave "
                "blank texts out."
            )
    return [without_surrogates(text) for text in texts]


def unit_rows(vectors: NDArray[Any]) -> Vectors:
    """Scale each row to length one, in float64, and return float32 in C order.

    Raises ModelUnavailableError when a row has no direction: then the weights are broken.
    """
    exact = np.ascontiguousarray(vectors, np.float64)
    lengths = np.sqrt(np.square(exact).sum(axis=1, keepdims=True))
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ModelUnavailableError(
            "The embedding model gave a vector without direction, so its weights are unusable; "
            "choose another model."
        )
    rows: Vectors = (exact / lengths).astype(np.float32)
    return rows
