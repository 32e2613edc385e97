"""Circles of links: the link that would close one is found at once, and all that are there."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.lifecycle import circles
from shiyi.lifecycle.circles import Order, circles_in, tangles

Links = list[tuple[int, int]]
End = TypeVar("End", int, str)
MANY = 40_000
LINKS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=40)


def ahead(links: set[tuple[End, End]], start: End) -> set[End]:
    """Return an end and all that links lead to from it."""
    found, left = {start}, [start]
    while left:
        at = left.pop()
        new = {dst for src, dst in links if src == at} - found
        found |= new
        left += new
    return found


@given(LINKS, st.sampled_from([0, 2, 256]), st.randoms(use_true_random=False))
def test_a_link_is_added_unless_it_closes_a_circle(
    steps: Links, looked: int, chance: random.Random
) -> None:
    """However far it looks back, and whatever was taken out again."""
    order, stand = Order(), set[tuple[str, str]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(circles, "_LOOKED_BACK", looked)
        for src, dst in ((f"{src}", f"{dst}") for src, dst in steps):
            closes = src in ahead(stand, dst)
            assert order.add(src, dst) != closes
            if not closes:
                stand.add((src, dst))
            if stand and chance.random() < 0.2:
                out = chance.choice(sorted(stand))
                order.remove(*out)
                stand.discard(out)


@given(LINKS)
def test_every_link_of_a_circle_is_named_in_one(steps: Links) -> None:
    """Each that is named is one, and comes once; where there is none, nothing is named."""
    links = {(f"{src}", f"{dst}") for src, dst in steps}
    graph: dict[str, list[str]] = {}
    for src, dst in sorted(links):
        graph.setdefault(src, []).append(dst)

    found = [circle for tangle in tangles(graph) for circle in circles_in(tangle)]

    around = [set(pairwise([*circle, circle[0]])) for circle in found]
    assert all(len(set(circle)) == len(circle) for circle in found)
    assert all(one <= links for one in around)
    assert len({frozenset(one) for one in around}) == len(found)
    assert set().union(*around) == {(a, b) for a, b in links if a in ahead(links, b)}


def chain() -> Links:
    return [(n + 1, n) for n in range(MANY)]


def shuffled() -> Links:
    return random.Random(1).sample(chain(), MANY)


def crossed() -> Links:
    """Two chains and what leads from the one to the other, which comes first."""
    half, chance = MANY // 4, random.Random(2)
    cross = [(chance.randrange(half), half + chance.randrange(half)) for _ in range(2 * half)]
    one = [(n, n + 1) for n in range(half - 1)]
    return [*cross, *one, *((src + half, dst + half) for src, dst in one)]


def woven() -> Links:
    chance = random.Random(3)
    pairs = (sorted(chance.sample(range(MANY // 10), 2)) for _ in range(MANY))
    return [(src, dst) for src, dst in pairs]


def joined() -> Links:
    pairs = [(2 * n + 1, 2 * n) for n in range(MANY // 2)]
    return [*pairs, *((2 * n + 2, 2 * n + 1) for n in reversed(range(MANY // 2)))]


class Looked(dict[str, int]):
    """Levels that count how often one is looked at, which is once for each step of a walk."""

    times = 0

    def __getitem__(self, end: str) -> int:
        self.times += 1
        return super().__getitem__(end)


@pytest.mark.parametrize(
    "make", [chain, lambda: chain()[::-1], shuffled, crossed, woven, joined], ids=range(6)
)
def test_many_links_take_few_steps_each(make: Callable[[], Links]) -> None:
    """In whatever order they come; a link that walked the chain would take tens of thousands."""
    links, order = [(f"{src}", f"{dst}") for src, dst in make()], Order()
    order._level = looked = Looked()

    assert all(order.add(src, dst) for src, dst in links)

    assert looked.times < 100 * MANY
