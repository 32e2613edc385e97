"""What each operation is asked with. Field descriptions are the help of every door."""

from typing import Annotated, Any, Literal

from pydantic import Field

from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.service.requests.evals import (
    Channel,
    EvalCompareRequest,
    EvalDatasetsRequest,
    EvalGateRequest,
    EvalLabelRequest,
    EvalRunRequest,
    EvalSystem,
)
from shiyi.service.requests.forms import (
    ARGUMENT,
    MAX_NAME,
    SEVERAL,
    WORDS,
    JsonObject,
    Names,
    Place,
    Places,
    Reading,
    Request,
    allow_secret,
    flag,
    optional_name,
    record_id,
    token_budget,
)
from shiyi.service.requests.levels import DeepRequest, ProbeRequest
from shiyi.service.requests.maps import (
    CatalogRequest,
    RecallRequest,
    ReviewRequest,
    RoutingRequest,
    SurveyRequest,
)
from shiyi.service.requests.records import (
    ConflictsRequest,
    ContradictRequest,
    CurrentRequest,
    EntityMergeRequest,
    EntitySplitRequest,
    FeedbackRequest,
    FollowupCloseRequest,
    FollowupListRequest,
    FootprintRequest,
    SalienceReviewRequest,
    StartersRequest,
    SupersedeRequest,
)
from shiyi.service.requests.safety import (
    BackupRequest,
    PurgeRequest,
    RestoreRequest,
    UndoRequest,
    ValidateRequest,
)
from shiyi.service.requests.tokens import (
    TokenCreateRequest,
    TokenListRequest,
    TokenRevokeRequest,
    TokenRole,
)
from shiyi.service.requests.turns import (
    CaptureAttachmentRequest,
    CaptureRequest,
    FinalizeRequest,
    LedgerRequest,
    PendingRequest,
    PreflightRequest,
    SessionCheckRequest,
    TimelineRequest,
)
from shiyi.store.kinds import KINDS, LAYERS, RELATIONS, STATUSES

__all__ = [
    "AbsenceRequest", "AddRecordRequest", "ArchiveRequest", "BackupRequest", "CalibrateRequest",
    "CaptureAttachmentRequest", "CaptureRequest", "CatalogRequest", "Channel", "ConflictsRequest",
    "ContradictRequest", "CurrentRequest", "DeepRequest", "DoctorRequest", "EditRequest",
    "EntityMergeRequest", "EntitySplitRequest", "EvalCompareRequest", "EvalDatasetsRequest",
    "EvalGateRequest", "EvalLabelRequest", "EvalRunRequest", "EvalSystem", "ExportRequest",
    "FeedbackRequest", "FinalizeRequest", "FollowupCloseRequest", "FollowupListRequest",
    "FootprintRequest", "ImportFormat", "ImportRequest", "InitRequest", "Kind", "Layer",
    "LedgerRequest", "LinkRequest", "ListRequest", "OriginsRequest", "PendingRequest", "Place",
    "Places", "PreflightRequest", "ProbeRequest", "PurgeRequest", "RecallRequest", "ReindexRequest",
    "Relation", "RememberRequest", "Request", "RestoreRequest", "ReviewRequest", "RoutingRequest",
    "SalienceReviewRequest", "SearchRequest", "SessionCheckRequest", "ShowRequest",
    "StartersRequest", "Status", "StatusRequest", "SupersedeRequest", "SurveyRequest",
    "TimelineRequest", "TokenCreateRequest", "TokenListRequest", "TokenRevokeRequest", "TokenRole",
    "TraceRequest", "UndoRequest", "ValidateRequest", "VersionRequest",
]  # fmt: skip

Kind = Literal[KINDS]  # type: ignore[valid-type]
Layer = Literal[LAYERS]  # type: ignore[valid-type]
Status = Literal[STATUSES]  # type: ignore[valid-type]
Relation = Literal[RELATIONS]  # type: ignore[valid-type]
_Reference = Annotated[str, Field(min_length=1, max_length=MAX_EXTERNAL_ID)]
ImportFormat = Literal[
    "auto", "jsonl", "markdown", "text", "chatgpt", "claude", "claude-code", "beir"
]


class InitRequest(Request):
    """Make a home."""


class _Statement(Request):
    """The fields of a record that a person may give.

    In an edit, an empty detail, date, phase, topic or alias clears what was there.
    """

    kind: Kind | None = Field(None, description="what it is")
    layer: Layer | None = Field(None, description="how long it lives")
    title: str | None = Field(None, description="a few words that name it")
    gist: str | None = Field(None, description="one sentence that stands alone")
    detail: str | None = Field(None, description="more, if it needs more")
    topics: Names | None = Field(
        None,
        max_length=50,
        description="a topic; may be repeated",
        json_schema_extra=flag("topic"),
    )
    aliases: Names | None = Field(
        None,
        max_length=50,
        description="another name for it; may be repeated",
        json_schema_extra=flag("alias"),
    )
    salience: int | None = Field(None, ge=0, le=100, description="how much it matters, 0 to 100")
    level: int | None = Field(
        None, ge=0, le=3, description="how much it matters, as a level: passing, related, key, axis"
    )
    date: str | None = Field(
        None, description="when it was: 2021, 2021-03, 2021-03-05 or 2021-03-05..2021-04-01"
    )
    phase: str | None = optional_name("the phase of life that it belongs to")
    attrs: JsonObject | None = Field(
        None, description="what its kind has of its own, as a JSON object; null takes one away"
    )

    def statement(self) -> dict[str, Any]:
        """Return the fields that were given."""
        names = tuple(_Statement.model_fields)
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class RememberRequest(_Statement):
    """Keep words, and a record that quotes them."""

    text: str = Field(description="the words", json_schema_extra=WORDS)
    speaker: str = Field("user", min_length=1, max_length=MAX_NAME, description="who said them")
    session: str | None = optional_name(
        "the dialogue that they belong to; they follow its newest words"
    )
    turn: str | None = optional_name("the turn that they are; one of its own by default")
    said_at: str | None = Field(None, description="when they were said, ISO 8601; now by default")
    words_only: bool = Field(False, description="keep the words and derive no record")
    allow_secret: bool = allow_secret()
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class ImportRequest(Request):
    """Take in a file or folder."""

    path: Place = Field(description="a file, a folder or a zip", json_schema_extra=ARGUMENT)
    format: ImportFormat = Field("auto", description="what it is; found out by itself")
    allow_secret: bool = allow_secret()


class SearchRequest(Reading):
    """Look for memories."""

    text: str = Field(description="what to look for", json_schema_extra=ARGUMENT)
    limit: int = Field(8, ge=1, le=100, description="the most hits")
    budget: int = token_budget(4000)
    kind: list[Kind] | None = Field(None, description="only records of a kind; may be repeated")
    layer: list[Layer] | None = Field(
        None, description="only records of a layer; may be repeated; durable ones by default"
    )
    status: list[Status] = Field(["active"], description="records of a status; may be repeated")
    topic: list[str] | None = Field(None, description="only what has a topic; may be repeated")
    since: str | None = Field(None, description="only what is dated then or later")
    until: str | None = Field(None, description="only what is dated then or earlier")
    only: Literal["all", "records", "captures"] = Field("all", description="what to look in")
    channel: Channel = Field("hybrid", description="words and meaning, or one of them alone")
    weak: bool = Field(False, description="also return what lies below the evidence floor")
    now: str | None = Field(
        None, description="when it is asked, ISO 8601: what words such as 去年 are counted from"
    )


class AbsenceRequest(Reading):
    """Make sure that there is nothing."""

    topic: str = Field(description="what there may be nothing about", json_schema_extra=ARGUMENT)
    now: str | None = Field(
        None, description="when it is asked, ISO 8601: what words such as 去年 are counted from"
    )


class TraceRequest(Request):
    """Read why an answer was what it was."""

    id: str | None = Field(
        None,
        pattern="^[0-9]{24}$",
        description="the id that the answer gave; without one, the newest are listed",
        json_schema_extra=ARGUMENT,
    )
    replay: bool = Field(False, description="ask the same again and say what is not as it was")
    feedback: bool = Field(
        False, description="list only answers of which a person said something, with what it was"
    )
    limit: int = Field(20, ge=1, le=1000, description="the most in a list")


class ShowRequest(Request):
    """Read one memory."""

    id: str = Field(
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="the id of a record or capture, or the name that its source gave it",
        json_schema_extra=ARGUMENT,
    )
    versions: bool = Field(False, description="with every older version of a record")


class OriginsRequest(Request):
    """Ask whose word memories are."""

    ids: Annotated[list[_Reference], SEVERAL] = Field(
        min_length=1,
        max_length=1000,
        description="records or captures by their ids, as any answer gave them",
        json_schema_extra=ARGUMENT,
    )


class ListRequest(Request):
    """Read memories page by page."""

    what: Literal["records", "captures"] = Field("records", description="what to list")
    kind: Kind | None = Field(None, description="only records of this kind")
    layer: Layer | None = Field(None, description="only records of this layer")
    status: Status | None = Field(None, description="only records of this status")
    topic: str | None = optional_name("only records with this topic")
    order: Literal["id", "updated", "newest"] = Field(
        "id",
        description="by id; what was written last before the rest; or by its own date, the latest "
        "first",
    )
    limit: int = Field(50, ge=1, le=1000, description="the most on a page")
    after: str | None = Field(None, description="the cursor of the page before")


class EditRequest(_Statement):
    """Give a record a new version."""

    id: str = record_id()
    status: Status | None = Field(None, description="its status")
    reason: str | None = Field(None, max_length=2000, description="why it changes")
    if_match: str | None = optional_name("the etag that the newest version must have")
    allow_secret: bool = allow_secret()
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class ArchiveRequest(Request):
    """Take a record out of ordinary search."""

    id: str = record_id()
    reason: str | None = Field(None, max_length=2000, description="why")
    if_match: str | None = optional_name("the etag that the newest version must have")
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class AddRecordRequest(_Statement):
    """Keep a statement that was derived before, with the words that it rests on."""

    kind: Kind = Field(description="what it is")
    quotes: list[JsonObject] = Field(
        [],
        max_length=200,
        description='the words that it rests on, as {"capture": id} with "text", or with "start" '
        'and "end", or whole; may be repeated',
        json_schema_extra=flag("quote"),
    )
    summary_only: bool = Field(False, description="it rests on no words that are kept here")
    turn: str | None = optional_name(
        "the turn whose ledger names it; by default that of the words that it quotes"
    )
    date_precision: Literal["day", "month", "year", "range", "phase", "relative"] | None = Field(
        None, description="how exactly the date is known; as it is written by default"
    )
    date_basis: Literal["stated", "source", "inferred"] | None = Field(
        None,
        description="how the date is known: said in the words, the day of the source, or inferred; "
        "read from the words that are quoted by default",
    )
    status: Status = Field("active", description="its status")
    reason: str | None = Field(None, max_length=2000, description="why it was written")
    allow_secret: bool = allow_secret()
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class LinkRequest(Request):
    """Tie two memories together."""

    src: str = record_id()
    rel: Relation = Field(description="how they belong together", json_schema_extra=ARGUMENT)
    dst: str = Field(
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="the id of a record, or of a capture that is quoted, or its source's name",
        json_schema_extra=ARGUMENT,
    )
    key: str | None = optional_name("idempotency key: a repeat returns the first result")


class ReindexRequest(Request):
    """Build indexes anew."""

    scope: str | None = optional_name("only this scope; all of them by default")
    full: bool = Field(False, description="analyse every text again instead of what changed")
    keywords_only: bool = Field(False, description="index words only, without the model")


class StatusRequest(Request):
    """Ask how things stand."""


class DoctorRequest(Request):
    """Check everything."""


class ExportRequest(Request):
    """Write plain files."""

    path: Place = Field(description="a new or empty directory", json_schema_extra=ARGUMENT)
    format: Literal["jsonl", "markdown"] = Field("jsonl", description="for programs or people")


class CalibrateRequest(Request):
    """Measure the constants of the model in use."""

    passages: Place = Field(description="a file of texts to find, one a line")
    queries: Place = Field(description="a file of questions, one a line")
    sources: str = Field("own texts", max_length=2000, description="where they are from")


class VersionRequest(Request):
    """Ask for the version."""
