"""What a question names may be called otherwise in the texts: 弟弟 is 睿睿 there, Henry 子衡.

Entities have a title and aliases. A text with another name of what the question names counts as
one with the name in the question; and the question is also asked, by its meaning, with the other
names that most texts use.
"""

from dataclasses import dataclass

import numpy as np

from shiyi.indexer.analyze import terms
from shiyi.indexer.fold import fold
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.names import Named
from shiyi.indexer.okapi import non_negative_idf
from shiyi.indexer.segment import Array
from shiyi.retrieval.query import Asked

_WAYS = 2  # in which a question is asked anew
_MOST = 4  # names of a text that are looked at
_OTHERWISE = 0.5  # of the worth of the name as it is written


@dataclass(frozen=True, slots=True)
class OtherNames:
    """texts ask the question with other names; worth is what those add to BM25, by slots."""

    texts: list[str]
    worth: list[tuple[Array, Array]]

    def counted(self, bm25: Array) -> Array:
        """Return BM25 with the other names counted."""
        counted = bm25.copy() if self.worth else bm25
        for slots, more in self.worth:
            counted[slots] += more
        return counted


NO_OTHER_NAMES = OtherNames([], [])


def other_names(index: ScopeIndex, asked: Asked) -> OtherNames:
    """Return the other names of what a question names."""
    named = _named(index, asked.text)
    if not named:
        return NO_OTHER_NAMES
    written = {one.entity: asked.text[one.start : one.end] for one in named}
    return OtherNames(
        texts=_asked_anew(index, asked),
        worth=[_worth(index, entity, name) for entity, name in written.items()],
    )


def _named(index: ScopeIndex, text: str) -> list[Named]:
    """Return the first names in a text, each with one that bears it."""
    found = index.names().find(text)
    return list({one.start: one for one in reversed(found)}.values())[::-1][:_MOST]


def _asked_anew(index: ScopeIndex, asked: Asked) -> list[str]:
    """Return the question, or its last sentence that names anything, with other names."""
    for text in reversed(asked.sentences or [asked.text]):
        named = _named(index, text)
        if named:
            ways = dict.fromkeys(_replaced(index, text, named, way) for way in range(_WAYS))
            return [one for one in ways if one != text]
    return []


def _replaced(index: ScopeIndex, text: str, named: list[Named], way: int) -> str:
    """Return a text with other names; `way` counts them for each, the commonest first."""
    for one in reversed(named):
        others = _others(index, one.entity, text[one.start : one.end])
        if way < len(others):
            text = text[: one.start] + others[way] + text[one.end :]
    return text


def _others(index: ScopeIndex, entity: str, written: str) -> list[str]:
    """Return the names that texts have for an entity, but for the one that is written."""
    found = _slots_by_name(index, entity)
    used = sorted((name for name in found if found[name]), key=lambda name: -len(found[name]))
    others = {fold(name): name for name in used}
    return [name for folded, name in others.items() if folded != fold(written)]


def _worth(index: ScopeIndex, entity: str, written: str) -> tuple[Array, Array]:
    """Return the slots that name an entity, and what they lack of the usual worth of a name."""
    found = _slots_by_name(index, entity)
    slots = np.array(sorted(set().union(*found.values())), np.int64)
    scores = index.lexical.get_scores(terms(written))
    own = [slot for name, some in found.items() if fold(name) == fold(written) for slot in some]
    usual = np.median(scores[own]) if own else non_negative_idf(len(index), len(slots))
    return slots, np.maximum(0.0, _OTHERWISE * usual - scores[slots])


def _slots_by_name(index: ScopeIndex, entity: str) -> dict[str, list[int]]:
    names = index.names()
    return index.once(
        f"texts that name {entity}", lambda: names.slots_by_name(entity, index.lexical)
    )
