"""Feedback: what a person said about memories and answers, appended and never changed."""

from collections.abc import Iterator, Sequence
from typing import Any

from shiyi.store.database import Database, naive, utc
from shiyi.store.rows import Feedback

_COLUMNS = (
    "scope, feedback_id, verdict, target_id, capture_id, span_start, span_end, trace_id, note, "
    "created_at"
)
_INSERT = f"""
    INSERT INTO feedback ({_COLUMNS})
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?),
           unnest(?), unnest(?)
"""
_FOUND = f"""
    SELECT {_COLUMNS} FROM feedback
    WHERE scope = $scope AND ($targets IS NULL OR list_contains($targets, target_id))
        AND ($verdict IS NULL OR verdict = $verdict)
    ORDER BY created_at, feedback_id
"""  # noqa: S608
_KNOWN = "SELECT feedback_id FROM feedback WHERE scope = ? AND list_contains(?, feedback_id)"
_ALL = f"SELECT {_COLUMNS} FROM feedback WHERE scope = ? ORDER BY feedback_id"  # noqa: S608


def insert_feedback(database: Database, scope: str, feedback: Sequence[Feedback]) -> list[Feedback]:
    """Append what is new and return it; ids already there are left alone."""
    ids = [one.feedback_id for one in feedback]
    known = {row[0] for row in database.rows(_KNOWN, [scope, ids])} if ids else set()
    new = {one.feedback_id: one for one in feedback if one.feedback_id not in known}
    database.insert(_INSERT, [_row(one) for one in new.values()])
    return list(new.values())


def find_feedback(
    database: Database,
    scope: str,
    targets: Sequence[str] | None = None,
    verdict: str | None = None,
) -> list[Feedback]:
    """Return the feedback of the scope, on `targets` and of `verdict` when given, oldest first."""
    values = {"scope": scope, "targets": targets and list(targets), "verdict": verdict}
    return [_feedback(row) for row in database.rows(_FOUND, values)]


def iterate_feedback(database: Database, scope: str) -> Iterator[Feedback]:
    """Yield all feedback of the scope, by id."""
    for batch in database.batches(_ALL, [scope]):
        yield from map(_feedback, batch)


def _row(one: Feedback) -> tuple[Any, ...]:
    return (
        one.scope, one.feedback_id, one.verdict, one.target_id, one.capture_id, one.span_start,
        one.span_end, one.trace_id, one.note, naive(one.created_at),
    )  # fmt: skip


def _feedback(row: tuple[Any, ...]) -> Feedback:
    return Feedback(
        scope=row[0], feedback_id=row[1], verdict=row[2], target_id=row[3], capture_id=row[4],
        span_start=row[5], span_end=row[6], trace_id=row[7], note=row[8], created_at=utc(row[9]),
    )  # fmt: skip
