"""Corrections: contradictions side by side, claims that come again, and how things stood when."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiyi
from shiyi.core.errors import UsageError
from shiyi.core.ids import new_id
from tests.examples import few

Make = Callable[..., str]
FEW = settings(
    max_examples=few(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FIRST = date(2025, 1, 1)


def add(scope: shiyi.Scope, kind: Any = "fact", **more: Any) -> str:
    more.setdefault("title", "甲")
    return scope.add_record(kind=kind, summary_only=True, **more).record_id


def state(scope: shiyi.Scope, value: Any, day: str | None = None, **more: Any) -> Any:
    attrs = {"of": "self", "block": "situation", "name": "住處", "value": value, **more}
    return scope.add_record(
        kind="state", title=f"{value}", date=day, attrs=attrs, summary_only=True
    )


def values(scope: shiyi.Scope, day: str | None = None, of: str | None = None) -> list[Any]:
    return [one.value for one in scope.current(as_of=day, of=of).states]


def test_both_sides_stand_beside_one_another(me: shiyi.Scope) -> None:
    """A conflict shows dates, the words behind each side, the difference, and why."""
    old = me.remember("我在台北住了三年", said_at="2024-01-05").capture_id
    new = me.remember("我在台北住了五年", said_at="2024-03-05").capture_id
    one = me.add_record(kind="fact", title="住了三年", quotes=[{"capture": old}]).record_id
    two = me.add_record(
        kind="fact", title="住了五年", date="2024-03", quotes=[{"capture": new}]
    ).record_id

    said = me.contradict(two, one, reason="年數不同", source={"capture": new, "text": "五年"})

    assert (said.added, said.warnings) == (True, [])
    [pair] = me.conflicts().conflicts
    assert [side.id for side in pair.sides] == [two, one]
    assert [side.only for side in pair.sides] == [["五"], ["三"]]
    assert [side.sources[0].text for side in pair.sides] == ["我在台北住了五年", "我在台北住了三年"]
    assert [side.sources[0].written for side in pair.sides] == [
        "2024-03-05T00:00:00+00:00", "2024-01-05T00:00:00+00:00"
    ]  # fmt: skip
    assert pair.differs == ["date_start", "date_end"]
    assert (pair.reason, pair.source and pair.source.text) == ("年數不同", "五年")


def test_a_pair_stands_once_and_is_settled_by_superseding(me: shiyi.Scope) -> None:
    """Whichever is said to contradict the other; when one holds no longer, only on request."""
    one, two = add(me, title="甲"), add(me, title="乙")
    first = me.contradict(one, two, reason="不合", key="k")

    assert me.contradict(one, two, reason="不合", key="k") == first
    assert not me.contradict(two, one, reason="還是不合").added
    assert "source" in first.warnings[0]
    me.supersede(one, two)
    assert me.conflicts().conflicts == []
    assert len(me.conflicts(settled=True).conflicts) == 1
    with pytest.raises(UsageError, match="empty"):
        me.contradict(one, two, reason=" ")
    with pytest.raises(UsageError, match="itself"):
        me.contradict(one, one, reason="不合")


def test_a_correction_says_what_it_was_not_given(me: shiyi.Scope) -> None:
    """A reason and a source are asked for, never required of a supersession."""
    kept = me.remember("不是，是五年", words_only=True).capture_id

    bare = me.supersede(add(me), add(me))
    full = me.supersede(add(me), add(me), reason="更正", source={"capture": kept})

    assert [warning.split()[1] for warning in bare.warnings] == ["reason", "source"]
    assert full.warnings == []


@pytest.mark.parametrize("again", ["她對花生過敏", "她对花生过敏。", " 她對花生過敏！"])
def test_a_corrected_claim_that_is_said_again_is_flagged(me: shiyi.Scope, again: str) -> None:
    """In either script; it is kept all the same, with the correction in the warnings."""
    wrong, right = add(me, gist="她對花生過敏"), add(me, gist="她對蝦過敏")
    me.supersede(wrong, right, reason="記錯了")
    other = add(me, gist="她會游泳")
    me.contradict(right, other, reason="不合")

    said = me.add_record(kind="fact", gist=again, summary_only=True)

    assert len(said.warnings) == 1
    assert right in said.warnings[0]
    assert me.show(said.record_id).record is not None
    again_too = me.add_record(kind="fact", gist="她會游泳", summary_only=True)
    assert "contradicts" in again_too.warnings[0]
    assert me.add_record(kind="fact", gist="她對蝦過敏", summary_only=True).warnings == []


def test_a_named_state_takes_its_place_among_its_values(me: shiyi.Scope) -> None:
    """A new value ends the one before it; one that is recorded late goes where it belongs."""
    first = state(me, "台北", "2024-01-01").record_id
    second = state(me, "台中", "2024-06")
    late = state(me, "新竹", "2024-03-10")
    other = state(me, "累", "2024-06", block="load", name="精神")

    assert second.replaced == [first]
    assert (late.replaced, other.replaced) == ([], [])
    assert values(me, "2024-02-01") == ["台北"]
    assert values(me, "2024-04-01") == ["新竹"]
    assert values(me, "2024-07-01") == ["累", "台中"]
    assert values(me, "2023-12-31") == []
    held = me.current(as_of="2024-02").states[0]
    assert (held.since, held.until, held.status) == ("2024-01-01", "2024-03-09", "superseded")
    assert len(state(me, "高雄", "2025").replaced) == 1


def test_states_without_a_name_stand_beside_one_another(me: shiyi.Scope) -> None:
    """Nothing is known to be the same, so nothing is replaced; a range ends by itself."""
    state(me, "膝蓋痛", "2024-01-01..2024-02-01", name=None)
    state(me, "考試", "2024-01-15", name=None)

    assert values(me, "2024-01-20") == ["膝蓋痛", "考試"]
    assert values(me, "2024-02-02") == ["考試"]
    assert values(me, "2024-01-20", "self") == ["膝蓋痛", "考試"]


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab")), max_size=8),
    st.lists(st.integers(-1, 45), min_size=1, max_size=4),
)
def test_current_equals_a_plain_model(
    memory: shiyi.Memory, said: list[tuple[int, str]], asked: list[int]
) -> None:
    """However they come in, on each day the latest value that had begun holds, for each name."""
    scope = memory.scope(f"s{new_id()}")
    add(scope)
    known: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}
    for number, (day, name) in enumerate(said):
        state(scope, number, (FIRST + timedelta(days=day)).isoformat(), name=name)
        known[name].append((day, number))

    for day in asked:
        begun = ([one for one in own if one[0] <= day] for own in known.values())
        wanted = sorted(max(own)[1] for own in begun if own)
        assert sorted(values(scope, (FIRST + timedelta(days=day)).isoformat())) == wanted
