"""How things stand, value after value: a named state takes its place in the chain of its values."""

from dataclasses import dataclass, replace
from datetime import date, datetime

from shiyi.lifecycle.ties import between, leads_to, retired
from shiyi.store import Link, Record, Store
from shiyi.store.shapes import MYSELF

_NAMED = ("of", "block", "name")


@dataclass(frozen=True, slots=True)
class Placed:
    """A new state in its chain: itself, its ties to the values beside it, and what it retires."""

    record: Record
    links: list[Link]
    retired: list[Record]


def placed(store: Store, record: Record, now: datetime) -> Placed:
    """Put a new state among the values of the same name, of the same block and entity.

    It holds instead of the value before it. When a later one is there already, that one holds
    instead of it. A state without a name stands alone.
    """
    chain = _chain(store, record)
    before = [one for one in chain if begins(one) <= begins(record)]
    after = [one for one in chain if begins(one) > begins(record)]
    links, ended = [], []
    if before:
        links.append(between(record, "supersedes", before[-1]))
        if before[-1].status == "active":
            ended.append(retired(before[-1], now, "another value came"))
    if after and not (before and _above(store, before[-1], after[0])):
        links.append(between(after[0], "supersedes", record))
        record = replace(record, status="superseded")
    return Placed(record, links, ended)


def begins(record: Record) -> date:
    """Return the day from which a state holds: that of its date, else when it was recorded."""
    return record.date_start or record.created_at.astimezone().date()


def _chain(store: Store, record: Record) -> list[Record]:
    if record.kind != "state" or record.attrs.get("name") is None or record.status != "active":
        return []
    redirects = store.redirects(record.scope)
    wanted = tuple(_last(redirects, record.attrs.get(name)) for name in _NAMED)
    found = store.rolls.attributes(record.scope, ["state"], _NAMED)
    same = [
        id_
        for id_, (of, block, name) in found.items()
        if (_last(redirects, of), block, name) == wanted
    ]
    heads = store.heads(record.scope, same).values()
    return sorted(
        (one for one in heads if one.status != "archived"),
        key=lambda one: (begins(one), one.created_at, one.record_id),
    )


def _last(redirects: dict[str, str], value: object) -> object:
    return redirects.get(value, value) if isinstance(value, str) and value != MYSELF else value


def _above(store: Store, one: Record, other: Record) -> bool:
    return leads_to(store, one.scope, one.record_id, "supersedes", other.record_id)
