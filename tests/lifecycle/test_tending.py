"""Tending: dates and weights as given, follow-ups, footprints, feedback, and what is owed."""

from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.core.errors import ConflictError, NotFoundError, UsageError
from shiyi.core.ids import new_id

FOLLOWUP = {"question": "樣品取回來了沒？", "context": "逾期要算錢。", "due": "2026-11-21"}


def add(scope: shiyi.Scope, kind: Any = "fact", **more: Any) -> str:
    more.setdefault("title", "甲")
    return scope.add_record(kind=kind, summary_only=True, **more).record_id


def words(scope: shiyi.Scope, text: str, said_at: str | None = "2024-05-06") -> dict[str, str]:
    return {"capture": scope.remember(text, words_only=True, said_at=said_at).capture_id}


# Dates and weights


@pytest.mark.parametrize(
    ("text", "date", "basis"),
    [
        ("去年三月我搬家了", "2023-03", "stated"),
        ("去年三月我搬家了", "2023-03-05", "inferred"),
        ("去年三月五日我搬家了", "2023-03", "stated"),
        ("我今天搬家了", "2024-05-06", "stated"),
        ("我搬家了", "2024-05-06", "source"),
        ("我搬家了", "2019", "inferred"),
    ],
)
def test_how_a_date_is_known_is_read_from_the_words(
    me: shiyi.Scope, text: str, date: str, basis: str
) -> None:
    """Nothing asked, it is what the words can bear; the four dates stand apart."""
    quote = words(me, text)

    id_ = me.add_record(kind="event", title="搬家", date=date, quotes=[quote]).record_id

    record, capture = me.show(id_).record, me.show(quote["capture"]).capture
    assert record is not None
    assert capture is not None
    assert (record.date_basis, capture.captured_at) == (basis, "2024-05-06T00:00:00+00:00")
    assert record.date_start is not None
    assert record.created_at[:10] not in {record.date_start, "2024-05-06"}
    told = me.remember(f"{text}！", said_at="2024-05-06", date=date)
    kept = me.show(told.record_id or "").record
    assert kept is not None
    assert (kept.date_start, kept.date_basis) == (record.date_start, basis)


def test_a_date_that_the_words_cannot_bear_is_refused(me: shiyi.Scope) -> None:
    """Only where no time word stands at all; inferred is always taken, and so is a vague word."""
    plain, vague, other = (words(me, text) for text in ("我搬家了", "大二那年我搬家了", "三月搬的"))

    def at(quote: dict[str, str], date: str = "2019", **more: Any) -> Any:
        return me.add_record(kind="event", title="搬家", date=date, quotes=[quote], **more)

    for more, said in (
        ({"date_basis": "stated"}, "name no time"),
        ({"date_basis": "source"}, "written on another day"),
        ({"date_precision": "day"}, "written as a year"),
        ({"date": "2024-02-30"}, "no such date"),
        ({"attrs": {"recalled": "2018"}}, "recalled lies before"),
    ):
        with pytest.raises(UsageError, match=said):
            at(plain, **more)
    with pytest.raises(UsageError, match="belong to a date"):
        add(me, date_basis="inferred")
    assert at(plain, date_basis="inferred", date_precision="phase").warnings == []
    assert at(vague, date_basis="stated").warnings == []
    for basis in ("stated", "inferred", None):
        assert "another time" in at(other, "2019-08", date_basis=basis).warnings[0]
    assert "more exact" in at(other, "2019-03-05", date_basis="stated").warnings[0]
    assert at(other, "2019-03-05", date_basis="stated", date_precision="relative").warnings == []
    assert "another time" in me.remember("三月搬的家", date="2019-08").warnings[0]
    assert at(plain, "2024-05-06", date_basis="source").warnings == []


def test_a_weight_is_a_number_or_a_level(me: shiyi.Scope) -> None:
    """A level stands for the middle of its band; both at once are refused."""
    for given, shown in (
        ({"level": 2}, (70, "key", "stated")),
        ({"salience": 2}, (2, "passing", "stated")),
        ({"salience": 80}, (80, "axis", "stated")),
        ({}, (30, "related", "default")),
    ):
        record = me.show(add(me, **given)).record
        assert record is not None
        assert (record.salience, record.level, record.salience_source) == shown
    with pytest.raises(UsageError, match="not both"):
        add(me, level=1, salience=40)
    with pytest.raises(UsageError, match="at most 8192"):
        add(me, detail="字" * 3000)


def test_only_unconfirmed_weights_are_lowered_and_on_request(
    me: shiyi.Scope, tmp_path: Path
) -> None:
    """Imported weights go down a level when they are named; a person's own never does."""
    (tmp_path / "a.jsonl").write_text(
        '{"kind": "fact", "title": "甲", "salience": 90}\n'
        '{"kind": "boundary", "title": "乙", "salience": 90}\n'
        '{"kind": "fact", "title": "丙", "salience": 90}\n'
    )
    me.import_(tmp_path / "a.jsonl")
    mine = add(me, salience=95)
    ids = {one.title: one.id for one in me.list().items}
    me.feedback(ids["丙"], "helpful", evidence=words(me, "這個有用"))
    later = "2030-01-01"

    assert me.salience_review().proposals == []
    [found] = me.salience_review(now=later).proposals
    assert (found.title, found.salience, found.to, found.source) == ("甲", 90, 70, "imported")
    with pytest.raises(UsageError, match="not proposed"):
        me.salience_review(now=later, apply=True, ids=[ids["甲"], mine])
    done = me.salience_review(now=later, apply=True, ids=[ids["甲"]])

    assert done.applied == [ids["甲"]]
    record = me.show(ids["甲"]).record
    assert record is not None
    assert (record.salience, record.version, record.salience_source) == (70, 2, "reviewed")
    assert "90 days" in (record.reason or "")


# Follow-ups, footprints


def test_a_followup_is_closed_once_with_a_note(me: shiyi.Scope) -> None:
    """Twice alike is a repeat, otherwise a conflict; what is overdue comes first, and up."""
    late, ruled = (
        add(me, "followup", attrs=FOLLOWUP),
        add(me, "followup", attrs={"question": "問", "context": "因", "rule": "等她提起"}),
    )
    far = add(me, "followup", attrs={**FOLLOWUP, "due": "2030"})
    now = "2026-12-01"

    listed = me.followup_list(now=now)
    assert [(one.id, one.when) for one in listed.followups] == [
        (late, "overdue"), (far, "later"), (ruled, "by rule")
    ]  # fmt: skip
    asked = me.starters(now=now)
    assert (asked.kind, asked.question, asked.ids) == ("followup", FOLLOWUP["question"], [late])
    done = me.followup_close(late, "answered", note="取回來了")
    assert done.changed
    assert not me.followup_close(late, "answered", note="取回來了").changed
    with pytest.raises(ConflictError, match="answered already"):
        me.followup_close(late, "declined", note="算了")
    with pytest.raises(UsageError, match="empty"):
        me.followup_close(far, "declined", note=" ")
    with pytest.raises(UsageError, match="kind fact"):
        me.followup_close(add(me), "declined", note="算了")
    assert [one.id for one in me.followup_list(now=now).followups] == [far, ruled]
    assert me.followup_list(now=now, closed=True).counts["answered"] == 1
    assert me.starters(now=now).kind == "none"


def test_the_same_activity_is_one_footprint(me: shiyi.Scope) -> None:
    """A probe finds it and it is versioned; another activity is another one."""
    quote = words(me, "今天跑步五公里")
    first = me.footprint("跑步五公里", quotes=[quote], key="k")

    assert me.footprint("跑步五公里", quotes=[quote], key="k") == first
    again = me.footprint("今天又跑步五公里", date="2024-05-07")
    other = me.footprint("去圖書館還書")

    assert (first.added, again.added, other.added) == (True, False, True)
    assert again.probed == [first.record_id] == [again.record_id]
    assert (again.version, again.times) == (2, 2)
    record = me.show(first.record_id).record
    assert record is not None
    assert (record.date_start, record.level, record.kind) == ("2024-05-07", "passing", "event")
    with pytest.raises(UsageError, match="400 bytes"):
        me.footprint("跑" * 200)


# Feedback and review


def test_feedback_rests_on_words_and_changes_nothing(me: shiyi.Scope) -> None:
    """It is kept once, of what is there; what was corrected comes first until it is changed."""
    id_ = add(me, gist="她對花生過敏")
    before = me.show(id_).record
    quote = words(me, "不對，是蝦")

    said = me.feedback(id_, "corrected", evidence={**quote, "text": "不對"})

    assert not me.feedback(id_, "corrected", evidence={**quote, "text": "不對"}).added
    shown = me.show(id_)
    assert shown.record == before
    assert [(one.id, one.verdict) for one in shown.feedback] == [(said.feedback_id, "corrected")]
    review = me.review(format="json", deep=True)
    assert next(one.id for one in review.debts) == "corrected"
    assert review.records[0].context == "corrected, unsourced"
    assert me.starters().question == "What is right instead?"
    me.edit(id_, gist="她對蝦過敏")
    assert "corrected" not in [one.id for one in me.review(format="json").debts]
    for target, evidence, error in (
        (id_, {**quote, "text": "對的"}, UsageError),
        (id_, {"capture": new_id()}, NotFoundError),
        (new_id(), quote, NotFoundError),
        (id_, {}, UsageError),
    ):
        with pytest.raises(error):
            me.feedback(target, "helpful", evidence=evidence)
    assert me.feedback("1" * 24, "missed", evidence=quote).added


def test_a_review_counts_each_debt(me: shiyi.Scope) -> None:
    """What is owed is counted from what is stored, inside the budget, and settled debts go."""
    said = me.remember("聽起來你很難過", words_only=True, speaker="assistant").capture_id
    feeling = me.add_record(
        kind="feeling", title="難過", date="2024", quotes=[{"capture": said}]
    ).record_id
    event = add(me, "event", title="搬家")
    guess = add(
        me,
        "hypothesis",
        attrs={
            "claim": "c", "mechanism": "m", "counterexample_missing": True, "supports": [event],
            "alternatives": ["a"], "scope": "s", "confidence": 0.5,
        },
    )  # fmt: skip

    review = me.review(format="json", deep=True)

    debts = {one.id: one.records for one in review.debts}
    assert debts == {"attribution": 1, "summary": 1, "unsourced": 1, "undated": 1, "one_sided": 1}
    owed = {one.title: one.context for one in review.records}
    assert owed == {"難過": "attribution", "搬家": "unsourced, undated", "甲": "summary, one_sided"}
    small = me.review(format="json", deep=True, budget=200)
    assert small.tokens <= 200
    me.contradict(feeling, guess, reason="不合")
    assert "one_sided" not in {one.id for one in me.review(format="json").debts}
    assert me.conflicts().conflicts == [], "evidence against a guess is no conflict"


def test_export_and_import_carry_feedback_redirects_and_weights(
    memory: shiyi.Memory, me: shiyi.Scope, tmp_path: Path
) -> None:
    """What comes back exports as the same bytes, merged as it was, corrections known."""
    one, two = (add(me, "entity", title=t, attrs={"entity_type": "person"}) for t in "甲乙")
    me.entity_merge(one, two)
    wrong, right = add(me, gist="她對花生過敏", salience=70), add(me, gist="她對蝦過敏", level=0)
    quote = words(me, "不對，是蝦")
    me.supersede(wrong, right, reason="更正", source=quote)
    me.feedback(right, "helpful", evidence=quote, note="好")
    me.export(tmp_path / "a")

    other = memory.scope("you")
    assert other.import_(tmp_path / "a").feedback == 1
    other.export(tmp_path / "b")

    for name in ("captures", "records", "structure", "feedback"):
        first, second = (tmp_path / side / f"{name}.jsonl" for side in "ab")
        assert second.read_bytes() == first.read_bytes(), name
    assert "merged into" in other.show(one).notes[0]
    assert other.entity_split(one).changed
    again = other.add_record(kind="fact", gist="她對花生過敏", summary_only=True)
    assert right in again.warnings[0]
    assert other.import_(tmp_path / "a").feedback == 0
