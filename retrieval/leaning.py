"""What a map leans towards: how near each record is to a query.

Now, by the scores of search. As of a time, by the words that the records had then, as they are
written: the index knows only what stands today, and must not tell of later.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.indexer.analyze import locate
from shiyi.indexer.documents import RECORD
from shiyi.indexer.fold import fold_with_spans
from shiyi.retrieval.asof import Standing
from shiyi.retrieval.query import Query, read_query
from shiyi.retrieval.search import Finding
from shiyi.store import Store

_LEAST = 0.1  # of the best score; as in search
_NEAREST = 2000  # documents; what is farther away makes no difference to a map
_MOST_WORDS = 24


@dataclass(frozen=True, slots=True)
class Lean:
    """How near each record is, 0 to 1 by place, and the terms of the query."""

    near: NDArray[np.float64]
    words: frozenset[str] = frozenset()


def no_lean(standing: Standing) -> Lean:
    """Return a lean towards nothing."""
    return Lean(np.zeros(len(standing)))


def lean_by_search(standing: Standing, found: Finding) -> Lean:
    """Return how near each record is to what was searched, as a share of the best score."""
    lean = Lean(np.zeros(len(standing)), frozenset(found.asked.terms))
    if found.outcome != "found":
        return lean
    score = np.where(found.fused.speaks, np.round(found.fused.score, 9), 0.0)
    best = float(score.max(initial=0.0))
    least = max(_LEAST * best, 1e-9)
    if len(score) > _NEAREST:
        least = max(least, float(np.partition(score, len(score) - _NEAREST)[-_NEAREST]))
    speaking = np.flatnonzero(score >= least)
    rows = found.index.columns.rows(found.slots[speaking])
    own = rows["type"] == RECORD
    shares = (score[speaking][own] / best).tolist()
    ids = [id_.decode("ascii") for id_ in rows["id"][own].tolist()]
    for place, share in standing.by_place(dict(zip(ids, shares, strict=True))).items():
        lean.near[place] = share
    return lean


def lean_by_words(store: Store, standing: Standing, text: str) -> Lean:
    """Return which share of the query's words stands in the words of each record.

    Raises UsageError as a search for it would.
    """
    lean = Lean(np.zeros(len(standing)), frozenset(read_query(Query(text=text)).terms))
    written = _as_written(text)
    for forms in written:
        pattern = f"(?i)(?:{'|'.join(map(re.escape, forms))})"
        found = store.rolls.with_words(standing.scope, pattern, standing.as_of)
        lean.near[standing.places(found)] += 1.0 / len(written)
    return lean


def _as_written(text: str) -> list[list[str]]:
    """Return the first terms of a query, each as it is written there and as it is folded."""
    folded = fold_with_spans(text)
    forms: dict[str, set[str]] = {}
    for term in locate(folded.text):
        own = text[folded.starts[term.start] : folded.ends[term.end - 1]]
        forms.setdefault(term.text, {term.text}).add(own)
    return [sorted(forms[term]) for term in sorted(forms)[:_MOST_WORDS]]
