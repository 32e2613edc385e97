"""From ranked slots to hits: the same words once, each with its snippet and its reasons."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from shiyi.core.iterate import batched
from shiyi.indexer.analyze import term_key
from shiyi.indexer.columns import Line
from shiyi.indexer.documents import NO_DATE, RECORD
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array
from shiyi.retrieval.fuse import Evidence, Fused
from shiyi.retrieval.results import PARTS, Hit, Parts, Passage, Why
from shiyi.retrieval.snippet import make_snippet
from shiyi.store.kinds import KINDS, LAYERS

_SHOWN = 8  # topics, and ids of the same words
_SHOWN_TERMS = 16
_SPARE = 2  # rows read beyond the limit, since some are of the same words
_SHOWN_LENGTH = 120  # characters of a title, a topic or a speaker
_MEASURED = ("cosine", "bm25", "coverage")
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Found:
    """A slot, and its position in the evidence."""

    slot: int
    position: int


@dataclass(slots=True)
class _Group:
    """One memory: the slot that represents it and the ids of the same words elsewhere."""

    found: Found
    line: Line
    card: dict[str, Any]
    also: list[str] = field(default_factory=list)


def collect_hits(
    index: ScopeIndex,
    found: Iterable[Found],
    evidence: Evidence,
    fused: Fused,
    wanted: Sequence[str],
    *,
    limit: int,
) -> tuple[list[Hit], list[int]]:
    """Return at most `limit` hits for slots given best first, and the slot of each.

    A capture is shown once, by its best fragment. A record that says what a fragment says, word
    for word, is the same memory, shown by the better of the two; the other is named in `also`.
    """
    groups: list[_Group] = []
    said: dict[tuple[str, str], _Group] = {}  # by the capture and its words
    captures: set[str] = set()
    for one, line in _with_lines(index, found, limit + _SPARE):
        id_, is_record = line.id, line.type == RECORD
        if id_ in captures:
            continue
        card = index.card(one.slot)
        words = _words(card).strip()
        sources = [quote[0] for quote in card["quotes"]] if is_record else [id_]
        keys = [(source, words) for source in sources]
        twin = next((said[key] for key in keys if key in said), None)
        if twin is not None:
            if id_ not in twin.also:
                twin.also.append(id_)
            continue
        if len(groups) == limit:
            break
        group = _Group(one, line, card)
        groups.append(group)
        said.update(dict.fromkeys(keys, group))
        if not is_record:
            captures.add(id_)
    return _hits(index, groups, evidence, fused, wanted), [group.found.slot for group in groups]


def _with_lines(
    index: ScopeIndex, found: Iterable[Found], at_once: int
) -> Iterator[tuple[Found, Line]]:
    """Yield what was found, each with its row."""
    for some in batched(found, at_once):
        yield from zip(some, index.columns.lines([one.slot for one in some]), strict=True)


def _hits(
    index: ScopeIndex,
    groups: Sequence[_Group],
    evidence: Evidence,
    fused: Fused,
    wanted: Sequence[str],
) -> list[Hit]:
    """Describe each memory; what is known of all of them is looked up at once."""
    keys = {term_key(term): term for term in wanted}
    positions = np.array([group.found.position for group in groups], np.int64)
    parts = _at(positions, fused, PARTS)
    measured = _at(positions, evidence, _MEASURED)
    embedded = evidence.embedded[positions].tolist()
    other_script = fused.other_script[positions].tolist()
    held = index.lexical.held_by([group.found.slot for group in groups], list(keys))
    hits = []
    for place, group in enumerate(groups):
        shared = {keys[key] for key in held[place]}
        cosine, bm25, coverage = measured[place]
        why = Why(
            cosine=cosine if embedded[place] else None,
            bm25=bm25,
            coverage=coverage,
            terms=_telling(index, shared),
            other_script=other_script[place],
        )
        snippet = _snippet(group, shared)
        hits.append(_hit(index.scope, group, snippet, rank=place + 1, parts=parts[place], why=why))
    return hits


def _at(positions: Array, table: Evidence | Fused, names: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the named values at each position, rounded as they are shown."""
    columns = np.array([getattr(table, name).take(positions) for name in names], np.float64)
    return list(map(tuple, columns.round(6).T.tolist()))


def _hit(
    scope: str, group: _Group, snippet: Passage, *, rank: int, parts: Sequence[float], why: Why
) -> Hit:
    card, line = group.card, group.line
    is_record = line.type == RECORD
    place = f"records/{line.id}" if is_record else f"captures/{line.id}#{line.start}-{line.end}"
    return Hit(
        rank=rank,
        id=line.id,
        path=f"{scope}/{place}",
        type="record" if is_record else "capture",
        kind=KINDS[line.kind] if is_record else None,
        layer=LAYERS[line.layer] if is_record else None,
        version=line.version,
        title=_shown(card.get("title")),
        date_start=_day(line.date_start),
        date_end=_day(line.date_end),
        modified=card.get("updated_at") or card.get("captured_at") or card.get("recorded_at"),
        speaker=_shown(card.get("speaker")),
        fidelity=card["fidelity"],
        topics=[topic for topic in map(_shown, card.get("topics", [])[:_SHOWN]) if topic],
        external_id=card.get("external_id"),
        snippet=snippet,
        score=round(sum(parts), 6),
        parts=Parts(**dict(zip(PARTS, parts, strict=True))),
        why=why,
        also=group.also[:_SHOWN],
    )


def _words(card: dict[str, Any]) -> str:
    """Return the words of a fragment, or the gist of a record."""
    words: str = card["text"] if "text" in card else card["gist"]
    return words


def _shown(text: str | None) -> str | None:
    """Return a text that stands whole in an answer, or its beginning."""
    return text if text is None or len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 1]}…"


def _telling(index: ScopeIndex, shared: set[str]) -> list[str]:
    """Return the rarest of the shared terms, in alphabetical order."""
    if len(shared) > _SHOWN_TERMS:
        rarest = sorted(shared, key=lambda term: (-index.lexical.idf_of(term_key(term)), term))
        shared = set(rarest[:_SHOWN_TERMS])
    return sorted(shared)


def _snippet(group: _Group, shared: set[str]) -> Passage:
    """Return the passage of a fragment, or of whichever field of a record matches more."""
    card = group.card
    if "text" in card:
        made, name = make_snippet(card["text"], shared, group.line.start), "text"
    else:
        made, name = make_snippet(card["gist"], shared), "gist"
        if card["detail"] and not made.matches:
            other = make_snippet(card["detail"], shared)
            if other.matches:
                made, name = other, "detail"
    return Passage(text=made.text, of=name, start=made.start, end=made.end, matches=made.matches)  # type: ignore[arg-type]


@lru_cache(maxsize=1 << 12)
def _day(days: int) -> str | None:
    return None if days == NO_DATE else (_EPOCH + timedelta(days=days)).isoformat()
