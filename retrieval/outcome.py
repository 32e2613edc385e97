"""How a question may end: four ways, never confused, the same at every door."""

from collections.abc import Mapping
from typing import Literal

from shiyi.core.errors import (
    ConflictError,
    ForbiddenError,
    HomeBusyError,
    IndexUnusableError,
    ModelUnavailableError,
    NotFoundError,
    ShiyiError,
    TooManyError,
    UsageError,
)

Outcome = Literal["found", "empty", "failed", "unavailable"]

EXIT_CODES: Mapping[Outcome, int] = {
    "found": 0,
    "empty": 1,  # everything was looked at; the notes say what could be widened
    "failed": ShiyiError.exit_code,
    "unavailable": ModelUnavailableError.exit_code,  # the notes name what is missing
}
_REFUSED = (ConflictError, ForbiddenError, NotFoundError, UsageError)
_UNAVAILABLE = (HomeBusyError, IndexUnusableError, ModelUnavailableError, TooManyError)


def outcome_of(error: Exception) -> Outcome | None:
    """Return how a question ended that raised `error`; None when it was refused as it stood."""
    if isinstance(error, _REFUSED):
        return None
    return "unavailable" if isinstance(error, _UNAVAILABLE) else "failed"
