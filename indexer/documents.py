"""What is indexed: one document for each record head and one for each fragment of a capture.

A document is a pure function of the store's rows, so the index is a function of the store.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np

from shiyi.indexer.analyze import analyzer_fingerprint, han_share, term_key, terms
from shiyi.indexer.fold import fold, to_simplified
from shiyi.indexer.fragments import LIMIT, NARROW, OVERLAP, split
from shiyi.indexer.segment import Array, count_terms
from shiyi.store import Capture, Link, Record, Store
from shiyi.store.kinds import KINDS, LAYERS, STATUSES

RECORD, FRAGMENT = 0, 1
SOURCED = "sourced"  # a statement of ours that quotes the words it rests on
_VERSION = 4  # of what this module makes of a row
NO_DATE = np.iinfo(np.int32).min
NEVER = np.iinfo(np.int64).max
_NO_LAYER = 255
_CONTEXT = 200  # characters of the turn before that are embedded with a turn
# Speakers that are no names; before words, a name says who, and these would only be noise.
_ROLES = {"user", "assistant", "system", "tool", "document", "human", "ai", "bot", "me", "我"}
_EPOCH = date(1970, 1, 1).toordinal()
# Fields count as often as these: a name in a title says more than one in passing.
_WEIGHTS = {"title": 2, "gist": 1, "detail": 1, "aliases": 2, "topics": 1}

COLUMNS = np.dtype(
    [
        ("id", "S26"), ("type", "u1"), ("start", "<i4"), ("end", "<i4"), ("version", "<i4"),
        ("kind", "u1"), ("layer", "u1"), ("status", "u1"), ("salience", "u1"),
        ("date_start", "<i4"), ("date_end", "<i4"), ("expires", "<i8"), ("han", "<f4"),
        ("previous", "S26"), ("passage", "V32"),
    ]
)  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "id": "", "type": 0, "start": 0, "end": 0, "version": 0, "kind": _NO_LAYER, "layer": _NO_LAYER,
    "status": 0, "salience": 0, "date_start": NO_DATE, "date_end": NO_DATE, "expires": NEVER,
    "han": 0.0, "previous": "", "passage": b"",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """One searchable text.

    key orders documents: (type, id, start). body is what terms come from, (text, weight) a field.
    passage is what is embedded. columns fill a row of COLUMNS. card is what an answer shows.
    """

    key: tuple[int, str, int]
    body: tuple[tuple[str, int], ...]
    passage: str
    columns: dict[str, Any]
    topics: tuple[str, ...] = ()
    card: dict[str, Any] = field(default_factory=dict)

    def counts(self) -> tuple[Array, Array]:
        """Return the keys and frequencies of the document's terms."""
        return count_terms(
            term for text, weight in self.body for term in terms(text) for _ in range(weight)
        )


def documents_fingerprint() -> str:
    """Return a name for everything that decides which documents the store's rows become."""
    parts = [analyzer_fingerprint(), _VERSION, LIMIT, OVERLAP, NARROW, _CONTEXT, _WEIGHTS]
    return hashlib.sha256(repr(parts).encode("utf-8")).hexdigest()[:16]


def topic_key(topic: str) -> int:
    """Return the 64 bits by which the index knows a topic, whatever its script or case."""
    return term_key(fold(topic).strip())


def record_document(record: Record, quotes: Sequence[Link]) -> Document:
    """Return the document of a record head."""
    statement = [record.title] if record.title not in record.gist else []
    statement += [record.gist, *([record.detail] if record.detail else [])]
    texts = {
        "title": [record.title],
        "gist": [record.gist],
        "detail": [record.detail] if record.detail else [],
        "aliases": record.aliases,
        "topics": record.topics,
    }
    body = tuple((text, _WEIGHTS[name]) for name, values in texts.items() for text in values)
    return Document(
        key=(RECORD, record.record_id, 0),
        body=body,
        passage=to_simplified("\n".join(statement)),
        topics=record.topics,
        columns={
            "version": record.version,
            "kind": KINDS.index(record.kind),
            "layer": LAYERS.index(record.layer),
            "status": STATUSES.index(record.status),
            "salience": record.salience,
            "date_start": _days(record.date_start),
            "date_end": _days(record.date_end or record.date_start),
            "expires": _seconds(record.expires_at),
            "han": han_share("\n".join(statement)),
        },
        card={
            "title": record.title,
            "gist": record.gist,
            "detail": record.detail,
            "topics": list(record.topics),
            "aliases": list(record.aliases),
            "date_start": _iso(record.date_start),
            "date_end": _iso(record.date_end),
            "date_precision": record.date_precision,
            "updated_at": _iso(record.updated_at),
            "fidelity": SOURCED if quotes else "summary_only",
            "quotes": [[q.dst, q.span_start, q.span_end] for q in quotes],
            "external_id": record.external_id,
        },
    )


def capture_documents(capture: Capture, previous: Capture | None) -> list[Document]:
    """Return the documents of a capture's fragments.

    Each is embedded with the name of who said it, and the first fragment of a turn in a dialogue
    also with the turn before it.
    """
    day = capture.captured_at.date() if capture.captured_at else None
    about = _about(capture)
    named = capture.speaker.lower() not in _ROLES
    spoken = f"{capture.speaker}: " if named else ""
    documents = []
    for position, (start, end) in enumerate(split(capture.text)):
        text = capture.text[start:end]
        before = previous if position == 0 else None
        context = f"{before.text[-_CONTEXT:]}\n" if before else ""
        documents.append(
            Document(
                key=(FRAGMENT, capture.capture_id, start),
                body=((text, 1), *about),
                passage=to_simplified(f"{context}{spoken}{text}"),
                topics=_topics(capture),
                columns={
                    "end": end,
                    "version": 1,
                    "date_start": _days(day),
                    "date_end": _days(day),
                    "han": han_share(text),
                    "previous": (capture.previous_id or "") if position == 0 else "",
                },
                card={
                    "text": text,
                    "speaker": capture.speaker,
                    "captured_at": _iso(capture.captured_at),
                    "recorded_at": _iso(capture.recorded_at),
                    "session": capture.session_id,
                    "origin": capture.origin,
                    "fidelity": capture.fidelity,
                    "external_id": capture.external_id,
                },
            )
        )
    return documents


def documents_of_records(store: Store, scope: str, ids: Sequence[str]) -> Iterable[list[Document]]:
    """Yield the documents of each record among `ids` that exists."""
    if not ids:
        return
    quotes = store.links_from(scope, ids)
    for record_id, versions in store.versions_of(scope, ids).items():
        own = [link for link in quotes.get(record_id, []) if link.rel == "quotes"]
        yield [record_document(versions[-1], own)]


def documents_of_captures(store: Store, scope: str, ids: Sequence[str]) -> Iterable[list[Document]]:
    """Yield the documents of each capture among `ids` that exists."""
    captures = store.captures(scope, ids) if ids else {}
    yield from documents_of_batch(store, scope, list(captures.values()))


def documents_of_batch(
    store: Store, scope: str, captures: Sequence[Capture]
) -> Iterable[list[Document]]:
    """Yield the documents of each capture, with the turns before them read in one go."""
    wanted = {c.previous_id for c in captures if c.previous_id is not None}
    known = {c.capture_id: c for c in captures}
    before = {**store.captures(scope, sorted(wanted - known.keys())), **known}
    for capture in captures:
        yield capture_documents(capture, before.get(capture.previous_id or ""))


def row(document: Document, passage: bytes) -> tuple[Any, ...]:
    """Return the row of COLUMNS for a document whose passage has this SHA-256."""
    kind, id_, start = document.key
    given = {"type": kind, "id": id_, "start": start, "passage": passage, **document.columns}
    return tuple(given.get(name, _DEFAULTS[name]) for name in _DEFAULTS)


def _about(capture: Capture) -> tuple[tuple[str, int], ...]:
    """Return what a note is called and filed under; a turn of a dialogue has no name of its own."""
    title = capture.attrs.get("title")
    if capture.previous_id is not None or not isinstance(title, str):
        title = ""
    return tuple((text, 1) for text in (title, *_topics(capture)) if text)


def _topics(capture: Capture) -> tuple[str, ...]:
    given = capture.attrs.get("topics")
    return tuple(t for t in given if isinstance(t, str)) if isinstance(given, list) else ()


def _days(day: date | None) -> int:
    return NO_DATE if day is None else day.toordinal() - _EPOCH


def _seconds(moment: datetime | None) -> int:
    return NEVER if moment is None else int(moment.timestamp())


def _iso(value: date | datetime | None) -> str | None:
    return None if value is None else value.isoformat()
