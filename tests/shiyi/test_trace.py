"""Traces and proofs of absence, from the outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.core.errors import HomeError, NotFoundError, UsageError
from shiyi.indexer import indexes as indexes_module
from shiyi.service.invoke import invoke
from shiyi.service.session import Session
from shiyi.service.trial import open_trial

Run = Callable[..., Any]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A memory with an encoder that is quick and knows words only."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    with shiyi.open(tmp_path / "home", model="hashing") as memory:
        yield memory


@pytest.fixture
def me(memory: Any) -> Any:
    scope = memory.scope("me")
    scope.remember("昨天和王小明去喝咖啡。", topics=["咖啡"])
    scope.remember("我對花生過敏，別點宮保雞丁。")
    return scope


def files(home: Path) -> list[Path]:
    return sorted((home / "traces").rglob("*.json-seq"))


def test_as_of_says_which_words_were_searched(run: Run, kept: Run) -> None:
    """The answer and its trace say that the index knows today's words only."""
    id_ = kept("花生過敏")["record_id"]
    run("edit", id_, "--title", "過敏")
    asked = ("probe", "花生", "--as-of", "2090-01-01", "--format", "json", "--json")
    answer = run(*asked).json
    assert any("words of today" in note for note in answer["notes"])
    assert any(
        "words of today" in note
        for note in run("trace", answer["trace"], "--json").json["trace"]["notes"]
    )
    assert "words of today" in run("trace", answer["trace"]).out
    plain = run("probe", "花生", "--format", "json", "--json").json
    assert run("trace", plain["trace"], "--json").json["trace"]["notes"] == []
    by_id = run("probe", "--id", id_, "--as-of", "2090-01-01", "--format", "json", "--json").json
    assert not by_id.get("notes")


def test_every_search_leaves_a_trace(me: Any) -> None:
    """What was read, what was ranked with its reasons, what came of it, how long it took."""
    found = me.search("王小明 咖啡", limit=1)
    trace = me.trace(found.trace).trace

    assert trace.operation == "search"
    assert trace.request["text"] == "王小明 咖啡"
    assert trace.chosen == [hit.id for hit in found.hits]
    assert (trace.outcome, trace.tokens) == (found.outcome, found.tokens)
    (question,) = trace.questions
    assert set(found.terms) <= set(question.terms)
    assert question.ranking[0].id == found.hits[0].id
    assert question.ranking[0].fate == "chosen"
    fates = {one.id: one for one in question.ranking}
    assert fates[found.hits[0].also[0]].fate == "same words"
    assert fates[found.hits[0].also[0]].of == found.hits[0].id
    assert {"meaning", "words"} <= set(question.channels)
    assert trace.engine.model
    assert trace.engine.sequence > 0
    assert trace.stages["all"] >= trace.stages["candidates"] > 0


def test_what_is_left_out_has_a_reason(me: Any) -> None:
    """The limit, the budget, the floor."""
    for n in range(12):
        me.remember(f"第{n}次和王小明去喝咖啡，聊了很久很久，說到第{n}件事情。")

    limited = me.trace(me.search("王小明 咖啡", limit=2).trace).trace
    assert "limit" in {one.fate for one in limited.questions[0].ranking}

    cut = me.search("王小明 咖啡", limit=20, budget=600)
    short = me.trace(cut.trace).trace
    assert len(short.left_out["budget"]) == cut.truncated.omitted > 0
    assert not set(short.left_out["budget"]) & set(short.chosen)


def test_what_lies_below_the_floor_is_named(run: Run, kept: Run) -> None:
    """Nothing stands out, so what is nearest is not shown, and the trace says that."""
    kept("昨天和王小明去喝咖啡。")
    words = " ".join(f"量子{n}色動力{n}學重整化群方程{n}" for n in range(12))
    answer = run("search", f"咖啡 {words}", "--json")
    assert answer.code == 1
    trace = run("trace", answer.json["trace"], "--json").json["trace"]

    (question,) = trace["questions"]
    assert (trace["outcome"], question["known"]) == ("empty", False)
    assert question["margin"] < 0
    assert {one["fate"] for one in question["ranking"]} == {"floor"}
    assert "below the evidence floor" in run("trace", answer.json["trace"]).out


def test_a_trace_holds_no_stored_words(me: Any, memory: Any) -> None:
    """Of memories it has ids and the terms of the question; not even names that they gave."""
    me.remember("她住在里斯本。", kind="entity", title="林秀英", aliases=["秀英阿姨"])
    me.search("王小明")
    me.search("林秀英 住哪")
    me.absence("林秀英的貓")
    memory.close()
    content = b"".join(path.read_bytes() for path in files(memory._caller.session.home)).decode()

    for stored in ("宮保", "喝咖啡", "昨天", "里斯本", "秀英阿姨"):
        assert stored not in content


def test_traces_stay_in_their_scope(me: Any, memory: Any) -> None:
    """Another scope's trace is not there, and no scope is made by asking in it."""
    kept = me.search("王小明").trace
    other = memory.scope("other")
    with pytest.raises(NotFoundError):
        other.trace(kept)
    assert other.search("王小明").trace is None
    assert other.trace().traces == []
    other.remember("一件別的事")
    with pytest.raises(NotFoundError):
        other.trace(kept)
    assert other.search("一件").trace is not None
    assert len(other.trace().traces) == 1


def test_the_newest_come_first(me: Any) -> None:
    """Without an id, lines of the newest."""
    asked = [me.search(text).trace for text in ("王小明", "咖啡", "花生")]
    listed = me.trace(limit=2).traces

    assert [one.id for one in listed] == asked[:0:-1]
    assert [one.text for one in listed] == ["花生", "咖啡"]


def test_replay_of_what_another_version_asked(me: Any, memory: Any, home: Path) -> None:
    """An operation that this version does not have is refused in a sentence."""
    first = me.search("咖啡").trace
    memory.close()
    (file,) = (home / "traces").rglob("*.json-seq")
    file.write_bytes(file.read_bytes().replace(b'"search"', b'"sought"'))

    with shiyi.open(home) as again, pytest.raises(UsageError, match="refused today"):
        again.scope("me").trace(first, replay=True)


def test_replay_says_what_changed(me: Any) -> None:
    """The same answer; then other ids, and that the index moved on. A replay leaves no trace."""
    first = me.search("去年和王小明喝咖啡").trace
    count = len(me.trace().traces)
    replay = me.trace(first, replay=True).replay
    assert replay.same
    assert replay.came == replay.went == replay.moved == replay.changed == []

    added = me.remember("王小明又約喝咖啡，咖啡，咖啡。")
    replay = me.trace(first, replay=True).replay
    assert not replay.same
    assert {added.record_id, added.capture_id} & set(replay.came)
    assert {one.what for one in replay.changed} >= {"the newest change in the index"}
    assert len(me.trace().traces) == count


def test_replay_without_the_model(me: Any, memory: Any, tmp_path: Path) -> None:
    """Another process, without a model, says that the model is another one."""
    kept = me.search("王小明 咖啡").trace
    memory.close()
    with shiyi.open(tmp_path / "home", model="none") as later:
        replay: Any = later.scope("me").trace(kept, replay=True).replay

    changed = {one.what: one for one in replay.changed}
    assert changed["the model"].now is None
    assert changed["the model"].before


def test_off_means_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No id, no file; the answer is the same but for that, tokens included."""
    with shiyi.open(tmp_path / "home", model="none") as memory:
        me = memory.scope("me")
        me.remember("昨天和王小明去喝咖啡。")
        on = me.search("咖啡")
    monkeypatch.setenv("SHIYI_TRACES", "off")
    before = {path: path.read_bytes() for path in files(tmp_path / "home")}
    with shiyi.open(tmp_path / "home", model="none") as memory:
        me = memory.scope("me")
        off = me.search("咖啡")
        absent = me.absence("企鵝")
        assert any("traces is off" in note for note in me.trace().notes)

    assert on.trace is not None
    assert off.trace is absent.trace is None
    assert off == on.model_copy(update={"trace": None})
    assert {path: path.read_bytes() for path in files(tmp_path / "home")} == before


def test_old_traces_go_even_when_off(
    me: Any, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention holds for what was kept before."""
    me.search("咖啡")
    memory.close()
    (file,) = files(tmp_path / "home")
    file.rename(file.with_name(f"1{file.name[1:3]}0000000000{file.name[13:]}"))
    monkeypatch.setenv("SHIYI_TRACES", "off")
    with shiyi.open(tmp_path / "home", model="none") as later:
        later.scope("me").search("咖啡")

    assert files(tmp_path / "home") == []


def test_hostile_words_are_kept_as_data(me: Any, run: Run, tmp_path: Path) -> None:
    """Control characters come back as they were, and are escaped for a terminal."""
    text = '王小明 \x1b[31m\x1e{"id":\x00\n\u202e\u2028 咖啡'
    kept = me.search(text).trace
    assert me.trace(kept).trace.request["text"] == text
    assert me.trace().traces[0].text == text
    half = me.search("咖啡\ud800").trace
    assert me.trace(half).trace.request["text"] == "咖啡?"
    me._connection.close()

    shown = run("--home", tmp_path / "home", "trace", kept, "--model", "none")
    assert shown.code == 0
    assert not set("\x1b\x00\x1e\u202e") & set(shown.out)
    assert "\\x1b" in shown.out


@pytest.mark.parametrize("given", ["x", "1", "9" * 25, "../../etc", "１" * 24])
def test_bad_ids_are_refused(me: Any, given: str) -> None:
    """An id is 24 digits."""
    with pytest.raises(UsageError):
        me.trace(given)


def test_replay_needs_an_id(me: Any) -> None:
    with pytest.raises(UsageError, match="Name the trace"):
        me.trace(replay=True)


def test_forgetting(me: Any) -> None:
    """What mentions a record goes, whether it was shown or ranked."""
    hit = me.search("王小明").hits[0]
    me.search("花生")
    session = me._connection._caller.session

    assert session.traces.forget("me", hit.id) >= 1
    assert all(hit.id not in json.dumps(one) for one in session.traces.newest("me", 10))
    session.traces.forget("me")
    assert me.trace().traces == []


def test_no_home_is_made_by_a_trace(tmp_path: Path) -> None:
    """Where there is no home, nothing is written."""
    with Session(tmp_path / "none") as session, pytest.raises(HomeError):
        invoke(session, "search", {"text": "甲"})
    assert not (tmp_path / "none").exists()


def test_commands_show_and_list(run: Run, kept: Run, shell: Any) -> None:
    """As a person reads them; from another process; exit codes by outcome."""
    kept("昨天和王小明去喝咖啡。")
    answer = run("search", "王小明", "--json").json

    shown = run("trace", answer["trace"], "--replay")
    assert shown.code == 0
    for words in (
        "search at",
        "read as",
        "王小明",
        "✓",
        "took (ms)",
        "gives the same answer today",
    ):
        assert words in shown.out
    assert answer["trace"] in run("trace").out
    assert run("trace", "0" * 24).code == 1
    there = shell("trace", answer["trace"], "--json")
    assert json.loads(there.stdout)["trace"]["id"] == answer["trace"]


def test_meaning_alone_without_a_model_is_unavailable(run: Run, kept: Run) -> None:
    """Not "nothing found": what is missing is named, and the exit code is that of a model."""
    kept("昨天和王小明去喝咖啡。")

    for model in ("none", "/no/such/model"):
        answer = run("search", "咖啡", "--channel", "dense", "--model", model, "--json")
        assert answer.code == 69
        assert answer.json["outcome"] == "unavailable"
        assert "model" in answer.json["notes"][-1]
        assert run("trace", answer.json["trace"]).code == 0
    assert run("search", "咖啡", "--model", "/no/such/model").code == 0
    assert run("search", "企鵝").code == 1


def test_a_scope_that_is_not_embedded_is_unavailable_by_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until reindex has embedded it, which is named: there is more than a few answers take on."""
    monkeypatch.setattr(indexes_module, "_SOON", 0)
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    with shiyi.open(tmp_path / "home", model="hashing") as memory:
        me = memory.scope("me")
        for n in range(80):
            me.remember(f"第{n}件事：喝咖啡", words_only=True)
        found = me.search("咖啡", channel="dense")
        assert found.outcome == "unavailable"
        assert any("shiyi reindex" in note for note in found.notes)
        assert me.absence("企鵝").outcome == "unavailable"
        memory.reindex()
        assert me.search("咖啡", channel="dense").outcome != "unavailable"


def test_evaluations_leave_no_traces(tmp_path: Path) -> None:
    """Neither in the home of a trial nor in that of its owner."""
    with open_trial("none") as trial:
        assert trial._session.keep_trace is None
