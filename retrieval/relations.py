"""What stands around records: what supports, contradicts or replaces them, who is in them, when."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shiyi.indexer.documents import NO_DATE, RECORD
from shiyi.indexer.graph import Graph, relation_of
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array
from shiyi.store.kinds import KINDS

Room = Literal["related", "entities", "facets"]
_MOST = 8  # links of one relation of one record
_ENTITY, _FACET = KINDS.index("entity"), KINDS.index("facet")
# How a link is called from the end that it leaves, and from the end at which it arrives.
_NAMES: Mapping[str, tuple[str, str]] = {
    "supports": ("supports", "supported_by"),
    "contradicts": ("contradicts", "contradicts"),
    "alternative_to": ("alternative_to", "alternative_to"),
    "supersedes": ("supersedes", "superseded_by"),
    "about": ("about", "story"),
    "mentions": ("mentions", "story"),
    "member_of": ("member_of", "member"),
}


@dataclass(frozen=True, slots=True)
class Related:
    """A record that stands beside another one, and how; ids are whole."""

    of: str
    rel: str
    id: str


def related(graph: Graph, ids: Sequence[str]) -> list[Related]:
    """Return what is linked with records, in the order of `ids`, each relation cut to a few."""
    return [
        Related(id_, name, other)
        for id_ in ids
        for name, others in _ends(graph, id_).items()
        for other in others
    ]


def replaced(graph: Graph, ids: Iterable[str]) -> dict[str, list[str]]:
    """Return what each record replaced, and what that replaced, without end even in a loop."""
    before: dict[str, list[str]] = {}
    waiting = list(dict.fromkeys(ids))
    while waiting:
        id_ = waiting.pop()
        if id_ not in before:
            before[id_] = _ends(graph, id_).get("supersedes", [])
            waiting += before[id_]
    return {id_: older for id_, older in before.items() if older}


def _ends(graph: Graph, id_: str) -> dict[str, list[str]]:
    """Return what a record is tied to, by how it is called from here; of a hub the newest."""
    node = graph.find(id_)
    if node is None:
        return {}
    around = graph.neighbours(np.array([node]))
    found: dict[str, list[str]] = {}
    for code in np.unique(around.codes).tolist():
        relation, backward = relation_of(code)
        if relation in _NAMES:
            targets = np.sort(around.targets[around.codes == code])[::-1][:_MOST]
            own = found.setdefault(_NAMES[relation][backward], [])
            own += sorted(graph.id_of(target) for target in targets.tolist())
    return {name: list(dict.fromkeys(others)) for name, others in found.items()}


def successors_first(ids: Sequence[str], before: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the ids with what replaced one of them never after it; a loop keeps its order.

    before: what each record replaced directly.
    """
    listed = set(ids)
    newer: dict[str, list[str]] = {}
    for id_, older in before.items():
        for one in older:
            newer.setdefault(one, []).append(id_)
    order: dict[str, None] = {}

    def place(id_: str, below: frozenset[str]) -> None:
        if id_ in order or id_ in below:
            return
        for one in newer.get(id_, ()):
            place(one, below | {id_})
        if id_ in listed:
            order[id_] = None

    for id_ in ids:
        place(id_, frozenset())
    return list(order)


def room_of(index: ScopeIndex, slot: int) -> Room:
    """Return the section in which a linked record is shown."""
    kind = int(index.columns.row(slot)["kind"])
    return "entities" if kind == _ENTITY else "facets" if kind == _FACET else "related"


def beside(index: ScopeIndex, slot: int, allowed: Array, most: int) -> list[int]:
    """Return the slots of the records nearest in time to a document, nearest first."""
    days = index.columns["date_start"]
    own = int(days[slot])
    if own == NO_DATE:
        return []
    near = np.flatnonzero(allowed & (index.columns["type"] == RECORD) & (days != NO_DATE))
    near = near[near != slot]
    away = np.abs(days[near].astype(np.int64) - own)
    if len(near) > most:
        near, away = (kept[away <= np.partition(away, most - 1)[most - 1]] for kept in (near, away))
    order = np.lexsort((near, away))
    return [int(one) for one in near[order][:most]]
