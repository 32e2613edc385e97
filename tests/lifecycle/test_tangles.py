"""Supersede, contradict, merge and split in any order: each keeps what the others rest on."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiyi
from shiyi.core.errors import UsageError
from shiyi.core.ids import new_id
from tests.examples import few

COUNT = 4
STEP = st.tuples(
    st.sampled_from(("supersede", "contradict", "merge", "split")),
    st.integers(0, COUNT - 1),
    st.integers(0, COUNT - 1),
)


class Model:
    """What should hold of a few entities, by their numbers."""

    def __init__(self) -> None:
        self.into: dict[int, int] = {}  # which entity stands for one that was merged
        self.held: dict[int, set[int]] = {n: set() for n in range(COUNT)}  # instead of which
        self.retired: set[int] = set()
        self.pairs: set[frozenset[int]] = set()

    def end(self, n: int) -> int:
        return self.end(self.into[n]) if n in self.into else n

    def below(self, n: int) -> set[int]:
        found, left = set[int](), [n]
        while left:
            new = self.held[left.pop()] - found
            found |= new
            left += new
        return found

    def holds(self, n: int) -> bool:
        return n not in self.into and n not in self.retired

    def supersede(self, old: int, new: int) -> bool:
        if old == new or {old, new} & self.into.keys() or new in self.below(old):
            return False
        self.held[new].add(old)
        self.retired.add(old)
        return True

    def contradict(self, one: int, other: int) -> bool:
        if one != other:
            self.pairs.add(frozenset((one, other)))
        return one != other

    def merge(self, old: int, new: int) -> bool:
        last = self.end(new)
        if old in {new, last}:
            return False
        if old in self.into:
            return self.end(old) == last
        if not (self.holds(old) and self.holds(last)):
            return False
        self.into[old] = last
        return True

    def split(self, one: int, _: int) -> bool:
        self.into.pop(one, None)
        return True


def done(scope: shiyi.Scope, name: str, one: str, other: str) -> bool:
    """Do a step, and tell whether it was taken."""
    doing: dict[str, Any] = {
        "supersede": lambda: scope.supersede(one, other, reason="r"),
        "contradict": lambda: scope.contradict(one, other, reason="r"),
        "merge": lambda: scope.entity_merge(one, other),
        "split": lambda: scope.entity_split(one),
    }
    try:
        doing[name]()
    except UsageError:
        return False
    return True


@settings(
    max_examples=few(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(STEP, min_size=4, max_size=14))
def test_corrections_and_merges_keep_out_of_each_others_way(
    memory: shiyi.Memory, steps: list[tuple[str, int, int]]
) -> None:
    """Nothing holds instead of itself, and every entity stands as the steps say."""
    scope, model = memory.scope(f"s{new_id()}"), Model()
    attrs = {"entity_type": "person"}
    ids = [
        scope.add_record(kind="entity", title=f"人{n}", attrs=attrs, summary_only=True).record_id
        for n in range(COUNT)
    ]

    for name, one, other in steps:
        assert done(scope, name, ids[one], ids[other]) == getattr(model, name)(one, other)

    for n in range(COUNT):
        assert n not in model.below(n)
        shown = scope.show(ids[n])
        assert shown.record is not None
        assert (shown.record.status == "active") == model.holds(n)
        led = any(f"merged into {ids[model.end(n)]}," in note for note in shown.notes)
        assert led == (n in model.into)
        links = {
            link.dst for link in shown.links if link.rel == "supersedes" and link.src == ids[n]
        }
        assert links == {ids[one] for one in model.held[n]}
    for settled in (False, True):
        found = scope.conflicts(settled=settled).conflicts
        pairs = {frozenset(ids.index(side.id) for side in one.sides) for one in found}
        assert pairs == {
            pair for pair in model.pairs if settled or all(model.holds(n) for n in pair)
        }
