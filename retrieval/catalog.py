"""The directory of a scope, and cold recall along time: titles only, page by page, in one order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.retrieval.asof import Mask, Standing
from shiyi.retrieval.domain import Domain
from shiyi.retrieval.listing import Group, Listing, entry_of, sizes
from shiyi.retrieval.map_results import CatalogResult, MapEntry, RecallResult
from shiyi.retrieval.maps import Desk, held_back, notes_on_nothing, told, written
from shiyi.retrieval.timeline import branches
from shiyi.retrieval.window import name_of_fit, narrowed
from shiyi.store.kinds import KINDS
from shiyi.store.rolls import NO_DAY

_LEAST_COST = 9  # tokens of the shortest line with an id and a title
_MOST_DIGITS = 24
_DIGITS = 8  # of a cursor, before the number of items that it goes on after
_BESIDE = 100  # records before, and after, the one that is walked from
_UNDATED = "It has no date, so nothing lies before or after it."


def catalog(desk: Desk, among: Mask, *, by_phase: bool) -> CatalogResult:
    """Return the titles of the records `among` all, by kind or by phase, then by date."""
    standing, seen = desk.standing, narrowed(among, desk.window, desk.standing)
    if by_phase:
        found = branches(standing, seen)
        rank = np.full(len(standing), len(found))
        for place, one in enumerate(found):
            rank[one.places] = place
        heads = [one.stem.entry() for one in found]
    else:
        rank = standing["kind"].astype(np.int64)
        counts = np.bincount(rank[seen], minlength=len(KINDS))
        heads = [
            MapEntry(id=f"kind:{kind}", kind="kind", title=kind, records=int(count))
            for kind, count in zip(KINDS, counts, strict=False)
            if count
        ]
    order = _by_day(standing, np.flatnonzero(seen))
    order = order[np.argsort(rank[order], kind="stable")]
    groups = [Listing(entry.id, 1.0, (entry,)) for entry in heads]
    sheet = _page(desk, _Rows(order, seen), groups, along=by_phase)
    return CatalogResult.model_validate(sheet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Which way to walk: before or after a day, both as days since 1970, or all of the time."""

    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class _Rows:
    """Places in the order shown, what was looked at, and what each is worth when not all alike."""

    order: NDArray[np.int64]
    seen: Mask
    worth: NDArray[np.float64] | None = None


def recall(desk: Desk, among: Mask, walk: Walk, domain: Domain | None) -> RecallResult:
    """Return titles along time: those of a domain, or those around one dated record."""
    standing = desk.standing
    seen = narrowed(among, desk.window, standing)
    if domain is not None and domain.place is not None and _is_anchor(domain, walk):
        if standing["first"][domain.place] == NO_DAY:
            desk = desk.noting(_UNDATED)
            rows = _Rows(np.empty(0, np.int64), np.zeros(len(standing), bool))
        else:
            rows = _around(standing, seen, domain.place)
        return RecallResult.model_validate(_page(desk, rows, [], about=domain.kind))
    members = None if domain is None else domain.members
    if members is not None:
        seen &= members
    if walk.before is not None:
        seen &= standing.dated() & (standing["first"] < walk.before)
    if walk.after is not None:
        seen &= standing.dated() & (standing["last"] > walk.after)
    order = _by_day(standing, np.flatnonzero(seen))
    if walk.before is not None and walk.after is None:
        order = order[::-1]
    about = None if domain is None else domain.kind
    sheet = _page(desk, _Rows(order, seen), [], about=about, members=members)
    return RecallResult.model_validate(sheet)


def _is_anchor(domain: Domain, walk: Walk) -> bool:
    """Tell whether a domain is one record to walk from, not many to walk along."""
    return domain.kind != "entity" and int(domain.members.sum()) == 1 and walk == Walk()


def _around(standing: Standing, seen: Mask, anchor: int) -> _Rows:
    """Return the dated records nearest in time to one, itself included, in time order."""
    seen = seen & standing.dated()
    seen[anchor] = True
    order = _by_day(standing, np.flatnonzero(seen))
    at = int(np.flatnonzero(order == anchor)[0])
    first, last = max(0, at - _BESIDE), at + _BESIDE + 1
    distance = np.abs(np.arange(len(order))[first:last] - at)
    return _Rows(order[first:last], seen, 1.0 / (1.0 + distance))


def _by_day(standing: Standing, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return places by first day, then by id; what has no date comes last."""
    first = standing["first"][places].astype(np.int64)
    return places[np.lexsort((places, first, first == NO_DAY))]


def _page(
    desk: Desk,
    rows: _Rows,
    groups: Sequence[Listing],
    *,
    along: bool = False,
    about: str | None = None,
    members: Mask | None = None,
) -> dict[str, object]:
    """Return the fields of an answer that shows records in order, from the top unless worth tells.

    Only those are read whole that could fit at all; the others are counted by their ids.
    """
    standing, order = desk.standing, rows.order
    outcome = "found" if len(order) else "empty"
    notes = desk.notes if len(order) else notes_on_nothing(desk)
    fields = told(desk, outcome, held_back(desk, rows.seen, members), about)
    start = max(0, _skipped(desk.page.resume) - len(notes) - len(groups))
    most = desk.page.budget // _LEAST_COST + 1
    near = order[start : start + most] if rows.worth is None else order
    records = desk.standings.read(standing, near.tolist())
    fits = None if desk.window is None else desk.window.fits(standing)
    listings = []
    for row, place in enumerate(order.tolist()):
        id_, record = standing.id(place), records.get(place)
        if record is None:
            listings.append(Listing(id_, 1.0, (), is_record=True))
            continue
        fit = None if fits is None else name_of_fit(int(fits[place]))
        small, line = sizes(entry_of(record, desk.short(id_), fit=fit), stub=True)
        if along:
            line = line.model_copy(update={"phase": record.phase})
        value = 1.0 if rows.worth is None else float(rows.worth[row])
        listings.append(Listing(id_, value, (small, line), is_record=True))
    listed = [Group("groups", groups), Group("records", listings)]
    return written(desk, listed, fields, notes, order="top" if rows.worth is None else "value")


def _skipped(cursor: str | None) -> int:
    """Return how many items a cursor goes on after; what is no cursor is refused later."""
    digits = (cursor or "")[_DIGITS:_MOST_DIGITS]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
