"""Cutting a capture into fragments: at sentence ends, with overlap, as spans of the original."""

import re

# A unit is about one embedding token: a Han character, or three other characters.
LIMIT = 400  # units; the default model reads 512 tokens, and the turn before needs room
OVERLAP = 60  # units repeated at the start of the next fragment, as whole sentences

_SENTENCE = re.compile(
    r"[^。！？!?…\n.]*(?:(?:[。！？!?…]+|\.(?=\s|$))[」』”’）)】》\"']*|\.|\n+|$)"
)
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


def split(text: str) -> list[tuple[int, int]]:
    """Return the spans [start, end) of the fragments of `text`, in code points.

    Together they cover every visible character. A sentence over the limit is cut where it reaches
    it. Blank text has no fragments.
    """
    if units(text) <= LIMIT:
        return [(0, len(text))] if not text.isspace() and text else []
    sentences = _sentences(text)
    spans: list[tuple[int, int]] = []
    first = 0
    while first < len(sentences):
        last, size = first, 0.0
        while last < len(sentences) and (size == 0 or size + sentences[last][2] <= LIMIT):
            size += sentences[last][2]
            last += 1
        start, end = sentences[first][0], sentences[last - 1][1]
        if not text[start:end].isspace():
            spans.append((start, end))
        if last == len(sentences):
            break
        first = max(first + 1, _overlap_start(sentences, last))
    return spans


def units(text: str) -> float:
    """Return about how many embedding tokens `text` has."""
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide) / 3


def _overlap_start(sentences: list[tuple[int, int, float]], last: int) -> int:
    """Return the index of the first sentence to repeat before sentence `last`."""
    start, size = last, 0.0
    while start > 0 and size + sentences[start - 1][2] <= OVERLAP:
        start -= 1
        size += sentences[start][2]
    return start


def _sentences(text: str) -> list[tuple[int, int, float]]:
    """Return (start, end, units) of pieces that follow each other without a gap."""
    pieces: list[tuple[int, int, float]] = []
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        while end > start:
            cut = _cut(text, start, end)
            pieces.append((start, cut, units(text[start:cut])))
            start = cut
    return pieces


def _cut(text: str, start: int, end: int) -> int:
    """Return `end`, or where the piece that begins at `start` reaches the limit."""
    if end - start <= LIMIT:
        return end
    if end - start <= 3 * LIMIT and units(text[start:end]) <= LIMIT:
        return end
    low, high = start + 1, min(end, start + 3 * LIMIT)
    while low < high:
        middle = (low + high + 1) // 2
        if units(text[start:middle]) <= LIMIT:
            low = middle
        else:
            high = middle - 1
    return low
