"""Probe: cards for a few questions or ids, with what stands beside them, within a budget.

What a card is worth: the place at which the search ranked it, 1 / (place + FLATTEN), the better
one of several questions; what stands beside it has a share of that. A question's first is worth as
much as another's first, so none starves. The constants are measured, see docs/retrieval.md.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.indexes import Indexes
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.associate import MOST, Association, associate
from shiyi.retrieval.cards import FORMS, CardDraft, draft_of_hit, draft_of_slot
from shiyi.retrieval.level_results import ProbeResult
from shiyi.retrieval.moment import ALWAYS, Moment
from shiyi.retrieval.packing import (
    Format,
    Frame,
    Order,
    Packed,
    Section,
    fingerprint_of,
    notes_section,
    pack_sections,
)
from shiyi.retrieval.query import Query
from shiyi.retrieval.relations import (
    Calendar,
    Ends,
    Related,
    related,
    replaced,
    room_of,
    successors_first,
)
from shiyi.retrieval.search import Finding, find
from shiyi.retrieval.short_ids import ShortIds
from shiyi.retrieval.trace import SILENT, Tracer
from shiyi.store import Store
from shiyi.store.kinds import STATUSES

FLATTEN = 3.0
_GAINS = (0.05, 0.9, 0.96, 1.0)
_BESIDE_GAINS = (0.05, 1.0)
_SHARES = {
    "superseded_by": 1.0, "contradicts": 0.5, "supports": 0.15, "supported_by": 0.15,
    "alternative_to": 0.15, "supersedes": 0.1, "mentions": 0.1, "member_of": 0.1, "about": 0.1,
    "story": 0.05, "member": 0.05, "beside": 0.05,
}  # fmt: skip
_LINKED = 40  # records whose links are looked at
_FIRST = 20  # hits of a question that are no associations
_ASSOCIATION = 0.2  # of the worth of a hit of the same rank
_TIMED = 5  # records whose neighbours in time are looked at
_NEIGHBOURS = 2
_SUPERSEDED = STATUSES.index("superseded")
_WORDS_OF_TODAY = (
    "The words of today were searched; what was found is shown as it stood at the time of as_of, "
    "so a record that said this then, and other words now, may be missing."
)
_ROOMS = ("records", "related", "entities", "facets", "beside")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What is asked: questions with the same filter, ids of records and captures, or both.

    unknown: what was given for an id and is none here.
    """

    queries: Sequence[Query] = ()
    ids: Sequence[str] = ()
    unknown: Sequence[str] = ()
    budget: int = 80_000
    format: Format = "json"
    resume: str | None = None
    moment: Moment = ALWAYS
    order: Order = "value"
    notes: Sequence[str] = ()


@dataclass(slots=True)
class _Placed:
    """A card with what it is worth."""

    draft: CardDraft
    worth: float
    slot: int


def probe(  # noqa: PLR0917 - the same as search, and what holds the links
    indexes: Indexes,
    store: Store,
    scope: str,
    asked: Probe,
    counter: TokenCounter,
    trace: Tracer = SILENT,
) -> ProbeResult:
    """Answer a probe.

    Raises UsageError as `search` does, for a budget that is too small and for a foreign cursor.
    """
    findings = [find(indexes, scope, query, trace) for query in asked.queries]
    index = findings[0].index if findings else indexes.get(scope, vectors=False)
    ids = ShortIds(index)
    with trace.stage("cards"):
        records = _read(index, asked.ids, ids)
        for id_, one in _merged(index, findings, ids).items():
            records.setdefault(id_, one)
        records = _seen(store, index, asked.moment, records)
        ends = Ends(index.graph(store))
        records, held_back = _in_order(ends, index, records)
        rooms = {"records": records}
        for name, placed in _around(ends, index, records, findings, ids).items():
            rooms[name] = _seen(store, index, asked.moment, placed)
        if not asked.moment:
            rooms["associations"] = _associations(store, index, findings, ids)
    notes = [*asked.notes, *_common_notes(findings)]
    if findings and asked.moment.standing is not None:
        notes.append(_WORDS_OF_TODAY)
        trace.says(_WORDS_OF_TODAY)
    head: dict[str, Any] = {
        "outcome": _outcome(findings, found=bool(records)),
        "mode": ("hybrid" if findings[0].hybrid else "keyword") if findings else None,
        "weak": bool(findings) and bool(records) and not any(one.known for one in findings),
        "times": [_time(time) for one in findings for time in one.asked.times],
        "fidelity": dict(Counter(one.draft.fidelity for one in records.values())),
        "held_back": held_back,
        "unknown": list(asked.unknown),
        "trace": trace.id,
    }
    sections = [notes_section(notes, asked.format), *_sections(rooms, asked.format)]
    frame = Frame(
        format=asked.format,
        fields={name: value for name, value in head.items() if value},
        request=_fingerprint(asked),
    )
    with trace.stage("pack"):
        packed = pack_sections(
            sections, asked.budget, counter, frame, resume=asked.resume, order=asked.order
        )
    _tell(trace, packed, records)
    return _result(packed, head, rooms, notes)


def _merged(index: ScopeIndex, findings: Sequence[Finding], ids: ShortIds) -> dict[str, _Placed]:
    """Return the hits of all questions, the first of each, then the second; each memory once."""
    merged: dict[str, _Placed] = {}
    known: set[str] = set()
    found = (zip(one.hits, one.hit_slots, strict=True) for one in findings)
    for place, hits in enumerate(zip_longest(*found)):
        for hit, slot in filter(None, hits):
            if known & {hit.id, *hit.also}:
                continue
            known |= {hit.id, *hit.also}
            draft = draft_of_hit(index, hit, slot, ids)
            merged[hit.id] = _Placed(draft, 1 / (place + FLATTEN), slot)
    return merged


def _read(index: ScopeIndex, wanted: Sequence[str], ids: ShortIds) -> dict[str, _Placed]:
    """Return the memories asked for by their ids."""
    read = {}
    for id_ in wanted:
        slots = index.find(RECORD, id_) or index.find(FRAGMENT, id_)
        if slots:
            read[id_] = _Placed(draft_of_slot(index, slots[0], ids), 1 / FLATTEN, slots[0])
    return read


def _seen(
    store: Store, index: ScopeIndex, moment: Moment, placed: dict[str, _Placed]
) -> dict[str, _Placed]:
    """Return what was there at the moment asked about."""
    seen = moment.seen(store, index, {id_: one.draft for id_, one in placed.items()})
    return {id_: placed[id_] for id_ in seen}


def _in_order(
    ends: Ends, index: ScopeIndex, records: dict[str, _Placed]
) -> tuple[dict[str, _Placed], int]:
    """Return the records with successors first, and how many superseded ones are behind them."""
    own = [id_ for id_, one in records.items() if _is_record(index, one.slot)]
    before = replaced(ends, own)
    older = {one for dsts in before.values() for one in dsts} - records.keys()
    held_back = sum(
        int(index.columns["status"][slot]) == _SUPERSEDED
        for id_ in sorted(older)
        for slot in index.find(RECORD, id_)
    )
    worths = [one.worth for one in records.values()]
    order = successors_first(list(records), before)
    for id_, worth in zip(order, worths, strict=True):
        records[id_].worth = worth
    return {id_: records[id_] for id_ in order}, held_back


def _around(
    ends: Ends,
    index: ScopeIndex,
    records: dict[str, _Placed],
    findings: Sequence[Finding],
    ids: ShortIds,
) -> dict[str, dict[str, _Placed]]:
    """Return what stands beside the first records, by section; nothing stands twice."""
    rooms: dict[str, dict[str, _Placed]] = {name: {} for name in _ROOMS[1:]}
    taken = set(records)
    first = [id_ for id_, one in records.items() if _is_record(index, one.slot)][:_LINKED]
    for link in related(ends, first):
        slots = index.find(RECORD, link.id)
        if slots:
            _name_link(records[link.of].draft, link, ids)
            superseded = int(index.columns["status"][slots[0]]) == _SUPERSEDED
            if link.id not in taken and not (superseded and link.rel == "supersedes"):
                taken.add(link.id)
                placed = _placed(index, slots[0], ids, link, records[link.of].worth)
                rooms[room_of(index, slots[0])][link.id] = placed
    if findings:
        calendar = Calendar(index, findings[0].allowed)
        for id_ in list(records)[:_TIMED]:
            worth, slot = records[id_].worth, records[id_].slot
            for one in calendar.beside(slot, _NEIGHBOURS):
                other = index.key(one)[1]
                if other not in taken:
                    taken.add(other)
                    link = Related(id_, "beside", other)
                    rooms["beside"][other] = _placed(index, one, ids, link, worth)
    return rooms


def _associations(
    store: Store, index: ScopeIndex, findings: Sequence[Finding], ids: ShortIds
) -> dict[str, _Placed]:
    """Return what the questions bring to mind besides their first hits, strongest first."""
    first = [hit for one in findings for hit in one.hits[:_FIRST]]
    shown = {id_ for hit in first for id_ in (hit.id, *hit.also)}
    brought: dict[str, Association] = {}
    for one in findings:
        ranked = [(hit.id, hit.score) for hit in one.hits[:_FIRST]]
        for found in associate(
            index, store, one.asked.text, ranked, shown=shown, allowed=one.allowed
        ):
            brought.setdefault(found.id, found)
    placed = {}
    for rank, found in enumerate(sorted(brought.values(), key=lambda one: -one.score)[:MOST]):
        slot = (index.find(RECORD, found.id) or index.find(FRAGMENT, found.id))[0]
        draft = draft_of_slot(index, slot, ids)
        draft.fields["path"] = _path(found)
        placed[found.id] = _Placed(draft, _ASSOCIATION / (rank + FLATTEN), slot)
    return placed


def _path(found: Association) -> str:
    """Return the way to an association, the thing itself left out."""
    parts = []
    for step in found.path:
        if step.relation is not None:
            parts.append(f"←{step.relation}" if step.backward else f"{step.relation}→")
        parts.append(step.title)
    return " ".join(parts[:-1])


def _placed(index: ScopeIndex, slot: int, ids: ShortIds, link: Related, worth: float) -> _Placed:
    draft = draft_of_slot(index, slot, ids)
    draft.fields |= {"rel": link.rel, "of": ids.of(link.of)}
    return _Placed(draft, worth * _SHARES[link.rel], slot)


def _name_link(draft: CardDraft, link: Related, ids: ShortIds) -> None:
    draft.fields.setdefault("links", {}).setdefault(link.rel, []).append(ids.of(link.id))


def _sections(rooms: dict[str, dict[str, _Placed]], format_: Format) -> list[Section]:
    return [
        Section(
            name,
            tuple(
                one.draft.item(one.worth, format_, len(FORMS) if name == "records" else 2)
                for one in placed.values()
            ),
            gains=_GAINS if name == "records" else _BESIDE_GAINS,
        )
        for name, placed in rooms.items()
    ]


def _result(
    packed: Packed, head: dict[str, Any], rooms: dict[str, dict[str, _Placed]], notes: list[str]
) -> ProbeResult:
    cards: dict[str, Any] = {"associations": []} | {
        name: [placed[id_].draft.card(form) for id_, form in packed.forms(name).items()]
        for name, placed in rooms.items()
    }
    return ProbeResult(
        **head, **cards, notes=[notes[int(place)] for place in packed.forms("notes")],
        truncated=packed.truncated, counter=packed.counter, tokens=packed.tokens, text=packed.text,
    )  # fmt: skip


def _tell(trace: Tracer, packed: Packed, records: dict[str, _Placed]) -> None:
    """Tell the trace what is shown, in which form, and what is not."""
    forms = packed.forms("records")
    trace.chose(forms)
    largest = len(FORMS) - 1
    trace.stepped_down({id_: FORMS[form] for id_, form in forms.items() if form < largest})
    trace.left_out("budget", (id_ for id_ in records if id_ not in forms))


def _fingerprint(asked: Probe) -> str:
    questions = [one.told() for one in asked.queries]
    window, standing = asked.moment.window, asked.moment.standing
    then = None if standing is None else str(standing.as_of)
    return fingerprint_of("probe", questions, list(asked.ids), repr(window), then)


def _outcome(findings: Sequence[Finding], *, found: bool) -> str:
    if found:
        return "found"
    outcomes = {one.outcome for one in findings}
    return "unavailable" if outcomes == {"unavailable"} else "empty"


def _common_notes(findings: Sequence[Finding]) -> list[str]:
    """Return the notes of all questions, each once."""
    return list(dict.fromkeys(note for one in findings for note in one.notes))


def _is_record(index: ScopeIndex, slot: int) -> bool:
    return int(index.columns["type"][slot]) == RECORD


def _time(time: Any) -> str:
    first, last = time.intervals[0]
    return f"{time.text} = {first or ''}..{last or ''}"
