"""Search: the plain list of hits, each with its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from shiyi.core.errors import ModelUnavailableError, UsageError
from shiyi.core.ids import is_id
from shiyi.indexer.analyze import han_share, identifiers, only_identifiers, term_key, terms
from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.fold import to_simplified
from shiyi.indexer.index import Filter, ScopeIndex
from shiyi.indexer.indexes import Indexes
from shiyi.indexer.lexical import top
from shiyi.indexer.segment import Array
from shiyi.models.calibration import Calibration
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.asking import is_remark
from shiyi.retrieval.fuse import Evidence, Fused, fuse, knows_something
from shiyi.retrieval.hits import Found, collect_hits
from shiyi.retrieval.pack import pack
from shiyi.retrieval.results import Basis, Hit, SearchResult, Truncated
from shiyi.store.kinds import LAYERS

MAX_LIMIT = 100  # hits
MAX_QUERY = 4000  # characters read; a longer query is refused, not cut
_WORD_CANDIDATES = 200
_SAMPLE = 200
_SHOWN_TERMS = 16
_SELF = LAYERS.index("self")
_LEAST = 0.1  # of the best score; what has less only costs tokens
_POOL = 8  # candidates looked at for each hit asked for, before the same words are folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question. limit is 1 to 100; budget is in tokens of the answer's compact JSON.

    weak also returns what lies below the evidence floor, for recall that must not stay silent.
    channels may be narrowed to `lexical` or `dense` to measure one alone, and steps of the ranking
    left out.
    """

    text: str
    limit: int = 8
    budget: int = 4000
    filter: Filter = field(default_factory=Filter)
    weak: bool = False
    channels: frozenset[str] = frozenset({"lexical", "dense"})
    without: frozenset[str] = frozenset()
    now: datetime | None = None


def search(indexes: Indexes, scope: str, query: Query, counter: TokenCounter) -> SearchResult:
    """Find the memories of `scope` that fit the query best.

    Raises UsageError for a query without a word, number or sign, or longer than MAX_QUERY.
    """
    wanted = _check(query)
    use_vectors = "dense" in query.channels
    index = indexes.get(scope, vectors=use_vectors)
    notes = list(indexes.notes)
    allowed = index.allowed(query.filter, query.now or datetime.now(UTC))
    allowed = _only_named(index, query.text, allowed)
    vector, calibration = _encode(indexes, index, query, notes) if use_vectors else (None, None)
    slots, evidence = _gather(index, query, wanted, allowed, vector)
    calibration = calibration or Calibration.identity(1, "")
    fused = fuse(evidence, calibration, query.without)
    hits: list[Hit] = []
    by_meaning = not only_identifiers(query.text)  # a number has no meaning to be near to
    # A remark wants whatever it recalls; only a question can be told that nothing is known.
    known = knows_something(evidence, calibration)
    answered = known or query.weak or is_remark(query.text)
    pool = query.limit * _POOL if answered else 0
    while pool and len(hits) < query.limit:
        order = _rank(index, slots, evidence, fused, pool, by_meaning=by_meaning)
        found = [Found(int(slots[p]), int(p)) for p in order]
        hits = collect_hits(index, found, evidence, fused, wanted, limit=query.limit)
        # Many fragments of one long text may have taken all the room.
        pool = pool * _POOL if len(order) == pool else 0
    if not hits:
        notes += _could_widen(index, evidence.searched)
    elif not known:
        notes.append("Nothing stands out; these are only the nearest.")
    return pack(
        SearchResult(
            outcome="found" if hits else "empty",
            mode="hybrid" if vector is not None else "keyword",
            weak=bool(hits) and not known,
            terms=sorted(set(wanted))[:_SHOWN_TERMS],
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


def _check(query: Query) -> list[str]:
    if not 1 <= query.limit <= MAX_LIMIT:
        raise UsageError(f"The limit is {query.limit}; give 1 to {MAX_LIMIT}.")
    text = query.text
    if len(text) > MAX_QUERY:
        raise UsageError(
            f"The query has {len(text)} characters; give at most {MAX_QUERY}, "
            "or the part that matters."
        )
    wanted = terms(text)
    if not wanted and not any(c.isalnum() for c in text):
        raise UsageError("The query holds no word, number or sign to look for; add one.")
    return wanted


def _encode(
    indexes: Indexes, index: ScopeIndex, query: Query, notes: list[str]
) -> tuple[Array | None, Calibration | None]:
    """Return the centred query vector (d,) and its calibration; None when nothing is embedded."""
    if index.vectors is None or not index.vectors.embedded[: index.slots].any():
        return None, None
    try:
        model = indexes.model()
        raw = model.encoder.encode_queries([to_simplified(query.text)])
    except ModelUnavailableError as error:
        notes.append(f"Keywords only: {error}")
        return None, None
    return model.calibration.center_queries(raw)[0], model.calibration


def _gather(
    index: ScopeIndex, query: Query, wanted: Sequence[str], allowed: Array, vector: Array | None
) -> tuple[Array, Evidence]:
    """Return the slots at hand and what is known of them: all allowed, or candidates of many."""
    words = index.lexical.search(wanted if "lexical" in query.channels else [])
    exact = _exact(index, query.text)
    vectors = index.vectors
    searched = int(allowed.sum())
    if vector is not None and vectors is not None and vectors.is_large:
        slots, sample = _candidates(index, allowed, words.bm25, exact, vector)
        cosine = vectors.scores_of(vector, slots)
    else:
        slots = np.flatnonzero(allowed)
        sample = np.arange(len(slots))
        if vector is not None and vectors is not None:
            cosine = vectors.scores(vector)[slots]
        else:
            cosine = np.zeros(len(slots))
    embedded = (
        vectors.embedded[slots]
        if vector is not None and vectors is not None
        else np.zeros(len(slots), bool)
    )
    return slots, Evidence(
        cosine=cosine,
        embedded=embedded,
        bm25=words.bm25[slots],
        coverage=words.coverage[slots],
        exact=np.array([exact.get(slot, 0.0) for slot in slots.tolist()])
        if exact
        else np.zeros(len(slots)),
        han=index.columns["han"][slots].astype(np.float64),
        previous=_positions(index.previous()[slots], slots, index.slots),
        sample=sample,
        searched=searched,
        query_han=han_share(query.text) if any(map(str.isalpha, query.text)) else float("nan"),
    )


def _candidates(
    index: ScopeIndex, allowed: Array, bm25: Array, exact: dict[int, float], vector: Array
) -> tuple[Array, Array]:
    """Return the slots worth scoring in a large scope, and the positions of a fair sample."""
    assert index.vectors is not None
    near = index.vectors.candidates(vector, allowed)
    worded = top(np.where(allowed, bm25, 0.0), _WORD_CANDIDATES)
    named = [slot for slot in exact if allowed[slot]]
    everyone = np.flatnonzero(allowed)
    if not len(everyone):
        return everyone, everyone
    # An even stride over the ids, which are random or ordered by time: fair and repeatable.
    sample = everyone[np.linspace(0, len(everyone) - 1, _SAMPLE).astype(np.int64)]
    core = _distinct(near, worded, np.asarray(named, np.int64))
    before = index.previous()[core]
    before = before[before >= 0]
    slots = _distinct(core, before[allowed[before]], sample)
    return slots, np.searchsorted(slots, _distinct(sample))


def _distinct(*arrays: Array) -> Array:
    """Return the values of all arrays, ascending, each once; quicker than np.unique for few."""
    values = np.sort(np.concatenate(arrays))
    fresh = np.ones(len(values), bool)
    fresh[1:] = values[1:] != values[:-1]
    distinct: Array = values[fresh]
    return distinct


def _exact(index: ScopeIndex, text: str) -> dict[int, float]:
    """Return the share of the query's identifiers in each slot that holds any, or is named."""
    named = _named(index, text)
    if named:
        return dict.fromkeys(named, 1.0)
    names = identifiers(text)
    shares: dict[int, float] = {}
    for name in names:
        for slot in index.lexical.slots_with(term_key(name)):
            shares[slot] = shares.get(slot, 0.0) + 1.0 / len(names)
    return shares


def _only_named(index: ScopeIndex, text: str, allowed: Array) -> Array:
    """Narrow `allowed` to the record or capture whose id is the query, if there is one."""
    named = _named(index, text)
    if not named:
        return allowed
    only = np.zeros_like(allowed)
    only[named] = allowed[named]
    return only


def _named(index: ScopeIndex, text: str) -> list[int]:
    id_ = text.strip()
    return [*index.find(RECORD, id_), *index.find(FRAGMENT, id_)] if is_id(id_) else []


def _positions(previous: Array, slots: Array, every: int) -> Array:
    """Turn slots of the turns before into positions among `slots`; -1 where they are not there.

    previous holds -1 where there is none; every is the number of all slots.
    """
    place = np.full(every + 1, -1, np.int64)  # the last entry answers for -1
    place[slots] = np.arange(len(slots))
    found: Array = place[previous]
    return found


def _rank(
    index: ScopeIndex,
    slots: Array,
    evidence: Evidence,
    fused: Fused,
    pool: int,
    *,
    by_meaning: bool,
) -> list[int]:
    """Return positions by score, best first; equal scores by layer, then newer, then key.

    Only what says something for itself: a shared word, an identifier or, `by_meaning`, nearness
    beyond the spread.
    """
    speaks = (evidence.bm25 > 0) | (evidence.exact > 0)
    if by_meaning:
        speaks |= evidence.cosine > fused.spread
    score = np.where(speaks, np.round(fused.score, 9), -np.inf)
    speaks &= score >= _LEAST * score.max(initial=0.0)
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
