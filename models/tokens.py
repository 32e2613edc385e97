"""Token counters: how much of a budget a text costs, offline.

o200k, cl100k     the exact counts of those tokenizers, by rs-bpe (vocabularies inside)
bytes             UTF-8 bytes: never less than any byte-level tokenizer counts, since a
                  token is at least one byte; about three times as many in everyday text
"""

from functools import cache
from importlib import import_module
from typing import Any, Protocol

from shiyi.core.errors import UsageError
from shiyi.models.text import without_surrogates

_KEPT = 1 << 15  # counts
_CONSTRUCTORS = {"o200k": "o200k_base", "cl100k": "cl100k_base"}


class TokenCounter(Protocol):
    """Counts tokens and never fewer than the tokenizer that it names."""

    @property
    def name(self) -> str:
        """The tokenizer whose tokens are counted."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of `text`; lone surrogates count as U+FFFD."""
        ...


class ByteCounter:
    """Counts UTF-8 bytes."""

    name = "bytes"

    def count(self, text: str) -> int:
        """Return the length of `text` in UTF-8."""
        return len(without_surrogates(text).encode())


class BpeCounter:
    """Counts with one of rs-bpe's tokenizers. Special tokens in a text are plain text.

    Counts are kept under hashes of the texts, so that what is shown again is not counted again,
    and no text is kept.
    """

    def __init__(self, name: str, tokenizer: Any) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._known: dict[tuple[int, int], int] = {}

    def count(self, text: str) -> int:
        """Return the exact number of tokens."""
        key = hash(text), len(text)  # SipHash with a key of this process: nobody can aim at it
        known = self._known.get(key)
        if known is None:
            known = int(self._tokenizer.count(without_surrogates(text)))
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = known
        return known


@cache
def get_counter(name: str = "o200k") -> TokenCounter:
    """Return a counter by name: `o200k`, `cl100k` or `bytes`.

    Where rs-bpe cannot be imported, the counter returned is `bytes`, and its name says so.
    Raises UsageError for other names.
    """
    if name == "bytes":
        return ByteCounter()
    if name not in _CONSTRUCTORS:
        choices = ", ".join([*_CONSTRUCTORS, "bytes"])
        raise UsageError(f"There is no token counter {name!r}; choose one of {choices}.")
    try:
        tokenizers = import_module("rs_bpe.bpe").openai
    except ImportError:
        return ByteCounter()
    return BpeCounter(name, getattr(tokenizers, _CONSTRUCTORS[name])())
