"""The graph of a scope: both ways, the same from any history, and what spreads along it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiyi.indexer.graph import WEIGHTS, Graph, GraphArrays, relation_of
from shiyi.indexer.spread import spread

IDS = [f"{n:026d}" for n in range(8)]
ID = st.sampled_from(IDS)
EDGE = st.tuples(ID, st.sampled_from(["about", "names", "supports"]), ID)


def edges_of(graph: Graph) -> set[tuple[str, str, str]]:
    """Return every edge, read at its source; and assert that its target has it, too."""
    found: set[tuple[str, str, str]] = set()
    mirrored: set[tuple[str, str, str]] = set()
    for node in range(len(graph)):
        around = graph.neighbours(np.array([node]))
        for target, code in zip(around.targets.tolist(), around.codes.tolist(), strict=True):
            relation, backward = relation_of(code)
            ends = (graph.id_of(node), relation, graph.id_of(target))
            (mirrored if backward else found).add(ends[::-1] if backward else ends)
    assert found == mirrored
    return found


def shares(graph: Graph, seeds: dict[str, float], **options: float) -> dict[str, float]:
    """Return what each id keeps, without those that keep nothing."""
    nodes = {graph.find(id_): strength for id_, strength in seeds.items()}
    kept = spread(graph, {n: s for n, s in nodes.items() if n is not None}, **options)
    return {graph.id_of(n): float(kept[n]) for n in np.flatnonzero(kept).tolist()}


@settings(max_examples=60)
@given(base=st.lists(EDGE, max_size=12), added=st.lists(EDGE, max_size=12), seed=ID)
def test_what_came_since_is_as_if_it_had_been_built(
    base: list[tuple[str, str, str]], added: list[tuple[str, str, str]], seed: str
) -> None:
    """Edges added to a graph on disk, or to none, make the graph of all of them."""
    whole = Graph(GraphArrays.of(base + added))
    expected = {edge for edge in base + added if edge[0] != edge[2]}
    for start in (base, []):
        graph = Graph(GraphArrays.of(start))
        for source, relation, target in [*base, *added]:
            graph.add(source, relation, target)
        assert edges_of(graph) == edges_of(whole) == expected
        assert shares(graph, {seed: 1.0}) == shares(whole, {seed: 1.0})


@settings(max_examples=60)
@given(
    base=st.lists(EDGE, max_size=12), id_=ID, others=st.sets(ID, max_size=5), backward=st.booleans()
)
def test_the_edges_of_one_relation_are_replaced(
    base: list[tuple[str, str, str]], id_: str, others: set[str], backward: bool
) -> None:
    """What a text names is what it names now, all other edges stay, and the rest is forgotten."""
    graph = Graph(GraphArrays.of(base))
    graph.replace(id_, "names", others, backward=backward)
    end = 2 if backward else 0
    kept = {e for e in base if e[0] != e[2] and not (e[1] == "names" and e[end] == id_)}
    fresh = {(o, "names", id_) if backward else (id_, "names", o) for o in others - {id_}}

    assert edges_of(graph) == kept | fresh
    whole = Graph(GraphArrays.of(kept | fresh))
    assert {one for one in IDS if graph.find(one) is not None} == {
        one for one in IDS if whole.find(one) is not None
    }
    seeds = dict.fromkeys(IDS, 1.0)
    assert shares(graph, seeds) == shares(whole, seeds)


def test_a_file_and_what_was_written_are_the_same(tmp_path: Any) -> None:
    """Arrays come back as they were, and edges given in any order are the same arrays."""
    edges = [(IDS[0], "about", IDS[1]), (IDS[2], "names", IDS[1]), (IDS[0], "about", IDS[1])]
    GraphArrays.of(edges).save(tmp_path)
    loaded, turned = GraphArrays.load(tmp_path), GraphArrays.of(edges[::-1])

    for name in ("nodes", "graph_pointers", "graph_targets", "graph_codes"):
        assert np.array_equal(getattr(loaded, name), getattr(turned, name))
    assert edges_of(Graph(loaded)) == set(edges)


def exact(graph: Graph, seeds: dict[int, float], restart: float, hub: float) -> Any:
    """Solve for what each node keeps, with a dense matrix."""
    size = len(graph)
    passing = np.zeros((size, size))
    for node in range(size):
        around = graph.neighbours(np.array([node]))
        np.add.at(passing[node], around.targets, WEIGHTS[around.codes])
    total = np.maximum(passing.sum(axis=1), 1.0)
    passing /= (total * np.maximum(total / hub, 1.0))[:, None]
    begin = np.zeros(size)
    for node, strength in seeds.items():
        begin[node] = strength / sum(seeds.values())
    return restart * np.linalg.solve(np.eye(size) - (1 - restart) * passing.T, begin)


@pytest.mark.parametrize("hub", [400.0, 12.0])
def test_what_is_kept_is_personalised_pagerank(hub: float) -> None:
    """With a small epsilon the push comes close to the exact solution, hubs held back or not."""
    chance = np.random.default_rng(1)
    ids = [f"{n:026d}" for n in range(200)]
    ends = [(0, n) for n in range(1, 60)] + chance.integers(0, 200, (300, 2)).tolist()
    graph = Graph(GraphArrays.of((ids[a], "about", ids[b]) for a, b in ends))
    seeds = {3: 1.0, 70: 0.5}
    kept = spread(graph, seeds, restart=0.4, epsilon=1e-9, hub=hub)

    assert np.abs(kept - exact(graph, seeds, 0.4, hub)).max() < 1e-6


def test_what_is_kept_does_not_depend_on_how_nodes_are_numbered() -> None:
    """Bit for bit: a graph that grew edge by edge, in another order, keeps the same shares."""
    chance = np.random.default_rng(2)
    ids = [f"{n:026d}" for n in range(3000)]
    ends = (3000 * chance.random((9000, 2)) ** 3).astype(int).tolist()
    edges = [(ids[a], "about", ids[b]) for a, b in ends]
    grown = Graph(GraphArrays.empty())
    for place in chance.permutation(len(edges)).tolist():
        grown.add(*edges[place])
    seeds = {ids[0]: 0.1, ids[17]: 0.7, ids[2000]: 1 / 3}

    assert shares(grown, seeds) == shares(Graph(GraphArrays.of(edges)), seeds)


def test_a_hub_passes_little_on() -> None:
    """Of two neighbours of a seed, what lies behind the one that everyone knows gets less."""
    hub, quiet, seed, behind_hub, behind_quiet = IDS[:5]
    crowd = [(f"{n:026d}", "about", hub) for n in range(100, 1100)]
    ties = [(seed, hub), (seed, quiet), (behind_hub, hub), (behind_quiet, quiet)]
    graph = Graph(GraphArrays.of([*crowd, *((a, "about", b) for a, b in ties)]))
    kept = shares(graph, {seed: 1.0}, epsilon=1e-8)
    free = shares(graph, {seed: 1.0}, epsilon=1e-8, hub=1e12)

    assert kept[behind_quiet] > 100 * kept[behind_hub]
    assert free[behind_hub] > 5 * kept[behind_hub]


def test_the_work_is_bounded_whatever_the_size() -> None:
    """What keeps anything lies near the seeds: few of a hundred thousand nodes in a ring."""
    size = 100_000
    ids = [f"{n:026d}" for n in range(size)]
    graph = Graph(GraphArrays.of((ids[n], "about", ids[n - 1]) for n in range(size)))

    assert len(shares(graph, {ids[5]: 1.0})) < 100
