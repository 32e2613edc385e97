"""Conflicts: two records that contradict one another, side by side, with what is not alike."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from shiyi.store import Capture, Link, Record, Store

_GUESS = "hypothesis"  # what speaks against a guess is its evidence, not a conflict
_PIECE = re.compile(r"[A-Za-z0-9_.:%+-]+|\s+|.", re.DOTALL)
_FIELDS = ("kind", "date_start", "date_end", "status")
_SOURCES = 3


@dataclass(frozen=True, slots=True)
class Conflict:
    """A pair, the newer side first, with the link that says so and what only one side says.

    differs: names of the fields that are not alike; only: the words that only each side has.
    """

    sides: tuple[Record, Record]
    link: Link
    differs: tuple[str, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]


def conflicts(store: Store, scope: str, *, settled: bool = False) -> list[Conflict]:
    """Return the pairs that contradict one another, the newest first.

    Those of which one side holds no longer are settled, and left out unless asked for.
    """
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for src, _, dst in zip(*store.edges(scope, ["contradicts"]), strict=True):
        pairs.setdefault(frozenset((src, dst)), (src, dst))
    heads = store.heads(scope, sorted({id_ for pair in pairs.values() for id_ in pair}))
    open_ = [
        (src, dst)
        for src, dst in pairs.values()
        if src in heads and dst in heads and _counts(heads[src], heads[dst], settled=settled)
    ]
    links = _links(store, scope, open_)
    found = [_conflict(heads[src], heads[dst], links[src, dst]) for src, dst in open_]
    return sorted(found, key=lambda one: (_said(one), one.sides[0].record_id), reverse=True)


def sources_of(
    store: Store, scope: str, ids: Sequence[str]
) -> dict[str, list[tuple[Capture, str]]]:
    """Return a few captures that each record quotes, with the words that it quotes."""
    quotes = store.links_from(scope, ids, rels=["quotes"], most=_SOURCES)
    captures = store.captures(scope, sorted({k.dst for ks in quotes.values() for k in ks}))
    return {
        id_: [
            (captures[link.dst], _span(captures[link.dst].text, link))
            for link in links
            if link.dst in captures
        ]
        for id_, links in quotes.items()
    }


def _span(text: str, link: Link) -> str:
    return text[link.span_start : link.span_end] if link.span_start >= 0 else text


def _counts(one: Record, other: Record, *, settled: bool) -> bool:
    if _GUESS in {one.kind, other.kind}:
        return False
    return settled or (one.status, other.status) == ("active", "active")


def _links(
    store: Store, scope: str, pairs: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], Link]:
    found = store.links_from(scope, sorted({src for src, _ in pairs}), rels=["contradicts"])
    return {(link.src, link.dst): link for links in found.values() for link in links}


def _conflict(one: Record, other: Record, link: Link) -> Conflict:
    newer, older = sorted((one, other), key=_when, reverse=True)
    differs = tuple(name for name in _FIELDS if getattr(newer, name) != getattr(older, name))
    return Conflict((newer, older), link, differs, _only(newer.gist, older.gist))


def _when(record: Record) -> tuple[str, str, str]:
    day = record.date_start.isoformat() if record.date_start else ""
    return day, record.created_at.isoformat(), record.record_id


def _said(one: Conflict) -> str:
    return max(side.created_at.isoformat() for side in one.sides)


def _only(one: str, other: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the stretches of words that only one of two texts has."""
    left, right = _PIECE.findall(one), _PIECE.findall(other)
    steps = [
        step
        for step in SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        if step[0] != "equal"
    ]
    mine = ("".join(left[step[1] : step[2]]).strip() for step in steps)
    theirs = ("".join(right[step[3] : step[4]]).strip() for step in steps)
    return tuple(filter(None, mine)), tuple(filter(None, theirs))
