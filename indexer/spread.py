"""Personalised PageRank by local forward push (Andersen, Chung and Lang 2006).

Mass is put on the seeds. A node keeps RESTART of what reaches it and passes the rest on along its
edges, by their weights. Nodes that hold less than EPSILON of all mass for each unit of weight of
their edges pass nothing on, so the work depends on EPSILON and RESTART, not on the size of the
graph: at most 1 / (EPSILON · RESTART) units of weight are passed over.

A hub, whose edges weigh more than `hub`, passes on only the share hub / weight of what it has.

Mass is counted in whole numbers. Their sums are exact, whatever the order, so the outcome does not
depend on how nodes are numbered, which the history of an index decides.
"""

from collections.abc import Mapping

import numpy as np

from shiyi.indexer.graph import WEIGHTS, Graph
from shiyi.indexer.segment import Array

RESTART = 0.5
EPSILON = 3e-6
HUB = 100.0
_UNIT = float(1 << 50)  # sums of parts of it are exact in float64
_PARTS = float(1 << 30)  # of the strongest seed
_FEW = 20  # while fewer than one in so many edges are passed over, single entries are written


def spread(
    graph: Graph,
    seeds: Mapping[int, float],
    *,
    restart: float = RESTART,
    epsilon: float = EPSILON,
    hub: float = HUB,
) -> Array:
    """Return what share of all mass each node keeps, float64 (nodes,).

    seeds gives the share of the mass that each node begins with; they are scaled to one.
    """
    kept, held = np.zeros(len(graph)), np.zeros(len(graph))
    front = np.array(sorted(node for node, given in seeds.items() if given > 0), np.int64)
    if not len(front):
        return kept
    held[front] = _whole(np.array([seeds[node] for node in front.tolist()]))
    weights, least = graph.weights, max(1.0, np.floor(_UNIT * epsilon))
    while len(front):
        found = graph.neighbours(front)
        front, weight = found.nodes, weights[found.nodes]
        has = held[front]
        stays = np.floor(restart * has)
        kept[front] += stays
        held[front] = 0.0
        each = np.floor((has - stays) / (np.maximum(weight, 1.0) * np.maximum(weight / hub, 1.0)))
        passed = np.repeat(each, found.counts) * WEIGHTS[found.codes]
        front = _receive(held, least, weights, found.targets, passed)
    rest = np.flatnonzero(held > 0)
    kept[rest] += np.floor(restart * held[rest])  # what is held would keep that much, too
    kept /= _UNIT
    return kept


def _whole(given: Array) -> Array:
    """Return shares of _UNIT, whole numbers that depend on the values alone."""
    parts = np.floor(given / given.max() * _PARTS)
    whole: Array = np.floor(_UNIT * (parts / parts.sum()))
    return whole


def _receive(held: Array, least: float, weights: Array, targets: Array, passed: Array) -> Array:
    """Add what was passed to each target; return the nodes that now have enough to pass on."""
    if len(targets) * _FEW > len(held):
        held += np.bincount(targets, weights=passed, minlength=len(held))
        return np.flatnonzero((held >= least * weights) & (held > 0))
    np.add.at(held, targets, passed)
    ready = np.sort(targets[held[targets] >= least * weights[targets]])
    return ready[np.diff(ready, prepend=-1) > 0]
