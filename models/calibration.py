"""What has to be known about an encoder before its cosines can be ranked with and believed.

The vectors of a sentence encoder share a large common part, and one direction that tells the
language instead of the subject. Both are estimated once from public texts and removed:

    f(x, m) = unit(y - u (u·y))   with   y = x - shrink · m

m is the mean of the passages or of the queries, u the language direction. The other numbers
are those with which the centred scores are fused and judged; they were chosen together with
the centring, so they are kept beside it.
"""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shiyi.core.errors import ModelUnavailableError, UsageError
from shiyi.core.files import make_private_directory, write_atomically

_SHIPPED = "multilingual-e5-small.npz"
_HAN = (
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)
# A text with a larger share of Han characters is Chinese.
_CHINESE_SHARE = 0.15
# Centring works in float64, in blocks, so that 100,000 vectors do not need 1 GB.
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Calibration:
    """The constants of one encoder, named by its fingerprint in `model`.

    The three vectors are float32 of the encoder's dimension. `prior_sd` is a usual standard
    deviation of centred scores, `divisor` counts a score in so many of them, the two gates say
    when keywords carry full evidence, and `floor` with `floor_slope` say below which evidence
    nothing fits the query. The defaults were measured for multilingual-e5-small with BM25
    over words and bigrams.
    """

    query_mean: NDArray[np.float32]
    passage_mean: NDArray[np.float32]
    language: NDArray[np.float32]
    sources: str
    model: str
    shrink: float = 0.9
    prior_sd: float = 0.085
    divisor: float = 4.0
    gate_coverage: float = 0.5
    gate_bm25: float = 30.0
    floor: float = 0.26
    floor_slope: float = 0.04

    @classmethod
    def identity(cls, dimension: int, model: str) -> "Calibration":
        """Return a calibration that changes no unit vector and never finds a score too low."""
        zero = np.zeros(dimension, np.float32)
        return cls(zero, zero, zero, sources="none", model=model, floor=-np.inf)

    def center_passages(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return f(x, passage mean) for each row: float32 of unit length, shape as given."""
        return self._center(vectors, self.passage_mean)

    def center_queries(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return f(x, query mean) for each row: float32 of unit length, shape as given."""
        return self._center(vectors, self.query_mean)

    def _center(
        self, vectors: NDArray[np.float32], mean: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Centre row by row: sums along a row, and no matrix product whose order may vary."""
        shift, language = self.shrink * mean.astype(np.float64), self.language.astype(np.float64)
        centred = np.empty(vectors.shape, np.float32)
        for start in range(0, len(vectors), _ROWS_AT_ONCE):
            block = vectors[start : start + _ROWS_AT_ONCE].astype(np.float64) - shift
            block -= (block * language).sum(axis=1, keepdims=True) * language
            lengths = np.sqrt(np.square(block).sum(axis=1, keepdims=True))
            # A vector that is exactly the mean has no direction left and stays zero.
            centred[start : start + _ROWS_AT_ONCE] = block / np.where(lengths > 0, lengths, 1)
        return centred

    @cached_property
    def digest(self) -> str:
        """The hex sha256 of every field."""
        return hashlib.sha256(self._content()).hexdigest()

    def save(self, path: Path) -> None:
        """Write an `.npz` without pickles; equal calibrations give equal bytes.

        Raises OSError when it cannot be written.
        """
        make_private_directory(path.parent)
        write_atomically(path, self._content())

    @classmethod
    def load(cls, path: Path | Traversable) -> "Calibration":
        """Read what `save` wrote. Raises ModelUnavailableError when that is not what it is."""
        try:
            return cls._from_content(path.read_bytes())
        except Exception as error:
            raise ModelUnavailableError(
                f"The calibration {path} cannot be read; delete it, or make it again."
            ) from error

    def _content(self) -> bytes:
        buffer = io.BytesIO()
        values: dict[str, Any] = {
            field.name: np.asarray(getattr(self, field.name)) for field in fields(self)
        }
        np.savez(buffer, **values)
        return buffer.getvalue()

    @classmethod
    def _from_content(cls, content: bytes) -> "Calibration":
        values: dict[str, Any] = {}
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            for field in fields(cls):
                value = archive[field.name]
                values[field.name] = value if value.ndim else value.item()
        made = cls(**values)
        vectors = (made.query_mean, made.passage_mean, made.language)
        if any(vector.ndim != 1 or not np.isfinite(vector).all() for vector in vectors):
            raise ValueError("a calibration has three finite vectors")
        return made


def calibration_path(fingerprint: str, cache: Path) -> Path:
    """Return where a calibration made by the user is kept."""
    return cache / "calibrations" / f"{fingerprint}.npz"


def find_calibration(fingerprint: str, cache: Path) -> Calibration | None:
    """Return the user's calibration for an encoder, or else the shipped one, or else None.

    Raises ModelUnavailableError when the user's cannot be read: ranking must not change silently.
    """
    own = calibration_path(fingerprint, cache)
    if own.exists():
        found = Calibration.load(own)
        if found.model != fingerprint:
            raise ModelUnavailableError(
                f"The calibration {own} was made for another model; delete it, or make it again."
            )
        return found
    shipped = Calibration.load(files(__package__).joinpath(_SHIPPED))
    return shipped if shipped.model == fingerprint else None


class Fittable(Protocol):
    """The part of an encoder that a calibration is estimated from."""

    @property
    def fingerprint(self) -> str: ...

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def fit_calibration(
    encoder: Fittable, passages: Sequence[str], queries: Sequence[str], *, sources: str
) -> Calibration:
    """Estimate the means and the language direction of an encoder from public texts.

    A few hundred texts of the kinds that will be stored, in Chinese and in English, as passages
    and as queries, are enough. Each mean is the mean of the two languages' means, so that their
    numbers do not matter; a language that is missing on one side is left out of that side's
    mean, and of the language direction, which is zero (nothing is removed) when no side has
    both. `sources` names the texts and their licences. Raises UsageError when a side is empty.
    """
    if not passages or not queries:
        raise UsageError("A calibration needs passages and queries; give some of both.")
    passage_mean, passage_gap = _mean_and_gap(encoder.encode_passages(passages), passages)
    query_mean, query_gap = _mean_and_gap(encoder.encode_queries(queries), queries)
    gap = passage_gap + query_gap
    length = np.linalg.norm(gap)
    return Calibration(
        query_mean=query_mean.astype(np.float32),
        passage_mean=passage_mean.astype(np.float32),
        language=(gap / length if length > 0 else gap).astype(np.float32),
        sources=sources,
        model=encoder.fingerprint,
    )


def _mean_and_gap(
    vectors: NDArray[np.float32], texts: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of both languages, and Chinese minus English (zero if one is missing)."""
    chinese = np.array([is_chinese(text) for text in texts])
    groups = [vectors[mask].astype(np.float64) for mask in (chinese, ~chinese) if mask.any()]
    means = [group.mean(axis=0) for group in groups]
    gap = means[0] - means[-1]
    return np.mean(means, axis=0), gap


def is_chinese(text: str) -> bool:
    """Whether more than 15 % of the characters are Han."""
    han = sum(any(first <= char <= last for first, last in _HAN) for char in text)
    return han > _CHINESE_SHARE * len(text)
