"""add-record, link and supersede: checked, whole or not at all, and within one scope."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiyi
from shiyi.core.errors import ConflictError, NotFoundError, UsageError
from shiyi.core.ids import new_id
from tests.examples import few

Make = Callable[..., str]
ENTITY = {"entity_type": "object"}
HYPOTHESIS = {
    "claim": "c", "mechanism": "m", "counterexample_missing": True, "supports": ["?"],
    "alternatives": ["a"], "scope": "s", "confidence": 0.5,
}  # fmt: skip
FOLLOWUP = {"question": "q", "context": "c", "due": "2026-11-30"}
STATE = {"of": "self", "block": "load", "value": "v"}


@pytest.fixture
def make(me: shiyi.Scope) -> Make:
    """Keep a record that rests on no words, and return its id."""

    def add(kind: Any = "fact", attrs: dict[str, Any] | None = None, **more: Any) -> str:
        made = me.add_record(
            kind=kind, title=more.pop("title", "甲"), attrs=attrs, summary_only=True, **more
        )
        return made.record_id

    return add


def links_of(me: shiyi.Scope, id_: str) -> set[tuple[str, str, str]]:
    return {(link.src, link.rel, link.dst) for link in me.show(id_).links}


def test_a_record_rests_on_exact_words(me: shiyi.Scope) -> None:
    """Quotes are checked against their capture: whole, by words, or by span."""
    kept = me.remember("碗裡有三顆綠豆", words_only=True).capture_id

    made = me.add_record(
        kind="fact",
        title="綠豆",
        quotes=[
            {"capture": kept},
            {"capture": kept, "text": "綠豆"},
            {"capture": kept, "start": 0, "end": 1, "text": "碗"},
        ],
    )

    spans = [(link.start, link.end) for link in me.show(made.record_id).links]
    assert sorted(spans) == [(0, 1), (0, 7), (5, 7)]
    assert made.links == 3


@pytest.mark.parametrize(
    "quotes",
    [[{"text": "綠豆"}], [{"capture": "?", "text": "紅豆"}], [{"capture": "?", "start": 0}],
     [{"capture": "?", "start": 5, "end": 99}], [{"capture": new_id()}], [], ["綠豆"]],
)  # fmt: skip
def test_what_does_not_stand_there_is_refused(me: shiyi.Scope, quotes: list[Any]) -> None:
    """A quote that is not word for word keeps nothing, and neither does a record without any."""
    kept = me.remember("碗裡有三顆綠豆", words_only=True).capture_id
    given_quotes = [
        {**one, "capture": kept} if isinstance(one, dict) and one.get("capture") == "?" else one
        for one in quotes
    ]

    with pytest.raises((UsageError, NotFoundError)):
        me.add_record(kind="fact", title="綠豆", quotes=given_quotes)
    assert me.list().items == []


def test_quotes_and_none_at_once_are_refused(me: shiyi.Scope) -> None:
    """Whoever says that there are no words gives none."""
    kept = me.remember("甲", words_only=True).capture_id

    with pytest.raises(UsageError, match="not both"):
        me.add_record(kind="fact", title="甲", quotes=[{"capture": kept}], summary_only=True)


@pytest.mark.parametrize(
    ("kind", "attrs", "said"),
    [
        ("entity", {}, "entity_type"),
        ("entity", {"entity_type": "dog"}, "'person'"),
        ("facet", {"entities": ["x"], "events": ["e"]}, "two entities"),
        ("facet", {"entities": ["x", "y"]}, "events in its attrs"),
        ("entity", {**ENTITY, "block": "load"}, "kind state"),
        ("promise", {"to": "媽媽"}, "what was promised"),
        ("boundary", {}, "limit"),
        ("relationship", {"between": ["self"]}, "between two"),
        ("procedure", {"steps": ["一"]}, "trigger"),
        ("feeling", {"intensity": 101}, "less than or equal to 100"),
        ("decision", {"alternatives": "no"}, "list"),
        ("facet", {"entities": "x"}, "list"),
        ("state", {**STATE, "block": "lode"}, "'tensions'"),
        ("state", {**STATE, "value": " "}, "visible"),
        ("state", {"block": "load", "value": "v"}, "of in its attrs"),
        ("hypothesis", {**HYPOTHESIS, "counterexample_missing": False}, "counterexample_missing"),
        ("hypothesis", {"claim": "c", "mechanism": "m"}, "supports in its attrs"),
        ("hypothesis", {**HYPOTHESIS, "supports": []}, "one of its supports"),
        ("hypothesis", {**HYPOTHESIS, "confidence": 7}, "confidence"),
        ("hypothesis", {**HYPOTHESIS, "status": "supported"}, "begins with status candidate"),
        ("hypothesis", {**HYPOTHESIS, "status": "sure"}, "'candidate'"),
        ("followup", {"question": "q", "context": "c"}, "due date or a rule"),
        ("followup", {**FOLLOWUP, "due": "2026-02-30"}, "no such date"),
        ("followup", {**FOLLOWUP, "state": "maybe"}, "'declined'"),
    ],
)
def test_each_kind_says_what_is_missing_or_wrong(
    make: Make, kind: str, attrs: dict[str, Any], said: str
) -> None:
    """One sentence names the field."""
    with pytest.raises(UsageError, match=said) as refused:
        make(kind, attrs)
    assert str(refused.value).count(". ") == 0


def test_records_named_in_attrs_are_linked(me: shiyi.Scope, make: Make) -> None:
    """A facet mentions its entities, a state is about somebody, and evidence points at a guess."""
    bowl, hand = make("entity", ENTITY), make("entity", ENTITY)
    event = make("event")
    for entity in (bowl, hand):
        me.link(event, "mentions", entity)
    facet = make("facet", {"entities": [bowl, hand], "events": [event]})
    state = make("state", {**STATE, "of": hand})
    for_, against = make(), make()
    guess = make(
        "hypothesis",
        {**HYPOTHESIS, "supports": [for_], "contradicts": [against]},
    )

    assert links_of(me, facet) == {
        (facet, "mentions", bowl), (facet, "mentions", hand), (event, "member_of", facet)
    }  # fmt: skip
    assert links_of(me, state) == {(state, "about", hand)}
    assert links_of(me, guess) == {(for_, "supports", guess), (against, "contradicts", guess)}
    assert links_of(me, make("state", STATE)) == set()
    with pytest.raises(NotFoundError):
        make("state", {**STATE, "of": "nobody"})
    with pytest.raises(UsageError, match="kind entity"):
        make("facet", {"entities": [for_, bowl], "events": [event]})


def test_edit_joins_attrs_and_keeps_a_kind_whole(me: shiyi.Scope, make: Make) -> None:
    """null takes one away, but not what the kind needs; other names are kept as they are."""
    id_ = make("followup", {**FOLLOWUP, "mine": [1, {"甲": None}]})

    me.edit(id_, attrs={"state": "answered", "note": "好了", "rule": "下次"})
    me.edit(id_, attrs={"rule": None})

    shown = me.show(id_, versions=True)
    assert shown.record is not None
    assert shown.record.attrs == {
        **FOLLOWUP, "state": "answered", "note": "好了", "mine": [1, {"甲": None}],
    }  # fmt: skip
    assert [one.version for one in shown.versions] == [1, 2]
    for attrs in ({"question": None}, {"state": "?"}, {"due": 5}, {"note": None}):
        with pytest.raises(UsageError):
            me.edit(id_, attrs=attrs)


def test_words_may_have_attrs_and_what_is_given_must_fit(me: shiyi.Scope) -> None:
    """remember asks for nothing that is missing, but refuses what is wrong."""
    kept = me.remember("以後再問", kind="followup", attrs={"due": "2026-12"})

    assert kept.record_id is not None
    shown = me.show(kept.record_id).record
    assert shown is not None
    assert shown.attrs == {"due": "2026-12"}
    with pytest.raises(UsageError, match="due"):
        me.remember("以後再問", kind="followup", attrs={"due": "soon"})


def test_a_link_stands_once(me: shiyi.Scope, make: Make) -> None:
    """Both ends are there, in this scope, of the right kind, and not the same."""
    a, bowl = make(), make("entity", ENTITY)
    kept = me.remember("綠豆", words_only=True).capture_id

    assert me.link(a, "mentions", bowl).added
    assert not me.link(a, "mentions", bowl).added
    assert me.link(a, "quotes", kept).added
    assert {link.rel for link in me.show(a).links} == {"mentions", "quotes"}
    for src, rel, dst, said in (
        (a, "about", a, "itself"),
        (a, "mentions", a, "itself"),
        (bowl, "mentions", a, "kind entity"),
        (bowl, "member_of", a, "kind facet"),
        (a, "about", kept, "no record"),
        (a, "quotes", bowl, "no capture"),
        (kept, "about", a, "no record"),
        (a, "supersedes", bowl, "supersede"),
        (a, "likes", bowl, "rel"),
    ):
        with pytest.raises((UsageError, NotFoundError), match=said):
            me.link(src, rel, dst)  # type: ignore[arg-type]


def test_no_link_leaves_its_scope(memory: shiyi.Memory, make: Make) -> None:
    """A record of another scope is as good as none."""
    a = make()
    other = memory.scope("you")
    b = other.add_record(kind="fact", title="乙", summary_only=True).record_id

    for work in (lambda: other.link(b, "about", a), lambda: other.supersede(b, a),
                 lambda: other.supersede(a, b)):  # fmt: skip
        with pytest.raises(NotFoundError):
            work()
    assert other.show(b).links == []


def test_keys_and_etags_hold(me: shiyi.Scope, make: Make) -> None:
    """A repeated call answers as the first did; a stale etag changes nothing."""
    old, new = make(title="舊"), make(title="新")
    first = me.supersede(old, new, reason="更正", key="k")

    assert me.supersede(old, new, reason="更正", key="k") == first
    assert (first.version, first.changed) == (2, True)
    assert not me.supersede(old, new).changed
    with pytest.raises(ConflictError):
        me.supersede(old, make(), if_match="0" * 16)
    with pytest.raises(ConflictError):
        me.link(old, "about", new, key="k")
    made = me.add_record(kind="fact", title="丙", summary_only=True, key="a")
    assert me.add_record(kind="fact", title="丙", summary_only=True, key="a") == made
    shown = me.show(old, versions=True)
    assert shown.record is not None
    assert (shown.record.status, shown.record.reason) == ("superseded", "更正")


@settings(
    max_examples=few(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12),
    st.sampled_from(["supersede", "merged_into"]),
)
def test_no_chain_goes_round(
    me: shiyi.Scope, memory: shiyi.Memory, steps: list[tuple[int, int]], how: str
) -> None:
    """Whatever is said to hold instead of what, nothing ever holds instead of itself."""
    scope = memory.scope(f"s{new_id()}")
    ids = [scope.add_record(kind="fact", title=f"{n}", summary_only=True).record_id
           for n in range(5)]  # fmt: skip
    above: dict[int, set[int]] = {n: set() for n in range(5)}  # what each holds instead of

    def below(start: int) -> set[int]:
        found: set[int] = set()
        left = [start]
        while left:
            for one in above[left.pop()] - found:
                found.add(one)
                left.append(one)
        return found

    def tie(old: str, new: str) -> None:
        if how == "supersede":
            scope.supersede(old, new)
        else:
            scope.link(new, "merged_into", old)

    for old, new in steps:
        would_go_round = old == new or new in below(old)
        if would_go_round:
            with pytest.raises(UsageError, match=r"itself|circle"):
                tie(ids[old], ids[new])
        else:
            tie(ids[old], ids[new])
            above[new].add(old)
    for n in range(5):
        assert n not in below(n)
        shown = scope.show(ids[n]).record
        assert shown is not None
        superseded = how == "supersede" and any(n in others for others in above.values())
        assert (shown.status == "superseded") == superseded


@pytest.mark.parametrize("date", ["0001-01-01", "0001", "9999-12-31", "9999", "0001..9999"])
def test_a_date_at_the_end_of_time_is_a_date(me: shiyi.Scope, date: str) -> None:
    """The first and the last day have none beside them to look at."""
    said = me.remember("那時的事", words_only=True, said_at="2021-03-05").capture_id

    made = me.add_record(kind="fact", title="事", date=date, quotes=[{"capture": said}])

    shown = me.show(made.record_id).record
    assert shown is not None
    assert shown.date_start is not None
