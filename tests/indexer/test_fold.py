"""One form for matching, with the way back to the original."""

import opencc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiyi.indexer.fold import (
    fold,
    fold_with_spans,
    is_traditional,
    to_mainland_words,
    to_simplified,
)

S2T = opencc.OpenCC("s2t")
SIMPLIFIED = "今天我们去爬山头发现在后来皇后理发师电话汉语国家爱听说读写语言图书馆"
AWKWARD = st.sampled_from(
    [
        "㎡", "ﬁ", "ｶﾞ", "ﾊﾟ", "ﾞ", "e\u0301", "か\u3099", "\u0301", "ß", "İ", "i\u0307", "Σ",
        "ς", "ΟΔΟΣ", "①",
        "½", "㈱", "…", "１", "Ａ", "，", "　", "㍿", "ﷺ", "❤️", "㊗️", "👨‍👩‍👧", "\u200b",
        "\ufeff", "\u00ad",
        "後", "來", "乾", "發", "髮", "国", "𠮷", "\U0002f81a", "\u1100\u1161\u11a8", "ㄱㅏ",
        "ﾡￂ", "가", "\u0dd9\u0dcf",
        "\u09c7\u09be", "ẖ", "H\u0331", "\x00", "a", " ", "\U000e0101", "\u2f00", "𝐀", "～", "Ⅳ",
        "\u0344",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(AWKWARD, max_size=12).map("".join),
    st.lists(st.one_of(AWKWARD, st.sampled_from("abc今天後")), max_size=12).map("".join),
)


@given(st.text(alphabet=SIMPLIFIED, max_size=20))
def test_both_scripts_have_one_form(simplified: str) -> None:
    """A text and its Traditional spelling fold alike, so either finds the other."""
    assert fold(S2T.convert(simplified)) == fold(simplified)


@given(TEXTS)
def test_the_two_ways_to_fold_agree(text: str) -> None:
    """Folding with spans gives the same text as folding without."""
    assert fold_with_spans(text).text == fold(text)


@given(TEXTS)
@example("i\u0307\u0307x")
def test_spans_lie_in_the_original(text: str) -> None:
    """Every folded character knows a non-empty span of the original; spans never go back."""
    folded = fold_with_spans(text)

    assert len(folded.starts) == len(folded.ends) == len(folded.text)
    spans = list(zip(folded.starts, folded.ends, strict=True))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@given(TEXTS, TEXTS)
def test_a_span_gives_back_what_it_came_from(before: str, after: str) -> None:
    """The characters at the span of a word fold to that word."""
    folded = fold_with_spans(f"{before}。RTX。{after}")
    place = folded.text.rindex("。rtx。", 0, len(fold(before)) + 5)

    original = f"{before}。RTX。{after}"
    assert original[folded.starts[place + 1] : folded.ends[place + 3]].strip("\u200b") == "RTX"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("㎡", "m2"), ("™", "tm"), ("ﬁ", "fi"), ("Ⅳ", "iv"), ("①", "1"), ("²", "2"),
        ("１２Ａ，（％　", "12a,(% "), ("½", "1⁄2"), ("㈱", "(株)"), ("…", "..."), ("㏂", "a.m."),
        ("ﾊﾞ", "バ"), ("ｶﾞｷﾞ", "ガギ"), ("e\u0301", "é"), ("か\u3099", "が"), ("⼀", "一"), ("𝐀",
        "a"),
        ("～", "~"), ("Straße", "strasse"), ("STRASSE", "strasse"), ("İstanbul", "istanbul"),
        ("i\u0307stanbul", "istanbul"), ("ΟΔΟΣ", "οδοσ"), ("οδος", "οδοσ"), ("ﾡￂ", "가"),
        ("頭髮", "头发"), ("發現", "发现"), ("乾燥", "干燥"), ("乾隆", "乾隆"), ("皇后", "皇后"),
        ("後來", "后来"),
    ],
)  # fmt: skip
def test_known_forms(text: str, expected: str) -> None:
    """Width, ligatures, voicing marks, case and script do not hinder a match."""
    assert fold(text) == fold_with_spans(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "咖\u200b啡",
        "咖\u2060啡",
        "咖\ufeff啡",
        "咖\u00ad啡",
        "咖\ufe0f啡",
        "咖\U000e0101啡",
        "咖\u034f啡",
        "\u202e咖啡",
    ],
)
def test_what_is_invisible_does_not_count(text: str) -> None:
    """Zero-width characters, direction marks and variation selectors change no match."""
    assert fold(text) == fold_with_spans(text).text == "咖啡"


def test_what_is_invisible_does_not_keep_marks_apart() -> None:
    """A mark joins its letter across a character that nobody sees; the span covers all three."""
    folded = fold_with_spans("e\u200b\u0301x")

    assert (folded.text, folded.starts, folded.ends) == ("éx", [0, 3], [3, 4])
    assert fold("❤️") == "❤"
    assert fold("👨‍👩‍👧") == "👨👩👧"


@given(TEXTS)
def test_simplifying_keeps_the_length(text: str) -> None:
    """Spans need no second map, because one character becomes one."""
    assert len(to_simplified(text)) == len(text)


def test_a_nul_ends_nothing() -> None:
    """What follows a NUL is folded by its phrases like the rest."""
    for text in ("後\0來", "\0乾隆", "頭髮\0\0發現乾燥"):
        assert fold(text) == "\0".join(map(fold, text.split("\0")))
    assert to_mainland_words("\0計程車") == "\0出租车"


def test_half_a_surrogate_pair_is_no_trouble() -> None:
    """A query cut in the middle of a character is folded all the same."""
    for text in ("\ud800", "後\udc00來", "a\ud83d"):
        assert fold(text) == fold_with_spans(text).text
    assert to_simplified("後\ud800") == "后\ufffd"


def test_only_traditional_text_is_called_so() -> None:
    """Simplified and ASCII texts are never taken for Traditional ones."""
    assert is_traditional("我們")
    assert not any(map(is_traditional, ["我们", "显著", "什么", "hello", "核心程序", ""]))
