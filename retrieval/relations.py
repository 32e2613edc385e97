"""What stands around records: what supports, contradicts or replaces them, who is in them, when."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Literal

import numpy as np

from shiyi.indexer.documents import NO_DATE, RECORD
from shiyi.indexer.graph import Graph, code_of, relation_of
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
_TOLD = np.zeros(256, bool)  # of each code
_TOLD[[code_of(name, backward=backward) for name in _NAMES for backward in (False, True)]] = True


@dataclass(frozen=True, slots=True)
class Related:
    """A record that stands beside another one, and how; ids are whole."""

    of: str
    rel: str
    id: str


class Ends:
    """What records are tied to, by how it is called from there; of a hub the newest."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, dict[str, list[str]]] = {}

    def of(self, id_: str) -> Mapping[str, list[str]]:
        """Return the ids at the other ends of the links of a record."""
        self.look_at([id_])
        return self._known[id_]

    def look_at(self, ids: Iterable[str]) -> None:
        """Read the links of several records at once."""
        fresh = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._known]
        self._known.update((id_, {}) for id_ in fresh)
        nodes = {node: id_ for id_ in fresh if (node := self._graph.find(id_)) is not None}
        if not nodes:
            return
        around = self._graph.neighbours(np.fromiter(nodes, np.int64, len(nodes)))
        told = np.flatnonzero(_TOLD[around.codes])
        owners = np.repeat(around.nodes, around.counts)[told]
        codes, targets = around.codes[told], around.targets[told].astype(np.int64)
        order = np.lexsort((-targets, codes, owners))
        ends = (column[order].tolist() for column in (owners, codes, targets))
        for (owner, code), links in groupby(zip(*ends, strict=True), key=itemgetter(0, 1)):
            relation, backward = relation_of(code)
            own = self._known[nodes[owner]].setdefault(_NAMES[relation][backward], [])
            first = sorted(self._graph.id_of(target) for _, _, target in islice(links, _MOST))
            own += [id_ for id_ in first if id_ not in own]


def related(ends: Ends, ids: Sequence[str]) -> list[Related]:
    """Return what is linked with records, in the order of `ids`, each relation cut to a few."""
    ends.look_at(ids)
    return [
        Related(id_, name, other)
        for id_ in ids
        for name, others in ends.of(id_).items()
        for other in others
    ]


def replaced(ends: Ends, ids: Iterable[str]) -> dict[str, list[str]]:
    """Return what each record replaced, and what that replaced, without end even in a loop."""
    before: dict[str, list[str]] = {}
    waiting = list(dict.fromkeys(ids))
    ends.look_at(waiting)
    while waiting:
        id_ = waiting.pop()
        if id_ not in before:
            before[id_] = ends.of(id_).get("supersedes", [])
            waiting += before[id_]
    return {id_: older for id_, older in before.items() if older}


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
    kind = int(index.columns["kind"][slot])
    return "entities" if kind == _ENTITY else "facets" if kind == _FACET else "related"


class Calendar:
    """The records of a scope that have a day, by it."""

    def __init__(self, index: ScopeIndex, allowed: Array) -> None:
        """Take the index, and which of its slots may be shown, bool (slots,)."""
        self._index, self._allowed = index, allowed
        self._slots, self._days = index.once("calendar", lambda: _dated(index))

    def beside(self, slot: int, most: int) -> list[int]:
        """Return the slots of the records nearest in time to a document, nearest first."""
        own = int(self._index.columns["date_start"][slot])
        if own == NO_DATE:
            return []
        radius = 1
        while True:
            first, last = np.searchsorted(self._days, (own - radius, own + radius + 1))
            near = self._slots[first:last]
            near = near[self._allowed[near] & (near != slot)]
            if len(near) >= most or last - first == len(self._slots):
                break
            radius *= 4
        away = np.abs(self._index.columns["date_start"][near].astype(np.int64) - own)
        return list(map(int, near[np.lexsort((near, away))][:most]))


def _dated(index: ScopeIndex) -> tuple[Array, Array]:
    """Return the slots of dated records by their first days, and those days."""
    days = index.columns["date_start"]
    slots = np.flatnonzero((index.columns["type"] == RECORD) & (days != NO_DATE))
    slots = slots[np.argsort(days[slots], kind="stable")]
    return slots, days[slots].astype(np.int64)
