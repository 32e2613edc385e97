"""The documents worth scoring, and what words, vectors, names, dates and links say of each."""

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

import numpy as np

from shiyi.core.ids import as_id
from shiyi.indexer.analyze import han_share, identifiers, term_key
from shiyi.indexer.documents import FRAGMENT, NO_DATE, RECORD
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.lexical import top
from shiyi.indexer.lone import terms_with
from shiyi.indexer.segment import Array
from shiyi.retrieval.fuse import Evidence
from shiyi.retrieval.othernames import OtherNames
from shiyi.retrieval.query import Asked
from shiyi.retrieval.succession import Succession
from shiyi.retrieval.when import Reading

_WORD_CANDIDATES = 200
_EMBEDDED_FIRST = 32  # of them, where many wait to be embedded: half a second
_SAMPLE = 200
_LIFTED = 0.5  # of the way from the whole text's cosine to its nearest sentence or other wording
_EPOCH = date(1970, 1, 1)


def gather(
    index: ScopeIndex,
    asked: Asked,
    allowed: Array,
    vectors: Array | None,
    *,
    words: bool,
    replaced: Succession,
    names: OtherNames,
) -> tuple[Array, Evidence]:
    """Return the slots at hand and what is known of them: all allowed, or candidates of many.

    allowed is bool (slots,). vectors are the centred ones of the whole query, of its sentences
    and of the query with other names, (k, d), or None. words says whether the lexical channel
    takes part.
    """
    lexical = index.lexical.search(asked.terms if words else [], terms_with(asked.text))
    bm25 = names.counted(lexical.bm25) if words else lexical.bm25
    exact = _exact(index, asked.text)
    table = index.vectors if vectors is not None else None
    if table is not None and vectors is not None and table.is_large:
        named = np.array([slot for slot in exact if allowed[slot]], np.int64)
        worded = top(np.where(allowed, bm25, 0.0), _WORD_CANDIDATES)
        slots, sample = _candidates(index, asked, allowed, (named, worded), vectors)
    else:
        slots = np.flatnonzero(allowed)
        sample = np.arange(len(slots))
    places = np.full(index.slots + 1, -1, np.int64)  # the last entry answers for -1
    places[slots] = np.arange(len(slots))
    quotes = index.quotes()
    sources = places[quotes] if len(quotes) else quotes
    return slots, Evidence(
        cosine=_cosines(index, vectors, slots),
        embedded=table.embedded[slots] if table is not None else np.zeros(len(slots), bool),
        bm25=bm25[slots],
        coverage=lexical.coverage(slots),
        exact=np.array([exact.get(slot, 0.0) for slot in slots.tolist()], np.float64)
        if exact
        else np.zeros(len(slots)),
        time=_times(index, asked.times, slots),
        han=index.columns["han"][slots].astype(np.float64),
        previous=places[index.previous()[slots]],
        sources=sources[(sources >= 0).all(axis=1)] if len(sources) else sources,
        succession=replaced.at(places),
        sample=sample,
        searched=int(np.count_nonzero(allowed)),
        query_han=han_share(asked.text) if any(map(str.isalpha, asked.text)) else float("nan"),
        remark=asked.remark,
        timed=bool(asked.times),
    )


def worded(index: ScopeIndex, asked: Asked, allowed: Array) -> Array:
    """Return the slots that the words of the query find best, where any are not embedded yet."""
    if not len(index.waiting()):
        return np.empty(0, np.int64)
    found = index.lexical.search(asked.terms, terms_with(asked.text)).bm25
    return top(np.where(allowed, found, 0.0), _EMBEDDED_FIRST)


def only_named(index: ScopeIndex, text: str, allowed: Array) -> Array:
    """Narrow `allowed` to the record or capture whose id is the query, if there is one."""
    named = _named(index, text)
    if not named:
        return allowed
    only = np.zeros_like(allowed)
    only[named] = allowed[named]
    return only


def _cosines(index: ScopeIndex, vectors: Array | None, slots: Array) -> Array:
    """Return the cosine of the query with each slot, float64 (n,).

    In a text of several sentences the point may be made by one of them, and a text may use
    another name, so a document that is nearer to such a wording is lifted halfway there.
    """
    table = index.vectors
    if vectors is None or table is None:
        return np.zeros(len(slots))
    if table.is_large:
        each = [table.scores_of(vector, slots) for vector in vectors]
    else:
        each = [table.scores(vector)[slots] for vector in vectors]
    return toward_nearest(each)


def toward_nearest(each: Sequence[Array]) -> Array:
    """Return how near documents are to a whole text, given that, and then to other wordings."""
    whole = each[0]
    for part in each[1:]:
        whole = np.maximum(whole, each[0] + _LIFTED * (part - each[0]))
    return whole


def _candidates(
    index: ScopeIndex,
    asked: Asked,
    allowed: Array,
    worded: Sequence[Array],
    vectors: Array,
) -> tuple[Array, Array]:
    """Return the slots worth scoring in a large scope, and the positions of a fair sample.

    worded are those that words or identifiers have found.
    """
    assert index.vectors is not None
    everyone = np.flatnonzero(allowed)
    if not len(everyone):
        return everyone, everyone
    near = [index.vectors.candidates(vector, allowed) for vector in vectors]
    for time in asked.times:  # what happened then may be about anything
        first, last = time.intervals[0]
        days = last - timedelta(days=1) if last is not None else None
        near.append(index.vectors.candidates(vectors[0], allowed & index.overlapping(first, days)))
    chosen = np.zeros(index.slots, bool)
    for found in (*near, *worded):
        chosen[found] = True
    chosen[_beside(index, chosen, allowed)] = True
    # An even stride over the ids, which are random or ordered by time: fair and repeatable.
    sample = everyone[_stride(len(everyone))]
    chosen[sample] = True
    slots = np.flatnonzero(chosen)
    return slots, slots.searchsorted(sample)


@lru_cache(maxsize=16)
def _stride(count: int) -> Array:
    """Return at most _SAMPLE positions among so many, evenly apart; not to be written to."""
    return np.unique(np.linspace(0, count - 1, _SAMPLE).astype(np.int64))


def _beside(index: ScopeIndex, chosen: Array, allowed: Array) -> Array:
    """Return the allowed turns before the chosen ones, what these quote and what quotes them.

    chosen is bool (slots,).
    """
    before = index.previous()[np.flatnonzero(chosen)]
    beside = before[before >= 0]
    quotes = index.quotes()
    if len(quotes):
        beside = np.concatenate([beside, quotes[chosen[quotes].any(axis=1)].ravel()])
    found: Array = beside[allowed[beside]]
    return found


def _times(index: ScopeIndex, times: list[Reading], slots: Array) -> Array:
    """Return how well the dates of each slot fit a time that the query names, 0 to 1."""
    if not times:
        return np.zeros(len(slots))
    days = np.stack([index.columns[name][slots] for name in ("date_start", "date_end")], axis=1)
    distinct, places = np.unique(days, axis=0, return_inverse=True)
    fits = [
        max(time.covers(_day(first), _day(last)) for time in times) if first != NO_DATE else 0.0
        for first, last in distinct.tolist()
    ]
    found: Array = np.array(fits, np.float64)[places.reshape(-1)]
    return found


def _day(days: int) -> date:
    return _EPOCH + timedelta(days=days)


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


def _named(index: ScopeIndex, text: str) -> list[int]:
    id_ = as_id(text)
    return [] if id_ is None else [*index.find(RECORD, id_), *index.find(FRAGMENT, id_)]
