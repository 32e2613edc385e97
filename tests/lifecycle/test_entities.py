"""Entities that are one, and two again: all is read through the redirect, nothing is lost."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiyi
from shiyi.core.errors import ConflictError, UsageError
from shiyi.core.ids import new_id
from tests.examples import few

SEEN = {"trace", "text", "tokens"}  # of one answer, whatever it says
FEW = settings(
    max_examples=few(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def entity(scope: shiyi.Scope, title: str, **more: Any) -> str:
    attrs = {"entity_type": "person"}
    return scope.add_record(
        kind="entity", title=title, attrs=attrs, summary_only=True, **more
    ).record_id


def event(scope: shiyi.Scope, title: str, *mentioned: str) -> str:
    id_ = scope.add_record(
        kind="event", title=title, date="2024-05-06", summary_only=True
    ).record_id
    for one in mentioned:
        scope.link(id_, "mentions", one)
    return id_


def top(into: dict[int, int], n: int) -> int:
    return n if into[n] == n else top(into, into[n])


def told(scope: shiyi.Scope, id_: str) -> dict[str, str]:
    """Return what a probe, a survey and a domain say of an entity, and its links."""
    return {
        "links": str(sorted(map(str, scope.show(id_).links))),
        "survey": scope.survey(format="json").model_dump_json(include={"entities", "facets"}),
        "routing": scope.routing(id_, format="json").model_dump_json(include={"timeline"}),
        "probe": scope.probe(ids=[id_], format="json").model_dump_json(exclude=SEEN),
    }


def test_one_stands_for_both(me: shiyi.Scope) -> None:
    """Links, names and associations of the old one are those of the new one."""
    old, new = entity(me, "老阿嬤", aliases=["闕林玉霞"]), entity(me, "阿嬤")
    hers = event(me, "第一次擺攤", old)
    event(me, "去看海", new)

    done = me.entity_merge(old, new, reason="是同一個人", key="k")

    assert me.entity_merge(old, new, reason="是同一個人", key="k") == done
    assert (done.into, done.changed) == (new, True)
    assert not me.entity_merge(old, new).changed
    assert hers in {link.src for link in me.show(new).links}
    assert f"merged into {new}" in me.show(old).notes[0]
    survey = me.survey(format="json")
    assert [(one.title, one.records) for one in survey.entities] == [("阿嬤", 2)]
    for name in ("阿嬤", "闕林玉霞", old):
        titles = {one.title for one in me.routing(name, format="json").timeline}
        assert titles == {"第一次擺攤", "去看海"}
    card = me.probe(ids=[old], format="json")
    assert f"{old} was merged into {new}." in card.notes
    assert "第一次擺攤" in card.text
    near = me.probe("闕林玉霞是誰？", format="json").text
    assert "第一次擺攤" in near


def test_only_what_can_be_one_is_merged(me: shiyi.Scope) -> None:
    """Entities that are active, never in a circle, and never by editing."""
    a, b, c = (entity(me, title) for title in "甲乙丙")
    fact = me.add_record(kind="fact", title="丁", summary_only=True).record_id
    me.entity_merge(a, b)

    for work, said in (
        (lambda: me.entity_merge(b, a), "one already"),
        (lambda: me.entity_merge(a, a), "one already"),
        (lambda: me.entity_merge(a, c), "split it first"),
        (lambda: me.entity_merge(fact, c), "kind fact"),
        (lambda: me.entity_split(fact), "kind fact"),
        (lambda: me.edit(c, attrs={"redirects_to": a}), "entity merge"),
        (lambda: me.link(c, "redirects_to", a), "entity merge"),
        (lambda: entity(me, "她"), "unresolved_referent"),
    ):
        with pytest.raises(UsageError, match=said):
            work()
    with pytest.raises(ConflictError):
        me.entity_merge(b, c, if_match="0" * 16)
    me.entity_merge(b, c)
    assert me.show(a).notes == [f"It was merged into {c}, which stands for it."]
    assert len(me.show(c).notes) == 2
    assert not me.entity_split(c).changed


def test_an_unresolved_pronoun_stays_with_its_event(me: shiyi.Scope) -> None:
    """Nobody is invented for it, and a review asks who was meant."""
    kept = me.add_record(
        kind="event", title="他說要搬走", date="2024-01-02", summary_only=True,
        attrs={"unresolved_referent": "他"},
    )  # fmt: skip

    review = me.review(format="json")

    [debt] = [one for one in review.debts if one.id == "unresolved"]
    assert debt.records == 1
    assert [kept.record_id.startswith(one) for one in debt.examples or []] == [True]
    asked = me.starters()
    assert (asked.kind, asked.ids) == ("gap", [kept.record_id])


def test_a_state_is_read_through_the_redirect(me: shiyi.Scope) -> None:
    """A value said of either name is of the one person."""
    old, new = entity(me, "阿嬤"), entity(me, "奶奶")
    attrs = {"block": "situation", "name": "住處"}
    me.add_record(kind="state", title="台南", date="2024", summary_only=True,
                  attrs={**attrs, "of": old, "value": "台南"})  # fmt: skip
    me.entity_merge(old, new)

    second = me.add_record(kind="state", title="台中", date="2025", summary_only=True,
                           attrs={**attrs, "of": new, "value": "台中"})  # fmt: skip

    assert len(second.replaced) == 1
    assert [one.value for one in me.current(as_of="2024-05", of=new).states] == ["台南"]
    assert [one.value for one in me.current(as_of="2025-05", of=old).states] == ["台中"]


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4),
)
def test_merging_never_goes_round_and_splitting_restores(
    memory: shiyi.Memory, mentions: list[tuple[int, int]], merges: list[tuple[int, int]]
) -> None:
    """Whatever is merged, each id ends at one that stands for itself, and a split undoes it all."""
    scope = memory.scope(f"s{new_id()}")
    ids = [entity(scope, f"人{n}") for n in range(4)]
    events = [event(scope, f"事{n}") for n in range(4)]
    for one, other in mentions:
        scope.link(events[one], "mentions", ids[other])
    before = [told(scope, id_) for id_ in ids]
    into = {n: n for n in range(4)}
    done: list[int] = []

    for old, new in merges:
        last = top(into, new)
        if old in {new, last} or (into[old] != old and last != top(into, old)):
            with pytest.raises(UsageError):
                scope.entity_merge(ids[old], ids[new])
        elif into[old] == old:
            scope.entity_merge(ids[old], ids[new])
            into[old] = last
            done.append(old)
    for n in range(4):
        last = top(into, n)
        notes = scope.show(ids[n]).notes
        assert (into[n] != n) == any(f"merged into {ids[last]}," in note for note in notes)

    for old in done:
        assert scope.entity_split(ids[old]).changed
    assert [told(scope, id_) for id_ in ids] == before
