"""Links as they may be made: to words that are there, to the right kind, never in a circle."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.text import visible
from shiyi.lifecycle.names import capture_id_of
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.readers.quotes import span_of
from shiyi.store import Link, Record, Store
from shiyi.store.kinds import CHAINS
from shiyi.store.shapes import is_merged

# The kind of record that a relation leads to, where only one will do.
_LEADS_TO = {"mentions": "entity", "member_of": "facet"}


def quoted(store: Store, record: Record, quotes: Sequence[Quote]) -> list[Link]:
    """Return the links to what a record quotes.

    Raises NotFoundError for a capture, UsageError for words, that are not there.
    """
    spans = spans_of(store, record.scope, quotes, "The record is not kept")
    return [
        Link(
            scope=record.scope, src=record.record_id, rel="quotes", dst=id_,
            span_start=start, span_end=end,
        )
        for id_, start, end in spans
    ]  # fmt: skip


def spans_of(
    store: Store, scope: str, quotes: Sequence[Quote], refused: str
) -> list[tuple[str, int, int]]:
    """Return (capture, start, end) of each quote, checked against the words.

    Raises NotFoundError for a capture, UsageError for words, that are not there.
    """
    ids = [capture_id_of(scope, quote.capture) for quote in quotes]
    captures = store.captures(scope, ids)
    spans = []
    for quote, id_ in zip(quotes, ids, strict=True):
        if id_ not in captures:
            raise NotFoundError(f"There is no capture {visible(quote.capture)} in this scope.")
        try:
            spans.append((id_, *span_of(quote, captures[id_].text)))
        except UsageError as error:
            raise UsageError(f"{refused}, since {error}") from None
    return spans


def between(source: Record, rel: str, target: Record) -> Link:
    """Return the link from one record to another; raises UsageError when it cannot be."""
    wanted = _LEADS_TO.get(rel, target.kind)
    if source.record_id == target.record_id:
        raise UsageError("A record is not tied to itself; name two of them.")
    if target.kind != wanted:
        raise UsageError(f"{rel} leads to a record of kind {wanted}, not of kind {target.kind}.")
    return Link(scope=source.scope, src=source.record_id, rel=rel, dst=target.record_id)


def leads_to(store: Store, scope: str, src: str, rel: str, dst: str) -> bool:
    """Tell whether links of one relation lead from `src` to `dst`, however many steps between."""
    seen, reached = {src}, [src]
    while reached:
        found = store.links_from(scope, reached, rels=[rel])
        reached = [k.dst for links in found.values() for k in links if k.dst not in seen]
        seen.update(reached)
    return dst in seen


def check_chain(store: Store, link: Link) -> None:
    """Raise UsageError for a link that would close a circle of those that must form none."""
    if link.rel in CHAINS and leads_to(store, link.scope, link.dst, link.rel, link.src):
        raise UsageError(
            f"{link.dst} leads back to {link.src} by {link.rel} already, so this would go round "
            "in a circle; swap the two, or write a new record."
        )


def check_unmerged(record: Record) -> None:
    """Raise UsageError for an entity that another one stands for."""
    if is_merged(record.kind, record.attrs):
        raise UsageError(
            "It was merged into another entity, which stands for it; name that one, or split it "
            "first."
        )


def check_holds(store: Store, record: Record) -> None:
    """Raise UsageError for a record that another one holds instead of, before it is active."""
    found = store.links_to(record.scope, [record.record_id], rels=["supersedes"])
    for link in found.get(record.record_id, []):
        raise UsageError(
            f"{link.src} holds instead of it; undo that supersede with `shiyi undo`, or supersede "
            f"{link.src} by a new record. Nothing was changed."
        )


def retired(record: Record, now: datetime, reason: str | None) -> Record:
    """Return the next version of a record, which holds no longer."""
    return replace(
        record, status="superseded", version=record.version + 1, updated_at=now, reason=reason
    )
