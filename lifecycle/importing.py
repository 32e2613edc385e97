"""Import: what a reader yields becomes captures, records and links, and only once.

Ids follow from the source's own identity, so the same words read again meet their own rows. A
batch is one transaction; after an interruption, running the import again adds the rest.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from shiyi.core.errors import ShiyiError, UsageError
from shiyi.core.ids import check_scope, check_turn, is_id
from shiyi.core.iterate import batched
from shiyi.core.text import check_text, text_sha256
from shiyi.lifecycle.circles import Chains
from shiyi.lifecycle.claims import claims_of
from shiyi.lifecycle.export_block import source_of, taken_block, time_in
from shiyi.lifecycle.feedback import feedback_of
from shiyi.lifecycle.importing_links import Ends, link_of, links_of_record
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.purged import without_purged
from shiyi.lifecycle.readers import (
    CaptureItem,
    FeedbackItem,
    Item,
    Kept,
    LineError,
    LinkItem,
    RecordItem,
    Skipped,
    read,
)
from shiyi.lifecycle.readers.source import OnBytes
from shiyi.lifecycle.recalled import without_recalled
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.write import own_attrs
from shiyi.store import Capture, Link, Record, Store, Transaction

_BATCH = 100  # so small that whoever asks meanwhile hardly waits for one
_RECALLED = "what recall showed"
_ERRORS_KEPT = 100
_SAID = (
    "text", "title", "gist", "detail", "topics", "aliases", "reason", "note", "phase", "speaker",
    "session", "external_id", "source_path",
)  # fmt: skip
_CORRECTS = ("supersedes", "contradicts")


@dataclass(slots=True)
class Imported:
    """What an import did. errors are the first ones, as `file:line: reason`."""

    captures: int = 0
    records: int = 0
    versions: int = 0
    links: int = 0
    feedback: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)

    def refuse(self, error: LineError) -> None:
        """Count a line that did not go in."""
        self.failed += 1
        if len(self.errors) < _ERRORS_KEPT:
            self.errors.append(str(error))


def import_path(
    store: Store,
    scope: str,
    path: Path,
    *,
    format_: str = "auto",
    allow_secret: bool = False,
    on_bytes: OnBytes | None = None,
    report: Imported | None = None,
) -> Imported:
    """Read `path` into the scope, in batches; `report` is filled as it goes.

    A source that names scopes of its own fills `<scope>.<name>`.

    Raises UsageError, before anything is read, for an unknown path or format.
    """
    report = report if report is not None else Imported()
    chains = Chains(store)
    for read_items in batched(read(path, format=format_, on_bytes=on_bytes), _BATCH):
        for own_scope, items in _by_scope(scope, read_items, str(path), report).items():
            batch = _Batch(store, own_scope, str(path), chains, allow_secret=allow_secret)
            _write_batch(store, own_scope, items, batch, report)
    return report


def _by_scope(
    scope: str, batch: Iterable[Item], source: str, report: Imported
) -> dict[str, list[Kept]]:
    found: dict[str, list[Kept]] = {}
    for item in batch:
        if isinstance(item, LineError):
            report.refuse(item)
        elif isinstance(item, Skipped):
            report.skipped[item.reason] += item.count
        elif (said := _as_said(item, report)) is not None:
            try:
                own = check_scope(f"{scope}.{item.scope}") if item.scope else scope
            except UsageError as error:
                report.refuse(_error(source, item, str(error)))
                continue
            found.setdefault(own, []).append(said)
    return found


def _as_said(item: Kept, report: Imported) -> Kept | None:
    """Return an item without what recall put into its words; None when nothing else is there."""
    if not isinstance(item, CaptureItem):
        return item
    said = without_recalled(item.text)
    if said is item.text:
        return item
    report.skipped[_RECALLED] += 1
    return replace(item, text=said) if said.strip() else None


def _write_batch(
    store: Store,
    scope: str,
    items: Sequence[Kept],
    batch: "_Batch",
    report: Imported,
) -> None:
    store.write(scope, lambda transaction: batch.write(transaction, items))
    report.captures += batch.counts["captures"]
    report.records += batch.counts["records"]
    report.versions += batch.counts["versions"]
    report.links += batch.counts["links"]
    report.feedback += batch.counts["feedback"]
    report.unchanged += batch.counts["unchanged"]
    report.scopes.add(scope)
    report.skipped.update(batch.skipped)
    for error in batch.errors:
        report.refuse(error)


class _Batch:
    """The items of one transaction, all in one scope."""

    def __init__(
        self, store: Store, scope: str, source: str, chains: Chains, *, allow_secret: bool
    ) -> None:
        self._allow_secret = allow_secret
        self._chains = chains
        self._store = store
        self._scope = scope
        self._source = source
        self.counts: Counter[str] = Counter()
        self.errors: list[LineError] = []
        self.skipped: Counter[str] = Counter()

    def write(self, transaction: Transaction, items: Sequence[Kept]) -> dict[str, Any]:
        items = without_purged(self._store, self._scope, items, self.skipped)
        items = [item for item in items if not self._is_secret(item)]
        captures = [item for item in items if isinstance(item, CaptureItem)]
        records = [item for item in items if isinstance(item, RecordItem)]
        feedback = [item for item in items if isinstance(item, FeedbackItem)]
        with self._chains.during(transaction):
            self._write_captures(transaction, captures)
            self._write_records(transaction, records)
            self._write_links(transaction, [item for item in items if isinstance(item, LinkItem)])
            self._write_feedback(transaction, feedback)
        return dict(self.counts)

    def _is_secret(self, item: Kept) -> bool:
        """Tell whether an item holds what looks like a secret; then it is refused."""
        said = [getattr(item, name, None) for name in _SAID]
        try:
            check_secrets(*said, dict(getattr(item, "attrs", {})), allow=self._allow_secret)
        except UsageError as error:
            self._refuse(item, str(error).replace("; nothing was changed", ""))
            return True
        return False

    def _refuse(self, item: Kept, reason: str) -> None:
        self.errors.append(_error(self._source, item, reason))

    # Captures

    def _write_captures(self, transaction: Transaction, items: Sequence[CaptureItem]) -> None:
        rows: dict[str, tuple[CaptureItem, Capture]] = {}
        for item in items:
            try:
                capture = self._capture(item, transaction.now)
            except ShiyiError as error:
                self._refuse(item, str(error))
                continue
            first = rows.setdefault(capture.capture_id, (item, capture))
            if first[1] is not capture:
                self._meet_again(item, capture, first[1].utf8_sha256)
        added = transaction.add_captures([capture for _, capture in rows.values()])
        self.counts["captures"] += len(added)
        old = [id_ for id_ in rows if id_ not in added]
        hashes = self._store.capture_hashes(self._scope, old)
        for id_ in old:
            self._meet_again(*rows[id_], hashes[id_])

    def _meet_again(self, item: CaptureItem, capture: Capture, kept: str) -> None:
        if capture.utf8_sha256 == kept:
            self.counts["unchanged"] += 1
        else:
            self._refuse(
                item,
                "its id already stands for other words in this scope, and words never change; "
                "give it another id or import it into another scope.",
            )

    def _capture(self, item: CaptureItem, now: datetime) -> Capture:
        check_text(item.text)
        attrs = dict(item.attrs)
        ours = taken_block(attrs, "utf8_sha256")
        digest = text_sha256(item.text)
        if ours.get("utf8_sha256", digest) != digest:
            raise UsageError("the words do not fit the SHA-256 beside them; they were changed.")
        if item.date is not None:
            attrs.setdefault("date", item.date)
        exported = bool(ours)
        return Capture(
            scope=self._scope,
            capture_id=capture_id_of(self._scope, item.external_id or item.key),
            text=item.text,
            utf8_sha256=digest,
            recorded_at=time_in(ours, "recorded_at") or now,
            captured_at=item.captured_at,
            speaker=item.speaker,
            session_id=item.session,
            turn_id=check_turn(ours["turn_id"]) if "turn_id" in ours else None,
            previous_id=capture_id_of(self._scope, item.previous) if item.previous else None,
            origin=item.origin,
            fidelity=item.fidelity,
            source_path=ours.get("source_path") if exported else item.source_path,
            external_id=ours.get("external_id") if exported else _given_name(item.external_id),
            attrs=attrs,
        )

    # Records

    def _write_records(self, transaction: Transaction, items: Sequence[RecordItem]) -> None:
        ids = [record_id_of(self._scope, item.external_id or item.key) for item in items]
        versions = self._store.versions_of(self._scope, ids)
        quoted = self._quoted_texts(items)
        rows: list[Record] = []
        links: list[Link] = []
        for item, record_id in zip(items, ids, strict=True):
            try:
                own_links = links_of_record(self._scope, item, record_id, quoted)
                record = self._record(item, record_id, transaction.now)
                self._chains.add(own_links)
            except ShiyiError as error:
                self._refuse(item, str(error))
                continue
            known = versions.setdefault(record_id, [])
            links += own_links
            if any(version.etag == record.etag for version in known):
                self.counts["unchanged"] += 1
                continue
            if known:
                record = replace(
                    record, version=known[-1].version + 1, created_at=known[0].created_at,
                    reason=record.reason or "imported again",
                )  # fmt: skip
            self.counts["versions" if known else "records"] += 1
            known.append(record)
            rows.append(record)
        transaction.add_records(rows)
        transaction.add_links(links)
        self._note_corrected(transaction, links)

    def _record(self, item: RecordItem, record_id: str, now: datetime) -> Record:
        attrs = dict(item.attrs)
        ours = taken_block(attrs, "created_at")
        attrs = own_attrs(self._scope, item.kind, attrs)
        salience = ours.get("salience", item.salience)
        return Record(
            scope=self._scope,
            record_id=record_id,
            version=1,
            kind=item.kind,
            layer=item.layer,
            status=item.status,
            title=check_text(item.title, "title"),
            gist=check_text(item.gist, "gist"),
            detail=item.detail,
            topics=item.topics,
            aliases=item.aliases,
            salience=30 if salience is None else int(salience),
            salience_source=source_of(ours, salience),
            date_start=item.date_start,
            date_end=item.date_end,
            date_precision=item.date_precision,
            date_basis=item.date_basis,
            phase=item.phase,
            created_at=time_in(ours, "created_at") or now,
            updated_at=time_in(ours, "updated_at") or now,
            reason=item.reason,
            external_id=ours.get("external_id") if ours else _given_name(item.external_id),
            attrs=attrs,
        )

    def _quoted_texts(self, items: Sequence[RecordItem]) -> dict[str, str]:
        wanted = {
            capture_id_of(self._scope, quote.capture) for item in items for quote in item.quotes
        }
        captures = self._store.captures(self._scope, sorted(wanted))
        return {id_: capture.text for id_, capture in captures.items()}

    def _write_links(self, transaction: Transaction, items: Sequence[LinkItem]) -> None:
        links = [link_of(self._scope, item) for item in items]
        ends = Ends(self._store, self._scope, links)
        stand = []
        for item, link in zip(items, links, strict=True):
            try:
                ends.check(link)
                self._chains.add([link])
            except UsageError as error:
                self._refuse(item, str(error))
                continue
            stand.append(link)
        added = transaction.add_links(stand)
        self._note_corrected(transaction, stand)
        self.counts["links"] += added
        self.counts["unchanged"] += len(stand) - added

    def _note_corrected(self, transaction: Transaction, links: Sequence[Link]) -> None:
        """Let what was corrected be known when it is said again."""
        corrected = sorted({link.dst for link in links if link.rel in _CORRECTS})
        heads = self._store.heads(self._scope, corrected)
        transaction.note_corrected(claims_of(heads.values()))

    def _write_feedback(self, transaction: Transaction, items: Sequence[FeedbackItem]) -> None:
        stand = []
        for item in items:
            try:
                stand.append(feedback_of(self._store, self._scope, item))
            except ShiyiError as error:
                self._refuse(item, str(error))
        added = transaction.add_feedback(stand)
        self.counts["feedback"] += added
        self.counts["unchanged"] += len(stand) - added


def _given_name(external_id: str | None) -> str | None:
    """Return the name that a source gave, unless it is an id of ours."""
    return None if external_id is None or is_id(external_id) else external_id


def _error(source: str, item: Kept, reason: str) -> LineError:
    """Return the error for an item: at its line, else by its name, else for the whole source."""
    if item.place is not None:
        return LineError(item.place, None, reason)
    return LineError(source, f"[{item.external_id}]" if item.external_id else None, reason)
