"""The part of a text that shows why it was found, with offsets into the original."""

from dataclasses import dataclass

from shiyi.indexer.analyze import locate_in_original
from shiyi.indexer.fold import fold_with_spans

LENGTH = 160  # characters
_LOOKED_AT = 4000  # characters of a text in which a snippet is sought
_BREAKS = "。！？!?…\n；;，,"


@dataclass(frozen=True, slots=True)
class Snippet:
    """text is original[start:end]; matches are spans of the original, not of the snippet."""

    text: str
    start: int
    end: int
    matches: list[tuple[int, int]]


def make_snippet(text: str, wanted: set[str], offset: int = 0) -> Snippet:
    """Return the window of at most LENGTH characters with the most matched characters.

    `wanted` are terms of the query. `offset` is where `text` begins in its original.
    """
    spans = _merged(locate_in_original(fold_with_spans(text[:_LOOKED_AT]), wanted))
    if len(text) <= LENGTH:
        start, end = 0, len(text)
    else:
        start, end = _window(text, spans)
    inside = [(a + offset, b + offset) for a, b in spans if start <= a and b <= end]
    return Snippet(text[start:end], start + offset, end + offset, inside)


def _window(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    best, most = 0, -1
    for first, _ in spans:
        held = sum(b - a for a, b in spans if a >= first and b <= first + LENGTH)
        if held > most:
            best, most = first, held
    start = _start_of_clause(text, best)
    return start, min(len(text), start + LENGTH)


def _start_of_clause(text: str, position: int) -> int:
    """Return a place shortly before `position` where a clause begins."""
    earliest = max(0, position - LENGTH // 4)
    for i in range(position, earliest, -1):
        if text[i - 1] in _BREAKS:
            return i
    return earliest or 0


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
