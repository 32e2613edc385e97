"""From ranked slots to hits: the same words once, each with its snippet and its reasons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from shiyi.indexer.analyze import term_key
from shiyi.indexer.documents import NO_DATE, RECORD
from shiyi.indexer.index import ScopeIndex
from shiyi.retrieval.fuse import Evidence, Fused
from shiyi.retrieval.results import Hit, Parts, Passage, Why
from shiyi.retrieval.snippet import make_snippet
from shiyi.store.kinds import KINDS, LAYERS

_SHOWN = 8  # topics, and ids of the same words
_SHOWN_TERMS = 16
_SHOWN_LENGTH = 120  # characters of a title, a topic or a speaker
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
    card: dict[str, Any]
    also: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _View:
    """What a hit is described from; keys are those of the query's terms."""

    index: ScopeIndex
    evidence: Evidence
    fused: Fused
    keys: dict[str, int]


def collect_hits(
    index: ScopeIndex,
    found: Iterable[Found],
    evidence: Evidence,
    fused: Fused,
    wanted: Sequence[str],
    *,
    limit: int,
) -> list[Hit]:
    """Return at most `limit` hits for slots given best first.

    A capture is shown once, by its best fragment. A record that says what a fragment says, word
    for word, is the same memory, shown by the better of the two; the other is named in `also`.
    """
    groups: list[_Group] = []
    said: dict[tuple[str, str], _Group] = {}  # by the capture and its words
    captures: set[str] = set()
    for one in found:
        kind, id_, _ = index.key(one.slot)
        if id_ in captures:
            continue
        card = index.card(one.slot)
        words = (card["gist"] if kind == RECORD else card["text"]).strip()
        sources = [quote[0] for quote in card["quotes"]] if kind == RECORD else [id_]
        keys = [(source, words) for source in sources]
        twin = next((said[key] for key in keys if key in said), None)
        if twin is not None:
            if id_ not in twin.also:
                twin.also.append(id_)
            continue
        if len(groups) == limit:
            break
        group = _Group(one, card)
        groups.append(group)
        said.update(dict.fromkeys(keys, group))
        if kind != RECORD:
            captures.add(id_)
    view = _View(index, evidence, fused, {term: term_key(term) for term in wanted})
    return [_hit(view, group, rank) for rank, group in enumerate(groups, 1)]


def _hit(view: _View, group: _Group, rank: int) -> Hit:
    index, evidence, fused = view.index, view.evidence, view.fused
    slot, position = group.found.slot, group.found.position
    card, line = group.card, index.columns.row(slot)
    own_keys = set(index.lexical.terms_of(slot)[0].tolist())
    shared = {term for term, key in view.keys.items() if key in own_keys}
    parts = Parts(
        dense=round(float(fused.dense[position]), 6),
        lexical=round(float(fused.lexical[position]), 6),
        exact=round(float(fused.exact[position]), 6),
        time=round(float(fused.time[position]), 6),
        neighbour=round(float(fused.neighbour[position]), 6),
        source=round(float(fused.source[position]), 6),
    )
    is_record = int(line["type"]) == RECORD
    id_, start, end = line["id"].decode("ascii"), int(line["start"]), int(line["end"])
    place = f"records/{id_}" if is_record else f"captures/{id_}#{start}-{end}"
    return Hit(
        rank=rank,
        id=id_,
        path=f"{index.scope}/{place}",
        type="record" if is_record else "capture",
        kind=KINDS[line["kind"]] if is_record else None,
        layer=LAYERS[line["layer"]] if is_record else None,
        version=int(line["version"]),
        title=_shown(card.get("title")),
        date_start=_day(int(line["date_start"])),
        date_end=_day(int(line["date_end"])),
        modified=card.get("updated_at") or card.get("captured_at") or card.get("recorded_at"),
        speaker=_shown(card.get("speaker")),
        fidelity=card["fidelity"],
        topics=[topic for topic in map(_shown, card.get("topics", [])[:_SHOWN]) if topic],
        external_id=card.get("external_id"),
        snippet=_snippet(card, shared, start),
        score=round(sum(parts.model_dump().values()), 6),
        parts=parts,
        why=Why(
            cosine=round(float(evidence.cosine[position]), 6)
            if evidence.embedded[position]
            else None,
            bm25=round(float(evidence.bm25[position]), 6),
            coverage=round(float(evidence.coverage[position]), 6),
            terms=_telling(index, view.keys, shared),
            other_script=bool(fused.other_script[position]),
        ),
        also=group.also[:_SHOWN],
    )


def _shown(text: str | None) -> str | None:
    """Return a text that stands whole in an answer, or its beginning."""
    return text if text is None or len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 1]}…"


def _telling(index: ScopeIndex, keys: dict[str, int], shared: set[str]) -> list[str]:
    """Return the rarest of the shared terms, in alphabetical order."""
    if len(shared) > _SHOWN_TERMS:
        rarest = sorted(shared, key=lambda term: (-index.lexical.idf_of(keys[term]), term))
        shared = set(rarest[:_SHOWN_TERMS])
    return sorted(shared)


def _snippet(card: dict[str, Any], shared: set[str], start: int) -> Passage:
    """Return the passage of a fragment, or of whichever field of a record matches more."""
    if "text" in card:
        made = make_snippet(card["text"], shared, start)
        name = "text"
    else:
        made, name = make_snippet(card["gist"], shared), "gist"
        if card["detail"] and not made.matches:
            other = make_snippet(card["detail"], shared)
            if other.matches:
                made, name = other, "detail"
    return Passage(text=made.text, of=name, start=made.start, end=made.end, matches=made.matches)  # type: ignore[arg-type]


def _day(days: int) -> str | None:
    return None if days == NO_DATE else (_EPOCH + timedelta(days=days)).isoformat()
