"""Captures are cut at sentence ends, with overlap, and nothing visible is lost."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer.fragments import LIMIT, OVERLAP, split, units

SENTENCE = st.sampled_from(
    [
        "今天天气很好，我们去爬山了。", "“我不去。”他说！！！", "Dr. Smith paid 3.14 dollars. ",
        "\n", "\n\n",
        "See www.a.com or https://a.com/?q=1&b=2 now. ", " ", "好",
        "x" * 700, "山" * 450, "word " * 300,
        "Is it you? ", "……", "e.g. this one, i.e. that. ", "👨‍👩‍👧", "e\u0301", "\u200b", "，",
        "?!", "\x00",
    ]
)  # fmt: skip
LONG = st.lists(SENTENCE, max_size=60).map("".join)


@given(st.one_of(LONG, st.text(max_size=2000)))
def test_fragments_cover_all_that_is_visible(text: str) -> None:
    """Every visible character stands in a fragment; fragments go forward and within the limit."""
    spans = split(text)

    covered = bytearray(len(text))
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        assert units(text[start:end]) <= LIMIT + 1e-6
        covered[start:end] = b"\1" * (end - start)
    assert all(covered[i] or character.isspace() for i, character in enumerate(text))
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start < next_start
        assert end < next_end


@given(LONG)
def test_an_overlap_is_short_and_begins_with_a_sentence(text: str) -> None:
    """What two fragments share is at most the overlap, and whole sentences."""
    spans = split(text)

    for (_, end), (start, _) in pairwise(spans):
        if start < end:
            assert units(text[start:end]) <= OVERLAP + 1e-6
            assert text[start - 1] in '。！？!?….”"\n '


def test_a_short_text_is_one_fragment() -> None:
    """What fits is not cut; what is blank has no fragment."""
    assert split("今天下雨。我在家。") == [(0, 9)]
    assert split("山" * LIMIT) == [(0, LIMIT)]
    assert split("") == split(" \n\t") == []
    assert len(split("山" * (LIMIT + 1))) == 2


@pytest.mark.parametrize(
    "piece",
    [
        "3.14",
        "www.example.com",
        "e.g. this",
        "Dr. Smith",
        "?q=1",
        "v1.2.3",
        "i.e. that",
        "a.b@c.com",
    ],
)
def test_no_cut_falls_inside(piece: str) -> None:
    """Decimals, addresses, versions and abbreviations are no sentence ends."""
    sentence = f"We wrote {piece} into the long list of things today. "
    text = sentence * 120

    for start, end in split(text):
        for found in re.finditer(re.escape(piece), text):
            assert not found.start() < start < found.end()
            assert not found.start() < end < found.end()


def test_cuts_fall_at_sentence_ends() -> None:
    """Chinese and English sentences stay whole, with their closing marks."""
    for sentence in (
        "他说：“我不去。”",
        "我们去爬山了！",
        "We went home. ",
        "Really?! ",
        "第一行\n",
    ):
        text = sentence * 300
        assert all(start % len(sentence) == 0 for start, _ in split(text))
        assert len(split(text)) > 1


def test_a_long_sentence_is_cut_at_a_space_or_comma() -> None:
    """Words of a sentence that exceeds the limit stay whole where there is a place to cut."""
    text = "unbroken " * 1000
    assert all(text[start:end].startswith("unbroken") for start, end in split(text))
    text = "没有句号的话，" * 300
    assert all(text[end - 1] == "，" for _, end in split(text))


def test_an_overlap_never_makes_a_fragment_of_its_own() -> None:
    """Before a long sentence there is no fragment that only repeats the one before."""
    text = ("短。" * 150 + "长" * 390 + "。") * 3
    assert len(split(text)) <= 7


@pytest.mark.parametrize(
    ("unit", "megabytes"),
    [("今天天气很好，我们去爬山了。", 10), ("1", 10), *((u, 1) for u in
     ("a\n", "Hello. ", "!", "...", "。", " ", "a.", "A. ", "”", "\u0301"))],
)  # fmt: skip
def test_ten_megabytes_take_seconds(unit: str, megabytes: int) -> None:
    """Cutting takes time in proportion to the length, whatever the text."""
    text = unit * (megabytes * 1_000_000 // len(unit.encode()))
    begun = time.process_time()
    spans = split(text)

    assert time.process_time() - begun < 2 * megabytes
    assert not spans or spans[-1][1] == len(text)
