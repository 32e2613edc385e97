"""A turn: judged, captured, closed and checked, and what is refused on the way."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import ConflictError, NotFoundError, UsageError
from shiyi.core.text import text_sha256
from shiyi.store import store as store_module

PERSONAL = "我女儿小禾昨天开始学游泳了，她很怕水。"
TASK = "Explain how a B-tree splits its nodes."
SECRET = "password: hunter2-Xq9!vLpZ77"


def closed(me: Any, text: str, turn: str, **given: Any) -> Any:
    """Walk the way of a turn step by step, up to its closing."""
    me.preflight(text, turn=turn, tier="full")
    kept = me.capture(text, turn=turn)
    me.add_record(kind="fact", gist="g", quotes=[{"capture": kept.capture_id}])
    return me.finalize(kept.capture_id, "derived", **given)


# Judging


def test_a_receipt_says_what_is_wanted_and_holds_no_text(me: Any) -> None:
    """What is personal is required, what is not is skipped; the words stay out of the receipt."""
    full = me.preflight(PERSONAL, turn="a")
    skip = me.preflight(TASK, turn="b")

    assert (full.required, full.tier, full.version) == (True, "full", 1)
    assert full.reasons
    assert full.sha256 == text_sha256(PERSONAL)
    assert "小禾" not in full.model_dump_json()
    assert (skip.required, skip.tier) == (False, "skip")


def test_the_same_turn_with_other_words_is_refused(me: Any) -> None:
    """A turn is one message; the same one again gives the same receipt."""
    first = me.preflight(PERSONAL, turn="a")

    with pytest.raises(ConflictError, match="turn of its own"):
        me.preflight(f"{PERSONAL} ", turn="a")
    with pytest.raises(ConflictError):
        me.remember(TASK, turn="a")
    assert me.preflight(PERSONAL, turn="a") == first


@pytest.mark.parametrize("text", [PERSONAL, TASK])
def test_a_tier_is_raised_and_never_lowered(me: Any, text: str) -> None:
    """Raising writes a version at once; skipping after that changes nothing and says so."""
    first = me.preflight(text, turn="a", tier="skip")
    raised = me.preflight(text, turn="a", tier="full")
    again = me.preflight(text, turn="a", tier="skip")

    assert (first.tier, first.version) == ("skip", 1)
    assert (raised.tier, raised.version) == ("full", 2)
    assert (again.tier, again.version) == ("full", 2)
    assert "stays full" in again.warnings[0]
    assert me.preflight(text, turn="a").tier == "full"


def test_what_is_put_aside_stays_known(me: Any) -> None:
    """A skip on personal words is honoured; its reasons are kept, warned of, and never lost."""
    skipped = me.preflight(PERSONAL, turn="a", tier="skip")
    checked = me.session_check("a")
    raised = me.preflight(PERSONAL, turn="a")

    assert not skipped.required
    assert skipped.reasons_suppressed
    assert skipped.warnings
    assert (checked.verdict, checked.warnings[0].problem) == ("pass_with_warnings", "suppressed")
    assert raised.required
    assert set(skipped.reasons_suppressed) <= set(raised.reasons_suppressed)
    assert set(raised.reasons) <= set(skipped.reasons_suppressed)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\u202eb", "a\0", "x" * 201])
def test_odd_names_of_turns_are_refused(me: Any, name: str) -> None:
    """A turn's name can be seen, on one line; the message does not repeat it."""
    with pytest.raises(UsageError) as caught:
        me.preflight(TASK, turn=name)

    assert not name.strip() or name not in str(caught.value)


def test_two_writings_of_a_name_are_one_turn(me: Any) -> None:
    """é is é, whether it is written as one character or two."""
    me.preflight(PERSONAL, turn="caf\u00e9")

    assert me.capture(PERSONAL, turn="cafe\u0301").turn_id == "caf\u00e9"


def test_space_around_a_name_does_not_count(me: Any) -> None:
    """Nobody sees it, so it makes no other turn."""
    me.preflight(PERSONAL, turn=" t ")
    me.capture(PERSONAL, turn="t ", speaker="Ann")

    assert me.capture(PERSONAL, turn="\u3000t", speaker="Ann").turn_id == "t"
    assert {one.turn_id for one in me.ledger(turn=" t").entries} == {"t"}


# Capturing


@pytest.mark.parametrize("text", [PERSONAL, " \r\n甲\ttab \u200b\ufeff👍🏽 ", "a" * 100_000])
def test_words_are_kept_byte_for_byte_and_once(me: Any, text: str) -> None:
    """The capture has the bytes and the hash of the receipt; captured again, it is the first."""
    receipt = me.preflight(text, turn="a", tier="full")
    kept = me.capture(text, turn="a", speaker="Ann", session="s")
    again = me.capture(text, turn="a", speaker="Bob")

    shown = me.show(kept.capture_id).capture
    assert shown.text == text
    assert shown.utf8_sha256 == receipt.sha256 == kept.utf8_sha256
    assert (shown.turn, shown.speaker, shown.session) == ("a", "Ann", "s")
    assert (kept.new, again.new) == (True, False)
    assert again.capture_id == kept.capture_id
    assert len(me.list(what="captures").items) == 1


def test_words_without_a_receipt_are_refused(me: Any) -> None:
    """Nothing is kept in a turn that was not judged, or with other words than were."""
    with pytest.raises(UsageError, match="run `shiyi preflight`"):
        me.capture(PERSONAL, turn="a")
    me.preflight(PERSONAL, turn="a")
    with pytest.raises(UsageError, match="byte for byte"):
        me.capture(f"{PERSONAL}\n", turn="a")

    assert me.list(what="captures").items == []


def test_secrets_are_refused_and_a_person_may_say_otherwise(me: Any) -> None:
    """The step by step way takes no secret either."""
    me.preflight(SECRET, turn="a", tier="full")

    with pytest.raises(UsageError, match="secret"):
        me.capture(SECRET, turn="a")
    assert me.session_check("a").verdict == "fail"
    assert me.capture(SECRET, turn="a", allow_secret=True).new


def test_keys_repeat_the_first_result(me: Any) -> None:
    """Each write under a key answers again as it did first, and refuses another request."""
    receipt = me.preflight(PERSONAL, turn="a", tier="skip", key="1")
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a", key="2")
    record = me.add_record(
        kind="event", gist="g", quotes=[{"capture": kept.capture_id}], turn="a", key="3"
    )
    done = me.finalize(kept.capture_id, "derived", key="4")
    mended = me.ledger(repair=True, key="5")

    assert me.preflight(PERSONAL, turn="a", tier="skip", key="1") == receipt
    assert me.capture(PERSONAL, turn="a", key="2") == kept
    assert me.add_record(
        kind="event", gist="g", quotes=[{"capture": kept.capture_id}], turn="a", key="3"
    ) == record  # fmt: skip
    assert me.finalize(kept.capture_id, "derived", key="4") == done
    assert me.ledger(repair=True, key="5").repaired == mended.repaired == []
    with pytest.raises(ConflictError, match="key"):
        me.capture(PERSONAL, turn="a", speaker="Bob", key="2")
    with pytest.raises(ConflictError, match="key"):
        me.finalize(kept.capture_id, "derived", reason="other", key="4")


# Deriving


def test_the_conversation_is_no_source(me: Any) -> None:
    """What nobody can read again is not quoted; summary-only is an honest word for it."""
    for source in ("the current conversation", "Current Conversation ", "当前对话", "這次對話"):
        with pytest.raises(UsageError, match="no source"):
            me.add_record(kind="fact", gist="g", quotes=[{"capture": source}])
        with pytest.raises(UsageError, match="no source"):
            me.add_record(kind="fact", gist="g", summary_only=True, attrs={"source": source})
    with pytest.raises(UsageError, match="leave fidelity out"):
        me.add_record(kind="fact", gist="g", summary_only=True, attrs={"fidelity": "verbatim"})

    assert me.add_record(kind="fact", gist="g", summary_only=True).fidelity == "summary_only"
    assert me.list().items[0].title == "g"
    assert len(me.list().items) == 1


def test_a_record_is_named_by_the_turn_that_it_quotes(me: Any) -> None:
    """The ledger has it, whether the turn is named or follows from the words."""
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")

    quoting = me.add_record(kind="event", gist="g", quotes=[{"capture": kept.capture_id}])
    named = me.add_record(kind="fact", gist="h", summary_only=True, turn="a")
    with pytest.raises(UsageError, match="run `shiyi preflight`"):
        me.add_record(kind="fact", gist="i", summary_only=True, turn="unknown")

    assert (quoting.turn_id, quoting.fidelity, named.turn_id) == ("a", "sourced", "a")
    steps = [one for one in me.ledger(turn="a").entries if one.step == "record"]
    assert [one.records for one in steps] == [[quoting.record_id], [named.record_id]]


@pytest.mark.parametrize(
    "span", [{"start": 0, "end": 99}, {"start": 5, "end": 5}, {"text": "没有"}]
)
def test_a_span_outside_the_words_is_refused(me: Any, span: dict[str, Any]) -> None:
    """What is quoted stands in the words, and nothing is left of a record that does not."""
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")

    with pytest.raises(UsageError):
        me.add_record(kind="fact", gist="g", quotes=[{"capture": kept.capture_id, **span}])

    assert me.list().items == []
    assert [one.step for one in me.ledger(turn="a").entries] == ["capture"]


# Closing


def test_derived_needs_a_record_that_quotes_the_words(me: Any) -> None:
    """Both ways: the record quotes the capture, and the ledger names the record."""
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")
    other = me.add_record(kind="fact", gist="other", summary_only=True)

    with pytest.raises(UsageError, match="No record quotes"):
        me.finalize(kept.capture_id, "derived")
    with pytest.raises(UsageError, match="No record quotes"):
        me.finalize(kept.capture_id, "derived", records=[other.record_id])
    one = me.add_record(kind="event", gist="g", quotes=[{"capture": kept.capture_id}])
    with pytest.raises(UsageError, match="does not quote"):
        me.finalize(kept.capture_id, "derived", records=[one.record_id, other.record_id])
    done = me.finalize(kept.capture_id, "derived")

    assert (done.closed, done.records, done.repeated) == ("derived", [one.record_id], False)
    assert me.session_check("a").verdict == "pass"
    with pytest.raises(NotFoundError):
        me.finalize("01ARZ3NDEKTSV4RRFFQ69G5FAV", "derived")


def test_no_derivation_is_shown_by_a_question_asked_after(me: Any) -> None:
    """The proof is the trace of a directed question that saw the words, and names what it found."""
    known = me.remember("小禾怕水。")
    before = me.probe("小禾")
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")
    finish = partial(me.finalize, kept.capture_id, "no_derivation_needed")
    map_ = me.survey()
    after = me.probe("小禾", turn="a")
    far = me.search("量子色动力学", turn="a")

    for given, said in (
        ({"trace": after.trace, "records": [known.record_id]}, "reason"),
        ({"reason": "known"}, "shown by a question"),
        ({"reason": "known", "trace": "1" * 24}, "shown by a question"),
        ({"reason": "known", "trace": before.trace, "records": [known.record_id]}, "before"),
        ({"reason": "known", "trace": map_.trace}, "no answered search"),
        ({"reason": "known", "trace": after.trace}, "name those"),
        ({"reason": "known", "trace": far.trace, "records": [known.record_id]}, "not found"),
    ):
        with pytest.raises(UsageError, match=said):
            finish(**given)
    assert me.session_check("a").verdict == "fail"
    done = finish(reason="known already", trace=after.trace, records=[known.record_id])

    assert done.records == [known.record_id]
    assert me.session_check("a").verdict == "pass"
    assert me.ledger(capture=kept.capture_id).entries[-1].trace == after.trace


def test_an_empty_answer_needs_no_record(me: Any) -> None:
    """Where a question finds nothing, there is nothing to name."""
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")
    asked = me.search(PERSONAL, only="records")

    done = me.finalize(kept.capture_id, "no_derivation_needed", reason="idle", trace=asked.trace)

    assert (done.closed, done.records) == ("no_derivation_needed", [])


def test_closing_is_repeated_refused_or_raised(me: Any) -> None:
    """Alike it is a repeat, otherwise refused; what needed no record may get one later."""
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")
    asked = me.search(PERSONAL, only="records")
    none: dict[str, Any] = {"reason": "idle", "trace": asked.trace}
    me.finalize(kept.capture_id, "no_derivation_needed", **none)

    assert me.finalize(kept.capture_id, "no_derivation_needed", **none).repeated
    with pytest.raises(ConflictError, match="another way"):
        me.finalize(kept.capture_id, "no_derivation_needed", reason="else", trace=asked.trace)
    one = me.add_record(kind="event", gist="g", quotes=[{"capture": kept.capture_id}])
    raised = me.finalize(kept.capture_id, "derived")
    two = me.add_record(kind="fact", gist="h", quotes=[{"capture": kept.capture_id}])

    assert (raised.records, raised.repeated) == ([one.record_id], False)
    assert me.finalize(kept.capture_id, "derived").records == [one.record_id]
    with pytest.raises(ConflictError):
        me.finalize(kept.capture_id, "derived", records=[one.record_id, two.record_id])
    with pytest.raises(ConflictError):
        me.finalize(kept.capture_id, "no_derivation_needed", **none)


# Checking


def test_the_check_fails_closed(me: Any) -> None:
    """Nothing judged, nothing captured, nothing closed: each is a failure that says what to do."""
    me.remember("别的")
    unknown = me.session_check("nowhere")
    me.preflight(PERSONAL, turn="a")
    judged = me.session_check()
    kept = me.capture(PERSONAL, turn="a")
    taken = me.session_check()

    assert [(c.verdict, c.open[0].problem) for c in (unknown, judged, taken)] == [
        ("fail", "no_receipt"), ("fail", "not_captured"), ("fail", "not_finalized"),
    ]  # fmt: skip
    assert taken.open[0].id == kept.capture_id
    assert all(one.open[0].todo for one in (unknown, judged, taken))
    assert [e.outcome for e in me.ledger(turn="a").entries if e.step == "check"] == ["fail"] * 2


def test_a_scope_without_any_turn_is_not_saved(me: Any, source: Any) -> None:
    """What was imported was never judged, so it is neither open nor saved by a turn."""
    me.import_(source('{"type": "capture", "id": "a", "text": "甲", "speaker": "user"}'))

    assert me.pending().open == []
    assert me.session_check().open[0].problem == "no_receipt"


def test_words_and_bytes_that_changed_are_found(memory: Any, me: Any, tmp_path: Path) -> None:
    """The check reads the words again; a row that was changed behind our back fails it."""
    done = closed(me, PERSONAL, "a")
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe")
    file = me.capture_attachment(tmp_path / "a.bin", turn="a")
    database = memory._caller.session.store._database
    assert me.session_check("a").verdict == "pass_with_warnings"

    Path(me.show(file.attachment_id).attachment.path).unlink()
    database.rows("UPDATE captures SET text = text || '！' WHERE capture_id = ?", [done.capture_id])
    database.rows("UPDATE links SET span_end = 10000 WHERE dst = ?", [done.capture_id])

    problems = {one.problem for one in me.session_check("a").open}
    assert problems >= {"changed_words", "broken_span", "missing_bytes"}


def test_old_leftovers_of_other_turns_are_warnings(
    memory: Any, me: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another turn that was left open does not fail this one; when it is old, it is named."""
    me.preflight(PERSONAL, turn="old")
    closed(me, "我搬家了。", "new")
    assert me.session_check().verdict == "pass"

    move_clock(monkeypatch, timedelta(days=8))

    late = me.session_check()
    assert (late.turn_id, late.verdict) == ("new", "pass_with_warnings")
    assert [(one.problem, one.turn_id) for one in late.warnings] == [("not_captured", "old")]
    assert [one.turn_id for one in me.pending().open] == ["old"]


def test_what_was_purged_is_not_missed(me: Any) -> None:
    """A person's word removes a record from a closed turn, which stays closed."""
    done = closed(me, PERSONAL, "a")

    me.purge(done.records, confirm=True)

    assert me.list().items == []
    assert me.session_check("a").verdict == "pass"


# Looking back


def test_repair_names_every_turn_in_the_feed(me: Any) -> None:
    """Each has a change of its own, so that whoever follows the feed sees it closed."""
    store = me._connection._caller.session.store
    for turn in ("a", "b"):
        me.preflight(PERSONAL, turn=turn)
        kept = me.capture(PERSONAL, turn=turn)
        me.add_record(kind="event", gist="g", quotes=[{"capture": kept.capture_id}])
    assert {one.turn_id for one in me.pending().open} == {"a", "b"}
    before = store.last_seq

    assert me.ledger(repair=True).left == []

    changed = [(one.what, one.id) for one in store.changes_since("me", before)]
    assert changed == [("turn", "a"), ("turn", "b")]
    assert me.pending().open == []
    assert [me.session_check(turn).verdict for turn in "ab"] == ["pass", "pass"]


def test_repair_closes_what_the_links_show(me: Any) -> None:
    """A capture that records quote is closed, marked as repaired; the others are named."""
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")
    record = me.add_record(kind="event", gist="g", quotes=[{"capture": kept.capture_id}])
    me.preflight("我搬家了。", turn="b")
    other = me.capture("我搬家了。", turn="b")
    me.preflight("我换了工作。", turn="c")

    mended = me.ledger(repair=True)

    assert mended.repaired == [kept.capture_id]
    assert [(one.problem, one.turn_id) for one in mended.left] == [
        ("not_finalized", "b"), ("not_captured", "c"),
    ]  # fmt: skip
    last = me.ledger(capture=kept.capture_id).entries[-1]
    assert (last.step, last.outcome, last.records) == ("repair", "derived", [record.record_id])
    assert me.session_check("a").verdict == "pass"
    assert me.ledger(repair=True).repaired == []
    assert me.pending().open[0].id == other.capture_id


def test_a_turn_is_replayed_in_order(me: Any) -> None:
    """Receipts, captures, questions, records, closing and checks stand as they happened."""
    me.preflight(PERSONAL, turn="a", tier="skip")
    me.preflight(PERSONAL, turn="a")
    me.search("小禾", turn="a", maintenance=True)
    kept = me.capture(PERSONAL, turn="a")
    asked = me.probe("小禾", turn="a")
    me.probe("小禾")
    me.add_record(kind="event", gist="g", quotes=[{"capture": kept.capture_id}])
    me.finalize(kept.capture_id, "derived")
    me.session_check("a")

    steps = me.timeline("a").steps
    assert [one.step for one in steps] == [
        "preflight", "preflight", "search", "capture", "probe", "record", "finalize", "check",
    ]  # fmt: skip
    assert [one.seq for one in steps] == sorted(one.seq for one in steps)
    assert steps[2].note == "for maintenance"
    assert steps[4].trace == asked.trace
    assert me.trace(asked.trace).trace.turn == "a"
    with pytest.raises(NotFoundError, match="no such turn"):
        me.timeline("b")


def test_remember_walks_the_whole_way(me: Any) -> None:
    """One call leaves a turn that is judged, captured, derived from and closed."""
    whole = me.remember(TASK)
    words = me.remember("只是话", words_only=True, turn="w")

    assert me.session_check(whole.turn_id).verdict == "pass"
    assert me.session_check("w").verdict == "pass"
    assert [one.step for one in me.timeline(whole.turn_id).steps][:3] == [
        "preflight", "capture", "finalize",
    ]  # fmt: skip
    last = me.ledger(capture=words.capture_id).entries[-1]
    assert (last.outcome, last.reason) == ("no_derivation_needed", "words only")
    assert me.pending().open == []


def test_remember_goes_on_where_a_turn_stands(me: Any) -> None:
    """A captured turn gets its record; a closed one stays, and another statement is refused."""
    me.preflight(PERSONAL, turn="a")
    kept = me.capture(PERSONAL, turn="a")
    first = me.remember(PERSONAL, turn="a", kind="event")

    assert first.capture_id == kept.capture_id
    assert me.remember(PERSONAL, turn="a").record_id == first.record_id
    with pytest.raises(ConflictError, match="edit that one"):
        me.remember(PERSONAL, turn="a", kind="fact")
    assert len(me.list().items) == 1
    me.remember("只是话", words_only=True, turn="w")
    assert me.remember("只是话", turn="w").record_id
    assert me.session_check("w").verdict == "pass"


# Reading


def test_reading_waits_for_the_words(me: Any) -> None:
    """Every reading level is refused under a required turn until its words are captured."""
    me.remember("甲", turn="done")
    me.preflight(PERSONAL, turn="a")
    reads: list[Callable[..., Any]] = [
        partial(me.search, "甲"), partial(me.probe, "甲"), partial(me.deep, "甲"),
        partial(me.absence, "甲"), partial(me.routing, "甲"), me.survey, me.catalog, me.recall,
    ]  # fmt: skip

    for read in reads:
        with pytest.raises(UsageError, match="not captured yet"):
            read(turn="a")
        with pytest.raises(UsageError, match="not judged"):
            read(turn="nowhere")
        traced = me.trace(read(turn="a", maintenance=True).trace).trace
        assert (traced.turn, traced.maintenance) == ("a", True)
        assert me.trace(read(turn="done").trace).trace.maintenance is False
    me.capture(PERSONAL, turn="a")
    for read in reads:
        assert me.trace(read(turn="a").trace).trace.turn == "a"


def test_a_skipped_turn_reads_at_once(me: Any) -> None:
    """What need not be kept does not wait; raised, it does."""
    me.preflight(TASK, turn="a")
    assert me.search("甲", turn="a").outcome == "empty"

    me.preflight(TASK, turn="a", tier="full")

    with pytest.raises(UsageError, match="not captured yet"):
        me.search("甲", turn="a")


def test_a_question_of_a_turn_is_replayed(me: Any) -> None:
    """A trace says its turn, and asking again does not depend on it."""
    me.preflight(PERSONAL, turn="a")
    asked = me.search("小禾", turn="a", maintenance=True)

    assert me.trace(asked.trace, replay=True).replay.outcome == "empty"


# Many at once, and clocks


def move_clock(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    """Set the clock of the store back or forward."""

    class Moved(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + by

    monkeypatch.setattr(store_module, "datetime", Moved)


def test_a_clock_that_jumps_changes_no_order(me: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are ordered by their writes, an hour back and ten years on."""
    me.preflight(PERSONAL, turn="a")
    move_clock(monkeypatch, timedelta(hours=-1))
    kept = me.capture(PERSONAL, turn="a", session="s")
    me.add_record(kind="event", gist="g", quotes=[{"capture": kept.capture_id}])
    move_clock(monkeypatch, timedelta(days=3653))
    me.preflight("我搬家了。", turn="b")
    move_clock(monkeypatch, timedelta(hours=-1))
    later = me.capture("我搬家了。", turn="b", session="s")
    me.finalize(kept.capture_id, "derived")
    me.preflight(TASK, turn="c", tier="full")

    assert [one.step for one in me.timeline("a").steps] == [
        "preflight", "capture", "record", "finalize",
    ]  # fmt: skip
    assert me.session_check().turn_id == "c"
    assert [one.turn_id for one in me.pending().open] == ["b", "c"]
    assert me.show(later.capture_id).capture.previous == kept.capture_id
    assert me.session_check("a").verdict == "pass"


def test_twenty_threads_capture_at_once(me: Any) -> None:
    """Each turn is kept once, whoever else writes; a turn that all capture is one capture."""
    texts = {f"t{n}": f"我第{n}次去游泳。" for n in range(20)}
    for turn, text in {**texts, "all": PERSONAL}.items():
        me.preflight(text, turn=turn, tier="full")
    start = threading.Barrier(20)

    def work(turn: str) -> Any:
        start.wait()
        for _ in range(2):
            me.capture(texts[turn], turn=turn, session="s")
        return me.capture(PERSONAL, turn="all")

    with ThreadPoolExecutor(20) as pool:
        shared = list(pool.map(work, texts))

    assert len({one.capture_id for one in shared}) == 1
    assert sum(one.new for one in shared) == 1
    kept = [me.show(item.id).capture for item in me.list(what="captures", limit=100).items]
    assert {one.turn: one.text for one in kept} == {**texts, "all": PERSONAL}
    assert len(kept) == 21
    chain = {one.previous for one in kept if one.session == "s"}
    assert len(chain) == 20, "each follows another"
    assert len(me.pending().open) == 21


def test_of_two_who_write_a_record_one_is_told(me: Any) -> None:
    """An etag lets one of two edits through, and the other learns of it."""
    record = me.add_record(kind="fact", gist="g", summary_only=True)
    start = threading.Barrier(2)

    def work(gist: str) -> object:
        start.wait()
        try:
            return me.edit(record.record_id, gist=gist, if_match=record.etag).version
        except ConflictError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(work, ("甲", "乙")))

    assert sorted(type(one).__name__ for one in results) == ["ConflictError", "int"]


def test_nothing_crosses_a_scope(memory: Any, me: Any) -> None:
    """Another scope has its own turns under the same names, and sees none of these."""
    kept = closed(me, PERSONAL, "a")
    other = memory.scope("other")
    other.preflight(TASK, turn="a")

    assert other.ledger(capture=kept.capture_id).entries == []
    assert [one.step for one in other.timeline("a").steps] == ["preflight"]
    with pytest.raises(NotFoundError):
        other.finalize(kept.capture_id, "derived")
    assert other.session_check().turn_id == "a"
    assert me.show(kept.capture_id).capture.text == PERSONAL
    assert datetime.now(UTC) > datetime.fromisoformat(me.ledger(turn="a").entries[0].at)
