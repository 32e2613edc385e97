"""When something was, and how that is known; a date that the words cannot bear is refused.

The four dates of a memory are kept apart: when it happened (date_start, date_end), when the words
were written (captured_at of the capture), when it was told again (`recalled` in the attrs), and
when it was recorded (created_at).
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.write import LOOSE
from shiyi.retrieval.when import may_have_times, read_times
from shiyi.store import Capture

_ABOUT = timedelta(days=1)  # where the clock of the words is in another zone


def basis_of(
    columns: Mapping[str, Any], asked: str | None, captures: Sequence[Capture]
) -> tuple[str, list[str]]:
    """Return how the date of a record is known, and what is doubtful about it.

    Asked nothing, it is `stated` when the words behind the record name that time as exactly,
    `source` when they were written then, else `inferred`. What is asked is checked against the
    words, whole captures of them, for nobody quotes the time with every span.

    Raises UsageError for `stated` without a time word in them, and for `source` when they were
    written on other days and name no time either.
    """
    first: date = columns["date_start"]
    last: date = columns["date_end"] or first
    named = any(may_have_times(one.text) for one in captures)
    read = [
        reading
        for one in captures
        for reading in read_times(one.text, one.captured_at or one.recorded_at)
    ]
    fits = any(reading.covers(first, last) > 0 for reading in read)
    loose = columns["date_precision"] in LOOSE
    exact = fits and (loose or any(reading.states(first, last) for reading in read))
    then = any(_written_about(one, first, last) for one in captures)
    if asked == "stated" and not named:
        raise UsageError(
            "The words that are quoted name no time, so they do not state the date; give "
            "date-basis inferred, or quote the words that state it."
        )
    if asked == "source" and captures and not (named or then) and _all_dated(captures):
        raise UsageError(
            "The words that are quoted were written on another day and name no time; give "
            "date-basis inferred, or quote the source that has the date."
        )
    basis = asked or ("stated" if exact else "source" if then else "inferred")
    if basis == "source" or not read:
        return basis, []
    if not fits:
        return basis, ["The words name another time than this date; look again."]
    if basis == "stated" and not exact:
        return basis, ["The date is more exact than the words; write it as they say it."]
    return basis, []


def _written_about(capture: Capture, first: date, last: date) -> bool:
    if capture.captured_at is None:
        return False
    written = capture.captured_at.date()
    return first - written <= _ABOUT and written - last <= _ABOUT


def _all_dated(captures: Sequence[Capture]) -> bool:
    return all(one.captured_at is not None for one in captures)
