"""The graph of a scope: who is tied to whom, both ways, on disk and what came since.

A node is the id of a record or a capture. An edge has a relation and is kept at both its ends,
so a neighbourhood is one look-up. Nodes that only links name have no document; nothing of them
is ever shown.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np

from shiyi.indexer.segment import Array, map_array
from shiyi.store.kinds import RELATIONS

NAMES = "names"  # a text has the name of an entity in it
FOLLOWS = "follows"  # a turn comes after another in a dialogue
_RELATIONS = (NAMES, FOLLOWS, *RELATIONS)
# How strongly one thing brings the other to mind; whole, so that their sums are exact.
_WEIGHTS = {NAMES: 2, FOLLOWS: 2}
_USUAL_WEIGHT = 4
_PART = 1 << 16  # edges
Edge = tuple[str, str, str]  # source, relation, target


def code_of(relation: str, *, backward: bool = False) -> int:
    """Return the code of a relation, seen from its source or from its target."""
    return 2 * _RELATIONS.index(relation) + backward


def relation_of(code: int) -> tuple[str, bool]:
    """Return the relation that a code stands for, and whether it is seen from its target."""
    return _RELATIONS[code // 2], bool(code % 2)


WEIGHTS = np.zeros(256, np.int64)  # of each code
for _relation in _RELATIONS:
    for _backward in (False, True):
        _weight = _WEIGHTS.get(_relation, _USUAL_WEIGHT)
        WEIGHTS[code_of(_relation, backward=_backward)] = _weight


@dataclass(frozen=True, slots=True)
class GraphArrays:
    """n nodes and m ends of edges, sorted; arrays may be mapped files.

    nodes S26 (n,), ascending · graph_pointers int64 (n+1,) into graph_targets int32 (m,),
    positions in `nodes`, and graph_codes uint8 (m,).
    """

    nodes: Array
    graph_pointers: Array
    graph_targets: Array
    graph_codes: Array

    @classmethod
    def file_names(cls) -> list[str]:
        """Return the names of the files of a graph."""
        return [f"{field.name}.npy" for field in fields(cls)]

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Map the files that `save` wrote."""
        return cls(*(map_array(directory / name) for name in cls.file_names()))

    def save(self, directory: Path) -> None:
        """Write the files of the graph."""
        for field in fields(self):
            path = directory / f"{field.name}.npy"
            np.save(path, getattr(self, field.name), allow_pickle=False)

    @classmethod
    def empty(cls) -> Self:
        """Return the graph of nothing."""
        return cls.of([])

    @classmethod
    def of(cls, edges: Iterable[Edge]) -> Self:
        """Return the graph of these edges, each of which counts once."""
        parts = [np.empty((3, 0), "S26")]
        waiting: list[Edge] = []
        for edge in edges:
            if edge[0] != edge[2]:
                waiting.append(edge)
            if len(waiting) == _PART:
                parts.append(_columns(waiting))
                waiting.clear()
        if waiting:
            parts.append(_columns(waiting))
        sources, relations, targets = np.concatenate(parts, axis=1)
        named, codes = np.unique(relations, return_inverse=True)
        table = np.array([code_of(name.decode("ascii")) for name in named.tolist()], np.int64)
        nodes, ends = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        return cls.of_ends(nodes, ends[: len(sources)], table[codes], ends[len(sources) :])

    @classmethod
    def of_ends(cls, nodes: Array, sources: Array, codes: Array, targets: Array) -> Self:
        """Return the graph of edges between positions in `nodes`, which all have some."""
        forward = (sources * len(nodes) + targets) * len(WEIGHTS) + codes
        backward = (targets * len(nodes) + sources) * len(WEIGHTS) + codes + 1
        keys = np.unique(np.concatenate([forward, backward]))
        owners, targets = np.divmod(keys // len(WEIGHTS), max(1, len(nodes)))
        pointers = np.searchsorted(owners, np.arange(len(nodes) + 1))
        return cls(
            nodes=nodes,
            graph_pointers=pointers.astype(np.int64),
            graph_targets=targets.astype(np.int32),
            graph_codes=(keys % len(WEIGHTS)).astype(np.uint8),
        )


def _columns(edges: list[Edge]) -> Array:
    return np.array(edges, "S26").T


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where the edges of some nodes lead: counts[i] of them are of nodes[i], one after another."""

    nodes: Array
    counts: Array
    targets: Array
    codes: Array


class Graph:
    """The graph of a generation, and the nodes whose edges have changed since."""

    def __init__(self, base: GraphArrays, redirects: Mapping[str, str] | None = None) -> None:
        """Take the graph of the generation, and other ids by which its nodes are found."""
        self._base = base
        self._redirects = redirects or {}
        self._size = len(base.nodes)
        self._ids: list[str] = []  # of the nodes that came since
        self._numbers: dict[str, int] = {}
        self._changed: dict[int, set[tuple[int, int]]] = {}  # node → (target, code)
        self._is_changed = np.zeros(self._size, bool)
        self._weights: Array | None = None  # of all edges of a node together

    def __len__(self) -> int:
        return self._size + len(self._ids)

    def id_of(self, node: int) -> str:
        """Return the id that a node stands for."""
        if node >= self._size:
            return self._ids[node - self._size]
        found: str = self._base.nodes[node].decode("ascii")
        return found

    def find(self, id_: str) -> int | None:
        """Return the node of an id, or None when nothing is tied to it."""
        node = self._known(id_)
        return None if node is None or self._changed.get(node) == set() else node

    def _known(self, id_: str) -> int | None:
        """Return the number of an id, whether or not it has edges left, or None."""
        id_ = self._redirects.get(id_, id_)
        number = self._numbers.get(id_)
        if number is not None:
            return number
        wanted = id_.encode("ascii")
        place = int(np.searchsorted(self._base.nodes, wanted))
        known = place < self._size and self._base.nodes[place] == wanted
        return place if known else None

    @property
    def weights(self) -> Array:
        """The weight of all edges of each node together, whole numbers, float64 (nodes,)."""
        if self._weights is None or len(self._weights) != len(self):
            sums = np.concatenate([[0], np.cumsum(WEIGHTS[self._base.graph_codes])])
            self._weights = np.zeros(len(self))
            self._weights[: self._size] = np.diff(sums[self._base.graph_pointers])
            for node, edges in self._changed.items():
                self._weights[node] = sum(int(WEIGHTS[code]) for _, code in edges)
        return self._weights

    def neighbours(self, nodes: Array) -> Neighbours:
        """Return where the edges of the given nodes lead; the nodes come back in another order."""
        changed = self._is_changed[nodes] if self._changed else np.zeros(len(nodes), bool)
        plain = nodes[~changed]
        starts = self._base.graph_pointers[plain]
        counts = self._base.graph_pointers[plain + 1] - starts
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        places = np.repeat(starts - ends + counts, counts) + np.arange(total)
        found = Neighbours(
            plain, counts, self._base.graph_targets[places], self._base.graph_codes[places]
        )
        return self._with_changed(found, nodes[changed]) if changed.any() else found

    def _with_changed(self, found: Neighbours, changed: Array) -> Neighbours:
        lists = [sorted(self._changed[node]) for node in changed.tolist()]
        flat = np.array([edge for edges in lists for edge in edges], np.int64).reshape(-1, 2)
        return Neighbours(
            nodes=np.concatenate([found.nodes, changed]),
            counts=np.concatenate([found.counts, [len(edges) for edges in lists]]).astype(np.int64),
            targets=np.concatenate([found.targets, flat[:, 0]]),
            codes=np.concatenate([found.codes, flat[:, 1]]),
        )

    def redirected(self, redirects: Mapping[str, str]) -> "Graph":
        """Return the graph in which each id of `redirects` is one node with its target.

        It is for reading; what changes later is followed in this graph.
        """
        names = np.concatenate([self._base.nodes, np.array(self._ids, "S26")])
        for id_, target in redirects.items():
            node = self._known(id_)
            if node is not None:
                names[node] = target
        around = self.neighbours(np.arange(len(self)))
        owners = np.repeat(around.nodes, around.counts)
        labels, numbers = np.unique(names, return_inverse=True)
        sources, targets = numbers[owners], numbers[around.targets]
        kept = (around.codes % 2 == 0) & (sources != targets)
        sources, targets, codes = sources[kept], targets[kept], around.codes[kept].astype(np.int64)
        tied, ends = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        arrays = GraphArrays.of_ends(
            labels[tied], ends[: len(sources)], codes, ends[len(sources) :]
        )
        return Graph(arrays, redirects)

    # Following what changes

    def add(self, source: str, relation: str, target: str) -> None:
        """Add an edge; one that is there already is left alone."""
        if source != target:
            self._tie(self._number(source), self._number(target), code_of(relation))

    def replace(
        self, id_: str, relation: str, others: Collection[str], *, backward: bool = False
    ) -> None:
        """Let the edges of one relation that leave `id_`, or arrive there, be those to `others`."""
        code = code_of(relation, backward=backward)
        if self.find(id_) is None and not others:
            return
        node = self._number(id_)
        before = {target for target, its in self._edges(node) if its == code}
        after = {self._number(other) for other in others if other != id_}
        for target in sorted(after - before):
            self._tie(node, target, code)
        for target in sorted(before - after):
            self._own(node).discard((target, code))
            self._own(target).discard((node, code ^ 1))
            self._weights = None

    def _tie(self, source: int, target: int, code: int) -> None:
        if (target, code) not in self._edges(source):
            self._own(source).add((target, code))
            self._own(target).add((source, code ^ 1))
            self._weights = None

    def _number(self, id_: str) -> int:
        known = self._known(id_)
        if known is not None:
            return known
        number = self._numbers[id_] = len(self)
        self._ids.append(id_)
        self._own(number)
        return number

    def _edges(self, node: int) -> set[tuple[int, int]]:
        """Return the edges of a node, not to be written to."""
        if node in self._changed:
            return self._changed[node]
        part = slice(self._base.graph_pointers[node], self._base.graph_pointers[node + 1])
        ends = self._base.graph_targets[part].tolist(), self._base.graph_codes[part].tolist()
        return set(zip(*ends, strict=True))

    def _own(self, node: int) -> set[tuple[int, int]]:
        """Return the edges of a node, to be changed."""
        if node not in self._changed:
            self._changed[node] = self._edges(node) if node < self._size else set()
            if node >= len(self._is_changed):
                grown = np.ones(2 * node + 64, bool)  # all that are not of the base
                grown[: self._size] = self._is_changed[: self._size]
                self._is_changed = grown
            self._is_changed[node] = True
        return self._changed[node]
