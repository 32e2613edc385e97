"""The way from a seed to what was reached: shortest, and of equal ones that which carried most."""

from collections.abc import Collection

import numpy as np

from shiyi.indexer.graph import WEIGHTS, Graph
from shiyi.indexer.segment import Array

Way = list[tuple[int, int | None]]  # nodes, each with the code of the edge that led there


class Paths:
    """Ways through the nodes that kept anything, found a layer at a time as they are needed."""

    def __init__(self, graph: Graph, kept: Array, seeds: Collection[int]) -> None:
        """Take the graph, what each node kept, and where it began."""
        self._graph, self._kept = graph, kept
        self._before: dict[int, tuple[int, int] | None] = dict.fromkeys(seeds)
        self._front = sorted(seeds)

    def to(self, node: int) -> Way | None:
        """Return the way from a seed to a node, both included; None when there is none."""
        while node not in self._before and self._front:
            self._widen()
        if node not in self._before:
            return None
        way: Way = []
        at: int | None = node
        while at is not None:
            before = self._before[at]
            way.append((at, before[1] if before else None))
            at = before[0] if before else None
        return way[::-1]

    def _widen(self) -> None:
        """Reach the next layer; each node from the one that passed it most."""
        found = self._graph.neighbours(np.array(self._front, np.int64))
        each = self._kept[found.nodes] / np.maximum(self._graph.weights[found.nodes], 1.0)
        passed = np.repeat(each, found.counts) * WEIGHTS[found.codes]
        sources = np.repeat(found.nodes, found.counts)
        fresh: dict[int, tuple[float, str, int, int]] = {}
        for source, target, code, amount in zip(
            sources.tolist(), found.targets.tolist(), found.codes.tolist(), passed.tolist(),
            strict=True,
        ):  # fmt: skip
            if target in self._before or not self._kept[target]:
                continue
            offer = (-amount, self._graph.id_of(source), code, source)
            fresh[target] = min(fresh.get(target, offer), offer)
        for target, (_, _, code, source) in fresh.items():
            self._before[target] = (source, code)
        self._front = sorted(fresh)
