"""rank_bm25's Okapi with the idf that never goes below zero: the reference for keyword search.

Its `get_scores` is rank_bm25's own loop over all documents.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rank_bm25 import BM25Okapi

K1 = 0.9  # with B: best for short texts on the development sets
B = 0.4


def non_negative_idf(documents: float, frequency: Any) -> Any:
    """Return ln(1 + (N - df + 1/2) / (df + 1/2)), Lucene's form of the Okapi idf.

    A frequency of a term gives a float64, an array of them one of their shape.
    """
    return np.log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5))


class NonNegativeOkapi(BM25Okapi):  # type: ignore[misc]
    """rank_bm25's BM25Okapi with `non_negative_idf`. The corpus is one list of terms a document."""

    def __init__(self, corpus: Sequence[Sequence[Any]], k1: float = K1, b: float = B) -> None:
        super().__init__(corpus, k1=k1, b=b)

    def _calc_idf(self, nd: Mapping[Any, int]) -> None:
        self.idf = {t: float(non_negative_idf(self.corpus_size, df)) for t, df in nd.items()}
