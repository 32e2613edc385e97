"""Search: the plain list of hits, each with its reasons."""

import numpy as np

from shiyi.core.errors import ModelUnavailableError
from shiyi.indexer.fold import to_simplified
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.indexes import Indexes
from shiyi.indexer.segment import Array
from shiyi.models.calibration import Calibration
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.candidates import gather, only_named
from shiyi.retrieval.fuse import Evidence, Fused, fuse, knows_something
from shiyi.retrieval.hits import Found, collect_hits
from shiyi.retrieval.pack import pack
from shiyi.retrieval.query import MAX_LIMIT, MAX_QUERY, Asked, Query, read_query
from shiyi.retrieval.results import Basis, Hit, SearchResult, TimeRead, Truncated
from shiyi.retrieval.when import Reading
from shiyi.store.kinds import LAYERS

__all__ = ["MAX_LIMIT", "MAX_QUERY", "Query", "search"]
_SHOWN_TERMS = 16
_SELF = LAYERS.index("self")
_LEAST = 0.1  # of the best score; what has less only costs tokens
_POOL = 8  # candidates looked at for each hit asked for, before the same words are folded


def search(indexes: Indexes, scope: str, query: Query, counter: TokenCounter) -> SearchResult:
    """Find the memories of `scope` that fit the query best.

    Raises UsageError for a query without a word, number or sign, or longer than MAX_QUERY.
    """
    asked = read_query(query)
    use_vectors = "dense" in query.channels
    index = indexes.get(scope, vectors=use_vectors)
    notes = list(indexes.notes)
    allowed = only_named(index, query.text, index.allowed(query.filter, asked.now))
    vectors, calibration = _encode(indexes, index, asked, notes) if use_vectors else (None, None)
    slots, evidence = gather(index, asked, allowed, vectors, words="lexical" in query.channels)
    calibration = calibration or Calibration.identity(1, "")
    fused = fuse(evidence, calibration, query.without, by_meaning=asked.by_meaning)
    hits: list[Hit] = []
    # A remark wants whatever it recalls; only a question can be told that nothing is known.
    known = knows_something(evidence, calibration)
    answered = known or query.weak or asked.remark
    pool = query.limit * _POOL if answered else 0
    while pool and len(hits) < query.limit:
        order = _rank(index, slots, fused, pool, everything=query.weak)
        found = [Found(int(slots[p]), int(p)) for p in order]
        hits = collect_hits(index, found, evidence, fused, asked.terms, limit=query.limit)
        # Many fragments of one long text may have taken all the room.
        pool = pool * _POOL if len(order) == pool else 0
    if not hits:
        notes += _could_widen(index, evidence.searched)
    elif not known:
        notes.append("Nothing stands out; these are only the nearest.")
    return pack(
        SearchResult(
            outcome="found" if hits else "empty",
            mode="hybrid" if vectors is not None else "keyword",
            weak=bool(hits) and not known,
            terms=sorted(set(asked.terms))[:_SHOWN_TERMS],
            times=[_time_read(time) for time in asked.times],
            hits=hits,
            basis=_basis(evidence, fused),
            notes=notes,
            truncated=Truncated(omitted=0),
            tokens=0,
            counter=counter.name,
        ),
        query.budget,
        counter,
    )


def _encode(
    indexes: Indexes, index: ScopeIndex, asked: Asked, notes: list[str]
) -> tuple[Array | None, Calibration | None]:
    """Return the centred vectors of the query and of its sentences, (k, d), and the calibration.

    None when nothing is embedded.
    """
    if index.vectors is None or not index.vectors.embedded[: index.slots].any():
        return None, None
    try:
        model = indexes.model()
        texts = [to_simplified(text) for text in (asked.text, *asked.sentences)]
        raw = model.encoder.encode_queries(texts)
    except ModelUnavailableError as error:
        notes.append(f"Keywords only: {error}")
        return None, None
    return model.calibration.center_queries(raw), model.calibration


def _rank(
    index: ScopeIndex, slots: Array, fused: Fused, pool: int, *, everything: bool
) -> list[int]:
    """Return positions by score, best first; equal scores by layer, then newer, then key.

    Only what has something to say for itself, and enough of it, unless `everything` is wanted
    that has any score.
    """
    score = np.round(fused.score, 9)
    speaks = score > 0
    if not everything:
        score = np.where(fused.speaks, score, -np.inf)
        speaks = fused.speaks & (score >= _LEAST * score.max(initial=0.0))
    if len(score) > pool:
        bound = np.partition(score, len(score) - pool)[len(score) - pool]
        positions = np.flatnonzero((score >= bound) & speaks)
    else:
        positions = np.flatnonzero(speaks)
    columns = index.columns.rows(slots[positions])
    not_self = columns["layer"] != _SELF
    order = np.lexsort(
        (columns["start"], columns["id"], -columns["date_end"].astype(np.int64), not_self,
         -score[positions])
    )  # fmt: skip
    return [int(p) for p in positions[order][:pool]]


def _time_read(time: Reading) -> TimeRead:
    first, last = time.intervals[0]
    return TimeRead(
        text=time.text,
        start=None if first is None else first.isoformat(),
        end=None if last is None else last.isoformat(),
        certain=time.certain,
    )


def _basis(evidence: Evidence, fused: Fused) -> Basis:
    some = bool(evidence.embedded.any())
    return Basis(
        searched=evidence.searched,
        spread=round(fused.spread, 4) if some else None,
        gate=round(fused.gate, 4),
        best_bm25=round(fused.best_bm25, 4),
        best_cosine=round(float(evidence.cosine[evidence.embedded].max()), 4) if some else None,
    )


def _could_widen(index: ScopeIndex, searched: int) -> list[str]:
    if not len(index):
        return ["This scope holds nothing yet; add something with `shiyi remember`."]
    nothing = (
        f"Nothing among {searched} documents is about this. Other words may help; "
        "--weak shows the nearest ones all the same."
    )
    left_out = len(index) - searched
    if left_out:
        nothing += f" The filters leave {left_out} documents out."
    return [nothing]
