"""Corrections: what holds instead of what, and what contradicts what. Old versions stay."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shiyi.core.text import check_text
from shiyi.lifecycle.claims import claims_of
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.ties import between, check_chain, check_unmerged, retired, spans_of
from shiyi.lifecycle.write import check_match, head_of
from shiyi.store import Link, Store, Transaction

_NO_REASON = "No reason was given; say why with --reason, for whoever reads this later."
_NO_SOURCE = "No source was given; name the words that say so with --source."
_HOLDS_NOT = "The new one is not active itself, so neither of the two holds; see `shiyi show`."


def supersede(
    store: Store,
    scope: str,
    old: str,
    new: str,
    *,
    reason: str | None = None,
    source: Quote | None = None,
    if_match: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Say that `new` holds instead of `old`, whose next version has the status superseded.

    Returns old and new, the version and etag of the old one, whether anything changed, and
    warnings about what was not given.

    Raises NotFoundError, ConflictError when `if_match` is not the etag of the old one, and
    UsageError when the old one holds instead of the new one already, however many steps between.
    """
    check_secrets(reason)

    def act(transaction: Transaction) -> dict[str, Any]:
        before = head_of(store, scope, old)
        after = head_of(store, scope, new)
        check_match(before, if_match)
        for one in (before, after):
            check_unmerged(one)
        tie = between(after, "supersedes", before)
        check_chain(store, tie)
        link = replace(tie, attrs=_why(store, scope, None, source))
        added = transaction.add_links([link])
        stands = before
        if before.status != "superseded":
            stands = retired(before, transaction.now, reason)
            transaction.add_records([stands])
        transaction.note_corrected(claims_of([before]))
        holds = after.status == "active"
        return {
            "old": stands.record_id, "new": after.record_id, "version": stands.version,
            "etag": stands.etag, "changed": bool(added) or stands is not before,
            "warnings": [*_missing(reason, source), *([] if holds else [_HOLDS_NOT])],
        }  # fmt: skip

    request = ["supersede", old, new, reason, if_match, *_plain(source)]
    return store.write(scope, act, key=key, request=request)


def contradict(
    store: Store,
    scope: str,
    record: str,
    other: str,
    *,
    reason: str,
    source: Quote | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Say that a record contradicts another one, and why. Both go on, until one is superseded.

    Returns src, dst, whether that is new, and warnings about what was not given. Which of the two
    is said to contradict the other makes no difference: a pair stands once.

    Raises NotFoundError, and UsageError for a record with itself or a blank reason.
    """
    check_text(reason, "reason")
    check_secrets(reason)

    def act(transaction: Transaction) -> dict[str, Any]:
        one = head_of(store, scope, record)
        against = head_of(store, scope, other)
        link = between(one, "contradicts", against)
        stands = _standing(store, link) or _standing(store, between(against, "contradicts", one))
        if stands is None:
            stands = replace(link, attrs=_why(store, scope, reason, source))
            transaction.add_links([stands])
            transaction.note_corrected(claims_of([against]))
            added = True
        else:
            added = False
        return {
            "src": stands.src, "dst": stands.dst, "added": added,
            "warnings": _missing(reason, source),
        }  # fmt: skip

    request = ["contradict", record, other, reason, *_plain(source)]
    return store.write(scope, act, key=key, request=request)


def _standing(store: Store, wanted: Link) -> Link | None:
    found = store.links_from(wanted.scope, [wanted.src], rels=[wanted.rel])
    return next((link for link in found.get(wanted.src, []) if link.dst == wanted.dst), None)


def _why(store: Store, scope: str, reason: str | None, source: Quote | None) -> Mapping[str, Any]:
    """Return what a link says of a correction: the reason, and the span that it rests on."""
    said: dict[str, Any] = {} if reason is None else {"reason": reason}
    if source is not None:
        [(id_, start, end)] = spans_of(store, scope, [source], "The source is not kept")
        said["source"] = {"capture": id_, "start": start, "end": end}
    return said


def _missing(reason: str | None, source: Quote | None) -> list[str]:
    return [*([] if reason else [_NO_REASON]), *([] if source else [_NO_SOURCE])]


def _plain(source: Quote | None) -> list[Any]:
    return [] if source is None else [[source.capture, source.text, source.start, source.end]]
