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
MOST_HEARD = 128  # tokens of a query; a longer one would make a search wait
_AT_ONCE = 1 << 18  # products; for more OpenBLAS wakes its threads, which cost more than they bring
_LEAST = 16  # tokens of texts at once, however long the query
_KEPT = 1 << 22  # sums at once, 16 MiB
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


def max_sims(queries: Sequence[Vectors], texts: Sequence[Signs]) -> NDArray[np.float64]:
    """Return how well each text meets each query, (queries, texts).

    It is the mean, over the query's tokens, of the cosine to the nearest token of the text. queries
    hold directions, float32 (tokens, dimension); of a long one every second or third token is
    heard, so that at most MOST_HEARD are. A text's token counts as the corner of a cube that its
    signs name. NaN for a text or a query without tokens.
    """
    found = np.full((len(queries), len(texts)), np.nan)
    heard = [query[:: -(-len(query) // MOST_HEARD) or 1] for query in queries]
    lengths = np.array([len(text) for text in texts], np.int64)
    told, asked = np.flatnonzero(lengths), [k for k, query in enumerate(heard) if len(query)]
    if not asked or not len(told):
        return found
    rows = np.concatenate([heard[k] for k in asked])
    firsts = np.cumsum([0, *(len(heard[k]) for k in asked[:-1])])
    counts = np.array([[len(heard[k])] for k in asked])
    whole = np.add.reduceat(rows.sum(axis=1, dtype=np.float64), firsts)[:, None] / counts
    for part in _parts(told, lengths, max(1, _KEPT // len(rows))):
        nearest = _nearest(rows, [texts[i] for i in part])
        mean = np.add.reduceat(nearest, firsts, axis=0, dtype=np.float64) / counts
        found[np.ix_(asked, part)] = (2 * mean - whole) / np.sqrt(rows.shape[1])
    return found


def _parts(told: NDArray[np.int64], lengths: NDArray[np.int64], most: int) -> list[Any]:
    """Split texts so that each part has about `most` tokens, or is a single text."""
    ends = np.cumsum(lengths[told])
    return np.split(told, np.flatnonzero(np.diff(ends // most)) + 1)


def _nearest(rows: Vectors, texts: Sequence[Signs]) -> Vectors:
    """Return the largest sum of a row, float32 (n, dimension), over the bits of a text's tokens."""
    packed = np.concatenate(texts)
    sums = np.empty((len(rows), len(packed)), np.float32)
    step = max(_LEAST, _AT_ONCE // rows.size)
    for start in range(0, len(packed), step):
        bits = np.unpackbits(packed[start : start + step], axis=1, count=rows.shape[1])
        sums[:, start : start + step] = rows @ bits.astype(np.float32).T
    lengths = np.array([len(text) for text in texts])
    nearest: Vectors = np.maximum.reduceat(sums, np.cumsum(lengths) - lengths, axis=1)
    return nearest
