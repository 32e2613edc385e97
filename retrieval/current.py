"""How things stood on a day: the states that cover it, so that no story is told past its date.

A state holds from its date (or the day it was recorded), to the end of a range if it has one, and
until something that holds instead of it begins, however many steps above. What was superseded
without saying by what ended on the day of that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from shiyi.store import HeadFilter, Record, Store

_ALL = 1_000_000
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Held:
    """A state and the days that it covers, both included; until is None while it holds."""

    record: Record
    since: date
    until: date | None


def holding(store: Store, scope: str, first: date, last: date, of: str | None) -> list[Held]:
    """Return the states that cover a day between `first` and `last`, by block, name and beginning.

    of: the id of an entity, or "self"; of everybody when it is None.
    """
    wanted = HeadFilter(kinds=("state",), statuses=("active", "superseded"))
    states = store.find_heads(scope, wanted, limit=_ALL)
    if of is not None:
        redirects = store.redirects(scope)
        states = [one for one in states if _last(redirects, one) == redirects.get(of, of)]
    above = _above(store, scope, [one.record_id for one in states])
    ends = store.heads(scope, sorted({id_ for ids in above.values() for id_ in ids}))
    found = [_held(one, above.get(one.record_id, ()), ends) for one in states]
    covering = [
        one
        for one in found
        if one.since <= last and (one.until is None or one.until >= max(first, one.since))
    ]
    return sorted(covering, key=_place)


def _held(record: Record, above: Sequence[str], heads: Mapping[str, Record]) -> Held:
    since = _begins(record)
    untils = [_begins(heads[id_]) - _DAY for id_ in above if id_ in heads]
    if record.status == "superseded" and not untils:
        untils.append(record.updated_at.astimezone().date() - _DAY)
    if record.date_precision == "range" and record.date_end is not None:
        untils.append(record.date_end)
    return Held(record, since, min(untils, default=None))


def _above(store: Store, scope: str, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return what holds instead of each state, directly or at some remove."""
    direct: dict[str, list[str]] = {}
    waiting = list(ids)
    while waiting:
        found = store.links_to(scope, waiting, rels=["supersedes"])
        direct |= {id_: [link.src for link in found.get(id_, [])] for id_ in waiting}
        waiting = sorted({one for id_ in waiting for one in direct[id_]} - direct.keys())
    return {id_: _all_above(id_, direct) for id_ in ids}


def _all_above(id_: str, direct: Mapping[str, Sequence[str]]) -> list[str]:
    seen: dict[str, None] = {}
    waiting = list(direct[id_])
    while waiting:
        one = waiting.pop()
        if one not in seen and one != id_:
            seen[one] = None
            waiting += direct[one]
    return list(seen)


def _begins(record: Record) -> date:
    return record.date_start or record.created_at.astimezone().date()


def _last(redirects: Mapping[str, str], record: Record) -> object:
    of = record.attrs.get("of")
    return redirects.get(of, of) if isinstance(of, str) else of


def _place(held: Held) -> tuple[str, str, str, date, str]:
    of, block, name = (str(held.record.attrs.get(one) or "") for one in ("of", "block", "name"))
    return of, block, name, held.since, held.record.record_id
