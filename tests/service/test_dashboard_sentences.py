"""Sentences of operations in Chinese: what a page shows is known, as the code says it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.service.dashboard.sentences import Said, catalogue, pairs, said_in

ROOT = Path(__file__).parents[2]
FLOORS = ("core", "models", "store", "indexer", "retrieval", "lifecycle", "eval", "service")
_JOINED = re.compile(r'"\s*\n\s*f?"')  # a text that goes on in the next line
_PLACE = re.compile(r"\{[a-z]*\}|\(s\)")
_NAMES = re.compile(r"\{([a-z]+)\}")
_SENTENCE = re.compile(r"[A-Z{].* .*\.")
_COUNTED = ("changes", "captures", "links", "attachments", "files", "turns")
# Modules of which pages show every sentence, but for those that are only a part of one.
SHOWN = {
    "lifecycle/validate.py": {"{}: {}, {}."},
    "lifecycle/backups.py": set(),
    "lifecycle/followups.py": set(),
    "retrieval/maps.py": set(),
    "retrieval/review.py": set(),
    "retrieval/search.py": set(),
}
IDS = "3GQXFST3AEX722EQ719YQZK6AC, 3GQXFST3AEX722EQ719YQZK6AD …"


def told(path: Path) -> Iterator[str]:
    """Yield the texts of a module as they are put together, with {} for what is put in."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(one) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for one in node.values}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in docs | parts:
            yield str(node.value)


def test_every_sentence_is_one_of_the_code() -> None:
    """What stands between the places is said somewhere, so that no sentence outlives its code."""
    sources = (path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
    said = _JOINED.sub("", "\n".join(path.read_text("utf-8") for path in sources))

    gone = {
        (english, part) for english in pairs()
        for part in _PLACE.split(english) if part.strip(" .,:;()") not in said
    }  # fmt: skip

    assert gone == set()


@pytest.mark.parametrize("module", SHOWN)
def test_every_sentence_of_a_page_is_known(module: str) -> None:
    """Whoever adds a sentence to what pages show says it in Chinese as well."""
    texts = {text for text in told(ROOT / module) if _SENTENCE.fullmatch(text)}

    assert texts
    assert {text for text in texts if not any(map(is_known, filled(text)))} == SHOWN[module]


def is_known(sentence: str) -> bool:
    return said_in("zh-Hant", sentence).lang is None


def filled(text: str) -> Iterator[str]:
    """Yield a text with numbers in its places, one of them perhaps with what it counts."""
    parts = re.split(r"\{[a-z]*\}", text)
    yield "7".join(parts)
    for place in range(1, len(parts)):
        for what in _COUNTED:
            yield f"{'7'.join(parts[:place])}7 {what}{'7'.join(parts[place:])}"


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("1 change kept, none is missing.", "保存了 1 筆變更，一筆不少。"),
        (f"Not as kept: 12 of 1,460 captures, {IDS}.",
         f"1,460 則原話中有 12 則與當初保存的不同：{IDS}。"),
        ("There is no scope 工作 in this home; there are: me, {n}.",
         "這裡沒有名為 工作 的範圍；現有：me, {n}。"),
        ("Keywords only: The model cannot be loaded (ValueError).",
         "目前只依字詞搜尋：無法載入模型（ValueError）。"),
        ("Keywords only: Something new.", "目前只依字詞搜尋：Something new."),
    ],
)  # fmt: skip
def test_sentences_keep_what_they_name(sentence: str, answer: str) -> None:
    """Numbers, names and paths stand in the Chinese as they stood in the English."""
    assert said_in("zh-Hant", sentence) == Said(answer)
    assert said_in("en", sentence) == Said(sentence)


def test_what_is_not_known_stays_english() -> None:
    """And says so; a long text is not looked at for long."""
    assert said_in("zh-Hans", "Nobody ever said this.") == Said("Nobody ever said this.", "en")
    assert said_in("zh-Hans", "There is no scope " * 9999).lang == "en"


def test_both_scripts_have_the_same_places() -> None:
    """And Simplified is Simplified."""
    only = set("憶們頁圍總覽記錄檢這裡尋時間軸說現從數據變應發")

    for english, known in zip(pairs(), catalogue(), strict=True):
        names = set(_NAMES.findall(english))
        for form in (known.hant, known.hans):
            assert set(_NAMES.findall(form)) <= names, english
        assert not only & set(known.hans), english
