"""What repeats words that go: a run of characters in common, or all of a short text."""

import re
from collections.abc import Iterable, Iterator

from shiyi.indexer.fold import fold
from shiyi.indexer.lexicon import stop_words

_LEAST = 8  # characters in a row
_TELLING = 8  # letters of words that say something; a Han character counts for two of them
_NAME = 4  # the same, of a short text as a whole
_WORD = re.compile(r"[^\W_]+")
_FIRST_HAN = "\u2e80"


class Echoes:
    """Finds what other texts repeat of some words."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Take the words that go."""
        said = [text for one in texts if (text := one.strip())]
        self._runs = {text[i : i + _LEAST] for text in said for i in range(len(text) - _LEAST + 1)}
        self._short = {text for text in said if len(text) < _LEAST}

    def repeats(self, text: str) -> bool:
        """Tell whether a text has anything of it, for what is shown to a person who decides."""
        return any(True for _ in self._shared(text)) or any(one in text for one in self._short)

    def tells(self, text: str) -> bool:
        """Tell whether a text has so much of it that it tells of it: more than common words."""
        return any(_weight(text, *span) >= _TELLING for span in self._shared(text)) or any(
            _weight(text, *span) >= _NAME for span in self._named(text)
        )

    def _shared(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of a text that are in the words, as long as they are."""
        start = None
        for i in range(len(text) - _LEAST + 2):
            if text[i : i + _LEAST] in self._runs:
                start = i if start is None else start
            elif start is not None:
                yield start, i + _LEAST - 1
                start = None

    def _named(self, text: str) -> Iterator[tuple[int, int]]:
        for one in self._short:
            for found in re.finditer(re.escape(one), text):
                yield found.span()


def _weight(text: str, start: int, end: int) -> int:
    """Return how much a span says: letters of whole words that are not among the commonest."""
    weight = 0
    for word in _WORD.finditer(text):
        first, last = max(word.start(), start), min(word.end(), end)
        inside = text[first:last]
        han = sum(one >= _FIRST_HAN for one in inside)
        weight += 2 * han
        if not han and (first, last) == word.span() and fold(inside) not in stop_words():
            weight += len(inside)
    return weight
