"""Late interaction: how well each token of a query is met by some token of a text.

One vector of a text is a mean and blurs what it is made of. So a text is kept token by token as
well, as signs: a bit tells whether a dimension of the token's last state lies above the usual one.
Of a query the states themselves are compared (MaxSim, Khattab & Zaharia 2020, arXiv 2004.12832).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Signs = NDArray[np.uint8]
_AT_ONCE = 1 << 18  # products; for more OpenBLAS wakes its threads, which cost more than they bring
_LEAST = 16  # tokens of texts at once, however long the query
Tokens = TypeVar("Tokens", bound=NDArray[Any])


@dataclass(frozen=True)
class Embedded(Generic[Tokens]):
    """What an encoder makes of texts: unit vectors (texts, dimension), and each text's tokens.

    Tokens of a passage are signs, uint8 (tokens, dimension / 8), those of a query directions,
    float32 (tokens, dimension). There are no entries where an encoder has no tokens to tell.
    """

    vectors: Vectors
    tokens: Sequence[Tokens] = ()


def signs(states: NDArray[Any], centre: Vectors) -> Signs:
    """Return one bit a dimension of states (tokens, dimension): whether it is above the centre."""
    return np.packbits(states > centre, axis=1)


def directions(states: NDArray[Any], centre: Vectors) -> Vectors:
    """Return states (tokens, dimension) as seen from the centre, each of unit length."""
    away = states.astype(np.float64) - centre
    lengths = np.sqrt(np.square(away).sum(axis=1, keepdims=True))
    found: Vectors = (away / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found


def max_sims(query: Vectors, texts: Sequence[Signs]) -> NDArray[np.float64]:
    """Return for each text the mean, over the query's tokens, of the cosine to its nearest one.

    query holds directions, float32 (tokens, dimension); a text's token counts as the corner of a
    cube that its signs name. NaN for a text without tokens.
    """
    found = np.full(len(texts), np.nan)
    lengths = np.array([len(text) for text in texts], np.int64)
    told = np.flatnonzero(lengths)
    if not len(query) or not len(told):
        return found
    dimension = query.shape[1]
    bits = np.unpackbits(
        np.concatenate([text for text in texts if len(text)]), axis=1, count=dimension
    )
    positive = bits.astype(np.float32)
    step = max(_LEAST, _AT_ONCE // query.size)
    blocks = (positive[start : start + step] for start in range(0, len(positive), step))
    sums = np.concatenate([query @ block.T for block in blocks], axis=1)
    starts = np.cumsum(lengths[told]) - lengths[told]
    nearest = np.maximum.reduceat(sums, starts, axis=1).mean(axis=0, dtype=np.float64)
    whole = query.sum(axis=1, dtype=np.float64).mean()
    found[told] = (2 * nearest - whole) / np.sqrt(dimension)
    return found
