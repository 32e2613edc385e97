"""One form for matching: no invisible characters, NFKC, Traditional to Simplified, case folded.

Only the index is folded; stored text never is. `fold_with_spans` says which characters of the
original each folded character came from, so that a match is always shown in the original.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import opencc

_JAMO_VOWELS_AND_FINALS = range(0x1160, 0x1200)
# Of no width and no ink: joiners, marks of direction, selectors of a form, fillers, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
# Characters that neither join the one before them nor vanish: most of what is written here.
_PLAIN = re.compile(
    "[\x00-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u205e\u3000-\u3029\u3030-\u3098"
    "\u309d-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff9d]*"
)
# Punctuation of nearly every Chinese text, with what NFKC makes of it: replaced beforehand, most
# texts are normal already, which takes a tenth of the time to see.
_WIDE = tuple(zip("，！？：；（）", ",!?:;()", strict=True))
_SURROGATE = re.compile("[\ud800-\udfff]")
_DOT = "\u0307"
_DOTTED_I = re.compile(f"i{_DOT}+")  # what a capital I with a dot becomes


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; character i came from original[starts[i]:ends[i]]."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


@lru_cache(maxsize=4)  # whoever reads a question folds it once more
def fold(text: str) -> str:
    """Return the matching form of `text`."""
    if text.isascii():
        return text.lower()
    normal = _INVISIBLE.sub("", text)
    for wide, narrow in _WIDE:
        normal = normal.replace(wide, narrow)
    normal = unicodedata.normalize("NFKC", normal)
    return _DOTTED_I.sub("i", to_simplified(normal).casefold())


def fold_with_spans(text: str) -> Folded:
    """Return the matching form together with where each of its characters came from."""
    if _PLAIN.fullmatch(text):
        whole = fold(text)
        if len(whole) == len(text):  # and so each of them became one
            return Folded(whole, range(len(text)), range(1, len(text) + 1))
    characters: list[str] = []
    spans: list[tuple[int, int]] = []
    for cluster, start, end in _clusters(text):
        for character in unicodedata.normalize("NFKC", cluster):
            characters.append(character)
            spans.append((start, end))
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for character, (start, end) in zip(to_simplified("".join(characters)), spans, strict=True):
        for lowered in character.casefold():
            if lowered == _DOT and folded and folded[-1] == "i":
                ends[-1] = end
                continue
            folded.append(lowered)
            starts.append(start)
            ends.append(end)
    return Folded("".join(folded), starts, ends)


def to_simplified(text: str) -> str:
    """Convert Traditional characters to Simplified ones (OpenCC t2s); the length stays.

    A lone surrogate, which has no UTF-8 form, becomes U+FFFD.
    """
    if text.isascii():
        return text
    converted = _convert("t2s", text)
    if len(converted) == len(text):
        return converted
    return "".join(_simplified_character(character) for character in text)


def to_mainland_words(text: str) -> str:
    """Convert Taiwan wording to mainland wording in Simplified characters (OpenCC tw2sp).

    Only for text known to be Traditional: on Simplified text it changes words that are right.
    """
    return _convert("tw2sp", text)


def to_taiwan_words(text: str) -> str:
    """Convert mainland wording to Taiwan wording in Traditional characters (OpenCC s2twp)."""
    return _convert("s2twp", text)


def is_traditional(text: str) -> bool:
    """Tell whether `text` holds Traditional characters."""
    return not text.isascii() and to_simplified(text) != text


@lru_cache(maxsize=4)  # a text is folded, and asked whether it is Traditional, in one go
def _convert(name: str, text: str) -> str:
    if "\0" in text:  # for OpenCC the text would end there
        return "\0".join(_convert(name, part) for part in text.split("\0"))
    try:
        converted: str = _converter(name).convert(text)
    except UnicodeEncodeError:
        converted = _converter(name).convert(_SURROGATE.sub("\ufffd", text))
    return converted


def forget_texts() -> None:
    """Forget the last texts that were folded and converted."""
    fold.cache_clear()
    _convert.cache_clear()


@cache
def _converter(name: str) -> opencc.OpenCC:
    return opencc.OpenCC(name)


@cache
def _simplified_character(character: str) -> str:
    converted = _convert("t2s", character)
    return converted if len(converted) == 1 else character


def _clusters(text: str) -> list[tuple[str, int, int]]:
    """Cut `text` where normalisation cannot reach across: before each base character.

    Return each cluster without what is invisible, and its half-open span in `text`.
    """
    hidden = {i for found in _INVISIBLE.finditer(text) for i in range(*found.span())}
    shown = [i for i in range(len(text)) if i not in hidden] if hidden else range(len(text))
    cuts = [k for k, i in enumerate(shown) if not k or not _joins_previous(text[i])]
    ends = [*cuts[1:], len(shown)] if cuts else []
    return [
        ("".join(text[i] for i in shown[first:last]), shown[first], shown[last - 1] + 1)
        for first, last in zip(cuts, ends, strict=True)
    ]


@cache
def _joins_previous(character: str) -> bool:
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first)[0] == "M" or ord(first) in _JAMO_VOWELS_AND_FINALS
