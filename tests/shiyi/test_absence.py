"""Absence: nothing is said not to be there before every way of asking has been tried."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.core.errors import UsageError

Run = Callable[..., Any]


@pytest.fixture
def me(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    with shiyi.open(tmp_path / "home", model="hashing") as memory:
        scope = memory.scope("me")
        scope.remember("昨天和王小明去喝咖啡，聊到很晚才回家。")
        scope.remember("我對花生過敏，別點宮保雞丁。")
        yield scope


def names(answer: Any) -> set[str]:
    return {probe.name for probe in answer.probes}


def test_nothing_is_proven(me: Any) -> None:
    """Every probe ran and found nothing; the trace shows each of them."""
    answer = me.absence("量子色動力學有沒有提過 RTX4090")

    assert answer.outcome == "empty"
    assert answer.found == []
    assert names(answer) >= {
        "as asked", "by meaning alone", "other script and wording", "content words", "identifier",
    }  # fmt: skip
    assert all(probe.outcome == "empty" for probe in answer.probes)
    trace = me.trace(answer.trace).trace
    assert trace.operation == "absence"
    assert trace.outcome == "empty"
    assert [one.name for one in trace.questions] == [probe.name for probe in answer.probes]
    assert me.trace(answer.trace, replay=True).replay.same


@pytest.mark.parametrize(
    "given",
    [
        {"layer": "note"},
        {"layer": "session"},
        {"status": "archived"},
        {"status": "superseded"},
    ],
    ids=str,
)
def test_what_search_passes_over_is_asked(me: Any, given: dict[str, str]) -> None:
    """Notes, sessions, archived and superseded ones."""
    status = given.pop("status", None)
    kept = me.remember("在里斯本看企鵝", gist="去里斯本的水族館看企鵝", **given)
    if status:
        me.edit(kept.record_id, status=status)
    answer = me.absence("企鵝")

    assert answer.outcome == "found"
    assert {kept.record_id, kept.capture_id} & set(answer.found)


def test_other_names_are_asked(me: Any) -> None:
    """An alias of what the topic names is asked in its place."""
    me.remember("一位朋友", kind="entity", title="王小明", aliases=["Benny"])
    kept = me.remember("Benny bought a telescope", words_only=True)
    answer = me.absence("王小明 telescope")

    assert "alias" in names(answer)
    assert kept.capture_id in answer.found
    assert next(p.text for p in answer.probes if p.name == "alias") == "benny telescope"


@pytest.mark.parametrize("words", ["U盘", "王小明", "㍿", "RTX4090 U盘王小明"])
def test_a_long_topic_is_asked_as_far_as_it_goes(me: Any, words: str) -> None:
    """Other wordings that come out longer than a question may be are left out, which is said."""
    me.remember("一位朋友", kind="entity", title="王小明", aliases=["B" * 600, "！！"])
    topic = (words * 4000)[:4000]

    answer = me.absence(topic)

    assert "as asked" in names(answer)
    assert all(len(probe.text) <= 4000 for probe in answer.probes)
    assert any("too long to be asked" in note for note in answer.notes) == (words != "㍿")
    with pytest.raises(UsageError, match="4001 characters"):
        me.absence(topic + "x")


def test_a_name_without_a_word_is_no_way_to_ask(me: Any) -> None:
    me.remember("一位朋友", kind="entity", title="王小明", aliases=["！！", "Benny"])

    answer = me.absence("王小明")

    assert [probe.text for probe in answer.probes if probe.name == "alias"] == ["benny"]


def test_identifiers_are_asked_alone(me: Any) -> None:
    """A number stands for itself, and needs no model."""
    kept = me.remember("訂位代號 AB12345，記得帶。", words_only=True)
    assert kept.capture_id in me.absence("AB12345").found
    assert me.absence("ZX98765").outcome == "empty"


def test_without_a_model_absence_is_not_shown(run: Run, kept: Run) -> None:
    """Words alone find what is there, and prove nothing about what is not."""
    kept("昨天和王小明去喝咖啡。")

    assert run("absence", "咖啡").code == 0
    answer = run("absence", "企鵝", "--json")
    assert answer.code == 69
    assert answer.json["outcome"] == "unavailable"
    assert run("absence", "ZX98765").code == 1
    assert "Not known" in run("absence", "企鵝").out


def test_where_there_is_nothing_to_ask(me: Any) -> None:
    """A scope that is not there proves nothing; an empty topic is refused."""
    nowhere = me._connection.scope("other").absence("企鵝")
    assert (nowhere.outcome, nowhere.probes, nowhere.trace) == ("unavailable", [], None)
    assert "There is no scope other" in nowhere.notes[0]
    for topic in ("", " ", "…", "x" * 5000):
        with pytest.raises(UsageError):
            me.absence(topic)
    assert me.absence("🐧").outcome in {"empty", "found"}


def test_a_scope_that_is_not_there_has_an_outcome(run: Run, kept: Run) -> None:
    """In text and in JSON: nothing could be asked, and why."""
    kept("昨天和王小明去喝咖啡。")
    asked = ("absence", "咖啡", "--scope", "別處")
    for answer in (run(*asked), run(*asked, "--json")):
        assert answer.code == 69
        assert "unavailable" in answer.out
        assert "There is no scope 別處" in answer.out
    assert run(*asked, "--json").json["outcome"] == "unavailable"


def test_scopes_stay_apart(me: Any) -> None:
    """What another scope holds is absent here."""
    other = me._connection.scope("other").remember("在里斯本看企鵝")
    answer = me.absence("里斯本企鵝")
    seen = {*answer.found, *(id_ for probe in answer.probes for id_ in probe.nearest)}
    assert not {other.record_id, other.capture_id} & seen
