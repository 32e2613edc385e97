"""From records to the lines of a map, each in several sizes, and from lines to a packed answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shiyi.core.text import visible
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.layout import inline
from shiyi.retrieval.map_results import MapEntry
from shiyi.retrieval.packing import (
    Format,
    Frame,
    Item,
    Order,
    Packed,
    Section,
    notes_section,
    pack_sections,
)
from shiyi.store import Record, Store

_TITLE, _GIST = 80, 200  # characters of the shorter forms
_NAMES = 8  # aliases and topics shown
_LINE = ("title", "kind", "date", "status", "block", "fit", "due", "when", "records", "with_id")
_MOST_DIGITS = 9  # of the number of a change in a cursor, so that one digit tells how many
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Listing:
    """Something to list: its whole id or its name, what it is worth, and its sizes, ascending.

    What has no size is never reached and only counted. items: as it is written in each format,
    for who lists the same again.
    """

    id: str
    value: float
    sizes: tuple[MapEntry, ...]
    is_record: bool = False
    items: dict[Format, Item] = field(default_factory=dict)

    def item(self, format_: Format) -> Item:
        """Return it as something to pack."""
        found = self.items.get(format_)
        if found is None:
            made = tuple(form_of(size, format_) for size in self.sizes) or (self.id,)
            found = self.items[format_] = Item(self.id, self.value, made, {})
        return found

    def worth(self, value: float) -> "Listing":
        """Return the same, worth something else."""
        items = {name: replace(item, value=value) for name, item in self.items.items()}
        return replace(self, value=value, items=items)


@dataclass(frozen=True, slots=True)
class Group:
    """Listings under one name, in the order shown."""

    name: str
    listings: Sequence[Listing]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """How an answer is asked for. mark: of the change as of which its cursor goes on."""

    budget: int
    format: Format = "json"
    resume: str | None = None
    request: str = ""
    mark: str = ""


def mark_of(seq: int) -> str:
    """Return what a cursor ends with that goes on as of a change: its number, and its length."""
    digits = str(seq)
    return f"{digits}{len(digits)}" if len(digits) <= _MOST_DIGITS else "0"


def read_cursor(cursor: str | None) -> tuple[str | None, int | None]:
    """Return a cursor without its mark, and the change that it names.

    What is none is returned as it is, and refused by who packs.
    """
    if not cursor or not cursor.isascii() or not cursor.isdigit():
        return cursor, None
    length = int(cursor[-1])
    seq = cursor[-1 - length : -1]
    return cursor[: -1 - length], int(seq) if seq else None


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a page shows: the packed answer, and the entries shown of each group.

    forms: by the whole id of each record shown, how far it is from its largest size.
    """

    packed: Packed
    shown: Mapping[str, list[MapEntry]]
    forms: Mapping[str, int]


def entry_of(record: Record, id_: str, *, silent: bool = False, **more: Any) -> MapEntry:
    """Return the whole entry of a record, under a short id.

    silent: its gist is the words of a capture, so it is not shown.
    """
    said: dict[str, Any] = {
        "title": record.title, "kind": record.kind, "date": date_of(record), "phase": record.phase,
        "status": None if record.status == "active" else record.status,
        "gist": None if silent else record.gist,
        "aliases": [_cut(a, _TITLE) for a in record.aliases if a != record.title][:_NAMES] or None,
        "topics": [_cut(topic, _TITLE) for topic in record.topics[:_NAMES]] or None,
        "salience": record.salience,
    }  # fmt: skip
    return MapEntry(id=id_, **{**said, **more})


def sizes(entry: MapEntry, *, stub: bool = False) -> tuple[MapEntry, ...]:
    """Return an entry as its id, as one line, short and, unless it is a stub, whole."""
    line = {name: getattr(entry, name) for name in _LINE}
    if entry.title is not None:
        line["title"] = _cut(entry.title, _TITLE)
    named = MapEntry(id=entry.id, **line)
    if stub:
        return MapEntry(id=entry.id), named
    short = named.model_copy(
        update={"gist": entry.gist and _cut(entry.gist, _GIST), "context": entry.context}
    )
    return MapEntry(id=entry.id), named, short, entry


def date_of(record: Record) -> str | None:
    """Return the date of a record as precisely as it is known."""
    first, last = record.date_start, record.date_end or record.date_start
    if first is None or last is None:
        return None
    length = {"year": 4, "month": 7}.get(record.date_precision, 10)
    start, end = first.isoformat()[:length], last.isoformat()[:length]
    return start if start == end else f"{start}..{end}"


def pack_groups(
    groups: Sequence[Group],
    page: Page,
    counter: TokenCounter,
    fields: Mapping[str, Any],
    *,
    notes: Sequence[str] = (),
    order: Order = "value",
) -> Sheet:
    """Return what fits the budget.

    Raises UsageError for a budget that is too small and for a cursor of another request.
    """
    sections = [
        Section(
            group.name,
            tuple(one.item(page.format) for one in group.listings),
            group.weight,
        )
        for group in groups
    ]
    said = notes_section(notes, page.format)
    frame = Frame(format=page.format, fields=fields, request=page.request, mark=page.mark)
    packed = pack_sections(
        [said, *sections], page.budget, counter, frame, resume=page.resume, order=order
    )
    shown: dict[str, list[MapEntry]] = {}
    smaller: dict[str, int] = {}
    for group in groups:
        forms = packed.forms(group.name)
        own = [one for one in group.listings if one.id in forms]
        if own:
            shown[group.name] = [one.sizes[forms[one.id]] for one in own]
        for one in own:
            if one.is_record:
                down = len(one.sizes) - 1 - forms[one.id]
                smaller[one.id] = min(down, smaller.get(one.id, down))
    return Sheet(packed, shown, smaller)


def form_of(entry: MapEntry, format_: Format) -> str:
    """Return an entry as compact JSON, or as a line of Markdown."""
    if format_ == "json":
        return entry.model_dump_json(exclude_none=True)
    if entry.title is None:
        return _line(f"- {entry.id}")
    named = ":" in entry.id  # by a word of ours and a name, which the title shows
    before = (
        entry.block, entry.when, entry.due, entry.date, None if named else entry.kind,
        entry.status, inline(entry.phase or ""), inline(entry.title),
    )  # fmt: skip
    parts = [" · ".join(part for part in before if part)]
    parts += [f" — {inline(text)}" for text in (entry.gist, entry.context) if text]
    for name, values in (("also", entry.aliases), ("topics", entry.topics)):
        if values:
            parts.append(f" · {name} {inline(', '.join(values))}")
    if entry.records is not None:
        parts.append(f" · {entry.records} record{'s' * (entry.records != 1)}")
    if entry.fit == "possible":
        parts.append(" · possibly")
    if entry.with_id:
        parts.append(f" · against {entry.with_id}")
    if entry.examples:
        parts.append(f" · such as {', '.join(entry.examples)}")
    return _line(f"- {''.join(parts)}{'' if named else f' · {entry.id}'}")


def repeats_words(store: Store, scope: str, records: Sequence[Record]) -> set[str]:
    """Return the ids of the records whose gist is, word for word, what a capture says.

    Such a gist is the words themselves, so a map names the record by its title only.
    """
    gists = {record.record_id: record.gist.strip() for record in records}
    suspects: dict[str, list[str]] = {}
    for id_, links in store.links_from(scope, list(gists), rels=["quotes"]).items():
        wide = [link.dst for link in links if link.span_end - link.span_start >= len(gists[id_])]
        if wide:
            suspects[id_] = wide
    captures = store.captures(scope, sorted({name for wide in suspects.values() for name in wide}))
    return {
        id_
        for id_, wide in suspects.items()
        if any(name in captures and gists[id_] in captures[name].text for name in wide)
    }


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _line(text: str) -> str:
    return visible(_BLANKS.sub(" ", text).strip())
