"""What stood when: the versions of a scope's records at a time, as columns to look over.

A version stands from the moment it was written until the next one is. So "as of" is about what was
kept, and believed, then; when things happened is the business of a window. A day that is given as
`as_of` means its end, in UTC.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shiyi.core.dates import parse_day_range, parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.store.kinds import DURABLE_LAYERS, KINDS, LAYERS, STATUSES
from shiyi.store.rolls import NO_DAY

Mask = NDArray[np.bool_]
T = TypeVar("T")
_EPOCH = date(1970, 1, 1)
_MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ACTIVE = STATUSES.index("active")
_MASKS = 64  # of each roll
MANY_PHASES = np.iinfo(np.int16).max  # more than small numbers count
# Their layer says how long they live, not whether they belong on a map.
_ANY_LAYER = ("followup", "checkpoint", "handoff")


def parse_as_of(text: str) -> datetime:
    """Return the last moment of a day, month or year, or the instant, that `as_of` names.

    Raises UsageError for anything else.
    """
    try:
        days = parse_day_range(text)
    except UsageError:
        return parse_timestamp(text)
    return datetime.combine(days.end, time.max, UTC)


@dataclass(frozen=True, slots=True)
class Periods:
    """The phase and the year of every record, as small numbers to count and sort by.

    phase: positions in `phases`, where None is no phase; year: 0 where there is no date.
    """

    phases: list[str | None]
    phase: NDArray[np.integer[Any]]
    year: NDArray[np.int16]

    @classmethod
    def of(cls, columns: Mapping[str, Any], names: Mapping[int, str]) -> Self:
        """Read them from the columns of a roll."""
        keys, phase = np.unique(columns["phase"], return_inverse=True)
        dated = columns["first"] != NO_DAY
        days = np.where(dated, columns["first"], 0).astype("datetime64[D]")
        years = np.where(dated, days.astype("datetime64[Y]").astype(np.int64) + 1970, 0)
        small = np.int16 if len(keys) < MANY_PHASES else np.int32
        phases = [names.get(key) for key in keys.tolist()]
        return cls(phases, phase.astype(small), years.astype(np.int16))


@dataclass(frozen=True, slots=True)
class Standing:
    """All records of a scope as they stand at `moment`; a place is a position in every column.

    as_of is None for now. Columns are those of `store.rolls`; ids ascend. seq is the change that
    they stand at; worked_out is what was found out about them since, see `standings`.
    """

    scope: str
    as_of: datetime | None
    moment: datetime
    columns: dict[str, Any]
    phase_names: dict[int, str]
    periods: "Periods"
    masks: dict[Any, Mask]
    seq: int
    worked_out: dict[str, Any]

    def __len__(self) -> int:
        return len(self.columns["id"])

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def id(self, place: int) -> str:
        """Return the id of a record."""
        return str(self.columns["id"][place])

    def phase(self, place: int) -> str | None:
        """Return the phase of a record."""
        return self.phase_names.get(int(self.columns["phase"][place]))

    def places(self, ids: Iterable[str]) -> NDArray[np.int64]:
        """Return the places of the records among `ids` that stand, in the order given."""
        wanted = np.array(list(ids), object)
        if not len(wanted) or not len(self):
            return np.empty(0, np.int64)
        found = np.searchsorted(self.columns["id"], wanted)
        found[found == len(self)] = 0
        known: NDArray[np.int64] = found[self.columns["id"][found] == wanted].astype(np.int64)
        return known

    def by_place(self, found: Mapping[str, T]) -> dict[int, T]:
        """Return what is known of records by their places; those that do not stand are left out."""
        ids = self.columns["id"]
        order = sorted(found)
        if not order or not len(self):
            return {}
        at = np.searchsorted(ids, np.array(order, object)).tolist()
        return {
            place: found[id_]
            for id_, place in zip(order, at, strict=True)
            if place < len(self) and ids[place] == id_
        }

    def among(self, ids: Iterable[str]) -> Mask:
        """Return which records have one of these ids."""
        mask = np.zeros(len(self), bool)
        mask[self.places(ids)] = True
        return mask

    def of_kinds(self, kinds: Collection[str]) -> Mask:
        """Return which records are of these kinds."""
        return self._is("kind", [KINDS.index(kind) for kind in kinds])

    def of_status(self, status: str) -> Mask:
        """Return which records have a status."""
        return self._is("status", [STATUSES.index(status)])

    def dated(self) -> Mask:
        """Return which records have a date."""
        dated: Mask = self.columns["first"] != NO_DAY
        return dated

    @property
    def instant(self) -> int:
        """The moment in microseconds since 1970."""
        return (self.moment - _MIDNIGHT) // _MICROSECOND

    def current(self, instant: int | None = None) -> Mask:
        """Return what holds at the moment: durable, not expired, neither superseded nor archived.

        Follow-ups, checkpoints and handoffs count whatever their layer.
        """
        return self.of_status("active") & self.kept(instant)

    def kept(self, instant: int | None = None) -> Mask:
        """Return what a map may speak of, whatever its status: durable and not expired."""
        durable = self._is("layer", [LAYERS.index(layer) for layer in DURABLE_LAYERS])
        alive: Mask = self.columns["expires"] > (self.instant if instant is None else instant)
        return (durable | self.of_kinds(_ANY_LAYER)) & alive

    def today(self) -> int:
        """Return the day of the moment, counted from 1970."""
        return days_of(self.moment.date())

    def _is(self, column: str, wanted: Iterable[int]) -> Mask:
        """Return which records have one of these values; not to be written to."""
        values = list(wanted)
        key = (column, *values)
        if key not in self.masks:
            if len(self.masks) >= _MASKS:
                self.masks.clear()
            column_ = self.columns[column]
            mask = np.zeros(len(column_), bool)
            for value in values:  # quicker than a look-up of each in a table
                mask |= column_ == value
            self.masks[key] = mask
            mask.flags.writeable = False
        return self.masks[key]


def days_of(day: date) -> int:
    """Return a day as the days since 1970."""
    return (day - _EPOCH).days


def day_of(days: int) -> date:
    """Return the day that lies so many days after 1970 began."""
    return _EPOCH + timedelta(days=days)
