"""Search: the plain list of hits, each with its reasons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shiyi.core.errors import ModelUnavailableError
from shiyi.indexer.fold import to_simplified
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.indexes import Indexes
from shiyi.indexer.segment import Array
from shiyi.models.calibration import Calibration
from shiyi.models.interaction import Vectors, max_sims
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.candidates import gather, only_named, toward_nearest, worded
from shiyi.retrieval.fuse import DOUBT, Evidence, Fused, fuse, margin
from shiyi.retrieval.hits import Found, collect_hits
from shiyi.retrieval.othernames import NO_OTHER_NAMES, other_names
from shiyi.retrieval.outcome import Outcome
from shiyi.retrieval.pack import pack
from shiyi.retrieval.query import MAX_LIMIT, MAX_QUERY, Asked, Query, read_query
from shiyi.retrieval.results import Basis, Hit, SearchResult, Truncated
from shiyi.retrieval.succession import succession
from shiyi.retrieval.trace import SILENT, Tracer, basis_of, time_read
from shiyi.store.kinds import LAYERS

__all__ = ["MAX_LIMIT", "MAX_QUERY", "Finding", "Query", "find", "search"]
_SHOWN_TERMS = 16
_SELF = LAYERS.index("self")
_LEAST = 0.1  # of the best score; what has less only costs tokens
_EVEN = 6  # decimals; the order of a sum of floats depends on what stands beside it
_POOL = 8  # candidates looked at for each hit asked for, before the same words are folded


@dataclass(frozen=True, slots=True)
class Finding:
    """What one question found, before any of it is fitted to a budget.

    slots, evidence and fused are of the documents that were scored, allowed (bool) of all of
    them, hit_slots of the hits. known: something stands out. hybrid: vectors took part.
    """

    outcome: Outcome
    asked: Asked
    index: ScopeIndex
    allowed: Array
    slots: Array
    evidence: Evidence
    fused: Fused
    hits: list[Hit]
    hit_slots: list[int]
    known: bool
    hybrid: bool
    notes: list[str]
    basis: Basis


def search(
    indexes: Indexes, scope: str, query: Query, counter: TokenCounter, trace: Tracer = SILENT
) -> SearchResult:
    """Find the memories of `scope` that fit the query best, and tell the trace how.

    Raises UsageError for a query without a word, number or sign, or longer than MAX_QUERY.
    """
    found = find(indexes, scope, query, trace)
    result = SearchResult(
        outcome=found.outcome,
        mode="hybrid" if found.hybrid else "keyword",
        weak=bool(found.hits) and not found.known,
        terms=sorted(set(found.asked.terms))[:_SHOWN_TERMS],
        times=[time_read(time) for time in found.asked.times],
        hits=found.hits,
        basis=found.basis,
        notes=found.notes,
        truncated=Truncated(omitted=0),
        tokens=0,
        counter=counter.name,
    )
    with trace.stage("pack"):
        packed = pack(result, query.budget, counter)
    trace.chose(hit.id for hit in packed.hits)
    trace.left_out("budget", (hit.id for hit in found.hits[len(packed.hits) :]))
    return packed


def find(indexes: Indexes, scope: str, query: Query, trace: Tracer = SILENT) -> Finding:
    """Find as `search` does, whatever it costs to show.

    Raises UsageError as `search` does.
    """
    with trace.stage("read"):
        asked = read_query(query)
    use_vectors = "dense" in query.channels
    with trace.stage("index"):
        index = indexes.get(scope, vectors=use_vectors)
        notes = list(indexes.notes)
    with trace.stage("filter"):
        allowed = only_named(index, query.text, index.allowed(query.filter, asked.now))
    with trace.stage("names"):
        names = other_names(index, asked) if "names" not in query.without else NO_OTHER_NAMES
    with trace.stage("encode"):
        vectors, own, met = None, None, None
        if use_vectors:
            if "lexical" in query.channels:
                indexes.embed_first(index, worded(index, asked, allowed))
            vectors, own, tokens = _encode(
                indexes, index, [asked.text, *asked.sentences], names.texts, notes
            )
            if "lexical" in query.channels and tokens:
                met = _meeting(indexes, index, tokens)
    trace.uses(index, own)
    with trace.stage("candidates"):
        slots, evidence = gather(
            index,
            asked,
            allowed,
            vectors,
            words="lexical" in query.channels,
            replaced=succession(index, indexes.store),
            names=names,
        )
    with trace.stage("fuse"):
        calibration = own or Calibration.identity(1, "")
        fused = fuse(
            evidence, calibration, query.without, by_meaning=asked.by_meaning,
            met=None if met is None else lambda positions: met(slots[positions]),
        )  # fmt: skip
        above = margin(evidence, calibration)
    known = above >= 0
    # A remark wants whatever it recalls; only a question can be told that nothing is known.
    answered = above >= -DOUBT or query.weak or asked.remark
    with trace.stage("choose"):
        hits, hit_slots = list[Hit](), list[int]()
        if answered:
            hits, hit_slots = _choose(
                index, asked, query, slots=slots, evidence=evidence, fused=fused
            )
    basis = basis_of(evidence, fused)
    trace.ranked(
        asked, index, slots, evidence, fused, basis=basis, hybrid=vectors is not None, margin=above,
        answered=answered, least=0.0 if query.weak else _LEAST,
    )  # fmt: skip
    trace.same_words({other: hit.id for hit in hits for other in hit.also})
    outcome: Outcome = "found" if hits else "empty"
    if query.channels == {"dense"} and vectors is None and len(index):
        outcome, notes = "unavailable", _what_is_missing(notes)
    elif not hits:
        notes += _could_widen(index, evidence.searched)
    elif not known:
        notes.append("Nothing stands out; these are only the nearest.")
    hybrid = vectors is not None
    return Finding(
        outcome, asked, index, allowed, slots, evidence, fused, hits, hit_slots, known, hybrid,
        notes, basis,
    )  # fmt: skip


def _choose(
    index: ScopeIndex, asked: Asked, query: Query, *, slots: Array, evidence: Evidence, fused: Fused
) -> tuple[list[Hit], list[int]]:
    """Return the hits, best first, and their slots, from as many candidates as it takes."""
    hits, hit_slots = list[Hit](), list[int]()
    pool = query.limit * _POOL
    while pool and len(hits) < query.limit:
        order = _rank(index, slots, fused, pool, everything=query.weak)
        found = map(Found, slots[order].tolist(), order)
        hits, hit_slots = collect_hits(
            index, found, evidence, fused, asked.terms, limit=query.limit
        )
        # Many fragments of one long text may have taken all the room.
        pool = pool * _POOL if len(order) == pool else 0
    return hits, hit_slots


def _encode(
    indexes: Indexes, index: ScopeIndex, texts: list[str], renamed: list[str], notes: list[str]
) -> tuple[Array | None, Calibration | None, Sequence[Vectors]]:
    """Return the centred vectors of what asks, (k, d), the calibration, and the tokens of texts.

    texts: the whole query and its sentences. renamed: the query with other names. None, and no
    tokens, when nothing is embedded.
    """
    if index.vectors is None or not index.vectors.any_embedded:
        return None, None, ()
    try:
        model = indexes.model()
        made = model.encoder.embed_queries([to_simplified(text) for text in texts])
        vectors = made.vectors
        if renamed:
            others = model.encoder.encode_queries([to_simplified(text) for text in renamed])
            vectors = np.concatenate([vectors, others])
    except ModelUnavailableError as error:
        notes.append(f"Keywords only: {error}")
        return None, None, ()
    return model.calibration.center_queries(vectors), model.calibration, made.tokens


def _meeting(
    indexes: Indexes, index: ScopeIndex, asked: Sequence[Vectors]
) -> Callable[[Array], Array]:
    """Return what tells of slots how well their tokens meet those of the query.

    asked: the tokens of the whole query, and of its sentences.
    """

    def met(slots: Array) -> Array:
        return np.round(toward_nearest(list(max_sims(asked, indexes.tokens(index, slots)))), _EVEN)

    return met


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
    descending = -score[positions]
    order = descending.argsort()
    ordered = descending[order]
    if (ordered[1:] == ordered[:-1]).any():  # rows are read only where they decide
        columns = index.columns.rows(slots[positions])
        not_self = columns["layer"] != _SELF
        order = np.lexsort(
            (columns["start"], columns["id"], -columns["date_end"].astype(np.int64), not_self,
             descending)
        )  # fmt: skip
    ranked: list[int] = positions[order][:pool].tolist()
    return ranked


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


def _what_is_missing(notes: list[str]) -> list[str]:
    """Return the notes for who asked by meaning alone, of a scope in which that cannot be."""
    missing = [note.removeprefix("Keywords only: ") for note in notes]
    return ["Nothing was searched: by meaning alone there is nothing to go by.", *missing]
