"""A single Han character as a query: the terms of the index that have it inside.

Texts are cut into words, so 我家的猫咪 has no term 猫. Terms are known to the index by their hashes
alone, so those with a character are found by trying: the words of the dictionary that hold it, and
it beside every other character, which covers the words that the dictionary does not know.
"""

from functools import lru_cache

import numpy as np

from shiyi.indexer.analyze import term_key
from shiyi.indexer.fold import fold
from shiyi.indexer.lexicon import dictionary
from shiyi.indexer.segment import Array

_HELD = 16  # characters whose terms are kept; 200 kB each
_MOST = 4  # characters; more of them are a text


def lone_characters(text: str) -> list[str]:
    """Return the characters of a query that is of nothing but single Han ones, else nothing."""
    said = "".join(one if one.isalnum() else " " for one in fold(text)).split()
    alone = len(said) <= _MOST and all(len(one) == 1 and one in dictionary() for one in said)
    return list(dict.fromkeys(said)) if alone else []


def terms_with(text: str) -> dict[int, Array]:
    """Return, for each lone character, its key and those of the terms with it, uint64."""
    return {term_key(one): _keys_with(one) for one in lone_characters(text)}


@lru_cache(maxsize=_HELD)
def _keys_with(character: str) -> Array:
    found = {word for word in dictionary() if character in word}
    others = [word for word in dictionary() if len(word) == 1]
    found |= {character + other for other in others} | {other + character for other in others}
    uncached = term_key.__wrapped__
    return np.array(sorted({uncached(term) for term in found}), np.uint64)
