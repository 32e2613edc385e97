"""Cards: one memory in four forms, from its bare id to all that an answer can say of it.

A form is JSON on one line or one line of Markdown. What is unknown is left out, numbers are
rounded, and ids are shortened to what is unique in the scope, since tokens are what a reader pays.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np

from shiyi.core.text import visible
from shiyi.indexer.documents import NO_DATE, RECORD, SOURCED
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array
from shiyi.retrieval.layout import inline
from shiyi.retrieval.level_results import Card
from shiyi.retrieval.packing import Format, Item, compact
from shiyi.retrieval.results import PARTS, Hit, Passage
from shiyi.retrieval.short_ids import ShortIds
from shiyi.store import Record
from shiyi.store.kinds import KINDS, LAYERS, STATUSES

__all__ = ["FORMS", "CardDraft", "draft_of_hit", "draft_of_slot", "restated"]
FORMS = ("id", "line", "short", "full")
_LINE, _SHORT = 36.0, 110.0  # width of a text, about in tokens
_NARROW = 0.3  # width of a character that is not Han
_WORST_CUT = 0.5  # of the width; rather inside a clause than shorter than that
_SHOWN = 8  # ids of the same words, topics
_SOURCES = 8
_FIRST_WIDE = 0x2E80
_BREAKS = "。！？!?…\n；;，,、："
_BLANKS = re.compile(r"\s+")
_ACTIVE = STATUSES.index("active")
_EPOCH = date(1970, 1, 1)
_DATE_LENGTHS = {"year": 4, "month": 7}
_LINE_FIELDS = ("id", "rel", "of", "date", "fit", "kind", "who", "text", "also", "path")
_SHORT_FIELDS = (
    "id", "rel", "of", "date", "fit", "kind", "who", "title", "text", "also", "path", "fidelity",
    "status", "links",
)  # fmt: skip
_FIELDS = tuple(Card.model_fields)
_NAMES_OF = tuple(map(frozenset, (("id",), _LINE_FIELDS, _SHORT_FIELDS, _FIELDS)))
_WIDTHS = {1: _LINE, 2: _SHORT}


@dataclass(slots=True)
class CardDraft:
    """All that is known of one memory. id and text are whole; passage is where it matched."""

    id: str
    text: str
    passage: Passage
    fidelity: str
    fields: dict[str, Any] = field(default_factory=dict)
    _packed: list[dict[str, Any]] = field(default_factory=list)  # the forms that were packed

    def form(self, level: int) -> dict[str, Any]:
        """Return the fields of a form, those that are empty left out."""
        return self._forms((level,))[0]

    def card(self, level: int) -> Card:
        """Return a form as a value."""
        return Card(**(self._packed[level] if self._packed else self.form(level)))

    def _forms(self, levels: Iterable[int]) -> list[dict[str, Any]]:
        known = {**self.fields, "text": self.text}
        told = [name for name in _FIELDS if (value := known.get(name)) or value == 0]
        forms = []
        for level in levels:
            names = _NAMES_OF[level]
            form = {name: known[name] for name in told if name in names}
            if "text" in form and level in _WIDTHS:
                form["text"] = _clipped(self.passage, _WIDTHS[level])
            forms.append(form)
        return forms

    def item(self, value: float, format_: Format, most: int = len(FORMS)) -> Item:
        """Return the first `most` forms as something to pack."""
        forms = self._packed = self._forms(range(most))
        made = [compact(form) if format_ == "json" else _markdown(form) for form in forms]
        return Item(self.id, value, tuple(made))


def draft_of_hit(index: ScopeIndex, hit: Hit, slot: int, ids: ShortIds) -> CardDraft:
    """Return the card of what was found, its text where it matched."""
    draft = draft_of_slot(index, slot, ids)
    draft.passage = hit.snippet
    draft.fields["also"] = [ids.of(one) for one in hit.also[:_SHOWN]]
    parts = {name: round(getattr(hit.parts, name), 2) for name in PARTS}
    draft.fields |= {
        "score": round(hit.score, 2),
        "why": {name: value for name, value in parts.items() if value},
        "terms": hit.why.terms[:_SHOWN],
    }
    return draft


def draft_of_slot(index: ScopeIndex, slot: int, ids: ShortIds) -> CardDraft:
    """Return the card of a document of the index."""
    row, card = index.columns.row(slot), index.card(slot)
    is_record = row.type == RECORD
    text = card["gist"] if is_record else card["text"]
    fields: dict[str, Any] = {
        "id": ids.of(row.id),
        "date": _days(row.date_start, row.date_end, card.get("date_precision")),
        "fidelity": None if card["fidelity"] in {"verbatim", SOURCED} else card["fidelity"],
    }
    if is_record:
        fields |= {
            "kind": KINDS[row.kind],
            "status": STATUSES[row.status] if row.status != _ACTIVE else None,
            "layer": LAYERS[row.layer],
            "title": card["title"] if card["title"] not in text else None,
            "detail": card["detail"],
            "salience": row.salience,
            "topics": card["topics"][:_SHOWN],
            "sources": [f"{ids.of(c)}:{a}-{b}" for c, a, b in card["quotes"][:_SOURCES]],
            "modified": (card.get("updated_at") or "")[:10],
        }
    else:
        fields["who"] = card["speaker"]
    return CardDraft(row.id, text, _all_of(text), card["fidelity"], fields)


def restated(draft: CardDraft, record: Record) -> None:
    """Let a card say what a version of its record says."""
    draft.text, draft.passage = record.gist, _all_of(record.gist)
    first = record.date_start.isoformat() if record.date_start else None
    length = _DATE_LENGTHS.get(record.date_precision)
    draft.fields |= {
        "title": record.title if record.title not in record.gist else None,
        "detail": record.detail,
        "date": first[:length] if first else None,
        "modified": record.updated_at.date().isoformat(),
        "status": None if record.status == "active" else record.status,
    }


# Cutting a text


def _all_of(text: str) -> Passage:
    return Passage(text=text, of="gist", start=0, end=len(text), matches=[])


def _clipped(passage: Passage, width: float) -> str:
    """Return the clauses from the first match on that fit the width, on one line."""
    text = passage.text
    start = 0
    if passage.matches and len(text) > width:
        first, end = (max(0, place - passage.start) for place in passage.matches[0])
        late = end > width * 0.8 and _width(text[:end]) > width * 0.8
        if late and _width(text) > width:
            start = max((text.rfind(mark, 0, first) + 1 for mark in _BREAKS), default=0)
            if _width(text[start:end]) > width * 0.8:
                start = max(0, first - 8)
    cut = _fitting(text[start:].strip(), width)
    return f"{'…' if start else ''}{_one_line(cut)}"


def _fitting(text: str, width: float) -> str:
    """Return the beginning of a text that fits, cut at the end of a clause if one is near."""
    if len(text) <= width:
        return text
    used = np.cumsum(_widths(text[: int(width / _NARROW) + 2]))
    end = int(used.searchsorted(width, side="right"))
    if end == len(used):
        return text
    clause = max(text.rfind(mark, 0, end) for mark in _BREAKS) + 1
    if clause and used[clause - 1] >= width * _WORST_CUT:
        end = clause
    return f"{text[:end].rstrip(_BREAKS)}…"


def _width(text: str) -> float:
    return float(np.cumsum(_widths(text))[-1]) if text else 0.0


def _widths(text: str) -> Array:
    """Return how wide each character is, float64."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.where(codes >= _FIRST_WIDE, 1.0, _NARROW)


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text)


def _days(first: int, last: int, precision: str | None) -> str | None:
    if first == NO_DATE:
        return None
    start, end = ((_EPOCH + timedelta(days=days)).isoformat() for days in (first, last))
    length = _DATE_LENGTHS.get(precision or "")
    if length and start[:length] == end[:length]:
        return start[:length]
    return start if start == end else f"{start}..{end}"


# Markdown


def _markdown(form: Mapping[str, Any]) -> str:
    """Return a form as one item of a list."""
    head = [inline(str(form[name])) for name in ("id", "date", "kind", "who") if name in form]
    if "rel" in form:
        head.insert(1, f"{form['rel']} {form['of']}")
    if "text" not in form:
        return f"- {visible(' '.join(head))}"
    title = f" · {inline(form['title'])}" if "title" in form else ""
    placed = {"id", "rel", "of", "date", "kind", "who", "title", "text"}
    more = [f" · {name} {inline(_shown(form[name]))}" for name in form if name not in placed]
    line = f"{' '.join(head)}{title}: {inline(form['text'])}{''.join(more)}"
    return f"- {visible(_one_line(line))}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
