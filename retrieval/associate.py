"""Associations: what a question brings to mind by what it is tied to, not by what it says.

From the entities that the question names and the best hits of its search, mass spreads along the
graph of the scope; what gathers most of it, and is not shown anyway, is an association. It comes
with the path by which it was reached, and never enters the ranking.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.graph import Graph, relation_of
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array
from shiyi.indexer.spread import spread
from shiyi.retrieval.memories import memories
from shiyi.retrieval.paths import Paths
from shiyi.store import Store
from shiyi.store.kinds import KINDS, STATUSES

MOST = 6
_SEEDS = 2  # of the best hits; more of them are less and less to the point
_NAMED = 1.0  # the strength of a name in the question, where the best hit has 1
_POOL = 400  # nodes that are looked at
_SUPERSEDED = STATUSES.index("superseded")
# Doors to memories, with sections of their own, not memories.
_DOORS = {KINDS.index("entity"), KINDS.index("facet")}
_KEPT = 1 << 14  # nodes whose slots are kept
_OPENING = 40  # characters of a capture, which has no title


@dataclass(frozen=True, slots=True)
class Step:
    """One thing on the way. relation ties it to the one before: None for where the way begins.

    backward says that the relation leads from this thing to the one before.
    """

    id: str
    title: str
    relation: str | None
    backward: bool


@dataclass(frozen=True, slots=True)
class Association:
    """What was brought to mind; score is its share of what was spread, and path ends with it.

    also are the captures that come with it: those that a record quotes, other turns of a dialogue.
    """

    id: str
    type: str
    title: str
    score: float
    path: tuple[Step, ...]
    also: tuple[str, ...] = ()


def associate(
    index: ScopeIndex,
    store: Store,
    text: str,
    ranked: Sequence[tuple[str, float]],
    *,
    shown: Collection[str],
    allowed: Array,
    limit: int = MOST,
) -> list[Association]:
    """Return at most `limit` associations of a question, strongest first.

    ranked are the ids of the best hits with their scores, best first. shown are the ids that the
    answer shows anyway, other names of the same memory included; like what the question names
    and hits, and what was superseded, they are no associations. allowed is bool (slots,).
    """
    graph = index.graph(store)
    seeds = _seeds(index, graph, text, ranked)
    if not seeds:
        return []
    kept = spread(graph, seeds)
    hidden = {graph.find(id_) for id_ in shown} | seeds.keys()
    reached = {
        node: slot
        for node in _strongest(graph, kept)
        if node not in hidden and (slot := _slot(index, graph, node, allowed)) is not None
    }
    paths = Paths(graph, kept, seeds)
    found: list[Association] = []
    for memory in memories(index, graph, kept, reached, shown):
        way = paths.to(memory.node)
        if way is None or not all(_known(index, graph, stop) for stop, _ in way):
            continue
        path = tuple(_step(index, graph, stop, code) for stop, code in way)
        row = index.columns.row(reached[memory.node])
        type_ = "record" if row.type == RECORD else "capture"
        last, score = path[-1], round(memory.score, 9)
        found.append(Association(last.id, type_, last.title, score, path, memory.also))
        if len(found) == limit:
            break
    return found


def _seeds(
    index: ScopeIndex, graph: Graph, text: str, ranked: Sequence[tuple[str, float]]
) -> Mapping[int, float]:
    """Return the nodes that a question begins at, each with its strength."""
    best = max((score for _, score in ranked), default=0.0)
    strengths = {id_: score / best for id_, score in ranked[:_SEEDS] if score > 0}
    for named in index.names().find(text):
        strengths[named.entity] = max(_NAMED, strengths.get(named.entity, 0.0))
    nodes = {graph.find(id_): strength for id_, strength in strengths.items()}
    return {node: strength for node, strength in nodes.items() if node is not None}


def _strongest(graph: Graph, kept: Array) -> list[int]:
    """Return the nodes that kept most, most first; equal ones by id."""
    nodes = np.flatnonzero(kept > 0)
    if len(nodes) > _POOL:
        bound = np.partition(kept[nodes], len(nodes) - _POOL)[len(nodes) - _POOL]
        nodes = nodes[kept[nodes] >= bound]
    ids = map(graph.id_of, nodes.tolist())
    order = sorted(zip((-kept[nodes]).tolist(), ids, nodes.tolist(), strict=True))
    return [node for _, _, node in order[:_POOL]]


def _slot(index: ScopeIndex, graph: Graph, node: int, allowed: Array) -> int | None:
    """Return the slot by which a node may be shown, or None when it may not."""
    known = index.once("slots of memories", dict[int, list[int]])
    if node not in known:
        if len(known) >= _KEPT:
            known.clear()
        known[node] = _slots_of(index, graph.id_of(node))
    return next((slot for slot in known[node] if allowed[slot]), None)


def _slots_of(index: ScopeIndex, id_: str) -> list[int]:
    """Return the slots of a record or capture, without what is no memory or was superseded."""
    columns, slots = index.columns, [*index.find(RECORD, id_), *index.find(FRAGMENT, id_)]
    return [
        slot
        for slot in slots
        if columns["kind"][slot] not in _DOORS
        and (columns["status"][slot] != _SUPERSEDED or columns["type"][slot] != RECORD)
    ]


def _known(index: ScopeIndex, graph: Graph, node: int) -> bool:
    id_ = graph.id_of(node)
    return bool(index.find(RECORD, id_) or index.find(FRAGMENT, id_))


def _step(index: ScopeIndex, graph: Graph, node: int, code: int | None) -> Step:
    id_ = graph.id_of(node)
    slots = index.find(RECORD, id_) or index.find(FRAGMENT, id_)
    title = _title(index.card(slots[0]))
    relation, backward = relation_of(code) if code is not None else (None, False)
    return Step(id_, title, relation, backward)


def _title(card: Mapping[str, Any]) -> str:
    if "title" in card:
        return str(card["title"])
    text = " ".join(card["text"][: 2 * _OPENING].split())
    return text if len(text) <= _OPENING else f"{text[: _OPENING - 1]}…"
