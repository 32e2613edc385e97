"""The one table: everything that can be done to a memory.

Every door (command line, Python, and later HTTP and MCP) is made from it. Models and handlers are
named, not imported, so that reading the table costs nothing; a test resolves them all.
"""

from dataclasses import dataclass
from typing import Literal

Permission = Literal["read", "write", "destroy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be done.

    request and response are pydantic models in `service/requests.py` and `service/responses.py`;
    room is the module of `service/handlers/` with its handler, a function of (session, scope,
    request). repeatable: doing it twice is as good as once. scoped: it works inside one scope.
    creates_home: a missing home is made. job: it may take long, and reports its progress in these.
    slow: it may take long without any progress to report; both run beside what is quick.
    here: it is done in the process that asks, since it needs no home, or somebody to ask.
    owner_only: only whoever owns the home may ask: no token and no model.
    A name of two words belongs to the group that the first one names.
    """

    name: str
    purpose: str
    room: str
    request: str
    response: str
    permission: Permission
    repeatable: bool
    scoped: bool = True
    creates_home: bool = False
    job: Literal["bytes", "documents", "queries"] | None = None
    slow: bool = False
    here: bool = False
    owner_only: bool = False

    @property
    def handler(self) -> str:
        """The name of the function that does it."""
        return f"handle_{self.python_name}"

    @property
    def python_name(self) -> str:
        """The name as Python can have it."""
        return self.name.replace("-", "_").replace(" ", "_")


GROUPS = {
    "eval": "Measure how good the search is, on labelled sets or on memories of your own.",
    "token": "Say who may come in over HTTP, and as what.",
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="init",
        purpose="Make a home for memories and prepare the embedding model.",
        room="tend",
        request="InitRequest",
        response="InitResult",
        permission="write",
        repeatable=True,
        scoped=False,
        creates_home=True,
        slow=True,
    ),
    Operation(
        name="remember",
        purpose="Keep words exactly as they were said, with a record that quotes them.",
        room="keep",
        request="RememberRequest",
        response="RememberResult",
        permission="write",
        repeatable=False,
        creates_home=True,
    ),
    Operation(
        name="preflight",
        purpose="Judge the words of a turn: whether they are to be kept before anything else.",
        room="turn",
        request="PreflightRequest",
        response="PreflightResult",
        permission="write",
        repeatable=True,
        creates_home=True,
    ),
    Operation(
        name="capture",
        purpose="Keep the words of a judged turn, byte for byte.",
        room="turn",
        request="CaptureRequest",
        response="CaptureResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="capture-attachment",
        purpose="Keep a file of a judged turn under its hash, and its words if it is a text.",
        room="turn",
        request="CaptureAttachmentRequest",
        response="CaptureAttachmentResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="finalize",
        purpose="Close a capture: records quote it, or a question shows that none are needed.",
        room="turn",
        request="FinalizeRequest",
        response="FinalizeResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="session-check",
        purpose="Say whether a turn is kept and closed, before anybody says that it is saved.",
        room="turn",
        request="SessionCheckRequest",
        response="SessionCheckResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="pending",
        purpose="List what is left open, oldest first, each with its next step.",
        room="turn",
        request="PendingRequest",
        response="PendingResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="ledger",
        purpose="List what was done in turns, and close what the links show to be done.",
        room="turn",
        request="LedgerRequest",
        response="LedgerResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="timeline",
        purpose="Replay one turn, step by step.",
        room="turn",
        request="TimelineRequest",
        response="TimelineResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="import",
        purpose="Take in files: notes, chats, exports; what is already there is not added again.",
        room="move",
        request="ImportRequest",
        response="ImportResult",
        permission="write",
        repeatable=True,
        creates_home=True,
        job="bytes",
    ),
    Operation(
        name="search",
        purpose="Find memories by words, meaning and identifiers, each with its reasons.",
        room="find",
        request="SearchRequest",
        response="SearchResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="survey",
        purpose="Draw the map of a scope: its timeline, state, names, and what is due or missing.",
        room="map",
        request="SurveyRequest",
        response="SurveyResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="routing",
        purpose="Draw the map of one person, place, topic, phase or query, wider than a survey.",
        room="map",
        request="RoutingRequest",
        response="RoutingResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="catalog",
        purpose="List every record by its title, by kind or by phase, page by page.",
        room="map",
        request="CatalogRequest",
        response="CatalogResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="recall",
        purpose="Walk along time when no word is known: titles of somebody, a window or a phase.",
        room="map",
        request="RecallRequest",
        response="RecallResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="probe",
        purpose="Read cards of what fits a few questions, with what stands beside them.",
        room="levels",
        request="ProbeRequest",
        response="ProbeResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="absence",
        purpose="Ask for a topic in every way there is, before anybody says that there is nothing.",
        room="trace",
        request="AbsenceRequest",
        response="AbsenceResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="trace",
        purpose="Say why an answer was what it was, or list the newest answers.",
        room="trace",
        request="TraceRequest",
        response="TraceResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="deep",
        purpose="Read the words themselves, of what fits a few questions or is named.",
        room="levels",
        request="DeepRequest",
        response="DeepResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="show",
        purpose="Show one record or capture whole.",
        room="read",
        request="ShowRequest",
        response="ShowResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="origins",
        purpose="Say where memories come from: somebody's words, an agent's, an import, the web.",
        room="read",
        request="OriginsRequest",
        response="OriginsResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="list",
        purpose="List records or captures, page by page.",
        room="read",
        request="ListRequest",
        response="ListResult",
        permission="read",
        repeatable=True,
    ),
    Operation(
        name="edit",
        purpose="Give a record a new version; the versions before it stay.",
        room="keep",
        request="EditRequest",
        response="EditResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="archive",
        purpose="Take a record out of ordinary search; it stays readable.",
        room="keep",
        request="ArchiveRequest",
        response="EditResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="add-record",
        purpose="Keep a record that was derived before, checked against the words that it quotes.",
        room="relate",
        request="AddRecordRequest",
        response="AddRecordResult",
        permission="write",
        repeatable=False,
    ),
    Operation(
        name="link",
        purpose="Tie two records together, or a record to a capture that it quotes.",
        room="relate",
        request="LinkRequest",
        response="LinkResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="supersede",
        purpose="Say that a record holds instead of another; both stay readable.",
        room="relate",
        request="SupersedeRequest",
        response="SupersedeResult",
        permission="write",
        repeatable=True,
    ),
    Operation(
        name="reindex",
        purpose="Build the index anew from the store, embedding what is not embedded yet.",
        room="tend",
        request="ReindexRequest",
        response="ReindexResult",
        permission="write",
        repeatable=True,
        scoped=False,
        job="documents",
    ),
    Operation(
        name="status",
        purpose="Say what the home holds, which model it uses and what is waiting.",
        room="state",
        request="StatusRequest",
        response="StatusResult",
        permission="read",
        repeatable=True,
        scoped=False,
    ),
    Operation(
        name="doctor",
        purpose="Check the home, every stored word, the indexes and the model.",
        room="state",
        request="DoctorRequest",
        response="DoctorResult",
        permission="read",
        repeatable=True,
        scoped=False,
        slow=True,
    ),
    Operation(
        name="validate",
        purpose="Say whether all that is kept fits together: clean, warnings or failed.",
        room="safety",
        request="ValidateRequest",
        response="ValidateResult",
        permission="read",
        repeatable=True,
        scoped=False,
        slow=True,
    ),
    Operation(
        name="backup",
        purpose="Write everything that is kept, read it again and compare, plain or encrypted.",
        room="safety",
        request="BackupRequest",
        response="BackupResult",
        permission="write",
        repeatable=False,
        scoped=False,
        slow=True,
    ),
    Operation(
        name="restore",
        purpose="Make a new home from a backup, the same to the last row.",
        room="safety",
        request="RestoreRequest",
        response="RestoreResult",
        permission="write",
        repeatable=False,
        scoped=False,
        here=True,
    ),
    Operation(
        name="export",
        purpose="Write a scope as plain files: jsonl that import takes back, Markdown for people.",
        room="move",
        request="ExportRequest",
        response="ExportResult",
        permission="read",
        repeatable=False,
        slow=True,
    ),
    Operation(
        name="calibrate",
        purpose="Measure an embedding model's own constants from texts of yours.",
        room="tend",
        request="CalibrateRequest",
        response="CalibrateResult",
        permission="write",
        repeatable=True,
        scoped=False,
        job="documents",
    ),
    Operation(
        name="eval run",
        purpose="Have systems answer labelled sets, and measure the answers.",
        room="evaluate",
        request="EvalRunRequest",
        response="EvalRunResult",
        permission="read",
        repeatable=True,
        scoped=False,
        job="queries",
        here=True,
    ),
    Operation(
        name="eval compare",
        purpose="Tell whether two results differ by more than chance.",
        room="compare",
        request="EvalCompareRequest",
        response="EvalCompareResult",
        permission="read",
        repeatable=True,
        scoped=False,
        here=True,
    ),
    Operation(
        name="eval gate",
        purpose="Hold a result, or a new run, against the figures kept before.",
        room="evaluate",
        request="EvalGateRequest",
        response="EvalGateResult",
        permission="read",
        repeatable=True,
        scoped=False,
        job="queries",
        here=True,
    ),
    Operation(
        name="eval label",
        purpose="Judge by hand what a scope answers to queries of yours, for a set of your own.",
        room="judge",
        request="EvalLabelRequest",
        response="EvalLabelResult",
        permission="read",
        repeatable=True,
        here=True,
    ),
    Operation(
        name="eval datasets",
        purpose="List the labelled sets at hand.",
        room="compare",
        request="EvalDatasetsRequest",
        response="EvalDatasetsResult",
        permission="read",
        repeatable=True,
        scoped=False,
        here=True,
    ),
    Operation(
        name="token create",
        purpose="Make a token with a role, for some scopes or for all of them.",
        room="token",
        request="TokenCreateRequest",
        response="TokenCreateResult",
        permission="destroy",
        repeatable=False,
        scoped=False,
        owner_only=True,
    ),
    Operation(
        name="token list",
        purpose="List the tokens that hold.",
        room="token",
        request="TokenListRequest",
        response="TokenListResult",
        permission="read",
        repeatable=True,
        scoped=False,
        owner_only=True,
    ),
    Operation(
        name="token revoke",
        purpose="Take a token back, at once.",
        room="token",
        request="TokenRevokeRequest",
        response="TokenRevokeResult",
        permission="destroy",
        repeatable=True,
        scoped=False,
        owner_only=True,
    ),
    Operation(
        name="version",
        purpose="Say which version this is.",
        room="state",
        request="VersionRequest",
        response="VersionResult",
        permission="read",
        repeatable=True,
        scoped=False,
        here=True,
    ),
)


def find_operation(name: str) -> Operation:
    """Return the operation of that name; raises KeyError when there is none."""
    return {operation.name: operation for operation in OPERATIONS}[name]
