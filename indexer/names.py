"""The names of a scope's entities: where they stand in a question, and in which texts.

A name is what an entity is called by its title, without what stands in brackets, or by an alias.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiyi.indexer.analyze import name_terms, term_key
from shiyi.indexer.fold import fold, fold_with_spans
from shiyi.indexer.lexical import LiveOkapi
from shiyi.indexer.segment import Array

_FIRST_HAN = "\u2e80"  # and its radicals; from here on words are not parted by blanks
_LEAST = 2  # characters; fewer stand in too many other words
_BRACKET = re.compile(r"[(（]")


@dataclass(frozen=True, slots=True)
class Named:
    """A name in a question, text[start:end]; exact unless it was written otherwise."""

    entity: str
    start: int
    end: int
    exact: bool


class Names:
    """The names of the entities of a scope, as they stand now."""

    def __init__(self) -> None:
        """Start with none."""
        self._names: dict[str, tuple[str, ...]] = {}
        self._terms: dict[str, list[frozenset[int]]] = {}
        self._owners: dict[str, dict[str, set[str]]] = {}  # folded → entity → as written
        self._lengths: dict[str, list[int]] = {}  # that were there, by the first character
        self._keys: dict[int, set[tuple[frozenset[int], str]]] = {}  # by the least key

    def __iter__(self) -> Iterator[str]:
        """Yield the entities that have names."""
        return iter(sorted(self._names))

    def put(self, entity: str, card: Mapping[str, Any] | None) -> None:
        """Take the names of an entity from its card; none when it is an entity no more."""
        names = None if card is None else names_of(card)
        if names == self._names.get(entity):
            return
        self._forget(entity)
        if names is None:
            return
        self._names[entity] = names
        for name in names:
            folded = fold(name)
            self._owners.setdefault(folded, {}).setdefault(entity, set()).add(name)
            lengths = self._lengths.setdefault(folded[0], [])
            if len(folded) not in lengths:
                lengths.append(len(folded))
        self._terms[entity] = [one for one in dict.fromkeys(map(_name_keys, names)) if one]
        for keys in self._terms[entity]:
            self._keys.setdefault(min(keys), set()).add((keys, entity))

    def _forget(self, entity: str) -> None:
        for folded in {fold(name) for name in self._names.pop(entity, ())}:
            del self._owners[folded][entity]
            if not self._owners[folded]:
                del self._owners[folded]
        for keys in self._terms.pop(entity, ()):
            self._keys[min(keys)].discard((keys, entity))

    def keys_of(self, entity: str) -> list[frozenset[int]]:
        """Return the terms of each name of an entity that can be looked for in texts."""
        return self._terms.get(entity, [])

    def slots_by_name(self, entity: str, lexical: LiveOkapi) -> dict[str, list[int]]:
        """Return the living slots in which each name of an entity stands, ascending."""
        names = self._names.get(entity, ())
        return {name: slots_naming(lexical, [k]) for name in names if (k := _name_keys(name))}

    def find(self, text: str) -> list[Named]:
        """Return the names in a text, by place; longer ones first, exact ones before others."""
        if not self._names:
            return []
        folded = fold_with_spans(text)
        found: list[Named] = []
        taken = [False] * len(folded.text)
        for length, start in sorted(self._places(folded.text), key=lambda p: (-p[0], p[1])):
            if any(taken[start : start + length]):
                continue
            taken[start : start + length] = [True] * length
            first, last = folded.starts[start], folded.ends[start + length - 1]
            owners = self._owners[folded.text[start : start + length]]
            written = text[first:last]
            exact = sorted(entity for entity, raw in owners.items() if written in raw)
            found += [
                Named(entity, first, last, exact=bool(exact)) for entity in exact or sorted(owners)
            ]
        return sorted(found, key=lambda one: (one.start, one.entity))

    def named_by(self, keys: Array) -> set[str]:
        """Return the entities of which a name stands in a document with these terms."""
        held = set(keys.tolist())
        return {
            entity
            for key in held & self._keys.keys()
            for name, entity in self._keys[key]
            if name <= held
        }

    def _places(self, folded: str) -> Iterable[tuple[int, int]]:
        for start, character in enumerate(folded):
            for length in self._lengths.get(character, ()):
                end = start + length
                known = end <= len(folded) and folded[start:end] in self._owners
                if known and _stands_alone(folded, start, end):
                    yield length, start


def names_of(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names on the card of an entity, each once."""
    title = card["title"]
    names = (title, _BRACKET.split(title)[0], *card["aliases"])
    stripped = (name.strip() for name in names)
    return tuple(dict.fromkeys(name for name in stripped if len(fold(name)) >= _LEAST))


def slots_naming(lexical: LiveOkapi, names: Sequence[frozenset[int]]) -> list[int]:
    """Return the living slots in which one of the names stands, ascending."""
    found: set[int] = set()
    for keys in names:
        lists = sorted((lexical.slots_with(key) for key in keys), key=len)
        slots = np.array(lists[0], np.int64)
        for other in lists[1:]:
            slots = np.intersect1d(slots, other, assume_unique=True)
        found.update(slots.tolist())
    return sorted(found)


def _name_keys(name: str) -> frozenset[int]:
    """Return the terms of a name; none when they say too little.

    So it is with a bare number, and with one Chinese character beside a digit (暈3D): such a name
    is found in questions, but ties no texts to its entity.
    """
    parts = name_terms(name)
    if all(part.isdigit() for part in parts):
        return frozenset()
    return frozenset(map(term_key, parts))


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tell whether a name in letters is not a part of a longer word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (_joined(before, text[start]) or _joined(text[end - 1], after))


def _joined(left: str, right: str) -> bool:
    return bool(left and right) and _in_word(left) and _in_word(right)


def _in_word(character: str) -> bool:
    return character.isalnum() and character < _FIRST_HAN
