"""Follow-ups by when they come up: the most overdue first, then by rule, then the closed."""

from dataclasses import dataclass
from datetime import date, timedelta

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import UsageError
from shiyi.retrieval.listing import date_of
from shiyi.store import HeadFilter, Record, Store

_SOON = timedelta(days=3)
_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class Due:
    """A follow-up; when: overdue, today, soon, later, by rule, or how it was closed."""

    record: Record
    due: str | None
    when: str
    day: date = date.max


def listed(store: Store, scope: str, today: date, *, closed: bool) -> list[Due]:
    """Return the follow-ups of a scope that are open, or all of them."""
    wanted = HeadFilter(kinds=("followup",), statuses=("active",))
    found = [_due(one, today) for one in store.find_heads(scope, wanted, limit=_ALL)]
    kept = [one for one in found if closed or one.record.attrs.get("state", "open") == "open"]
    return sorted(kept, key=lambda one: (_closed(one), one.day, one.record.record_id))


def _closed(one: Due) -> bool:
    return bool(one.record.attrs.get("state", "open") != "open")


def _due(record: Record, today: date) -> Due:
    """Return when a follow-up is due: by its attribute, else by its date: by its last day."""
    text = record.attrs.get("due") or date_of(record)
    state = record.attrs.get("state", "open")
    day = date.max
    if isinstance(text, str):
        try:
            day = parse_day_range(text[:10] if "T" in text else text).end
        except UsageError:  # imported before it had to be a date
            text = None
    if state != "open":
        return Due(record, text, str(state), day)
    if day == date.max:
        return Due(record, None, "by rule", day)
    when = "overdue" if day < today else "today" if day == today else "later"
    return Due(record, text, "soon" if today < day <= today + _SOON else when, day)
