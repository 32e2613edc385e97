"""What states, promises and follow-ups say of themselves: their block, when they are due, and why.

The date of a follow-up is when it is due, unless its attribute `due` says otherwise. What has a
`state` other than open is no longer due.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import UsageError
from shiyi.retrieval.asof import Mask, Standing, days_of
from shiyi.retrieval.map_results import BLOCKS
from shiyi.retrieval.news import News
from shiyi.retrieval.standings import Standings
from shiyi.store import Store
from shiyi.store.kinds import KINDS
from shiyi.store.rolls import NO_DAY

OPEN_KINDS = ("promise", "followup")
NO_BLOCK = -1
_KINDS = ("state", *OPEN_KINDS)
_ATTRIBUTES = ("block", "due", "state", "context")
_STATE = KINDS.index("state")
_Said = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class Stated:
    """What is said, by `at`, places that ascend.

    block: a position in BLOCKS, of states, or NO_BLOCK. day: when it is due, if it says so, or
    NO_DAY; is_open: whether it is due at all; context: words or None. Those are not of states.
    """

    at: NDArray[np.int64]
    block: NDArray[np.int8]
    day: NDArray[np.int32]
    is_open: Mask
    context: NDArray[Any]

    @classmethod
    def of(cls, standing: Standing, said: _Said) -> Self:
        """Read the attributes of records by their ids."""
        by_place = standing.by_place(said)
        kinds = standing["kind"]
        rows: list[tuple[int, int, int, bool, str | None]] = []
        for place, (block, due, state, context) in by_place.items():
            if kinds[place] == _STATE:
                known = BLOCKS.index(block) if block in BLOCKS else NO_BLOCK
                rows.append((place, known, NO_DAY, True, None))
            else:
                day = NO_DAY if due is None else _day(due)
                rows.append((place, NO_BLOCK, day, (state or "open") == "open", context))
        columns = list(zip(*rows, strict=True)) or [()] * 5
        types = (np.int64, np.int8, np.int32, bool, object)
        return cls(*(np.array(one, kind) for one, kind in zip(columns, types, strict=True)))

    def with_changed(self, moved: NDArray[np.int64], changed: Sequence[int], now: Self) -> Self:
        """Return them at the places where they are now, those at `changed` as they are now."""
        kept = ~np.isin(moved, changed)
        at = np.concatenate([moved[kept], now.at])
        order = np.argsort(at)
        rest = (
            np.concatenate([getattr(self, one.name)[kept], getattr(now, one.name)])[order]
            for one in fields(self)[1:]
        )
        return type(self)(at[order], *rest)

    def blocks(self, standing: Standing, among: Mask) -> NDArray[np.int8]:
        """Return the block of each record among some, or NO_BLOCK."""
        found = np.full(len(standing), NO_BLOCK, np.int8)
        found[self.at] = self.block
        found[~among] = NO_BLOCK
        return found

    def due(self, standing: Standing, among: Mask) -> NDArray[np.int32]:
        """Return the day on which each record among some is due, or NO_DAY."""
        dated = standing.of_kinds(["followup"]) & standing.dated()
        found: NDArray[np.int32] = np.where(dated, standing["last"], NO_DAY).astype(np.int32)
        says = self.day != NO_DAY
        found[self.at[says]] = self.day[says]
        found[self.at[~self.is_open]] = NO_DAY
        found[~among] = NO_DAY
        return found

    def context_of(self, place: int) -> str | None:
        """Return the context of a record."""
        row = int(np.searchsorted(self.at, place))
        return self.context[row] if row < len(self.at) and self.at[row] == place else None


def stated(store: Store, standings: Standings, standing: Standing) -> Stated:
    """Return what the records of a scope say."""
    scope, as_of = standing.scope, standing.as_of

    def follow(known: Stated, now: Standing, news: News) -> Stated:
        asked = [id_ for id_, one in news.after.items() if one.kind in _KINDS and one.attrs]
        said: _Said = store.rolls.attributes(scope, _KINDS, _ATTRIBUTES, ids=asked) if asked else {}
        return known.with_changed(
            news.moved(known.at), now.places(news.after).tolist(), Stated.of(now, said)
        )

    def read() -> Stated:
        return Stated.of(standing, store.rolls.attributes(scope, _KINDS, _ATTRIBUTES, as_of))

    return standings.once(standing, "stated", read, follow)


def _day(text: str) -> int:
    try:
        return days_of(parse_day_range(text[:10] if "T" in text else text).end)
    except UsageError:
        return NO_DAY
