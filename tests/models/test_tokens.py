"""Token counters: exact where they name a tokenizer, never too few."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.models.tokens import get_counter


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("o200k", "", 0),
        ("o200k", "hello world", len(["hello", " world"])),
        ("o200k", "<|endoftext|>", 7),
        ("cl100k", "tiktoken is great!", len(["t", "ik", "token", " is", " great", "!"])),
        ("bytes", "记忆a", 3 + 3 + 1),
    ],
)
def test_a_text_costs_what_its_tokenizer_says(name: str, text: str, tokens: int) -> None:
    """Counts equal the tokenizer's; a special token inside a text is plain text."""
    assert get_counter(name).count(text) == tokens


@pytest.mark.parametrize("name", ["o200k", "cl100k", "bytes"])
def test_a_lone_surrogate_counts_as_a_replacement_character(name: str) -> None:
    """A cut escape in a text neither fails nor counts for less than what replaces it."""
    counter = get_counter(name)

    assert counter.count("a\ud800b") == counter.count("a\ufffdb")
    assert counter.count("\ud83d\ude00") == counter.count("😀")


@given(st.text())
def test_bytes_never_undercount(text: str) -> None:
    """The byte counter is an upper bound of both exact counters, whatever the text."""
    counts = {name: get_counter(name).count(text) for name in ("o200k", "cl100k", "bytes")}

    assert max(counts.values()) == counts["bytes"]


def test_without_its_library_a_counter_counts_bytes_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing rs-bpe makes budgets stricter, never looser, and the name tells."""
    get_counter.cache_clear()
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)

    counter = get_counter("o200k")

    get_counter.cache_clear()
    assert (counter.name, counter.count("记忆")) == ("bytes", 6)


def test_an_unknown_counter_is_refused_with_the_choices() -> None:
    """The message names the value and what would do."""
    with pytest.raises(UsageError, match="'gpt2'; choose one of o200k, cl100k, bytes"):
        get_counter("gpt2")
