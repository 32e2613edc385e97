"""What may be kept, and how it is shown."""

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.core.text import check_text, decode_text, encode_text, text_sha256, visible

SHOWN = (
    "plain", "两 行\n和\t制表", "頭髮 é e\u0301 ﬁ", "𠮷野家 𠮷\U000e0100", "हिन्दी שלום ไทย",
    "「引号」——……",
    "👨\u200d👩\u200d👧\u200d👦", "👩🏽\u200d🚀", "🏳️\u200d🌈", "❤️", "🇨🇳", "0️⃣", "✋🏿", "",
)  # fmt: skip
ESCAPED = {
    "a\u202eb": r"a\u202eb",
    "\u2066x\u2069": r"\u2066x\u2069",
    "a\u200bb\u200cc\u200dd\ufeff": r"a\u200bb\u200cc\u200dd\ufeff",
    "\u200e\u200f\u00ad\u2060": r"\u200e\u200f\xad\u2060",
    "\x1b[31m\r\x00\x7f\x85": r"\x1b[31m\r\x00\x7f\x85",
    "\u2028\u2029": r"\u2028\u2029",
    "\U000e0041\U000e0042": r"\U000e0041\U000e0042",
    "\ue000\ud800": r"\ue000\ud800",
    "x\ufe01\ufe02\U000e0103": "x\ufe01" + r"\ufe02\U000e0103",
    "\ufe0f": r"\ufe0f",
    "\u3164\uffa0\u115f\u034f": r"\u3164\uffa0\u115f\u034f",
    "中\u200d文": r"中\u200d文",
}


@pytest.mark.parametrize("text", SHOWN)
def test_what_a_person_reads_is_shown_as_it_is(text: str) -> None:
    """Line breaks, every script and whole emoji stay."""
    assert visible(text) == text


@pytest.mark.parametrize("text", ESCAPED)
def test_what_nobody_sees_is_shown_as_an_escape(text: str) -> None:
    """Control, bidi, zero-width, tag, private and blank characters cannot hide or act."""
    assert visible(text) == ESCAPED[text]


@given(st.text())
def test_nothing_unseen_passes(text: str) -> None:
    """Whatever the text, no control or format character but line break, tab and joiner is left."""
    shown = visible(text)

    left = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}}
    assert left <= {"\n", "\t", "\u200d"}
    assert visible(shown) == shown


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: not text.isspace()))
def test_what_is_accepted_is_not_changed(text: str) -> None:
    """Any text with a UTF-8 form is accepted exactly, and decodes from its bytes."""
    assert check_text(text) == text
    assert decode_text(encode_text(text)) == text
    assert text_sha256(text) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000\u2028"])
def test_a_blank_text_is_refused(text: str) -> None:
    """A text of nothing but spaces is refused, by the name of what was asked for."""
    with pytest.raises(UsageError, match="note is empty"):
        check_text(text, "note")


@pytest.mark.parametrize("text", ["secret\ud800", "secret\udfff words", "secret\ud83d\udc4d"])
def test_half_a_surrogate_pair_is_refused(text: str) -> None:
    """What has no UTF-8 form is refused with its place and without its words."""
    for refuse in (check_text, encode_text, text_sha256):
        with pytest.raises(UsageError, match="character 6") as refusal:
            refuse(text)
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "byte"), [(b"abc\xff", 3), ("雨".encode("gb18030"), 0), (b"\xed\xa0\x80", 0)]
)
def test_bytes_that_are_not_utf_8_are_refused(content: bytes, byte: int) -> None:
    """Another encoding is never guessed at; the byte is named."""
    with pytest.raises(UsageError, match=f"byte {byte}"):
        decode_text(content)
