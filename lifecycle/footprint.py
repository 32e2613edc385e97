"""Footprints: one micro record of what was done, versioned when it is done again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.core.text import check_text
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.relate import made
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.ties import spans_of
from shiyi.store import Record, Store, Transaction
from shiyi.store.kinds import FOOTPRINT
from shiyi.store.salience import salience_of

MAX_FOOTPRINT = 400  # bytes; more is no micro record


def add_footprint(
    store: Store,
    scope: str,
    text: str,
    quotes: Sequence[Quote],
    known: Sequence[str],
    *,
    day: str | None = None,
    level: int = 0,
    key: str | None = None,
) -> dict[str, Any]:
    """Keep that something was done; one of the `known` footprints that holds is versioned instead.

    known: what a probe for the same activity found, most alike first. Without a day it was done on
    the day of the words, or today. Returns record_id, version, etag, links, added (false when one
    was versioned), times (how often it was done) and probed (what was known).

    Raises UsageError for a text that is too long, or a date or quote that does not fit.
    """
    check_text(text)
    check_secrets(text)
    if len(text.encode()) > MAX_FOOTPRINT:
        raise UsageError(
            f"A footprint is at most {MAX_FOOTPRINT} bytes; say what was done in a few words, or "
            "use add-record."
        )

    def act(transaction: Transaction) -> dict[str, Any]:
        before = _holding(store, scope, known)
        statement = {
            "kind": "event", "gist": text, "salience": salience_of(level),
            "date": day or _day(store, scope, quotes, transaction).isoformat(),
            "attrs": {FOOTPRINT: True, "times": 1},
        }  # fmt: skip
        new = made(store, scope, statement, quotes, transaction)
        record, links = new.record, new.links
        if before is not None:
            record = _again(before, record)
            links = [replace(link, src=record.record_id) for link in links]
        transaction.add_records([record])
        added = transaction.add_links(links)
        return {
            "record_id": record.record_id, "version": record.version, "etag": record.etag,
            "links": added, "added": before is None, "times": record.attrs["times"],
            "probed": list(known),
        }  # fmt: skip

    request = ["footprint", text, [[q.capture, q.text, q.start, q.end] for q in quotes], day, level]
    return store.write(scope, act, key=key, request=request)


def _holding(store: Store, scope: str, known: Sequence[str]) -> Record | None:
    heads = store.heads(scope, known)
    return next(
        (
            heads[id_]
            for id_ in known
            if id_ in heads and heads[id_].status == "active" and heads[id_].attrs.get(FOOTPRINT)
        ),
        None,
    )


def _again(before: Record, new: Record) -> Record:
    """Return the next version of a footprint, from the record that would have been made."""
    times = before.attrs.get("times", 1)
    return replace(
        before, title=new.title, gist=new.gist, date_start=new.date_start, date_end=new.date_end,
        date_precision=new.date_precision, date_basis=new.date_basis,
        salience=max(before.salience, new.salience),
        attrs={**before.attrs, "times": times + 1 if isinstance(times, int) else 2},
        version=before.version + 1, updated_at=new.updated_at, reason="done again",
    )  # fmt: skip


def _day(store: Store, scope: str, quotes: Sequence[Quote], transaction: Transaction) -> date:
    spans = spans_of(store, scope, quotes, "The footprint is not kept")
    captures = store.captures(scope, [id_ for id_, _, _ in spans])
    written = [one.captured_at.date() for one in captures.values() if one.captured_at is not None]
    return max(written, default=transaction.now.astimezone().date())
