"""Deep: the words themselves, byte for byte, of what fits a question or was named.

A fragment is a span of a capture in code points: `text` is capture[start:end], `sha256` that of
the whole capture in UTF-8. Nothing is cut inside without its span saying so: a fragment that is
too long for the budget steps down to a smaller span around what matters, cut between sentences.
A summary is never among the fragments; what has no words of its own stands under `summaries`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from pydantic import BaseModel

from shiyi.core.text import visible
from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.fragments import split
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.indexes import Indexes
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.level_results import DeepResult, Fragment, Summary
from shiyi.retrieval.packing import (
    Format,
    Frame,
    Item,
    Packed,
    Section,
    compact,
    fingerprint_of,
    notes_section,
    pack_sections,
)
from shiyi.retrieval.query import Query
from shiyi.retrieval.results import Hit
from shiyi.retrieval.search import Finding, find
from shiyi.retrieval.short_ids import ShortIds
from shiyi.retrieval.trace import SILENT, Tracer
from shiyi.store import Capture, Link, Record, Store

FLATTEN = 3.0
_NEIGHBOUR = 0.3  # of the worth of the turn that it stands beside
_SUMMARY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Deep:
    """What is asked: questions with the same filter, ids of records and captures, or both.

    unknown: what was given for an id and is none here. neighbours: turns before and after each.
    """

    queries: Sequence[Query] = ()
    ids: Sequence[str] = ()
    unknown: Sequence[str] = ()
    neighbours: int = 0
    budget: int = 100_000
    format: Format = "json"
    resume: str | None = None
    notes: Sequence[str] = ()


@dataclass(slots=True)
class _Wanted:
    """A capture to read: the span that matters, or all of it, and who led to it."""

    id: str
    worth: float
    start: int = 0
    end: int | None = None
    quoted_by: tuple[str, ...] = ()
    beside: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was found to read, in order."""

    wanted: dict[str, _Wanted]
    summaries: dict[str, float]


def deep(  # noqa: PLR0917 - the same as search, and what holds the words
    indexes: Indexes,
    store: Store,
    scope: str,
    asked: Deep,
    counter: TokenCounter,
    trace: Tracer = SILENT,
) -> DeepResult:
    """Read the words behind questions, records and captures.

    Raises UsageError as `search` does, for a budget that is too small and for a foreign cursor.
    """
    findings = [find(indexes, scope, query, trace) for query in asked.queries]
    index = findings[0].index if findings else indexes.get(scope, vectors=False)
    ids = ShortIds(index)
    with trace.stage("words"):
        reading = _reading(store, index, asked.ids, findings)
        captures = store.captures(scope, list(reading.wanted))
        _add_neighbours(store, index, reading, captures, asked.neighbours)
        heads = store.versions_of(scope, list(reading.summaries))
    fragments = {
        name: _spans(wanted, captures[name], ids)
        for name, wanted in reading.wanted.items() if name in captures
    }  # fmt: skip
    summaries = {id_: _summary(versions[-1], ids) for id_, versions in heads.items()}
    notes = [*asked.notes, *dict.fromkeys(note for one in findings for note in one.notes)]
    found = bool(fragments or summaries)
    head: dict[str, Any] = {
        "outcome": "found" if found else _nothing(findings),
        "weak": bool(findings) and found and not any(one.known for one in findings),
        "unknown": list(asked.unknown),
        "trace": trace.id,
    }
    sections = [
        notes_section(notes, asked.format),
        _section("fragments", fragments, {n: w.worth for n, w in reading.wanted.items()}, asked),
        _section("summaries", {n: [s] for n, s in summaries.items()}, reading.summaries, asked),
    ]
    frame = Frame(
        format=asked.format, fields={name: value for name, value in head.items() if value},
        request=_fingerprint(asked),
    )  # fmt: skip
    with trace.stage("pack"):
        packed = pack_sections(sections, asked.budget, counter, frame, resume=asked.resume)
    _tell(trace, packed, fragments)
    return DeepResult(
        **head, notes=[notes[int(place)] for place in packed.forms("notes")],
        fragments=[fragments[name][form] for name, form in packed.forms("fragments").items()],
        summaries=[summaries[name] for name in packed.forms("summaries")],
        truncated=packed.truncated, counter=packed.counter, tokens=packed.tokens, text=packed.text,
    )  # fmt: skip


# What to read


def _reading(
    store: Store, index: ScopeIndex, ids: Sequence[str], findings: Sequence[Finding]
) -> _Reading:
    """Return the captures that ids and questions lead to, each once, and what quotes nothing."""
    reading = _Reading({}, {})
    named = [(id_, 1 / FLATTEN, None) for id_ in ids]
    hits = zip_longest(*(one.hits for one in findings))
    found = [
        (hit.id, 1 / (place + FLATTEN), hit)
        for place, row in enumerate(hits) for hit in row if hit is not None
    ]  # fmt: skip
    records = [id_ for id_, _, _ in (*named, *found) if index.find(RECORD, id_)]
    quotes = store.links_from(index.scope, list(dict.fromkeys(records)), rels=["quotes"])
    inside = set(records)
    for id_, worth, hit in (*named, *found):
        if id_ not in inside:
            start, end = _span(hit) if hit else (0, None)
            _want(reading, _Wanted(id_, worth, start, end))
        elif id_ in quotes:
            for quote in quotes[id_]:
                _want(reading, _of_quote(quote, worth))
        else:
            reading.summaries.setdefault(id_, worth * _SUMMARY)
    return reading


def _of_quote(quote: Link, worth: float) -> _Wanted:
    return _Wanted(quote.dst, worth, quote.span_start, quote.span_end, quoted_by=(quote.src,))


def _span(hit: Hit) -> tuple[int, int]:
    start, _, end = hit.path.rpartition("#")[2].partition("-")
    return int(start), int(end)


def _want(reading: _Reading, one: _Wanted) -> None:
    """Read a capture once, from the first to the last of what led to it."""
    known = reading.wanted.setdefault(one.id, one)
    if known is not one:
        known.start = min(known.start, one.start)
        known.end = None if None in (known.end, one.end) else max(known.end or 0, one.end or 0)
        known.quoted_by = tuple(dict.fromkeys((*known.quoted_by, *one.quoted_by)))


def _add_neighbours(
    store: Store, index: ScopeIndex, reading: _Reading, captures: dict[str, Capture], most: int
) -> None:
    """Add up to `most` turns before and after each capture, in the order of the dialogue."""
    if not most:
        return
    ordered: dict[str, _Wanted] = {}
    for id_, wanted in reading.wanted.items():
        before, after = _turns(index, id_, most, later=False), _turns(index, id_, most, later=True)
        around = [*reversed(before), id_, *after]
        for one in around:
            own = reading.wanted.get(one)
            beside = _Wanted(one, wanted.worth * _NEIGHBOUR, beside=id_)
            ordered.setdefault(one, own or beside)
    reading.wanted.clear()
    reading.wanted.update(ordered)
    captures |= store.captures(index.scope, [id_ for id_ in ordered if id_ not in captures])


def _turns(index: ScopeIndex, id_: str, most: int, *, later: bool) -> list[str]:
    """Return the ids of the turns next to a capture in its dialogue, nearest first."""
    found: list[str] = []
    for _ in range(most):
        slots = index.find(FRAGMENT, found[-1] if found else id_)
        if not slots:
            break
        previous = index.previous()
        followers = np.flatnonzero(previous == slots[-1]) if later else previous[slots[:1]]
        others = [slot for slot in followers.tolist() if slot >= 0 and index.lexical.alive[slot]]
        if not others:
            break
        found.append(index.key(others[0])[1])
    return found


# How it is shown


def _spans(wanted: _Wanted, capture: Capture, ids: ShortIds) -> list[Fragment]:
    """Return the spans in which a capture can be shown, the smallest first."""
    text = capture.text
    end = len(text) if wanted.end is None else wanted.end
    fragments = split(text)
    touched = [(a, b) for a, b in fragments if a < end and wanted.start < b] or fragments[:1]
    own = [(wanted.start, end), touched[0], (touched[0][0], touched[-1][1]), (0, len(text))]
    spans = sorted(set(own), key=lambda span: (span[1] - span[0], span))
    return [_fragment(wanted, capture, span, ids) for span in spans]


def _fragment(wanted: _Wanted, capture: Capture, span: tuple[int, int], ids: ShortIds) -> Fragment:
    said = capture.captured_at
    return Fragment(
        id=ids.of(capture.capture_id), span=span, of=len(capture.text),
        text=capture.text[slice(*span)], sha256=capture.utf8_sha256, who=capture.speaker,
        said=said.isoformat() if said else None,
        recorded=None if said else capture.recorded_at.date().isoformat(),
        fidelity=capture.fidelity,
        quoted_by=[ids.of(one) for one in wanted.quoted_by] or None,
        beside=ids.of(wanted.beside) if wanted.beside else None,
    )  # fmt: skip


def _summary(record: Record, ids: ShortIds) -> Summary:
    return Summary(
        id=ids.of(record.record_id), kind=record.kind,
        date=record.date_start.isoformat() if record.date_start else None, summary=record.gist,
    )  # fmt: skip


def _section(
    name: str, shown: Mapping[str, Sequence[BaseModel]], worths: Mapping[str, float], asked: Deep
) -> Section:
    most = max((len(forms) for forms in shown.values()), default=1)
    items = [
        Item(id_, worths[id_], tuple(_form(one, asked.format) for one in forms))
        for id_, forms in shown.items()
    ]
    gains = tuple(0.8 + 0.2 * (n + 1) / most for n in range(most))
    return Section(name, tuple(items), gains=gains)


def _form(one: BaseModel, format_: Format) -> str:
    fields = one.model_dump(exclude_none=True)
    if format_ == "json":
        return compact(fields)
    text = fields.pop("text", None) or fields.pop("summary")
    head = " · ".join(f"{name} {_plain(value)}" for name, value in fields.items())
    return f"- {visible(head)}\n{_quoted(text)}"


def _quoted(text: str) -> str:
    """Return words as a block in which every line, also an empty one, begins with a mark."""
    return "\n".join(f"> {line}" for line in visible(text).split("\n"))


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _nothing(findings: Iterable[Finding]) -> str:
    return "unavailable" if {one.outcome for one in findings} == {"unavailable"} else "empty"


def _fingerprint(asked: Deep) -> str:
    questions = [one.told() for one in asked.queries]
    return fingerprint_of("deep", questions, list(asked.ids), asked.neighbours)


def _tell(trace: Tracer, packed: Packed, fragments: Mapping[str, Sequence[Fragment]]) -> None:
    """Tell the trace which captures are shown, and which in a smaller span."""
    forms = packed.forms("fragments")
    trace.chose(forms)
    smaller = {id_ for id_, form in forms.items() if form < len(fragments[id_]) - 1}
    trace.stepped_down(dict.fromkeys(sorted(smaller), "span"))
    trace.left_out("budget", (id_ for id_ in fragments if id_ not in forms))
