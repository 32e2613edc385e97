"""What the steps of a turn answer."""

from pydantic import BaseModel, Field

from shiyi.service.responses.wording import Name, Place


class PreflightResult(BaseModel):
    """The receipt of a turn. It holds no text."""

    turn_id: str
    version: int
    required: bool = Field(description="the words are captured and closed before anything else")
    tier: str = Field(description="full or skip")
    signal: str = Field(description="explicit, clear, weak or none")
    reasons: list[str]
    reasons_suppressed: list[str] = Field(description="what was put aside, for audit")
    sha256: str = Field(description="of the UTF-8 bytes of the words")
    warnings: list[str]


class CaptureResult(BaseModel):
    """Words that are kept; they are on disk when this is returned."""

    turn_id: str
    capture_id: str
    utf8_sha256: str
    bytes: int
    fidelity: str
    new: bool = Field(description="false when the turn held them before")
    warnings: list[str]


class CaptureAttachmentResult(BaseModel):
    """A file that is kept; its bytes are on disk when this is returned."""

    attachment_id: str
    turn_id: str
    sha256: str
    bytes: int
    name: str
    media_type: str
    capture_id: str | None = Field(description="of its words, when it is a short text in UTF-8")
    new: bool = Field(description="false when the turn held it before")
    warnings: list[str]


class AttachmentView(BaseModel):
    """One attachment, without its bytes."""

    attachment_id: str
    sha256: str
    bytes: int
    name: str
    media_type: str
    turn: str | None
    source_path: Name | None
    recorded_at: str
    path: Place = Field(description="where the bytes lie; not told to a token")
    whole: bool = Field(description="as many bytes as there should be lie there")
    captures: list[str] = Field(description="the words that were read from it")


class FinalizeResult(BaseModel):
    """How a capture is closed."""

    capture_id: str
    turn_id: str | None
    closed: str = Field(description="derived or no_derivation_needed")
    records: list[str]
    repeated: bool = Field(description="it was closed in this way before")
    warnings: list[str]


class OpenItemView(BaseModel):
    """One thing that is not as it should be."""

    problem: str
    turn_id: str | None
    id: str | None
    since: str | None
    todo: str


class SessionCheckResult(BaseModel):
    """Whether a turn may be called saved."""

    turn_id: str | None
    verdict: str = Field(description="pass, pass_with_warnings or fail")
    open: list[OpenItemView]
    warnings: list[OpenItemView]


class PendingResult(BaseModel):
    """What is open, oldest first."""

    scope: str
    open: list[OpenItemView]
    notes: list[str]


class LedgerEntry(BaseModel):
    """One step that was done."""

    seq: int
    at: str
    step: str
    outcome: str
    turn_id: str | None
    capture_id: str | None
    attachment_id: str | None
    records: list[str]
    trace: str | None
    reason: str | None


class LedgerResult(BaseModel):
    """Steps in order, and what a repair did."""

    scope: str
    entries: list[LedgerEntry]
    repaired: list[str] = Field(description="captures that were closed from the links")
    left: list[OpenItemView] = Field(description="what a repair cannot close")
    notes: list[str]


class TimelineStep(BaseModel):
    """One step of a turn."""

    seq: int = Field(description="the number of its write, or of the newest one that it saw")
    at: str
    step: str
    outcome: str
    id: str | None
    note: str
    ids: list[str] = Field(description="the records that it names, or what it found")
    trace: str | None


class TimelineResult(BaseModel):
    """One turn, replayed in order."""

    scope: str
    turn_id: str
    steps: list[TimelineStep]
    notes: list[str]
