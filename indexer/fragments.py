"""Cutting a capture into fragments: at sentence ends, with overlap, as spans of the original."""

import re
from collections.abc import Iterator

# A unit is at least an embedding token, mostly: a Han character, or four other characters.
NARROW = 4
LIMIT = 500  # units; the default model reads 512 tokens, and the turn before needs room
OVERLAP = 60  # units repeated at the start of the next fragment, as whole sentences

# Where a sentence may end. A mark inside 3.14, www.a.com or ?q=1 ends nothing.
_END = re.compile(
    r"""(?:[。！？…]|[!?](?![A-Za-z0-9=&]))[。！？!?…]*[」』”’）)】》"']*[^\S\n]*
      | (?P<stop>\.)[.」』”’）)】》"']*(?=\s|$)[^\S\n]*
      | \n+""",
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[A-Za-z.]{1,12}$")
_SHORTENED = frozenset({
    "cf", "dr", "e.g", "fig", "i.e", "inc", "jr", "ltd", "mr", "mrs", "ms", "nr", "p.s", "prof",
    "rev", "sr", "st", "u.s", "vol", "vs",
})  # fmt: skip
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_BREAK = re.compile(r"[\s，,、；;：:]")


def split(text: str) -> list[tuple[int, int]]:
    """Return the spans [start, end) of the fragments of `text`, in code points.

    Together they cover every visible character. A sentence over the limit is cut at the last
    space or comma before it reaches it, or where it does. Blank text has no fragments.
    """
    if not text or text.isspace():
        return []
    if len(text) <= LIMIT or (len(text) <= NARROW * LIMIT and units(text) <= LIMIT):
        return [(0, len(text))]
    sentences = list(_sentences(text))
    spans: list[tuple[int, int]] = []
    first = 0
    while first < len(sentences):
        last, size = first, 0.0
        while last < len(sentences) and (last == first or size + sentences[last][2] <= LIMIT):
            size += sentences[last][2]
            last += 1
        start, end = sentences[first][0], sentences[last - 1][1]
        if not text[start:end].isspace():
            spans.append((start, end))
        first = last if last == len(sentences) else _overlap_start(sentences, first, last)
    return spans


def units(text: str) -> float:
    """Return about how many embedding tokens `text` has."""
    wide = len(text) - len(_WIDE.sub("", text))
    return wide + (len(text) - wide) / NARROW


def _overlap_start(sentences: list[tuple[int, int, float]], first: int, last: int) -> int:
    """Return the first sentence to repeat before `last`, which has to fit as well."""
    start, size, room = last, 0.0, min(OVERLAP, LIMIT - sentences[last][2])
    while start > first + 1 and size + sentences[start - 1][2] <= room:
        start -= 1
        size += sentences[start][2]
    return start


def _sentences(text: str) -> Iterator[tuple[int, int, float]]:
    """Yield (start, end, units) of pieces that follow each other without a gap."""
    start = 0
    for end in _ends(text):
        while start < end:
            cut = _cut(text, start, end)
            yield start, cut, units(text[start:cut])
            start = cut


def _ends(text: str) -> Iterator[int]:
    for found in _END.finditer(text):
        if found["stop"] is None or not _goes_on(text, found.start(), found.end()):
            yield found.end()
    yield len(text)


def _goes_on(text: str, stop: int, end: int) -> bool:
    """Tell whether a full stop only shortens a word, or the next word begins small."""
    word = _LAST_WORD.search(text, max(0, stop - 12), stop)
    if word is not None and (word.group().lower() in _SHORTENED or len(word.group()) == 1):
        return True
    return text[end : end + 1].islower()


def _cut(text: str, start: int, end: int) -> int:
    """Return `end`, or a place where the piece that begins at `start` is within the limit."""
    if end - start <= LIMIT:
        return end
    if end - start <= NARROW * LIMIT and units(text[start:end]) <= LIMIT:
        return end
    low, high = start + 1, min(end, start + NARROW * LIMIT)
    while low < high:
        middle = (low + high + 1) // 2
        if units(text[start:middle]) <= LIMIT:
            low = middle
        else:
            high = middle - 1
    breaks = list(_BREAK.finditer(text, low - (low - start) // 4, low))
    return breaks[-1].end() if breaks else low
