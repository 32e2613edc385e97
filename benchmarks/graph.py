"""Row 13, associations: local forward push against power iteration over the whole graph."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import Result, Row, Skipped, in_turn, milliseconds
from shiyi.indexer.graph import WEIGHTS, Graph, GraphArrays
from shiyi.indexer.spread import HUB, RESTART, spread
from shiyi.store.kinds import RELATIONS

NODES = 100_000
_JUDGED = 10_000  # smaller runs only try the benchmarks out
_EDGES_EACH = 5
_ROUNDS = 60
_SEEDS = 3
_TOP = 20
_TOLERANCE = 1e-6
_EXACT = 1e-13


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure the spreading on one synthetic graph, and its overlap, unless all sizes are small."""
    if 13 not in wanted:
        return
    if max(sizes) < _JUDGED:
        yield Skipped(13, f"is of {NODES:,} nodes: give a size of {_JUDGED:,} or more")
        return
    arrays = scale_free(NODES)
    graph, power = Graph(arrays), Power(arrays)
    chance = np.random.default_rng(7)
    asked = [chance.choice(NODES, _SEEDS, replace=False).tolist() for _ in range(_ROUNDS)]
    found = in_turn(
        {
            "ours": lambda i: spread(graph, dict.fromkeys(asked[i], 1.0)),
            "scipy": lambda i: power.ranks(asked[i], _TOLERANCE),
        },
        rounds=_ROUNDS,
    )
    overlaps = [overlap(graph, power, seeds) for seeds in asked]
    about = f"{NODES:,} nodes, {len(arrays.graph_targets) // 2:,} edges, {_SEEDS} seeds"
    yield Row(
        row=13,
        what="personalised PageRank, against scipy power iteration at 1e-6",
        size=NODES,
        measured=found["ours"] / found["scipy"],
        limit=1 / 20,
        ours=milliseconds(found["ours"]),
        peer=milliseconds(found["scipy"]),
        notes=about,
    )
    yield Row(
        row=13,
        what="personalised PageRank, mean overlap of the first 20 with the exact ones",
        size=NODES,
        measured=float(np.mean(overlaps)),
        limit=0.95,
        unit="",
        at_least=True,
        notes=f"lowest {min(overlaps):.2f}",
    )


def scale_free(nodes: int) -> GraphArrays:
    """Return a graph grown by preferential attachment, with mixed relations."""
    chance = np.random.default_rng(3)
    ends = np.zeros(2 * _EDGES_EACH * nodes, np.int64)
    draws = chance.random((nodes, _EDGES_EACH))
    for node in range(1, nodes):
        filled = 2 * _EDGES_EACH * node
        at = ends[(draws[node] * filled).astype(np.int64)]
        ends[filled : filled + _EDGES_EACH] = node
        ends[filled + _EDGES_EACH : filled + 2 * _EDGES_EACH] = at
    pairs = ends.reshape(-1, 2, _EDGES_EACH)[1:].transpose(0, 2, 1).reshape(-1, 2)
    places = chance.permutation(nodes)[pairs]
    relations = [RELATIONS[k] for k in chance.integers(0, len(RELATIONS), len(places)).tolist()]
    return GraphArrays.of(
        (f"{source:026d}", relation, f"{target:026d}")
        for (source, target), relation in zip(places.tolist(), relations, strict=True)
    )


class Power:
    """Power iteration over the whole matrix, the hubs held back as ours holds them."""

    def __init__(self, arrays: GraphArrays) -> None:
        weights = WEIGHTS[arrays.graph_codes].astype(np.float64)
        shape = (len(arrays.nodes), len(arrays.nodes))
        ties = sparse.csr_matrix((weights, arrays.graph_targets, arrays.graph_pointers), shape)
        total = np.maximum(np.asarray(ties.sum(axis=1)).ravel(), 1.0)
        passing = sparse.diags_array(1 / (total * np.maximum(total / HUB, 1.0)))
        self._matrix: Any = ((1 - RESTART) * (passing @ ties)).T.tocsr()

    def ranks(self, seeds: Sequence[int], tolerance: float) -> Any:
        """Return the rank of every node, once a step changes them by less than `tolerance`."""
        begin = np.zeros(self._matrix.shape[0])
        begin[list(seeds)] = RESTART / len(seeds)
        ranks = begin
        while True:
            after = self._matrix @ ranks + begin
            if np.abs(after - ranks).sum() < tolerance:
                return after
            ranks = after


def overlap(graph: Graph, power: Power, seeds: Sequence[int]) -> float:
    """Return the share of the exact first 20 that ours has among its first 20."""
    ours = spread(graph, dict.fromkeys(seeds, 1.0))
    exact = power.ranks(seeds, _EXACT)
    first = [set(np.argsort(-ranks, kind="stable")[:_TOP].tolist()) for ranks in (ours, exact)]
    return len(first[0] & first[1]) / _TOP
