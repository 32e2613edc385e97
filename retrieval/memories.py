"""One memory, one place: a record with the words it was drawn from, a dialogue with its turns."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.graph import Graph, code_of
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array

_QUOTED = code_of("quotes", backward=True)


@dataclass(frozen=True, slots=True)
class Memory:
    """The node that stands for a memory, all that it was left with, and the captures beside it."""

    node: int
    score: float
    also: tuple[str, ...]


def memories(
    index: ScopeIndex,
    graph: Graph,
    kept: Array,
    reached: Mapping[int, int],
    shown: Collection[str],
) -> Iterator[Memory]:
    """Yield the memories among the nodes that were reached, strongest first.

    reached gives the slot of each node, the strongest first. A capture is shown by the strongest
    record drawn from it; without one, a turn is shown by the strongest of its dialogue, and not
    at all when the dialogue has a turn among those shown.
    """
    heard = {_session(index, slot) for id_ in shown for slot in index.find(FRAGMENT, id_)[:1]}
    places = {node: place for place, node in enumerate(reached)}
    leaders: dict[str, int] = {}  # of each dialogue
    members: dict[int, list[int]] = defaultdict(list)
    types = index.columns["type"]
    drawn = _drawn_from(graph, [node for node, slot in reached.items() if types[slot] == FRAGMENT])
    for node, slot in reached.items():
        leader = node
        if types[slot] == FRAGMENT:
            records = drawn.get(node, set()) & places.keys()
            record = min(records, key=places.__getitem__, default=None)
            session = _session(index, slot)
            if record is not None:
                leader = record
            elif session is not None:
                if session in heard:
                    continue
                leader = leaders.setdefault(session, node)
        members[leader].append(node)
    leading = [reached[leader] for leader in members]
    salience, days = (index.columns[name][leading].tolist() for name in ("salience", "date_end"))
    # Of equal ones, what matters more comes first, then what is newer.
    keys = [
        (-_strength(kept, leader, nodes), -matters, -day, graph.id_of(leader), leader)
        for (leader, nodes), matters, day in zip(members.items(), salience, days, strict=True)
    ]
    for strength, *_, leader in sorted(keys):
        yield Memory(leader, -strength, _beside(index, graph, leader, members[leader], reached))


def _strength(kept: Array, leader: int, nodes: list[int]) -> float:
    return float(np.sum(kept[nodes])) if len(nodes) > 1 else float(kept[leader])


def _beside(
    index: ScopeIndex, graph: Graph, leader: int, nodes: list[int], reached: Mapping[int, int]
) -> tuple[str, ...]:
    if index.columns["type"][reached[leader]] == RECORD:
        quotes = index.card(reached[leader])["quotes"]
        return tuple(sorted({capture for capture, _, _ in quotes}))
    return tuple(sorted(graph.id_of(node) for node in nodes if node != leader))


def _drawn_from(graph: Graph, nodes: list[int]) -> dict[int, set[int]]:
    """Return the records that quote each of some captures."""
    around = graph.neighbours(np.array(nodes, np.int64))
    quoted = around.codes == _QUOTED
    owners = np.repeat(around.nodes, around.counts)[quoted].tolist()
    drawn: dict[int, set[int]] = defaultdict(set)
    for capture, record in zip(owners, around.targets[quoted].tolist(), strict=True):
        drawn[capture].add(record)
    return drawn


def _session(index: ScopeIndex, slot: int) -> str | None:
    session: str | None = index.card(slot).get("session")
    return session
