"""What changed of the records of a scope, and how columns that were read before follow it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import MANY_PHASES, Periods, days_of
from shiyi.store import Link, Record
from shiyi.store.kinds import DATE_PRECISIONS, KINDS, LAYERS, STATUSES
from shiyi.store.rolls import NEVER, NO_DAY
from shiyi.store.shapes import REDIRECT, is_merged

T = TypeVar("T")
Places = NDArray[np.int64]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What changed of the records of a scope.

    before and after: what stood and what stands now of each record that has a new version; a new
    record has no before. fresh: where new records were put in, as np.insert has it. links: all
    that leave each new record, and each of which one came or went, in the order in which they
    came; came: how many of them, the last ones, are new. touched: whatever has a new version, got
    or lost a link, or quotes words that came. cut: a link went.
    """

    touched: Collection[str]
    before: Mapping[str, Record] = field(default_factory=dict)
    after: Mapping[str, Record] = field(default_factory=dict)
    fresh: Places = field(default_factory=lambda: np.empty(0, np.int64))
    links: Mapping[str, list[Link]] = field(default_factory=dict)
    came: Mapping[str, int] = field(default_factory=dict)
    cut: bool = False

    def moved(self, places: Places) -> Places:
        """Return where the records are now that were at these places."""
        moved: Places = places + np.searchsorted(self.fresh, places, side="right")
        return moved

    def untouched(self, known: Mapping[str, T]) -> dict[str, T]:
        """Return what is known of records, by their ids, but for those that were touched."""
        kept = dict(known)
        for id_ in self.touched:
            kept.pop(id_, None)
        return kept

    def added(self, rels: Collection[str]) -> Iterator[Link]:
        """Yield the links of some relations that came."""
        for id_, count in self.came.items():
            yield from (link for link in self.links.get(id_, [])[-count:] if link.rel in rels)

    def is_merged(self) -> bool:
        """Tell whether entities stand for others than they did."""
        return _redirects(self.before) != _redirects(self.after)


def columns_after(
    columns: Mapping[str, Any], news: News, linked: Collection[str], numbers: Mapping[str, int]
) -> dict[str, Any]:
    """Return the columns of a roll with the records that have new versions, or other links.

    numbers: of the phases.
    """
    fresh = sorted(news.after.keys() - news.before.keys())
    ids = widened(columns["id"], news.fresh)
    ids[news.fresh + np.arange(len(fresh))] = fresh
    made = {name: widened(column, news.fresh) for name, column in columns.items() if name != "id"}
    for id_, place in _places(ids, news.after):
        for name, value in _row(news.after[id_], numbers).items():
            made[name][place] = value
    for id_, place in _places(ids, linked):
        made["sourced"][place] = any(link.rel == "quotes" for link in news.links.get(id_, ()))
    return {"id": ids, **made}


def periods_after(periods: Periods, columns: Mapping[str, Any], news: News) -> Periods | None:
    """Return the phases and years with those of what changed; None for too many phases."""
    phases = list(periods.phases)
    phase, year = widened(periods.phase, news.fresh), widened(periods.year, news.fresh)
    numbers = {name: number for number, name in enumerate(phases)}
    for id_, place in _places(columns["id"], news.after):
        record = news.after[id_]
        if record.phase not in numbers:
            numbers[record.phase] = len(phases)
            phases.append(record.phase)
        phase[place] = numbers[record.phase]
        year[place] = 0 if record.date_start is None else record.date_start.year
        if len(phases) > MANY_PHASES:
            return None
    return Periods(phases, phase, year)


def widened(column: NDArray[Any], fresh: Places) -> NDArray[Any]:
    """Return a copy with room for new records, as np.insert makes it; quicker for few of them."""
    room = np.zeros(1, column.dtype)
    ends = [0, *fresh.tolist(), len(column)]
    pieces = [piece for one, other in pairwise(ends) for piece in (column[one:other], room)]
    return np.concatenate(pieces[:-1])


def put_in(ids: Any, fresh: Iterable[str]) -> Places:
    """Return where ids come among ascending others, as np.insert has it."""
    found: Places = np.searchsorted(ids, np.array(sorted(fresh), object)).astype(np.int64)
    return found


def _places(ids: Any, wanted: Iterable[str]) -> list[tuple[str, int]]:
    """Return where those of `wanted` are that stand."""
    order = list(wanted)
    at = np.searchsorted(ids, np.array(order, object)).tolist() if order else []
    return [
        (id_, place)
        for id_, place in zip(order, at, strict=True)
        if place < len(ids) and ids[place] == id_
    ]


def _row(record: Record, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return a record as a roll has it, but for its id and whether it quotes."""
    first, expires = record.date_start, record.expires_at
    last = record.date_end or first
    return {
        "kind": KINDS.index(record.kind),
        "layer": LAYERS.index(record.layer),
        "status": STATUSES.index(record.status),
        "salience": record.salience,
        "first": NO_DAY if first is None else days_of(first),
        "last": NO_DAY if last is None else days_of(last),
        "date_precision": DATE_PRECISIONS.index(record.date_precision),
        "phase": 0 if record.phase is None else numbers[record.phase],
        "expires": NEVER if expires is None else (expires - _EPOCH) // _MICROSECOND,
        "version": record.version,
    }


def _redirects(records: Mapping[str, Record]) -> dict[str, Any]:
    return {
        id_: one.attrs[REDIRECT] for id_, one in records.items() if is_merged(one.kind, one.attrs)
    }
