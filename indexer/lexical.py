"""BM25 with live statistics: an immutable base, an in-memory delta, tombstones.

`LiveOkapi` answers from postings what `NonNegativeOkapi` answers from all documents. The number
of documents, their lengths and the document frequencies are exact at every moment, so any
sequence of changes ranks as a fresh build does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shiyi.indexer.analyze import term_key
from shiyi.indexer.okapi import K1, B, NonNegativeOkapi, non_negative_idf
from shiyi.indexer.segment import Array, Segment


class _Postings:
    """Growing postings of one term in the delta."""

    __slots__ = ("documents", "frequencies", "size")

    def __init__(self) -> None:
        self.documents = np.empty(4, np.int32)
        self.frequencies = np.empty(4, np.uint16)
        self.size = 0

    def append(self, document: int, frequency: int) -> None:
        if self.size == len(self.documents):
            self.documents = np.resize(self.documents, 2 * self.size)
            self.frequencies = np.resize(self.frequencies, 2 * self.size)
        self.documents[self.size] = document
        self.frequencies[self.size] = frequency
        self.size += 1

    def get(self) -> tuple[Array, Array]:
        return self.documents[: self.size], self.frequencies[: self.size]


class _Found(NamedTuple):
    """The postings of one term of a query: documents and their frequencies, or their weights."""

    documents: Array
    each: Array
    idf: float
    times: int


class _Query(NamedTuple):
    """The postings of a query's terms: those with weights, then those with frequencies.

    documents are those of all of them, and mass is the idf of all terms, of unknown ones, too.
    """

    ready: list[_Found]
    live: list[_Found]
    documents: Array
    mass: float


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """What a query found, float64 of each slot: its BM25 score, and the idf of the terms it holds.

    mass is the idf of all terms of the query, 0 when there are none.
    """

    bm25: Array
    covered: Array
    mass: float

    def coverage(self, slots: Array | slice = slice(None)) -> Array:
        """Return the share of the query's idf mass that each of the slots holds."""
        covered: Array = self.covered[slots]
        return covered / self.mass if self.mass else covered


class LiveOkapi(NonNegativeOkapi):
    """BM25 over a base segment, documents added since, and tombstones.

    A document has a slot: 0 … n-1 in the base, then one more for each that is added.
    """

    def __init__(self, base: Segment, k1: float = K1, b: float = B) -> None:
        # Not super().__init__: it would hold every document as a dict, and the base is fitted.
        self.k1, self.b, self.epsilon = k1, b, 0.0
        self._base = base
        self._base_size = len(base.lengths)
        self.slots = self._base_size
        self.corpus_size = self._base_size
        self._total_length = int(base.lengths.sum(dtype=np.int64))
        self._lengths = np.array(base.lengths, np.int32)
        self.alive = np.ones(self._base_size, bool)
        self._dead = 0
        self._delta: dict[int, _Postings] = {}
        self._frequency_change: Counter[int] = Counter()
        self._added: list[tuple[Array, Array]] = []
        self._weights: Array | None = None
        self._norms: Array | None = None
        self._weighed = 0  # postings weighed one query at a time since the last change

    @property
    def avgdl(self) -> float:
        """The mean length of the living documents, in terms."""
        return self._total_length / self.corpus_size if self._total_length else 1.0

    def terms_of(self, slot: int) -> tuple[Array, Array]:
        """Return the keys, ascending, and frequencies of the terms of a document."""
        if slot < self._base_size:
            return self._base.terms_of(slot)
        return self._added[slot - self._base_size]

    def held_by(self, slots: Iterable[int], keys: Sequence[int]) -> list[set[int]]:
        """Return which of the given terms each document holds."""
        wanted, known = set(keys), self._base.places_of(keys)
        return [
            {known[place] for place in known.keys() & self._base.term_places(slot).tolist()}
            if slot < self._base_size
            else wanted.intersection(self._added[slot - self._base_size][0].tolist())
            for slot in slots
        ]

    def add(self, keys: Array, frequencies: Array) -> int:
        """Add a document, visible at once, and return its slot."""
        slot = self.slots
        self.slots += 1
        self._reserve(self.slots)
        for key, frequency in zip(keys.tolist(), frequencies.tolist(), strict=True):
            postings = self._delta.get(key)
            if postings is None:
                postings = self._delta[key] = _Postings()
            postings.append(slot, frequency)
            self._frequency_change[key] += 1
        length = int(frequencies.sum(dtype=np.int64))
        self._lengths[slot] = length
        self.alive[slot] = True
        self._added.append((keys, frequencies))
        self.corpus_size += 1
        self._total_length += length
        self._forget()
        return slot

    def delete(self, slot: int) -> None:
        """Take a document out of every statistic and every answer, at once."""
        if not self.alive[slot]:
            return
        keys, _ = self.terms_of(slot)
        for key in keys.tolist():
            self._frequency_change[key] -= 1
        self.alive[slot] = False
        self._dead += 1
        self.corpus_size -= 1
        self._total_length -= int(self._lengths[slot])
        self._forget()

    def _prepare_when_due(self) -> None:
        """Compute all weights once queries have paid as much as that costs, and may go on to."""
        if self._weights is None and self._weighed > len(self._base.documents):
            self.prepare()

    def _forget(self) -> None:
        """Drop what was computed from the statistics before a change."""
        self._weights = self._norms = None
        self._weighed = 0

    def prepare(self) -> None:
        """Compute the base's weights once; they serve until the next change (8 bytes a posting)."""
        base = self._base
        frequency = np.diff(base.pointers)
        if self._frequency_change:
            changed = np.fromiter(self._frequency_change, np.uint64, len(self._frequency_change))
            places = np.searchsorted(base.keys, changed)
            places[places == len(base.keys)] = 0
            known = base.keys[places] == changed if len(base.keys) else np.zeros(len(places), bool)
            by = np.fromiter(self._frequency_change.values(), np.int64, len(changed))
            frequency[places[known]] += by[known]
        idf = non_negative_idf(self.corpus_size, frequency)
        part = self._saturation(base.documents, base.frequencies)
        part *= np.repeat(idf, np.diff(base.pointers))
        self._weights = part

    def get_scores(self, query: Iterable[str]) -> Array:
        """Return the BM25 score of every slot, float64; 0 for tombstones."""
        return self.scores_of_keys(map(term_key, query))

    def scores_of_keys(self, keys: Iterable[int]) -> Array:
        """Return what `get_scores` does, for terms given by their keys."""
        scores = self._sum_weights(self._find(Counter(keys), idf=False))
        if self._dead:
            scores[~self.alive[: self.slots]] = 0.0
        return scores

    def search(
        self, query: Iterable[str], alike: Mapping[int, Array] | None = None
    ) -> LexicalScores:
        """Return what every slot has of a query.

        alike: keys of other terms, uint64, that count as one with a term of the query.
        """
        counts = Counter(map(term_key, query))
        alike = {key: others for key, others in (alike or {}).items() if key in counts}
        times = {key: counts.pop(key) for key in alike}
        found = self._find(counts)
        scores, covered, mass = self._sum_weights(found), self._sum_idf(found), found.mass
        for key, others in alike.items():
            keys = [key, *self._known(others)]
            mass += self._add_alike(keys, times[key], scores, covered)
        if self._dead:
            dead = ~self.alive[: self.slots]
            scores[dead] = covered[dead] = 0.0
        return LexicalScores(scores, covered, mass)

    def slots_with(self, key: int) -> list[int]:
        """Return the living slots that hold a term, ascending."""
        (start,), (end,), _ = self._look_up({key: 1})
        found = self._base.documents[start:end]
        postings = self._delta.get(key)
        if postings is not None:
            found = np.concatenate([found, postings.get()[0]])
        slots: list[int] = found[self.alive[found]].tolist()
        return slots

    def idf_of(self, key: int) -> float:
        """Return the idf of a term among the living documents."""
        return self._idf(self._look_up({key: 1})[2])[0]

    def _look_up(self, counts: Mapping[int, int]) -> tuple[list[int], list[int], Array]:
        """Return where the postings of each term begin and end in the base, and how many it has."""
        keys, base = np.fromiter(counts, np.uint64, len(counts)), self._base
        places = base.keys.searchsorted(keys)
        starts = base.pointers.take(places)
        frequency = base.pointers.take(places + 1, mode="clip") - starts
        if len(base.keys):
            frequency *= base.keys.take(places, mode="clip") == keys
        ends = (starts + frequency).tolist()
        if self._frequency_change:
            changes = (self._frequency_change.get(key, 0) for key in counts)
            frequency += np.fromiter(changes, np.int64, len(counts))
        return starts.tolist(), ends, frequency

    def _idf(self, frequency: Array) -> list[float]:
        idf: list[float] = non_negative_idf(self.corpus_size, frequency).tolist()
        return idf

    def _find(self, counts: Mapping[int, int], *, idf: bool = True) -> _Query:
        """Return the postings of terms, given with how often the query has each.

        Without `idf` it is 0 where ready weights hold it already.
        """
        self._prepare_when_due()
        base, weights = self._base, self._weights
        each = base.frequencies if weights is None else weights
        starts, ends, frequency = self._look_up(counts)
        wanted = idf or weights is None or self._delta
        idfs = self._idf(frequency) if wanted else [0.0] * len(counts)
        terms = list(zip(counts.items(), idfs, strict=True))
        ready = [
            _Found(base.documents[start:end], each[start:end], value, times)
            for ((_, times), value), start, end in zip(terms, starts, ends, strict=True)
            if end > start
        ]
        live = [
            _Found(*self._delta[key].get(), value, times)
            for (key, times), value in terms
            if key in self._delta
        ]
        documents = [one.documents for one in (*ready, *live)]
        if weights is None:
            self._weighed += sum(len(one.documents) for one in ready)
            ready, live = [], ready + live
        joined = np.concatenate(documents, dtype=np.intp) if documents else np.empty(0, np.intp)
        return _Query(ready, live, joined, sum(idfs))

    def _sum_weights(self, query: _Query) -> Array:
        """Return what each slot has of the weights, added in the order of the terms."""
        parts = [one.each if one.times == 1 else one.times * one.each for one in query.ready]
        if query.live:
            part = self._saturation(
                query.documents[-sum(len(one.documents) for one in query.live) :],
                np.concatenate([one.each for one in query.live]),
            )
            part *= _spread(query.live, [one.idf for one in query.live])
            if any(one.times > 1 for one in query.live):
                part *= _spread(query.live, [one.times for one in query.live])
            parts.append(part)
        return self._sum(query, parts)

    def _sum_idf(self, query: _Query) -> Array:
        """Return the idf of the terms that each slot holds."""
        found = [*query.ready, *query.live]
        return self._sum(query, [_spread(found, [one.idf for one in found])] if found else [])

    def _sum(self, query: _Query, parts: Sequence[Array]) -> Array:
        """Add up one number a posting by slot, in their order."""
        if not parts:
            return np.zeros(self.slots)
        part = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return np.bincount(query.documents, part, self.slots)

    def _known(self, keys: Array) -> list[int]:
        """Return the keys that any document has, or had."""
        base = self._base.keys
        places = base.searchsorted(keys)
        known = base.take(places, mode="clip") == keys if len(base) else np.zeros(len(keys), bool)
        known |= np.isin(keys, np.fromiter(self._delta, np.uint64, len(self._delta)))
        found: list[int] = keys[known].tolist()
        return found

    def _add_alike(self, keys: Sequence[int], times: int, scores: Array, covered: Array) -> float:
        """Add what terms give that count as one; a document has it as often as its commonest."""
        most = np.zeros(self.slots, np.uint16)
        for key in dict.fromkeys(keys):
            (start,), (end,), _ = self._look_up({key: 1})
            documents = self._base.documents[start:end]
            frequencies = self._base.frequencies[start:end]
            most[documents] = np.maximum(most[documents], frequencies)
            if key in self._delta:
                documents, frequencies = self._delta[key].get()
                most[documents] = np.maximum(most[documents], frequencies)
        most[~self.alive[: self.slots]] = 0
        documents = np.flatnonzero(most)
        idf = float(non_negative_idf(self.corpus_size, len(documents)))
        scores[documents] += times * idf * self._saturation(documents, most[documents])
        covered[documents] += idf
        return idf

    def _saturation(self, documents: Array, frequencies: Array) -> Array:
        """Return rank_bm25's term-frequency part, in its own order of operations."""
        if self._norms is None:  # of all documents at once: every query needs many of them
            lengths = self._lengths[: self.slots]
            self._norms = self.k1 * (1 - self.b + self.b * lengths / self.avgdl)
        tf = frequencies.astype(np.float64)
        part = self._norms[documents]
        part += tf
        tf *= self.k1 + 1
        tf /= part
        return tf

    def _reserve(self, slots: int) -> None:
        if slots > len(self._lengths):
            capacity = max(64, 2 * len(self._lengths))
            self._lengths = np.resize(self._lengths, capacity)
            self.alive = np.resize(self.alive, capacity)


def _spread(found: Sequence[_Found], values: Sequence[float]) -> Array:
    """Return the value of each term once for every posting of it."""
    return np.repeat(values, [len(one.documents) for one in found])


def top(scores: Array, k: int, block: int = 64) -> Array:
    """Return the positions of the k highest positive scores, best first, ties by position.

    Exact, without a sort over all of them: the k-th largest block maximum is a lower bound of the
    k-th score, so only what reaches it is sorted. A block is every (n / block)-th score: maxima
    of many blocks at once are the quickest to take.
    """
    blocks = len(scores) // block
    bound = 0.0
    if blocks >= k:
        grid = scores[: blocks * block].reshape(block, blocks)
        maxima = grid.max(axis=0)
        bound = float(np.partition(maxima, blocks - k)[blocks - k])
    if bound > 0:
        hot = np.flatnonzero(maxima >= bound)
        lines, columns = np.nonzero(grid[:, hot] >= bound)
        rest = np.flatnonzero(scores[blocks * block :] >= bound)
        candidates = np.concatenate([lines * blocks + hot[columns], rest + blocks * block])
    else:
        candidates = np.flatnonzero(scores > 0)
        if len(candidates) > k:
            held = scores[candidates]
            bound = float(np.partition(held, len(held) - k)[len(held) - k])
            candidates = candidates[held >= bound]
    return candidates[np.lexsort((candidates, -scores[candidates]))[:k]]


def largest_deviation(
    index: LiveOkapi, slots: Sequence[int], queries: Sequence[list[int]]
) -> float:
    """Return how far `index` is from rank_bm25's own loop over the documents in `slots`.

    The loop runs on an object with the sampled documents and the statistics of the whole index.
    """
    frequencies = [dict(zip(*map(_as_list, index.terms_of(slot)), strict=True)) for slot in slots]
    reference = NonNegativeOkapi([[0]], k1=index.k1, b=index.b)
    reference.corpus_size = len(slots)
    reference.doc_freqs = frequencies
    reference.doc_len = [sum(counts.values()) for counts in frequencies]
    reference.avgdl = index.avgdl
    worst = 0.0
    for query in queries:
        reference.idf = {key: index.idf_of(key) for key in query}
        expected = reference.get_scores(query)
        found = index.scores_of_keys(query)[list(slots)]
        worst = max(worst, float(np.abs(expected - found).max(initial=0.0)))
    return worst


def _as_list(array: Array) -> list[int]:
    return [int(value) for value in array]
