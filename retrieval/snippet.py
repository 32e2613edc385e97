"""The part of a text that shows why it was found, with offsets into the original."""

import re
from dataclasses import dataclass
from itertools import accumulate

from shiyi.indexer.analyze import locate_in_original
from shiyi.indexer.fold import fold_with_spans

LENGTH = 160  # characters
_LOOKED_AT = 4000  # characters of a text in which a snippet is sought
_HAN = re.compile("[\u4e00-\u9fff]+")
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
    looked_at = text[:_LOOKED_AT]
    needed = _needed(wanted)
    spans = locate_in_original(fold_with_spans(looked_at), needed) if needed else []
    if len(looked_at) < len(text):  # what touches the cut may be part of another word
        spans = [span for span in spans if span[1] < len(looked_at)]
    start, end = (0, len(text)) if len(text) <= LENGTH else _window(text, spans)
    inside = _merged([(a + offset, b + offset) for a, b in spans if start <= a and b <= end])
    return Snippet(text[start:end], start + offset, end + offset, inside)


def _needed(wanted: set[str]) -> set[str]:
    """Leave out the Chinese words whose every two characters are wanted: they show no more."""
    return {
        term
        for term in wanted
        if len(term) <= len("两字")
        or not _HAN.fullmatch(term)
        or any(term[i : i + 2] not in wanted for i in range(len(term) - 1))
    }


def _window(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    matched = bytearray(len(text))
    for a, b in spans:
        matched[a:b] = b"\1" * (b - a)
    before = [0, *accumulate(matched)]
    firsts = dict.fromkeys(a for a, _ in spans)
    starts = [0, *(_start_of_clause(text, first) for first in firsts)]
    start = max(starts, key=lambda s: before[min(len(text), s + LENGTH)] - before[s])
    return start, min(len(text), start + LENGTH)


def _start_of_clause(text: str, position: int) -> int:
    """Return a place shortly before `position` where a clause begins."""
    earliest = max(0, position - LENGTH // 4)
    for i in range(position, earliest, -1):
        if text[i - 1] in _BREAKS:
            return i
    return earliest


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
