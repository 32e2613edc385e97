"""What each operation answers. Stored text stands only in fields made for it."""

from typing import Any

from pydantic import BaseModel, Field

from shiyi.eval.findings import Comparison, GateResult, KnownDataset
from shiyi.eval.results import Summary
from shiyi.retrieval.level_results import DeepResult, ProbeResult
from shiyi.retrieval.map_results import (
    CatalogResult,
    RecallResult,
    ReviewResult,
    RoutingResult,
    SurveyResult,
)
from shiyi.retrieval.results import SearchResult
from shiyi.retrieval.traced import AbsenceResult, TraceResult
from shiyi.service.responses.records import (
    AddRecordResult,
    ConflictsResult,
    ContradictResult,
    CurrentResult,
    EntityResult,
    FeedbackResult,
    FollowupListResult,
    FootprintResult,
    SalienceReviewResult,
    StartersResult,
    SupersedeResult,
)
from shiyi.service.responses.safety import (
    BackupResult,
    Check,
    PurgeResult,
    RestoreResult,
    UndoResult,
    ValidateResult,
)
from shiyi.service.responses.tokens import (
    TokenCreateResult,
    TokenListResult,
    TokenRevokeResult,
    TokenView,
)
from shiyi.service.responses.turns import (
    AttachmentView,
    CaptureAttachmentResult,
    CaptureResult,
    FinalizeResult,
    LedgerResult,
    PendingResult,
    PreflightResult,
    SessionCheckResult,
    TimelineResult,
)
from shiyi.service.responses.wording import Name, Place

__all__ = [
    "AbsenceResult", "AddRecordResult", "BackupResult", "CalibrateResult",
    "CaptureAttachmentResult", "CaptureResult", "CatalogResult", "Check", "ConflictsResult",
    "ContradictResult", "CurrentResult", "DeepResult", "DoctorResult", "EditResult", "EntityResult",
    "EvalCompareResult", "EvalDatasetsResult", "EvalGateResult", "EvalLabelResult", "EvalRunResult",
    "ExportResult", "FeedbackResult", "FinalizeResult", "FollowupListResult", "FootprintResult",
    "ImportResult", "InitResult", "LedgerResult", "LinkResult", "ListResult", "OriginsResult",
    "PendingResult", "PreflightResult", "ProbeResult", "PurgeResult", "RecallResult",
    "ReindexResult", "RememberResult", "RestoreResult", "ReviewResult", "RoutingResult",
    "SalienceReviewResult", "SearchResult", "SessionCheckResult", "ShowResult", "StartersResult",
    "StatusResult", "SupersedeResult", "SurveyResult", "TimelineResult", "TokenCreateResult",
    "TokenListResult", "TokenRevokeResult", "TokenView", "TraceResult", "UndoResult",
    "ValidateResult", "VersionResult",
]  # fmt: skip


class InitResult(BaseModel):
    """A home that is ready."""

    home: Place = Field(description="not told to a token")
    created: bool
    model: Name
    mode: str = Field(description="hybrid or keyword")
    seconds: float = Field(description="how long it took to make the model ready")
    notes: list[str]


class RememberResult(BaseModel):
    """What was kept; it is on disk when this is returned."""

    scope: str
    capture_id: str
    record_id: str | None
    utf8_sha256: str
    bytes: int
    turn_id: str = Field(description="the turn that was judged, captured and closed")
    warnings: list[str]


class ImportResult(BaseModel):
    """What went in, and what did not."""

    scopes: list[str]
    captures: int
    records: int
    versions: int = Field(description="records that changed since they were imported")
    links: int = Field(description="ties between records, beside those that a record names itself")
    feedback: int = Field(description="what was said of memories")
    unchanged: int
    failed: int
    skipped: dict[str, int] = Field(description="left out on purpose, by reason")
    errors: list[str] = Field(description="the first failures, as file:line: reason")
    waiting: int = Field(description="captures and records that are not embedded yet")


class CaptureView(BaseModel):
    """One capture, whole."""

    capture_id: str
    text: str
    utf8_sha256: str
    speaker: str
    session: str | None
    turn: str | None
    previous: str | None
    captured_at: str | None
    recorded_at: str
    origin: str
    fidelity: str
    source_path: Name | None
    external_id: str | None
    attrs: dict[str, Any]


class LinkView(BaseModel):
    """One link, seen from either end."""

    src: str
    rel: str
    dst: str
    start: int | None
    end: int | None


class RecordView(BaseModel):
    """One version of a record."""

    record_id: str
    version: int
    etag: str
    kind: str
    layer: str
    status: str
    title: str
    gist: str
    detail: str | None
    topics: list[str]
    aliases: list[str]
    salience: int
    level: str = Field(description="passing, related, key or axis")
    salience_source: str = Field(description="stated, imported, reviewed or default")
    date_start: str | None
    date_end: str | None
    date_precision: str
    date_basis: str
    phase: str | None
    created_at: str
    updated_at: str
    reason: str | None
    external_id: str | None
    attrs: dict[str, Any]


class FeedbackView(BaseModel):
    """What a person said of a memory."""

    id: str
    verdict: str
    capture: str
    start: int
    end: int
    note: str | None
    at: str


class ShowResult(BaseModel):
    """A record, a capture or an attachment, with its links."""

    scope: str
    record: RecordView | None
    capture: CaptureView | None
    attachment: AttachmentView | None = None
    links: list[LinkView]
    versions: list[RecordView] = Field(description="older versions, oldest first")
    feedback: list[FeedbackView] = Field(description="what was said of it, oldest first")
    notes: list[str]


class OriginView(BaseModel):
    """Whose word one memory is."""

    id: str = Field(description="as it was asked for")
    trust: str = Field(description="user, agent, imported or web")
    origin: str | None = Field(description="how a capture came in")
    speaker: str | None = Field(description="who said a capture")
    fidelity: str | None = Field(description="how exact a capture is")


class OriginsResult(BaseModel):
    """Where memories come from."""

    scope: str
    origins: list[OriginView]
    unknown: list[str] = Field(description="ids that are not here")


class ListItem(BaseModel):
    """One line of a list."""

    id: str
    type: str
    kind: str | None
    layer: str | None
    status: str | None
    date: str | None
    title: str
    external_id: str | None = Field(description="the name that its source gave it")
    written: str = Field(description="when its newest version, or the capture, was written")


class ListResult(BaseModel):
    """One page."""

    scope: str
    items: list[ListItem]
    next: str | None = Field(description="the cursor of the next page; null on the last")
    notes: list[str]


class EditResult(BaseModel):
    """The newest version of a record."""

    record_id: str
    version: int
    etag: str
    changed: bool


class LinkResult(BaseModel):
    """A link that stands."""

    src: str
    rel: str
    dst: str
    added: bool = Field(description="false when it was there before")


class BuiltIndex(BaseModel):
    """One generation that was built."""

    scope: str
    generation: str
    documents: int
    embedded: int
    bytes: int
    seconds: float


class ReindexResult(BaseModel):
    """What was built."""

    indexes: list[BuiltIndex]
    model: str | None
    notes: list[str]


class ScopeStatus(BaseModel):
    """One scope: its rows and its index."""

    scope: str
    captures: int
    records: int
    versions: int
    links: int
    generation: str | None
    documents: int = Field(description="documents in the generation")
    embedded: int
    behind: int = Field(description="changes that came after the generation; searched all the same")


class StatusResult(BaseModel):
    """How the home stands; for a token of single scopes, how these do."""

    home: Place = Field(description="not told to a token")
    version: str
    last_change: int | None = Field(description="of the whole home")
    model: Name
    mode: str = Field(description="hybrid or keyword")
    daemon: int | None = Field(
        description="the process that serves the home; none without one, and not told to a token"
    )
    scopes: list[ScopeStatus]
    notes: list[str]


class DoctorResult(BaseModel):
    """Everything that was looked at."""

    healthy: bool
    checks: list[Check]


class ExportResult(BaseModel):
    """What was written."""

    path: str
    format: str
    counts: dict[str, int]


class CalibrateResult(BaseModel):
    """The calibration that the model now uses."""

    path: str
    model: str
    passages: int
    queries: int
    note: str


class VersionResult(BaseModel):
    """The version and what decides an index."""

    version: str
    schema_version: int
    analyzer: str


class EvalRow(Summary):
    """The means of one system on one view of one set."""

    dataset: str
    view: str
    system: str


class EvalFiles(BaseModel):
    """Where a run was written."""

    result: str = Field(description="every query with its answers and measures")
    timings: str
    report: str = Field(description="a page to look at")


class EvalRunResult(BaseModel):
    """What a run found; the whole of it lies in the files."""

    fingerprint: str
    files: EvalFiles
    rows: list[EvalRow]
    table: str = Field(description="the rows as people read them")
    notes: list[str] = Field(description="what was left out of a public set, and the like")


class EvalCompareResult(Comparison):
    """Every cell that two results have in common."""


class EvalGateResult(GateResult):
    """Whether a baseline is held."""

    checked: int = Field(description="means that were compared")
    skipped: list[str] = Field(description="sets of the baseline that are not here")
    files: EvalFiles | None = Field(description="where the run was written, if there was one")
    wrote: str | None = Field(description="the baseline that was made")
    notes: list[str]


class Labelled(BaseModel):
    """A labelled set that was written."""

    path: str
    queries: int
    judgements: int
    left_out: int = Field(description="queries that are not judged to the end")


class EvalLabelResult(BaseModel):
    """How far the judging is."""

    directory: str
    done: int = Field(description="pairs of a query and a document, skipped ones included")
    total: int
    exported: Labelled | None
    notes: list[str]


class EvalDatasetsResult(BaseModel):
    """The sets at hand."""

    datasets: list[KnownDataset]
