"""One form for matching: NFKC, Traditional to Simplified, lower case, no invisible characters.

Only the index is folded; stored text never is. `fold_with_spans` says which characters of the
original each folded character came from, so that a match is always shown in the original.
"""

import unicodedata
from dataclasses import dataclass
from functools import cache

import opencc

_HALF_WIDTH_MARKS = frozenset("\uff9e\uff9f")  # Japanese voicing marks join what they follow
_JAMO_VOWELS_AND_FINALS = range(0x1160, 0x1200)


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; character i came from original[starts[i]:ends[i]]."""

    text: str
    starts: list[int]
    ends: list[int]


def fold(text: str) -> str:
    """Return the matching form of `text`."""
    return _strip_invisible(to_simplified(unicodedata.normalize("NFKC", text)).lower())


def fold_with_spans(text: str) -> Folded:
    """Return the matching form together with where each of its characters came from."""
    if text.isascii():
        return Folded(text.lower(), list(range(len(text))), list(range(1, len(text) + 1)))
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        for character in unicodedata.normalize("NFKC", text[start:end]):
            characters.append(character)
            starts.append(start)
            ends.append(end)
    simplified = to_simplified("".join(characters))
    folded: list[str] = []
    kept: list[int] = []
    for index, character in enumerate(simplified):
        for lowered in _strip_invisible(character.lower()):
            folded.append(lowered)
            kept.append(index)
    return Folded("".join(folded), [starts[i] for i in kept], [ends[i] for i in kept])


def to_simplified(text: str) -> str:
    """Convert Traditional characters to Simplified ones (OpenCC t2s); the length stays."""
    if text.isascii():
        return text
    converted: str = _converter("t2s").convert(text)
    if len(converted) == len(text):
        return converted
    return "".join(_simplified_character(character) for character in text)


def to_mainland_words(text: str) -> str:
    """Convert Taiwan wording to mainland wording in Simplified characters (OpenCC tw2sp).

    Only for text known to be Traditional: on Simplified text it changes words that are right.
    """
    converted: str = _converter("tw2sp").convert(text)
    return converted


def is_traditional(text: str) -> bool:
    """Tell whether `text` holds Traditional characters."""
    return not text.isascii() and to_simplified(text) != text


@cache
def _converter(name: str) -> opencc.OpenCC:
    return opencc.OpenCC(name)


@cache
def _simplified_character(character: str) -> str:
    converted: str = _converter("t2s").convert(character)
    return converted if len(converted) == 1 else character


def _strip_invisible(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in text if not _is_invisible(c))


@cache
def _is_invisible(character: str) -> bool:
    """Zero-width characters, joiners and variation selectors change nothing that is read."""
    return unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f"


def _clusters(text: str) -> list[tuple[int, int]]:
    """Cut `text` where normalisation cannot reach across: before each base character."""
    cuts = [0]
    cuts += [i for i in range(1, len(text)) if not _joins_previous(text[i])]
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True)) if text else []


@cache
def _joins_previous(character: str) -> bool:
    return (
        unicodedata.combining(character) != 0
        or character in _HALF_WIDTH_MARKS
        or ord(character) in _JAMO_VOWELS_AND_FINALS
    )
