"""Entities that turn out to be one, and two again: merge and split.

A merged entity keeps its id, its names and its links; its newest version says which entity stands
for it (`redirects_to` in the attrs), and everything that reads links reads them through that. So a
split is one more version, and brings back what was there. Links are only ever added, which is why
the redirect is not one of them.
"""

from dataclasses import replace
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.write import check_match, head_of
from shiyi.store import Record, Store, Transaction
from shiyi.store.shapes import REDIRECT, is_merged


def merge(
    store: Store,
    scope: str,
    old: str,
    into: str,
    *,
    reason: str | None = None,
    if_match: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Let `into` stand for `old`, of which all links and names are then read as its own.

    Returns old, into (where the redirects end), the version and etag of old, and whether anything
    changed.

    Raises NotFoundError, ConflictError when `if_match` is not the etag of old, and UsageError for
    what is no entity, is not active, or would go round in a circle.
    """
    check_secrets(reason)

    def act(transaction: Transaction) -> dict[str, Any]:
        before = _entity(store, scope, old)
        check_match(before, if_match)
        redirects = store.redirects(scope)
        target = _entity(store, scope, into)
        itself = before.record_id == target.record_id
        target = _entity(store, scope, redirects.get(target.record_id, target.record_id))
        if itself or before.record_id == target.record_id:
            raise UsageError("These two are one already; an entity does not stand for itself.")
        if redirects.get(before.record_id) == target.record_id:
            return _answer(before, target.record_id, changed=False)
        if is_merged(before.kind, before.attrs):
            raise UsageError("It was merged into another entity; split it first.")
        if {before.status, target.status} != {"active"}:
            raise UsageError("Only entities that are active are merged.")
        version = replace(
            before, status="superseded", attrs={**before.attrs, REDIRECT: target.record_id},
            version=before.version + 1, updated_at=transaction.now, reason=reason or "merged",
        )  # fmt: skip
        transaction.add_records([version])
        return _answer(version, target.record_id, changed=True)

    return store.write(scope, act, key=key, request=["merge", old, into, reason, if_match])


def split(
    store: Store,
    scope: str,
    id_: str,
    *,
    reason: str | None = None,
    if_match: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Let an entity that was merged stand for itself again, with its own links and names.

    Returns old, into (None), the version and etag, and whether anything changed.

    Raises NotFoundError, ConflictError when `if_match` is not its etag, UsageError for what is no
    entity.
    """
    check_secrets(reason)

    def act(transaction: Transaction) -> dict[str, Any]:
        before = _entity(store, scope, id_)
        check_match(before, if_match)
        if not is_merged(before.kind, before.attrs):
            return _answer(before, None, changed=False)
        attrs = {name: value for name, value in before.attrs.items() if name != REDIRECT}
        version = replace(
            before, status="active", attrs=attrs, version=before.version + 1,
            updated_at=transaction.now, reason=reason or "split",
        )  # fmt: skip
        transaction.add_records([version])
        return _answer(version, None, changed=True)

    return store.write(scope, act, key=key, request=["split", id_, reason, if_match])


def _entity(store: Store, scope: str, reference: str) -> Record:
    head = head_of(store, scope, reference)
    if head.kind != "entity":
        raise UsageError(f"Only entities are merged and split; this is of kind {head.kind}.")
    return head


def _answer(record: Record, into: str | None, *, changed: bool) -> dict[str, Any]:
    return {
        "old": record.record_id, "into": into, "version": record.version, "etag": record.etag,
        "changed": changed,
    }  # fmt: skip
