"""What stands around records: what supports, contradicts or replaces them, who is in them, when."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shiyi.indexer.documents import NO_DATE, RECORD
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array
from shiyi.store import Store
from shiyi.store.kinds import KINDS

Room = Literal["related", "entities", "facets"]
_MOST = 8  # links of one relation of one record
_DEEPEST = 16  # steps back along what replaced what
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


def related(store: Store, scope: str, ids: Sequence[str]) -> list[Related]:
    """Return what is linked with records, in the order of `ids`, each relation cut to a few."""
    rels = list(_NAMES)
    leaving = store.links_from(scope, ids, rels=rels, most=_MOST)
    arriving = store.links_to(scope, ids, rels=rels, most=_MOST)
    found = []
    for id_ in ids:
        found += [Related(id_, _NAMES[one.rel][0], one.dst) for one in leaving.get(id_, ())]
        found += [Related(id_, _NAMES[one.rel][1], one.src) for one in arriving.get(id_, ())]
    return list(dict.fromkeys(found))


def replaced(store: Store, scope: str, ids: Iterable[str]) -> dict[str, list[str]]:
    """Return what each record replaced, and what that replaced, without end even in a loop."""
    before: dict[str, list[str]] = {}
    waiting = list(dict.fromkeys(ids))
    for _ in range(_DEEPEST):
        found = store.links_from(scope, waiting, rels=["supersedes"], most=_MOST)
        before |= {id_: [link.dst for link in found.get(id_, ())] for id_ in waiting}
        reached = dict.fromkeys(dst for id_ in waiting for dst in before[id_])
        waiting = [id_ for id_ in reached if id_ not in before]
        if not waiting:
            break
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
