"""What replaced what: documents that only superseded records stand for, and those in their place.

Old are superseded records, and words that nobody but superseded records quotes. New, for each of
them, are the records that replaced it, directly or by way of others, and the words these quote.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiyi.indexer.documents import RECORD
from shiyi.indexer.graph import Graph, code_of
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array
from shiyi.store import Store
from shiyi.store.kinds import STATUSES

_SUPERSEDED = STATUSES.index("superseded")
_REPLACED_BY = code_of("supersedes", backward=True)


@dataclass(frozen=True, slots=True)
class Succession:
    """Pairs of documents, int64 arrays of one length; `case` numbers an old one and a successor.

    A case has a pair for each document of the successor. Cases ascend. whole (bool): the old one
    is a record, not words.
    """

    old: Array
    new: Array
    case: Array
    whole: Array

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, int, int, bool]]) -> Self:
        """Take (old, new, case, whole) of each pair."""
        table = np.array(pairs, np.int64).reshape(-1, 4)
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(bool))

    def at(self, places: Array) -> Self:
        """Return the pairs by what `places` has for them, without those for which it has -1."""
        if not len(self.old):
            return self
        old, new = places[self.old], places[self.new]
        there = (old >= 0) & (new >= 0)
        return type(self)(old[there], new[there], self.case[there], self.whole[there])


NOTHING_REPLACED = Succession.of([])


def succession(index: ScopeIndex, store: Store) -> Succession:
    """Return the pairs of slots of a scope as it stands."""
    return index.once("succession", lambda: _read(index, store))


def _read(index: ScopeIndex, store: Store) -> Succession:
    columns = index.columns
    alive = index.lexical.alive[: index.slots]
    superseded = alive & (columns["type"] == RECORD) & (columns["status"] == _SUPERSEDED)
    if not superseded.any():
        return NOTHING_REPLACED
    slots = np.flatnonzero(superseded).tolist()
    newer = _newer(index, index.graph(store), slots)
    quotes = index.quotes()
    quotes = quotes[alive[quotes].all(axis=1)]
    current = np.zeros(index.slots, bool)  # words that a record quotes which is not superseded
    current[quotes[~superseded[quotes[:, 0]], 1]] = True
    told = superseded.copy()  # of these the words are asked for
    told[[new for many in newer.values() for new in many]] = True
    words: dict[int, list[int]] = defaultdict(list)
    for record, fragment in quotes[told[quotes[:, 0]]].tolist():
        words[record].append(fragment)
    return Succession.of(
        [
            (old, new, case, bool(superseded[old]))
            for case, (old, documents) in enumerate(_cases(slots, newer, words, current))
            for new in documents
        ]
    )


def _cases(
    slots: list[int], newer: Mapping[int, set[int]], words: Mapping[int, list[int]], current: Array
) -> Iterator[tuple[int, list[int]]]:
    """Yield each old document with the documents of each record that replaced it."""
    for record in slots:
        own = [record, *(one for one in words.get(record, ()) if not current[one])]
        for successor in sorted(newer[record]):
            documents = [one for one in (successor, *words.get(successor, ())) if one not in own]
            yield from ((old, documents) for old in own)


def _newer(index: ScopeIndex, graph: Graph, slots: list[int]) -> dict[int, set[int]]:
    """Return the slots of what replaced each record; of a loop nobody replaced another."""
    nodes = {slot: graph.find(index.key(slot)[1]) for slot in slots}
    replaced_by = _replaced_by(graph, {node for node in nodes.values() if node is not None})

    def all_newer(node: int) -> set[int]:
        found: set[int] = set()
        waiting = [node]
        while waiting:
            fresh = replaced_by.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return found

    behind = {slot: all_newer(node) if node is not None else set() for slot, node in nodes.items()}
    return {
        slot: {
            one
            for other in found
            if nodes[slot] not in all_newer(other)
            for one in index.find(RECORD, graph.id_of(other))
        }
        for slot, found in behind.items()
    }


def _replaced_by(graph: Graph, nodes: set[int]) -> dict[int, set[int]]:
    """Return what replaced each node directly, and each of those, and so on."""
    found: dict[int, set[int]] = {}
    while nodes:
        around = graph.neighbours(np.array(sorted(nodes), np.int64))
        replaced = around.codes == _REPLACED_BY
        owners = np.repeat(around.nodes, around.counts)[replaced].tolist()
        targets = around.targets[replaced].tolist()
        found |= {node: set() for node in nodes}
        for node, newer in zip(owners, targets, strict=True):
            found[node].add(newer)
        nodes = set(targets) - found.keys()
    return found
