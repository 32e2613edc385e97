"""What ties the documents of a scope: links, the turns of a dialogue, and the names of entities.

A link is an edge between its two ids. A turn follows the one before it. And a record or capture
names an entity when one of its documents holds all terms of one of the entity's names. All of it
is a function of the store, so what was followed and what is built anew are the same graph.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.graph import FOLLOWS, NAMES, Edge, Graph, GraphArrays
from shiyi.indexer.lexical import LiveOkapi
from shiyi.indexer.names import Names, slots_naming
from shiyi.indexer.segment import Array, Segment
from shiyi.store import Change, Store
from shiyi.store.kinds import KINDS, RELATIONS

if TYPE_CHECKING:
    from shiyi.indexer.index import ScopeIndex

_ENTITY = KINDS.index("entity")


def write_graph(store: Store, scope: str, building: Path, columns: Array) -> None:
    """Write the graph of the documents that a directory holds the postings of."""
    names = Names()
    for head in store.iterate_heads(scope):
        if head.kind == "entity":
            names.put(head.record_id, {"title": head.title, "aliases": head.aliases})
    lexical = LiveOkapi(Segment.load(building))
    GraphArrays.of(_edges(store, scope, columns, lexical, names)).save(building)


def _edges(
    store: Store, scope: str, columns: Array, lexical: LiveOkapi, names: Names
) -> Iterator[Edge]:
    for link in store.iterate_links(scope):
        yield link.src, link.rel, link.dst
    ids = columns["id"]
    for slot in np.flatnonzero(columns["previous"] != b"").tolist():
        yield _text(ids[slot]), FOLLOWS, _text(columns["previous"][slot])
    for entity in names:
        for slot in slots_naming(lexical, names.keys_of(entity)):
            yield _text(ids[slot]), NAMES, entity


def _text(id_: Any) -> str:
    found: str = id_.decode("ascii")
    return found


class Relations:
    """The graph and the names of a live index, brought up to date when they are asked for."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._names: Names | None = None
        self._changed: dict[tuple[int, str], None] = {}  # documents not followed yet
        self._unnamed: dict[str, None] = {}  # records whose names were not looked at since
        self._linking: dict[str, None] = {}
        self._redirects: dict[str, str] | None = None  # None is not read yet
        self._unlinking: dict[str, None] = {}
        self._view: Graph | None = None  # the graph as it is read through the redirects

    def note(self, change: Change) -> None:
        """Remember a change, to be followed when it matters."""
        if change.what == "link":
            self._linking[change.id] = None
        elif change.what == "unlink":
            self._unlinking[change.id] = None
            self._redirects = None
        elif change.what == "capture":
            self._changed[FRAGMENT, change.id] = None
        elif change.what == "record":
            self._changed[RECORD, change.id] = None
            self._unnamed[change.id] = None
            self._redirects = None
        else:
            return
        self._view = None

    def names_of(self, index: "ScopeIndex") -> Names:
        """Return the names of the entities, as the documents of the index stand."""
        if self._names is None:
            self._names = Names()
            kinds = index.columns["kind"]
            for slot in np.flatnonzero(kinds == _ENTITY).tolist():
                if index.lexical.alive[slot]:
                    self._names.put(index.key(slot)[1], index.card(slot))
        else:
            for record in self._unnamed:
                slots = [s for s in index.find(RECORD, record) if _is_entity(index, s)]
                self._names.put(record, index.card(slots[0]) if slots else None)
        self._unnamed.clear()
        return self._names

    def _unlink(self, graph: Graph, scope: str, store: Store) -> None:
        """Leave to what lost links only those that it has."""
        left = store.links_from(scope, list(self._unlinking))
        for id_, rel in product(self._unlinking, RELATIONS):
            graph.replace(id_, rel, {link.dst for link in left.get(id_, []) if link.rel == rel})
        self._unlinking.clear()

    def follow(self, index: "ScopeIndex", store: Store) -> Graph:
        """Return the graph, up to date with the documents of the index.

        Entities that were merged are one node with the one that stands for them.
        """
        names = self.names_of(index)
        if self._graph is None:
            generation = index.generation
            self._graph = Graph(generation.graph if generation else GraphArrays.empty())
        for links in store.links_from(index.scope, list(self._linking)).values():
            for link in links:
                self._graph.add(link.src, link.rel, link.dst)
        self._unlink(self._graph, index.scope, store)
        for kind, id_ in self._changed:
            slots = index.find(kind, id_)
            named = set().union(*(names.named_by(index.lexical.terms_of(s)[0]) for s in slots))
            self._graph.replace(id_, NAMES, named)
            if kind == RECORD:
                naming = slots_naming(index.lexical, names.keys_of(id_))
                owners = {index.key(slot)[1] for slot in naming}
                self._graph.replace(id_, NAMES, owners, backward=True)
            for before in {index.columns.row(slot).previous for slot in slots} - {""}:
                self._graph.add(id_, FOLLOWS, before)
        self._linking.clear()
        self._changed.clear()
        if self._redirects is None:
            self._redirects = store.redirects(index.scope)
        if not self._redirects:
            return self._graph
        if self._view is None:
            self._view = self._graph.redirected(self._redirects)
        return self._view


def _is_entity(index: "ScopeIndex", slot: int) -> bool:
    return index.columns.row(slot).kind == _ENTITY
