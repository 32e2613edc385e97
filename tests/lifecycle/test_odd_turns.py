"""Odd and hostile ways through a turn and its records: refused, or told beside the answer."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.core.errors import NotFoundError, UsageError
from shiyi.lifecycle.undo import undo

WORDS = "我妹妹要去日本读书。"
NOBODY = "01M8QRY9T0EWW4TC8VGQZ1EA4Z"


def kept(me: shiyi.Scope, text: str = WORDS, turn: str = "t") -> str:
    me.preflight(text, turn=turn)
    return str(me.capture(text, turn=turn).capture_id)


def entity(me: shiyi.Scope, title: str, **more: Any) -> str:
    attrs = {"entity_type": "person", **more.pop("attrs", {})}
    made = me.add_record(kind="entity", title=title, attrs=attrs, summary_only=True, **more)
    return made.record_id


def fact(me: shiyi.Scope, gist: str, **more: Any) -> str:
    return me.add_record(kind="fact", gist=gist, summary_only=True, **more).record_id


def test_what_no_capture_can_keep_is_not_judged(me: shiyi.Scope) -> None:
    """Else a turn would be required that nobody could ever close."""
    with pytest.raises(UsageError, match="recall showed"):
        me.preflight(f"<shiyi-recall>x</shiyi-recall>{WORDS}", turn="t")


def test_a_repeated_capture_says_what_it_does_not_take(me: shiyi.Scope) -> None:
    """The first speaker stays; a time that does not exist is refused even then."""
    first = kept(me)

    again = me.capture(WORDS, turn="t", speaker="bot")

    assert (again.capture_id, again.new, len(again.warnings)) == (first, False, 1)
    with pytest.raises(UsageError):
        me.capture(WORDS, turn="t", said_at="2026-02-30")


@pytest.mark.parametrize("more", [{"text": ""}, {"text": " "}, {"txt": "妹妹"}])
def test_a_quote_that_says_nothing_is_not_the_whole(me: shiyi.Scope, more: dict[str, str]) -> None:
    """A blank or misspelt text never quotes all that was said."""
    with pytest.raises(UsageError):
        me.add_record(kind="fact", gist="x", quotes=[{"capture": kept(me), **more}])


@pytest.mark.parametrize(
    "source", ["The current  conversation.", "目前的对话", "當前會話", "this dialogue"]
)
def test_the_conversation_is_no_source_at_any_door(me: shiyi.Scope, source: str) -> None:
    """Not by add-record, remember or edit, however it is written."""
    id_ = fact(me, "甲")
    for keep in (
        lambda: fact(me, "乙", attrs={"source": source}),
        lambda: me.remember("丙", attrs={"sources": [source]}),
        lambda: me.edit(id_, attrs={"source": source}),
    ):
        with pytest.raises(UsageError, match="no source"):
            keep()


def test_a_question_without_a_model_closes_with_a_doubt(me: shiyi.Scope) -> None:
    """An absence that asked for every word is enough; what it could not ask for is told."""
    id_ = kept(me, "我妹妹搬去了大阪。", "u")

    asked = me.absence("妹妹在大阪嗎").trace
    done = me.finalize(id_, "no_derivation_needed", reason="nothing", trace=asked)

    assert done.closed == "no_derivation_needed"
    assert len(done.warnings) == 1
    assert "No model" in done.warnings[0]


def test_an_unrelated_question_closes_nothing(me: shiyi.Scope) -> None:
    """Neither it nor a record that it found has a word of what was said."""
    mars = me.add_record(kind="fact", gist="火星移民很遠", summary_only=True).record_id
    moved = me.add_record(
        kind="fact", gist="妹妹搬去大阪 (relocation)", summary_only=True
    ).record_id
    id_ = kept(me, "我妹妹搬去了大阪。", "u")

    def close(trace: str | None, *records: str) -> Any:
        reason = "it is known"
        return me.finalize(
            id_, "no_derivation_needed", reason=reason, trace=trace, records=list(records)
        )

    for asked, *named in ((me.search("火星移民"), mars), (me.absence("水星探測"),)):
        with pytest.raises(UsageError, match="no word of what was said"):
            close(asked.trace, *named)
    assert close(me.search("relocation").trace, moved).closed == "no_derivation_needed"


def test_a_turn_whose_record_was_archived_warns(me: shiyi.Scope) -> None:
    """Undo takes the record back and not the words; the check says so."""
    id_ = kept(me)
    store = me._connection._caller.session.store  # type: ignore[attr-defined]
    seq = store.last_seq
    made = me.add_record(kind="event", gist="妹妹去日本", quotes=[{"capture": id_}])
    me.finalize(id_, "derived")
    assert me.session_check("t").verdict == "pass"

    undo(store, "me", seq)

    checked = me.session_check("t")
    assert (checked.verdict, checked.open) == ("pass_with_warnings", [])
    assert [(one.problem, one.id) for one in checked.warnings] == [("archived", made.record_id)]


@pytest.mark.parametrize("attrs", [{"state": "忧"}, {"Status": "ill"}, {"current_job": "无"}])
def test_an_entity_holds_no_state(me: shiyi.Scope, attrs: dict[str, str]) -> None:
    """Whatever it is called, and by whichever door; in prose it is doubted."""
    id_ = entity(me, "小王")
    for keep in (
        lambda: entity(me, "小李", attrs=attrs),
        lambda: me.edit(id_, attrs=attrs),
        lambda: me.remember("小张", kind="entity", attrs=attrs),
    ):
        with pytest.raises(UsageError, match="holds no state"):
            keep()
    doubted = me.add_record(
        kind="entity", title="小赵", detail="目前住在臺北", attrs={"entity_type": "person"},
        summary_only=True,
    )  # fmt: skip
    assert "tells how things stand" in doubted.warnings[0]


def test_nobody_is_made_of_a_pronoun_later(me: shiyi.Scope) -> None:
    """Not by another title, another name or remember."""
    id_ = entity(me, "小禾")
    for keep in (
        lambda: me.edit(id_, title="她"),
        lambda: me.edit(id_, aliases=["他們"]),
        lambda: me.remember("他说要走", kind="entity", title="他"),
    ):
        with pytest.raises(UsageError, match="unresolved_referent"):
            keep()


def test_a_guess_stays_one(me: shiyi.Scope, tmp_path: Path) -> None:
    """No edit makes more of it; what is taken in as more may be edited otherwise."""
    for_it = me.add_record(kind="fact", gist="他總是晚睡", summary_only=True).record_id
    guess = {
        "claim": "c", "mechanism": "m", "supports": [for_it], "counterexample_missing": True,
        "alternatives": ["a"], "scope": "s", "confidence": 0.3,
    }  # fmt: skip
    made = me.add_record(kind="hypothesis", gist="g", attrs=guess, summary_only=True).record_id
    fact = me.remember("他也許是夜貓子", attrs={"status": "supported"}).record_id
    (tmp_path / "in.jsonl").write_text(
        '{"type":"record","id":"old","kind":"hypothesis","title":"t","gist":"舊的猜想",'
        '"attrs":{"status":"supported"}}\n'
    )
    me.import_(tmp_path / "in.jsonl")

    changes: tuple[tuple[str, dict[str, Any]], ...] = (
        (made, {"attrs": {"status": "supported"}}),
        ("old", {"attrs": {"status": "refuted"}}),
        (fact or "", {"kind": "hypothesis"}),
    )
    for id_, change in changes:
        with pytest.raises(UsageError, match="keeps the status candidate"):
            me.edit(id_, **change)
    assert me.edit(made, attrs={"confidence": 0.6, "status": "candidate"}).changed
    assert me.edit("old", attrs={"scope": "s"}).changed


def test_beginnings_and_endings_hold_at_every_door(me: shiyi.Scope) -> None:
    """A guess begins as a candidate, a follow-up open; it ends with a note."""
    ask = {"question": "q", "context": "c", "due": "2026-12-24"}
    made = me.add_record(kind="followup", title="f", attrs=ask, summary_only=True)
    for keep in (
        lambda: me.remember("猜", kind="hypothesis", attrs={"status": "supported"}),
        lambda: me.add_record(
            kind="followup", title="g", attrs={**ask, "state": "answered", "note": "n"},
            summary_only=True,
        ),
        lambda: me.edit(made.record_id, attrs={"state": "answered"}),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            keep()


def test_a_month_is_due_by_its_end(me: shiyi.Scope) -> None:
    """On its second day nothing is overdue yet."""
    ask = {"question": "q", "context": "c", "due": "2026-12"}
    me.add_record(kind="followup", title="f", attrs=ask, summary_only=True)

    for now, when in (("12-02", "later"), ("12-30", "soon"), ("12-31", "today")):
        [one] = me.followup_list(now=f"2026-{now}T12:00:00Z").followups
        assert one.when == when
        assert me.starters(now=f"2026-{now}T12:00:00Z").kind != "followup"
    assert me.starters(now="2027-01-01T12:00:00Z").kind == "followup"


def test_an_edited_date_is_known_as_its_words_tell(me: shiyi.Scope) -> None:
    """Nobody states by editing what the words do not say."""
    made = me.add_record(kind="event", gist="读书", quotes=[{"capture": kept(me)}])

    me.edit(made.record_id, date="2011-01-01")

    shown = me.show(made.record_id).record
    assert shown is not None
    assert shown.date_basis == "inferred"
    with pytest.raises(UsageError, match="name no time"):
        me.add_record(kind="event", gist="x", date="2019", date_basis="stated", summary_only=True)


def test_a_facet_stays_one_of_shared_events(me: shiyi.Scope) -> None:
    """No link, edit or merge brings in what was not shared, or is not there."""
    one, two, three = (entity(me, title) for title in ("学校", "足球", "球"))
    shared, other = (
        me.add_record(kind="event", gist=gist, summary_only=True).record_id for gist in "甲乙"
    )
    for who in (one, two, three):
        me.link(shared, "mentions", who)
    attrs = {"entities": [one, two], "events": [shared]}
    facet = me.add_record(kind="facet", title="f", attrs=attrs, summary_only=True).record_id

    for keep in (
        lambda: me.link(other, "member_of", facet),
        lambda: me.edit(facet, attrs={"events": [shared, other]}),
    ):
        with pytest.raises(UsageError, match="share"):
            keep()
    with pytest.raises(NotFoundError):
        me.edit(facet, attrs={"events": [NOBODY]})
    me.entity_merge(two, three)
    attrs = {"entities": [two, three], "events": [shared]}
    with pytest.raises(UsageError, match="one by a merge"):
        me.add_record(kind="facet", title="g", attrs=attrs, summary_only=True)


def test_what_is_merged_is_not_superseded(me: shiyi.Scope) -> None:
    """A split would else bring back what something holds instead of."""
    old, into, other = (entity(me, title) for title in ("甲人", "乙人", "丙人"))
    me.entity_merge(old, into)
    for change in (
        lambda: me.supersede(old, other, reason="r"),
        lambda: me.supersede(into, old, reason="r"),
        lambda: me.edit(old, status="active"),
        lambda: me.archive(old),
    ):
        with pytest.raises(UsageError, match="merged"):
            change()
    gone = fact(me, "旧")
    me.archive(gone)
    assert "not active itself" in me.supersede(fact(me, "新"), gone, reason="r").warnings[-1]


def test_what_is_superseded_comes_back_by_undo_only(me: shiyi.Scope) -> None:
    """Active beside what holds instead of it, it would be told and taken back at once."""
    old, new = fact(me, "旧"), fact(me, "新")
    me.supersede(old, new, reason="r")
    me.archive(old)
    me.edit(old, title="旧的")
    with pytest.raises(UsageError, match=f"{new} holds instead of it; undo"):
        me.edit(old, status="active")
    number = 2  # the change that brought the second fact
    me.undo(to=str(number))
    shown = me.show(old).record
    assert shown is not None
    assert shown.status == "active"


def test_remember_tells_that_it_was_corrected(me: shiyi.Scope) -> None:
    """As add-record does."""
    old = fact(me, "在台北住了三年")
    me.supersede(old, fact(me, "在台北住了五年"), reason="r")

    assert "was corrected" in me.remember("在臺北住了三年。").warnings[0]


def test_a_footprint_stays_small(me: shiyi.Scope) -> None:
    """No later weight makes more of it; done again with more weight, it weighs that."""
    made = me.footprint("去游泳馆游泳")
    for keep in (
        lambda: me.edit(made.record_id, level=2),
        lambda: fact(me, "游泳", attrs={"footprint": True}, level=3),
    ):
        with pytest.raises(UsageError, match="level 1"):
            keep()
    assert me.footprint("去游泳馆游泳", level=1).record_id == made.record_id
    shown = me.show(made.record_id).record
    assert shown is not None
    assert 30 <= shown.salience < 60


def test_threads_of_one_process_take_turns(me: shiyi.Scope) -> None:
    """What is looked for and then written is one step: eight footprints are one record."""
    kept(me)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: me.footprint("去游泳馆游泳"), range(8)))

    assert len({one.record_id for one in found}) == 1
    assert sorted(one.times for one in found) == list(range(1, 9))


@pytest.mark.parametrize("zone", ["Pacific/Honolulu", "Pacific/Kiritimati"])
def test_a_state_holds_on_the_day_it_was_recorded(
    me: shiyi.Scope, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """Today is the day where the person is, not where Greenwich is."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        attrs = {"of": "self", "block": "situation", "value": "台北", "name": "住處"}
        me.add_record(kind="state", gist="住台北", attrs=attrs, summary_only=True)
        assert [one.value for one in me.current().states] == ["台北"]
    finally:
        monkeypatch.undo()
        time.tzset()
