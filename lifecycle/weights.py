"""Salience that nobody confirmed: what may be lowered, and lowered when somebody says so."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.core.text import visible
from shiyi.lifecycle.names import record_id_of
from shiyi.store import Record, Store, Transaction
from shiyi.store.salience import level_of, salience_of

# Where a weight is from that may be lowered. A person's own rating ("stated") never is.
_UNCONFIRMED = ("imported", "default", "reviewed")
_NEVER = ("boundary", "promise", "canon")  # kinds
_LEAST = 30  # below it, it is passing already


@dataclass(frozen=True, slots=True)
class Decay:
    """A record that may weigh less: one level down, to the middle of it."""

    record: Record
    to: int


def decays(store: Store, scope: str, now: datetime, days: int) -> list[Decay]:
    """Return what was not confirmed for so many days, most salient first."""
    before = now - timedelta(days=days)
    ids = store.rolls.unconfirmed(scope, _UNCONFIRMED, _NEVER, _LEAST, before)
    heads = store.heads(scope, ids)
    return [Decay(heads[id_], salience_of(level_of(heads[id_].salience) - 1)) for id_ in ids]


def apply_decays(
    store: Store,
    scope: str,
    ids: Sequence[str],
    now: datetime,
    days: int,
    *,
    key: str | None = None,
) -> dict[str, Any]:
    """Lower the salience of records that are proposed, each as a new version with the reason.

    Returns applied, the ids. Raises UsageError, changing nothing, for an id that is not proposed.
    """

    def act(transaction: Transaction) -> dict[str, Any]:
        proposed = {one.record.record_id: one for one in decays(store, scope, now, days)}
        wanted = {record_id_of(scope, id_): id_ for id_ in ids}
        unknown = [id_ for id_ in wanted if id_ not in proposed]
        if unknown:
            name = visible(wanted[unknown[0]])
            raise UsageError(
                f"{name} is not proposed: its weight was confirmed, is a person's own, or was "
                "changed since; see `shiyi salience review`. Nothing was changed."
            )
        transaction.add_records(
            [
                replace(
                    one.record, salience=one.to, salience_source="reviewed",
                    version=one.record.version + 1, updated_at=transaction.now,
                    reason=f"not confirmed for {days} days",
                )
                for one in (proposed[id_] for id_ in wanted)
            ]
        )  # fmt: skip
        return {"applied": list(wanted)}

    return store.write(scope, act, key=key, request=["salience-review", *sorted(ids), days])
