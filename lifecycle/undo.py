"""Undo: records as they stood at a time, by new versions; what was said stays.

Every record that changed since gets a version that says what it said then; a record that came
since is archived; a link that came since, of a record from before, is removed and kept aside; a
link that stood then and was removed by an undo is brought back. All of it is one write like any
other, so undoing to the change before it brings everything back.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.secrets import check_secrets
from shiyi.store import Record, Store, Transaction


def moment_of(store: Store, *, time: datetime | None, seq: int | None) -> int:
    """Return the number of the last change that stands: at a time, or the given one.

    Raises UsageError for both or neither, and for a number that is not one of this home.
    """
    if (time is None) == (seq is None):
        raise UsageError("Say to when: a time, or the number of a change.")
    if seq is None:
        assert time is not None
        return store.past.seq_at(time)
    if not 0 <= seq <= store.last_seq:
        raise UsageError(f"A change is a number from 0 to {store.last_seq}.")
    return seq


def undo(
    store: Store, scope: str, seq: int, *, reason: str | None = None, key: str | None = None
) -> dict[str, Any]:
    """Return the records of a scope to how they stood after change `seq`.

    Returns to (seq), before (the number to undo this to), restored, archived, unlinked and
    relinked (how many of each), and changed.
    """
    check_secrets(reason)
    said = reason or f"undo to change {seq}"

    def act(transaction: Transaction) -> dict[str, Any]:
        then = store.past.versions_at(scope, seq)
        touched = store.past.records_since(scope, seq)
        heads = store.heads(scope, touched)
        versions = store.versions_of(scope, [id_ for id_ in touched if id_ in then])
        made, counts = [], {"restored": 0, "archived": 0}
        for id_, head in heads.items():
            if id_ in then:
                stood = next(one for one in versions[id_] if one.version == then[id_])
                stands, what = _again(stood, head), "restored"
            else:
                stands, what = replace(head, status="archived"), "archived"
            if not _is_same(stands, head):
                made.append(
                    replace(
                        stands, version=head.version + 1, updated_at=transaction.now, reason=said
                    )
                )
                counts[what] += 1
        unlinked = transaction.unlink_since(seq, lambda src, _, dst: _goes(src, dst, then))
        relinked = transaction.relink_as_of(seq)
        transaction.add_records(made)
        return {
            "to": seq, "before": store.last_seq, **counts, "unlinked": unlinked,
            "relinked": relinked, "changed": bool(made) or bool(unlinked) or bool(relinked),
        }  # fmt: skip

    return store.write(scope, act, key=key, request=["undo", seq, reason])


def _again(stood: Record, head: Record) -> Record:
    return replace(stood, created_at=head.created_at)


def _is_same(one: Record, other: Record) -> bool:
    """Tell whether two versions say the same, whoever gave the weight."""
    return (one.etag, one.salience_source) == (other.etag, other.salience_source)


def _goes(src: str, dst: str, then: dict[str, int]) -> bool:
    """Tell whether a link that came since says anything about a record from before.

    The words that a new record quotes, and what new records say of each other, go to the archive
    with them.
    """
    return src in then or dst in then
