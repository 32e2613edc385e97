"""What the steps of a turn are asked with."""

from typing import Annotated, Literal

from pydantic import Field

from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.service.requests.forms import (
    ARGUMENT,
    MAX_NAME,
    SEVERAL,
    WORDS,
    Place,
    Request,
    allow_secret,
    flag,
    optional_name,
)

_Reference = Annotated[str, Field(min_length=1, max_length=MAX_EXTERNAL_ID)]
_MOST_RECORDS = 200


def _turn() -> str:
    name: str = Field(
        min_length=1, max_length=MAX_NAME, description="the name of the turn, one a message"
    )
    return name


class PreflightRequest(Request):
    """Judge the words of a turn."""

    text: str = Field(description="the words", json_schema_extra=WORDS)
    turn: str = _turn()
    tier: Literal["auto", "full", "skip"] = Field(
        "auto", description="keep them, or not; by the gate when auto"
    )
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class CaptureRequest(Request):
    """Keep the words of a judged turn."""

    text: str = Field(description="the words", json_schema_extra=WORDS)
    turn: str = _turn()
    speaker: str = Field("user", min_length=1, max_length=MAX_NAME, description="who said them")
    session: str | None = optional_name(
        "the dialogue that they belong to; they follow its newest words"
    )
    said_at: str | None = Field(None, description="when they were said, ISO 8601; now by default")
    fidelity: Literal["verbatim", "transcription", "ocr"] = Field(
        "verbatim", description="as they were said, or read from an attachment"
    )
    of: str | None = optional_name("the attachment that they were read from")
    allow_secret: bool = allow_secret()
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class CaptureAttachmentRequest(Request):
    """Keep a file."""

    path: Place = Field(description="a file", json_schema_extra=ARGUMENT)
    turn: str = _turn()
    speaker: str = Field("user", min_length=1, max_length=MAX_NAME, description="who gave it")
    allow_secret: bool = allow_secret()
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class FinalizeRequest(Request):
    """Close a capture."""

    capture: str = Field(
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="the id of a capture",
        json_schema_extra=ARGUMENT,
    )
    outcome: Literal["derived", "no_derivation_needed"] = Field(
        description="whether records were derived from it", json_schema_extra=ARGUMENT
    )
    reason: str | None = Field(
        None, max_length=2000, description="why, which no_derivation_needed has to say"
    )
    records: Annotated[list[_Reference], SEVERAL] = Field(
        [],
        max_length=_MOST_RECORDS,
        description="a record that quotes it, all of them by default; or one that the question "
        "found; may be repeated",
        json_schema_extra=flag("record"),
    )
    trace: str | None = Field(
        None,
        pattern="^[0-9]{24}$",
        description="the id of the search, probe or absence that shows that none is needed",
    )
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class SessionCheckRequest(Request):
    """Ask whether a turn is kept and closed."""

    turn: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_NAME,
        description="the name of the turn; the one judged last by default",
        json_schema_extra=ARGUMENT,
    )


class PendingRequest(Request):
    """Ask what is open."""


class LedgerRequest(Request):
    """Read or mend the ledger."""

    turn: str | None = optional_name("only the steps of a turn")
    capture: str | None = Field(
        None, max_length=MAX_EXTERNAL_ID, description="only the steps of a capture"
    )
    repair: bool = Field(False, description="close what records quote, and name what is left")
    limit: int = Field(50, ge=1, le=1000, description="the most steps, the last ones")
    key: str | None = optional_name("idempotency key: a repeated repair returns the first result")


class TimelineRequest(Request):
    """Replay a turn."""

    turn: str = Field(
        min_length=1,
        max_length=MAX_NAME,
        description="the name of the turn",
        json_schema_extra=ARGUMENT,
    )
