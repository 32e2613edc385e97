"""What went wrong, as every door tells it: a code, a sentence, and nothing of the content."""

import errno
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shiyi.core import errors
from shiyi.core.errors import HomeUnwritableError, InternalError, ShiyiError
from shiyi.retrieval.outcome import Outcome, outcome_of

_NO_PLACE = {errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.EDQUOT, errno.EFBIG}
_KINDS = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ShiyiError)
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error in the form that goes out. field: of the request; outcome: of a question."""

    code: str
    message: str
    field: str | None
    outcome: Outcome | None

    def as_json(self) -> dict[str, Any]:
        """Return it as an object."""
        return asdict(self)

    @property
    def exit_code(self) -> int:
        """Return the exit code of a command that ends so."""
        return _KINDS.get(self.code, InternalError).exit_code


def refusal_of(error: Exception) -> Refusal:
    """Return how an error is told."""
    if isinstance(error, ShiyiError):
        return Refusal(error.code, str(error), error.field, outcome_of(error))
    if isinstance(error, OSError) and error.errno in _NO_PLACE:
        name = error.filename or "The home"
        sentence = f"{name} cannot be written ({error.strerror}); what was kept before is safe."
        return Refusal(HomeUnwritableError.code, sentence, None, outcome_of(error))
    # Neither the values nor the message are shown: they may hold what somebody said.
    sentence = (
        f"An internal error ({type(error).__name__}); what was kept before is safe. "
        "Set SHIYI_DEBUG=1 to see where, and report it."
    )
    return Refusal(InternalError.code, sentence, None, outcome_of(error))


def error_from(told: Mapping[str, Any]) -> ShiyiError:
    """Return the error that another process told of."""
    error = _KINDS.get(str(told.get("code")), InternalError)(str(told.get("message")))
    error.field = told.get("field")
    return error
