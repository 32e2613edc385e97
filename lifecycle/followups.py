"""Follow-ups: closed once, as answered, declined or resolved, with what came of it."""

from dataclasses import replace
from typing import Any

from shiyi.core.errors import ConflictError, UsageError
from shiyi.core.text import check_text
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.write import check_match, check_whole, head_of
from shiyi.store import Store, Transaction


def close_followup(
    store: Store,
    scope: str,
    id_: str,
    outcome: str,
    note: str,
    *,
    if_match: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Close a follow-up with a note; closing it twice alike is a repeat.

    Returns record_id, version, etag and whether anything changed.

    Raises NotFoundError, UsageError for what is no follow-up or a blank note, ConflictError when it
    was closed otherwise, or `if_match` is not its etag.
    """
    check_text(note, "note")
    check_secrets(note)

    def act(transaction: Transaction) -> dict[str, Any]:
        head = head_of(store, scope, id_)
        if head.kind != "followup":
            raise UsageError(f"Only a followup is closed; this is a record of kind {head.kind}.")
        check_match(head, if_match)
        state = head.attrs.get("state", "open")
        wanted = {**head.attrs, "state": outcome, "note": note}
        if state != "open" and dict(head.attrs) != wanted:
            raise ConflictError(
                f"It was closed as {state} already; edit its attrs if that was wrong. Nothing was "
                "changed."
            )
        changed = state == "open"
        if changed:
            head = replace(
                head, attrs=wanted, version=head.version + 1, updated_at=transaction.now,
                reason=outcome,
            )  # fmt: skip
            check_whole(head)
            transaction.add_records([head])
        return {
            "record_id": head.record_id, "version": head.version, "etag": head.etag,
            "changed": changed,
        }  # fmt: skip

    request = ["close-followup", id_, outcome, note, if_match]
    return store.write(scope, act, key=key, request=request)
