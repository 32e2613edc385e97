"""The live index of one scope: a generation, and what the change feed brought since."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar

import numpy as np

from shiyi.indexer.columns import Columns, positions_of
from shiyi.indexer.documents import (
    COLUMNS,
    FRAGMENT,
    NEVER,
    NO_DATE,
    RECORD,
    Document,
    documents_of_captures,
    documents_of_records,
    row,
    topic_key,
)
from shiyi.indexer.embeddings import passage_key
from shiyi.indexer.generation import Generation
from shiyi.indexer.graph import Graph
from shiyi.indexer.lexical import LiveOkapi
from shiyi.indexer.names import Names
from shiyi.indexer.quotes import QUOTES, Quotes
from shiyi.indexer.relations import Relations
from shiyi.indexer.segment import Array, Segment
from shiyi.indexer.vectors import VectorTable
from shiyi.store import Store
from shiyi.store.kinds import KINDS, LAYERS, STATUSES
from shiyi.store.rows import SEARCHED

_EPOCH = date(1970, 1, 1).toordinal()
_PLACES = 1 << 14  # of base documents, kept by their ids
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which documents a search may see. Empty fields allow everything.

    Captures have no kind, layer or status, so those concern records only; `captures` says whether
    captures are seen. since and until are inclusive days; a document matches when its dates
    overlap them, and an undated one does not. What has expired is seen only when it is wanted.
    """

    kinds: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    since: date | None = None
    until: date | None = None
    captures: bool = True
    records: bool = True
    expired: bool = False

    @property
    def concerns_records(self) -> bool:
        """Whether it matters what is a record and what is a capture."""
        of_records = self.kinds or self.layers or self.statuses
        return bool(of_records) or not (self.captures and self.records)


class ScopeIndex:
    """Everything that a search in one scope needs. One slot a document; slots are never reused."""

    def __init__(self, scope: str, generation: Generation | None) -> None:
        self.scope = scope
        self.generation = generation
        self.seq = generation.manifest.seq if generation else 0
        segment = generation.segment if generation else Segment.empty()
        self.lexical = LiveOkapi(segment)
        self._base = generation.columns if generation else np.empty(0, COLUMNS)
        self.columns = Columns(self._base)
        # The base documents are ordered by (type, id, start): records, then fragments.
        self._records = int(np.count_nonzero(self.columns["type"] == RECORD))
        self._documents: list[Document] = []
        self._slots_of: dict[tuple[int, str], list[int]] = {}
        self._base_slots: dict[tuple[int, str], list[int]] = {}  # of those looked for last
        self._worked_out: dict[str, Any] = {}
        self._lasting: dict[str, Any] = {}
        self._previous = np.empty(0, np.int64)  # of the slots looked at so far
        self._followers: dict[str, list[int]] = {}  # of turns that are not in the base
        fragments = self._base[self._records :]
        quotes = generation.quotes if generation else np.empty(0, QUOTES)
        self._quotes = Quotes(quotes, fragments, self._records)
        self._relations = Relations()
        self.vectors: VectorTable | None = None
        self._none_waits = False  # known of the documents as they stand

    def __len__(self) -> int:
        return self.lexical.corpus_size

    @property
    def slots(self) -> int:
        """How many slots there are, tombstones included."""
        return self.lexical.slots

    @property
    def base_size(self) -> int:
        """How many slots belong to the generation."""
        return len(self._base)

    @property
    def added(self) -> int:
        """How many documents came since the generation was built."""
        return len(self._documents)

    # Following the store

    def refresh(self, store: Store) -> None:
        """Apply the change feed up to now."""
        last = store.last_seq
        if last == self.seq:
            return
        self._worked_out.clear()
        records: dict[str, None] = {}
        captures: dict[str, None] = {}
        for change in store.changes_since(self.scope, self.seq):
            if change.what not in SEARCHED:
                continue
            if change.what == "capture":
                captures[change.id] = None
            elif change.what in {"record", "link", "unlink"}:
                records[change.id] = None
            self._relations.note(change)
        captures |= self._waiting_for(captures)
        for documents in (
            *documents_of_records(store, self.scope, list(records)),
            *documents_of_captures(store, self.scope, list(captures)),
        ):
            self._replace(documents)
        self.seq = last

    def _waiting_for(self, captures: Collection[str]) -> dict[str, None]:
        """Return the turns whose turn before came after them: only now its words are known."""
        if captures:
            self.previous()
        slots = (slot for id_ in captures for slot in self._followers.get(id_, ()))
        return dict.fromkeys(self.key(slot)[1] for slot in slots)

    def _replace(self, documents: Sequence[Document]) -> None:
        """Put the documents of one record or capture in the place of those it had."""
        if not documents:
            return
        owner = documents[0].key[:2]
        old = self.find(*owner)
        for slot in old:
            self.lexical.delete(slot)
        if owner[0] == FRAGMENT and old and old[-1] < len(self._base):
            followers = np.flatnonzero(self._previous == old[-1]).tolist()
            self._followers.setdefault(owner[1], []).extend(followers)
        slots = self._slots_of[owner] = [self._add(document) for document in documents]
        if owner[0] == RECORD:
            self._quotes.follow_record(slots[0], documents[0].card["quotes"])
        else:
            self._quotes.follow_capture(owner[1], replaced=bool(old))

    def _add(self, document: Document) -> int:
        slot = self.lexical.add(*document.counts())
        self.columns.append(row(document, passage_key(document.passage)))
        self._documents.append(document)
        if self.vectors is not None:
            self.vectors.add(None)
        self._none_waits = False
        return slot

    # Vectors

    def attach_vectors(self, vectors: VectorTable) -> None:
        """Take the vectors of the generation; documents added since wait to be embedded."""
        for _ in range(len(self._base), self.slots):
            vectors.add(None)
        self.vectors = vectors
        self._none_waits = False

    def waiting(self) -> Array:
        """Return the living slots that are not embedded yet, ascending."""
        if self.vectors is None or self._none_waits:
            return np.empty(0, np.int64)
        alive = self.lexical.alive[: self.slots]
        waiting = np.flatnonzero(alive & ~self.vectors.embedded[: self.slots])
        self._none_waits = not len(waiting)
        return waiting

    def passage_keys(self, slots: Iterable[int]) -> list[bytes]:
        """Return the SHA-256 of the passages of the given slots."""
        return [bytes(key) for key in self.columns.rows(np.fromiter(slots, np.int64))["passage"]]

    def passages(self, store: Store, slots: Iterable[int]) -> list[str]:
        """Return the texts to embed for the given slots."""
        base = len(self._base)
        found = []
        for slot in slots:
            if slot >= base:
                found.append(self._documents[slot - base].passage)
            else:
                found.append(self._passage_from_store(store, slot))
        return found

    def _passage_from_store(self, store: Store, slot: int) -> str:
        kind, id_, start = self.key(slot)
        read = documents_of_records if kind == RECORD else documents_of_captures
        for documents in read(store, self.scope, [id_]):
            for document in documents:
                if document.key[2] == start:
                    return document.passage
        return ""

    # Looking at documents

    def key(self, slot: int) -> tuple[int, str, int]:
        """Return (type, id, start) of a slot."""
        line = self.columns.row(slot)
        return line.type, line.id, line.start

    def card(self, slot: int) -> dict[str, Any]:
        """Return the card of a slot."""
        if slot < len(self._base):
            assert self.generation is not None
            return self.generation.card(slot)
        return self._documents[slot - len(self._base)].card

    def find(self, kind: int, id_: str) -> list[int]:
        """Return the living slots of a record or capture, in text order; not to be written to."""
        key = (kind, id_)
        known = self._slots_of.get(key)
        if known is None:
            known = self._base_slots.get(key)
        if known is None:
            if len(self._base_slots) >= _PLACES:
                self._base_slots.clear()
            known = self._base_slots[key] = self._find_in_base(kind, id_)
        return known

    def _find_in_base(self, kind: int, id_: str) -> list[int]:
        first, last = self._region(kind)
        # Not of the rows themselves: a search in every 26th byte of them would copy all ids first.
        ids, name = self.columns["id"][first:last], id_.encode("ascii")
        start = end = int(ids.searchsorted(name))
        while end < len(ids) and ids[end] == name:
            end += 1
        return list(range(first + start, first + end))

    def once(self, name: str, work_out: Callable[[], T]) -> T:
        """Return what follows from the index as it stands, worked out once until it changes."""
        if name not in self._worked_out:
            self._worked_out[name] = work_out()
        found: T = self._worked_out[name]
        return found

    def lasting(self, name: str, make: Callable[[], T]) -> T:
        """Return what is made once and follows the index by itself."""
        if name not in self._lasting:
            self._lasting[name] = make()
        found: T = self._lasting[name]
        return found

    def sorted_ids(self) -> list[Array]:
        """Return the ids that are or were here, as arrays of S26, each ascending."""
        ids = self.columns["id"]
        base = len(self._base)
        return [ids[: self._records], ids[self._records : base], np.sort(ids[base:])]

    def ids_beginning(self, short: str) -> list[str]:
        """Return the ids that begin so, ascending."""
        first, found = short.strip().upper().encode("ascii"), set[bytes]()
        for ids in self.sorted_ids():
            start, end = np.searchsorted(ids, first), np.searchsorted(ids, first + b"~")
            found.update(bytes(one) for one in ids[start:end])
        return sorted(one.decode("ascii") for one in found)

    def _region(self, kind: int) -> tuple[int, int]:
        """Return where the base documents of a type lie."""
        return (0, self._records) if kind == RECORD else (self._records, len(self._base))

    def previous(self) -> Array:
        """Return for each slot that of the turn before in its dialogue, or -1; int64 (slots,)."""
        known = len(self._previous)
        if known < self.slots:
            fresh = np.arange(known, self.slots)
            self._previous = np.concatenate([self._previous, self._find_previous(fresh)])
            for slot in fresh[fresh >= len(self._base)].tolist():
                kind, id_, _ = self._documents[slot - len(self._base)].key
                if kind == FRAGMENT:
                    self._previous[self._followers.get(id_, [])] = slot
        return self._previous

    def _find_previous(self, slots: Array) -> Array:
        """Return the turn before each slot, and remember who waits for one that may come."""
        found = np.full(len(slots), -1, np.int64)
        wanted = self.columns["previous"][slots]
        asking = np.flatnonzero(wanted != b"")
        first, last = self._region(FRAGMENT)
        ids = self._base["id"][first:last]
        places = np.searchsorted(ids, wanted[asking], side="right") - 1
        known = places >= 0
        known[known] = ids[places[known]] == wanted[asking[known]]
        known[known] = self.lexical.alive[first + places[known]]
        found[asking[known]] = first + places[known]
        for position in asking[~known].tolist():
            name = wanted[position].decode("ascii")
            self._followers.setdefault(name, []).append(int(slots[position]))
            added = self._slots_of.get((FRAGMENT, name))
            if added:
                found[position] = added[-1]
        return found

    def quotes(self) -> Array:
        """Return (record slot, fragment slot) of every quote, some of them dead, int64 (n, 2)."""
        return self._quotes.pairs(self._slot_at)

    def _slot_at(self, capture: str, place: int) -> int | None:
        """Return the slot of the fragment of a capture in which a place lies."""
        slots = self.find(FRAGMENT, capture)
        starts = self.columns.rows(np.array(slots, np.int64))["start"].tolist()
        inside = [slot for slot, start in zip(slots, starts, strict=True) if start <= place]
        return inside[-1] if inside else None

    def graph(self, store: Store) -> Graph:
        """Return the graph of the scope, up to date with the documents."""
        return self._relations.follow(self, store)

    def names(self) -> Names:
        """Return the names of the entities of the scope."""
        return self._relations.names_of(self)

    # Filtering

    def allowed(self, filter_: Filter, now: datetime) -> Array:
        """Return which slots a search may see, bool (slots,)."""
        allowed: Array = self.lexical.alive[: self.slots].copy()
        seconds = int(now.timestamp())
        if not filter_.expired and seconds >= self.once("expiry", self._first_expiry):
            allowed &= self.columns["expires"] > seconds
        if filter_.since is not None or filter_.until is not None:
            allowed &= self.overlapping(filter_.since, filter_.until)
        if filter_.topics:
            allowed &= self._has_topic(filter_.topics)
        if filter_.concerns_records:
            allowed &= self._fits_as_record(filter_)
        return allowed

    def _fits_as_record(self, filter_: Filter) -> Array:
        """Return which slots have the type, kind, layer and status wanted, bool (slots,)."""
        is_record = self.columns["type"] == RECORD
        fits = np.ones(self.slots, bool)
        if not filter_.captures:
            fits &= is_record
        if not filter_.records:
            fits &= ~is_record
        for name, wanted, values in (
            ("kind", filter_.kinds, KINDS),
            ("layer", filter_.layers, LAYERS),
            ("status", filter_.statuses, STATUSES),
        ):
            if wanted:
                fits &= ~is_record | positions_of(values, wanted)[self.columns[name]]
        return fits

    def _first_expiry(self) -> int:
        """Return when the first document expires, in seconds; most scopes have none that does."""
        return int(self.columns["expires"].min(initial=NEVER))

    def overlapping(self, since: date | None, until: date | None) -> Array:
        """Return which slots have dates that overlap these days, both included, bool (slots,)."""
        start, end = self.columns["date_start"], self.columns["date_end"]
        overlaps: Array = start != NO_DATE
        if since is not None:
            overlaps &= end >= since.toordinal() - _EPOCH
        if until is not None:
            overlaps &= start <= until.toordinal() - _EPOCH
        return overlaps

    def _has_topic(self, topics: frozenset[str]) -> Array:
        wanted = {topic_key(topic) for topic in topics}
        found = np.zeros(self.slots, bool)
        if self.generation is not None:
            keys = self.generation.topic_keys
            hits = np.flatnonzero(np.isin(keys, np.fromiter(wanted, np.uint64, len(wanted))))
            owners = np.searchsorted(self.generation.topic_pointers, hits, side="right") - 1
            found[owners] = True
        for i, document in enumerate(self._documents):
            if wanted & {topic_key(topic) for topic in document.topics}:
                found[len(self._base) + i] = True
        return found
