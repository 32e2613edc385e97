"""Edit: another version of a record, held to what a new one is held to."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.dates import basis_of
from shiyi.lifecycle.fitting import check_attrs_said, check_entity, named_in_attrs
from shiyi.lifecycle.names import record_id_of
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.ties import check_holds, check_unmerged
from shiyi.lifecycle.write import (
    check_match,
    check_whole,
    head_of,
    own_attrs,
    record_fields,
    title_of,
)
from shiyi.store import Record, Store, Transaction
from shiyi.store.shapes import REDIRECT, check_staying, is_whole


def edit(
    store: Store,
    scope: str,
    reference: str,
    fields: Mapping[str, Any],
    *,
    reason: str | None = None,
    if_match: str | None = None,
    allow_secret: bool = False,
    key: str | None = None,
) -> dict[str, Any]:
    """Append a version of a record with other fields; the versions before it stay.

    An empty detail, date, phase or list clears what was there. A title that was made from the
    gist is made anew with it. Returns record_id, version, etag and whether anything changed.

    attrs join those that are there; null takes one away. Raises NotFoundError, ConflictError when
    `if_match` is not the etag of the newest version, and UsageError for a secret, a bad date, attrs
    that do not fit the kind, a statement that is too long, or the status active while another
    record holds instead.
    """
    check_secrets(dict(fields), reason, allow=allow_secret)

    def act(transaction: Transaction) -> dict[str, Any]:
        head = head_of(store, scope, reference)
        check_match(head, if_match)
        columns = record_fields(fields)
        if columns.get("status", head.status) != head.status:
            check_unmerged(head)
            if columns["status"] == "active":
                check_holds(store, head)
        if columns.get("date_start") is not None:
            columns["date_basis"] = _basis(store, head, columns)
        if "attrs" in columns or columns.get("kind", head.kind) != head.kind:
            check_attrs_said(columns.get("attrs", {}))
            if REDIRECT in columns.get("attrs", {}):
                raise UsageError("Entities become one by entity merge, and two by entity split.")
            kind, attrs = columns.get("kind", head.kind), {**head.attrs, **columns.get("attrs", {})}
            check_staying(kind, columns.get("attrs", {}) if kind == head.kind else attrs)
            attrs = {name: value for name, value in attrs.items() if value is not None}
            whole = kind == head.kind and is_whole(kind, head.attrs)
            columns["attrs"] = own_attrs(scope, kind, attrs, whole=whole)
        if "gist" in columns and head.title == title_of(head.gist):
            columns.setdefault("title", title_of(columns["gist"]))
        version = replace(
            head,
            **columns,
            version=head.version + 1,
            updated_at=transaction.now,
            reason=reason,
        )
        check_whole(version)
        check_entity(version, columns.get("attrs", {}).keys() if "attrs" in columns else ())
        links = named_in_attrs(store, version, _renamed(head, version))
        changed = version.etag != head.etag
        if changed:
            transaction.add_records([version])
            transaction.add_links(links)
        newest = version if changed else head
        return {
            "record_id": newest.record_id,
            "version": newest.version,
            "etag": newest.etag,
            "changed": changed,
        }

    request = ["edit", record_id_of(scope, reference), dict(fields), reason, if_match]
    return store.write(scope, act, key=key, request=request)


def _basis(store: Store, head: Record, columns: Mapping[str, Any]) -> str:
    """Return how an edited date is known: from the words behind the record, if there are any."""
    quotes = store.links_from(head.scope, [head.record_id], rels=["quotes"]).get(head.record_id, [])
    captures = store.captures(head.scope, [link.dst for link in quotes])
    if not captures:
        return str(columns["date_basis"])
    return basis_of(columns, None, list(captures.values()))[0]


def _renamed(head: Record, version: Record) -> list[str]:
    """Return the fields of attrs that say something else than before."""
    if version.kind != head.kind:
        return list(version.attrs)
    return [name for name, value in version.attrs.items() if head.attrs.get(name) != value]
