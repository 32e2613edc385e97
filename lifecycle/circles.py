"""Circles among links that must form none: the one that a link would close, and all that are there.

Such a link leads from what holds to what it holds instead of, or from one to the one that stands
for it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

from shiyi.core.errors import UsageError
from shiyi.store import Link, Store, Transaction
from shiyi.store.kinds import CHAINS

Graph = Mapping[str, Sequence[str]]  # each end, and those that its links lead to
_LOOKED_BACK = 256  # links; about the root of how many there are, where there are many


class Order:
    """Links that form no circle, and a level for each end, so that none leads to a lower one.

    A new link looks back over a few links of one level, and else raises what lies ahead of it, of
    which there is little to raise since levels are few (Bender, Fineman, Gilbert and Tarjan, A New
    Approach to Incremental Cycle Detection, ACM TALG 12, 2015). It holds some 300 bytes a link.
    """

    def __init__(self) -> None:
        self._level: dict[str, int] = {}
        self._after: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}

    def add(self, src: str, dst: str) -> bool:
        """Add a link, and tell whether it could be; one that closes a circle is left out."""
        if src == dst:
            return False
        after, before = self._after.get(src, []), self._before.get(dst, [])
        if (dst in after) if len(after) < len(before) else (src in before):
            return True
        if not self._levelled(src, dst):
            return False
        self._after.setdefault(src, []).append(dst)
        self._before.setdefault(dst, []).append(src)
        return True

    def remove(self, src: str, dst: str) -> None:
        """Take a link out again; the levels stay good."""
        self._after[src].remove(dst)
        self._before[dst].remove(src)

    def _levelled(self, src: str, dst: str) -> bool:
        """Make the level of `dst` as high as that of `src`, unless `dst` leads to `src`."""
        level = self._level
        here, there = level.setdefault(src, 0), level.setdefault(dst, 0)
        if here < there:
            return True
        if not self._after.get(dst):
            level[dst] = here
            return True
        if not self._before.get(src):
            level[src] = there
            return True
        behind = self._behind(src)
        if behind is None:
            return self._raised(dst, here + 1, {src})
        if here == there:
            return dst not in behind
        return self._raised(dst, here, behind)

    def _behind(self, src: str) -> set[str] | None:
        """Return what leads to an end on its own level, and the end; None when that is much."""
        level, looked = self._level[src], 0
        seen, left = {src}, [src]
        while left:
            for end in self._before.get(left.pop(), ()):
                looked += 1
                if looked > _LOOKED_BACK:
                    return None
                if self._level[end] == level and end not in seen:
                    seen.add(end)
                    left.append(end)
        return seen

    def _raised(self, dst: str, level: int, behind: set[str]) -> bool:
        """Raise `dst` and all ahead of it to a level, or nothing when that leads `behind`."""
        before, left = {dst: self._level[dst]}, [dst]
        self._level[dst] = level
        while left:
            for end in self._after.get(left.pop(), ()):
                if end in behind:
                    self._level.update(before)
                    return False
                if self._level[end] < level:
                    before[end] = self._level[end]
                    self._level[end] = level
                    left.append(end)
        return True


class Chains:
    """The links that must form no circle, read when the first one of a scope is asked about."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._orders: dict[tuple[str, str], Order] = {}  # by scope and relation
        self._read_at: int | None = None  # the change up to which they are known

    @contextmanager
    def during(self, transaction: Transaction) -> Iterator[None]:
        """Let a write add links; when others wrote since the last one, all is read again."""
        if self._read_at != transaction.next_seq:
            self._orders = {}
        yield
        self._read_at = transaction.next_seq

    def add(self, links: Sequence[Link]) -> None:
        """Add links of one write, or none; raises UsageError when one would close a circle."""
        added: list[tuple[Order, Link]] = []
        for link in links:
            if link.rel not in CHAINS:
                continue
            order = self._order(link.scope, link.rel)
            if not order.add(link.src, link.dst):
                for own, one in added:
                    own.remove(one.src, one.dst)
                raise UsageError(f"with it, {link.rel} would go round in a circle; leave it out.")
            added.append((order, link))

    def _order(self, scope: str, rel: str) -> Order:
        order = self._orders.get((scope, rel))
        if order is None:
            order = self._orders[scope, rel] = Order()
            sources, _, targets = self._store.edges(scope, [rel])
            for src, dst in zip(sources, targets, strict=True):
                order.add(src, dst)  # what closes a circle already is left out
        return order


def tangles(graph: Graph) -> Iterator[dict[str, list[str]]]:
    """Yield each part of a graph in which every end leads to every other one (Kosaraju)."""
    turned: dict[str, list[str]] = {}
    for src, targets in graph.items():
        for dst in targets:
            turned.setdefault(dst, []).append(src)
    order = _left_in_order(graph)
    left = set(order)
    for start in reversed(order):
        if start in left:
            tangle = _reached(start, turned, left.__contains__)
            left -= tangle
            if len(tangle) > 1 or start in graph.get(start, ()):
                yield {src: [dst for dst in graph[src] if dst in tangle] for src in sorted(tangle)}


def circles_in(tangle: Graph) -> Iterator[list[str]]:
    """Yield circles until each link of a tangle was in one, and no circle twice."""
    named: set[tuple[str, str]] = set()
    for src, targets in tangle.items():
        for dst in targets:
            if (src, dst) not in named:
                circle = [src, *_way(tangle, dst, src)]
                named.update(pairwise(circle))
                yield circle[:-1]


def _way(graph: Graph, start: str, end: str) -> list[str]:
    """Return the shortest way from one to another one that it leads to, both included."""
    came = {start: start}
    ends = [start]
    for at in ends:  # it grows as we go
        if end in came:
            break
        for dst in graph[at]:
            if dst not in came:
                came[dst] = at
                ends.append(dst)
    way = [end]
    while way[-1] != start:
        way.append(came[way[-1]])
    return way[::-1]


def _left_in_order(graph: Graph) -> list[str]:
    """Return all ends in the order in which a walk that goes deep first is done with them."""
    done: list[str] = []
    seen: set[str] = set()
    for start in graph:
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(graph[start]))]
        while path:
            at, targets = path[-1]
            onward = next((dst for dst in targets if dst not in seen), None)
            if onward is None:
                done.append(at)
                path.pop()
            else:
                seen.add(onward)
                path.append((onward, iter(graph.get(onward, ()))))
    return done


def _reached(start: str, graph: Graph, may: Callable[[str], bool]) -> set[str]:
    """Return `start` and all that it leads to through what may be walked."""
    seen, left = {start}, [start]
    while left:
        for end in graph.get(left.pop(), ()):
            if end not in seen and may(end):
                seen.add(end)
                left.append(end)
    return seen
