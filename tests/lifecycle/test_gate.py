"""What the gate keeps, what it lets pass, and the form of its rules."""

import json
import re
from pathlib import Path
from typing import Any

import opencc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer.fold import fold, is_traditional, to_simplified
from shiyi.lifecycle.gate import READ_CHARACTERS, UNREAD, judge
from shiyi.lifecycle.gate_rules import load_rules, rules_data

MESSAGES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[2] / "eval" / "data" / "gate" / "messages.jsonl")
    .read_text("utf-8")
    .splitlines()
]
RULES = load_rules()
DATA = rules_data()
UNBOUNDED = re.compile(r"(?<!\\)[*+]|\{\d*,\}")


def figures(messages: list[dict[str, Any]]) -> tuple[float, float]:
    """Return recall and precision."""
    kept = [judge(one["text"]).tier == "full" for one in messages]
    personal = [one["personal"] for one in messages]
    both = sum(k and p for k, p in zip(kept, personal, strict=True))
    return both / sum(personal), both / sum(kept)


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("記住我不吃牛肉", "explicit"),
        ("Lily 是我表妹", "clear"),
        ("妈妈住院了", "clear"),
        ("昨天去了趟医院", "weak"),
        ("好烦", "weak"),
        ("I'M SO EXHAUSTED", "clear"),
        ("ＩＭ　ＳＯ　ＴＩＲＥＤ", "clear"),
        ("我想知道光速是多少", "none"),
        ("怎么安装 numpy", "none"),
    ],
)
def test_a_signal_has_its_strength(text: str, signal: str) -> None:
    verdict = judge(text)

    assert verdict.signal == signal
    assert (verdict.tier == "skip") == (signal == "none") == (verdict.reasons == ())


def test_a_technical_context_vetoes_a_feeling_and_is_reported() -> None:
    verdict = judge("程序崩溃了")

    assert verdict.tier == "skip"
    assert "feeling-word: technical-context" in verdict.suppressed


def test_a_technical_context_does_not_veto_what_is_personal() -> None:
    verdict = judge("报错搞了一晚上，女朋友都生气了")

    assert verdict.tier == "full"


@pytest.mark.parametrize("task", ["翻译成英文：", "帮我润色：", "Summarize: ", "看看这张图，"])
def test_the_form_of_a_task_excuses_nothing(task: str) -> None:
    assert judge(f"{task}我下个月要和未婚妻结婚").tier == "full"


def test_reasons_come_strongest_first() -> None:
    order = ("explicit", "clear", "weak")
    strength = {rule.name: order.index(rule.strength) for rule in RULES.rules}

    for message in MESSAGES:
        reasons = judge(message["text"]).reasons
        assert [strength[name] for name in reasons] == sorted(strength[name] for name in reasons)


@pytest.mark.parametrize("sitting", ["sitting 1", "sitting 7", ""])
def test_the_held_messages_are_told_apart(sitting: str) -> None:
    held = [m for m in MESSAGES if m["half"] == "held" and sitting in m["note"]]

    recall, precision = figures(held)

    assert recall >= 0.97
    assert precision >= 0.85


def test_the_labelled_messages_are_what_is_said_of_them() -> None:
    for half in ("write", "held"):
        of_half = [m for m in MESSAGES if m["half"] == half]
        assert len(of_half) >= 120
        assert 0.4 <= sum(not m["personal"] for m in of_half) / len(of_half) <= 0.6
        assert sum(is_traditional(m["text"]) for m in of_half) >= 30
    assert len({m["id"] for m in MESSAGES}) == len({m["text"] for m in MESSAGES}) == len(MESSAGES)
    assert {m["half"] for m in MESSAGES} == {"write", "held"}


def test_both_scripts_are_judged_alike() -> None:
    """Also where a word has no way back: the folded texts differ then."""
    differing = written = 0
    for name in ("s2t", "s2tw", "s2hk"):
        traditional = opencc.OpenCC(name)
        for message in MESSAGES:
            other = traditional.convert(to_simplified(message["text"]))
            differs = fold(other) != fold(message["text"])
            if differs or (name == "s2t" and other != message["text"]):
                assert judge(other) == judge(message["text"]), message["id"]
            written += other != message["text"]
            differing += differs
    assert written > 2500
    assert differing > 0


@pytest.mark.parametrize("rule", DATA["rules"], ids=lambda rule: str(rule["name"]))
def test_a_rule_shows_when_it_fires_and_when_not(rule: dict[str, Any]) -> None:
    assert rule["name"] in judge(rule["fires"]).reasons
    assert rule["name"] not in judge(rule["silent"]).reasons
    assert rule["means"].endswith(".")
    assert set(rule.get("vetoed_by", ())) <= set(RULES.contexts)


@pytest.mark.parametrize("name", RULES.contexts)
def test_a_context_shows_when_it_holds_and_when_not(name: str) -> None:
    context = RULES.contexts[name]

    assert context.fires(fold(context.fires_on))
    assert not context.fires(fold(context.silent_on))
    assert any(name in rule.vetoed_by for rule in RULES.rules)


def test_names_are_used_once() -> None:
    named = DATA["rules"] + DATA["contexts"] + DATA["masks"]

    assert len({one["name"] for one in named}) == len(named)


def test_lists_are_folded_and_used() -> None:
    text = json.dumps([DATA["rules"], DATA["contexts"], DATA["masks"]], ensure_ascii=False)
    for name, words in DATA["lists"].items():
        assert f"<{name}>" in text
        assert [word for word in words if fold(word) != word] == []


def test_no_pattern_repeats_without_a_bound() -> None:
    """So that no text, however it is made, takes longer than its length times a constant."""
    for one in DATA["rules"] + DATA["contexts"] + DATA["masks"]:
        for pattern in one["any"] + one.get("unless", []) + one.get("only_in", []):
            bare = re.sub(r"\[(?:\\.|[^\]\\])*\]", "", pattern)
            assert UNBOUNDED.search(bare) is None, (one["name"], pattern)


@pytest.mark.parametrize("unit", ["a", "了", "`", "“", "我,", "2024-05-01 12:00 ", "a_", "{\n"])
def test_of_a_huge_text_only_the_beginning_is_read(unit: str) -> None:
    huge = unit * (10_000_000 // len(unit))

    verdict = judge(huge)

    assert verdict.tier == "full"
    assert verdict == judge(huge[: READ_CHARACTERS + 1])


def test_what_was_not_read_is_kept() -> None:
    verdict = judge("2024-05-01 12:00:03 ERROR refused\n" * 10_000)

    assert verdict == type(verdict)("full", "weak", (UNREAD,), ())


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "😂", "https://a.example/my-wife", "\u200b", "？", "\ud800"]
)
def test_nothing_said_is_skipped(text: str) -> None:
    assert judge(text).tier == "skip"


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    verdict = judge(text)

    assert verdict == judge(text)
    assert (verdict.tier == "full") == bool(verdict.reasons)


@given(st.sampled_from(MESSAGES), st.text(alphabet="\0\u200b", max_size=2))
def test_what_has_no_ink_changes_nothing(message: dict[str, Any], ink: str) -> None:
    assert judge(ink.replace("\0", "") + message["text"]) == judge(message["text"])


def test_the_page_lists_every_rule_and_context() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gate.md").read_text("utf-8")

    for rule in RULES.rules:
        vetoes = ", ".join(rule.vetoed_by) or "nothing"
        assert f"| {rule.name} | {rule.strength} | {rule.means} | {vetoes} |" in page
    for context in RULES.contexts.values():
        assert f"| {context.name} | {context.scope} | {context.means} |" in page
