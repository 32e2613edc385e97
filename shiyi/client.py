"""The Python client: one method for each operation.

Made from the table of operations by tools/generate.py; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

from shiyi.connection import Connection

if TYPE_CHECKING:
    from shiyi.service import responses


Channel = Literal["hybrid", "keyword", "dense"]
EvalSystem = Literal[
    "hybrid", "probe", "probe-topdown", "deep", "bm25", "dense", "grep", "okapi",
]  # fmt: skip
ImportFormat = Literal[
    "auto", "jsonl", "markdown", "text", "chatgpt", "claude", "claude-code", "beir",
]  # fmt: skip
Kind = Literal[
    "event", "experience", "feeling", "state", "decision", "fact", "preference", "value",
    "rule", "heuristic", "promise", "boundary", "relationship", "insight", "canon", "model",
    "entity", "facet", "hypothesis", "followup", "checkpoint", "handoff", "method", "procedure",
]  # fmt: skip
Layer = Literal["note", "session", "core", "self", "capability", "procedure"]
Relation = Literal[
    "quotes", "mentions", "supersedes", "contradicts", "supports", "alternative_to", "precedes",
    "member_of", "promoted_to", "merged_into", "redirects_to", "about",
]  # fmt: skip
Status = Literal["active", "superseded", "archived"]
TokenRole = Literal["read", "write", "destroy"]


class Scope:
    """One scope of a memory; nothing it does reaches another."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self.name = name

    def _call(self, operation: str, values: dict[str, Any]) -> Any:
        return self._connection.call(operation, values, self.name)

    def remember(
        self,
        text: str,
        *,
        kind: Kind | None = None,
        layer: Layer | None = None,
        title: str | None = None,
        gist: str | None = None,
        detail: str | None = None,
        topics: Sequence[str] | None = None,
        aliases: Sequence[str] | None = None,
        salience: int | None = None,
        level: int | None = None,
        date: str | None = None,
        phase: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        speaker: str = "user",
        session: str | None = None,
        turn: str | None = None,
        said_at: str | None = None,
        words_only: bool = False,
        allow_secret: bool = False,
        key: str | None = None,
    ) -> "responses.RememberResult":
        """Keep words exactly as they were said, with a record that quotes them.

        kind: what it is.
        layer: how long it lives.
        title: a few words that name it.
        gist: one sentence that stands alone.
        detail: more, if it needs more.
        topics: a topic; may be repeated.
        aliases: another name for it; may be repeated.
        salience: how much it matters, 0 to 100.
        level: how much it matters, as a level: passing, related, key, axis.
        date: when it was: 2021, 2021-03, 2021-03-05 or 2021-03-05..2021-04-01.
        phase: the phase of life that it belongs to.
        attrs: what its kind has of its own, as a JSON object; null takes one away.
        text: the words.
        speaker: who said them.
        session: the dialogue that they belong to; they follow its newest words.
        turn: the turn that they are; one of its own by default.
        said_at: when they were said, ISO 8601; now by default.
        words_only: keep the words and derive no record.
        allow_secret: keep what looks like a password, key or token all the same; a person's
            word.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("remember", {
            "kind": kind, "layer": layer, "title": title, "gist": gist, "detail": detail,
            "topics": topics, "aliases": aliases, "salience": salience, "level": level,
            "date": date, "phase": phase, "attrs": attrs, "text": text, "speaker": speaker,
            "session": session, "turn": turn, "said_at": said_at, "words_only": words_only,
            "allow_secret": allow_secret, "key": key,
        })  # fmt: skip
        return cast("responses.RememberResult", answer)

    def preflight(
        self,
        text: str,
        *,
        turn: str,
        tier: Literal["auto", "full", "skip"] = "auto",
        key: str | None = None,
    ) -> "responses.PreflightResult":
        """Judge the words of a turn: whether they are to be kept before anything else.

        text: the words.
        turn: the name of the turn, one a message.
        tier: keep them, or not; by the gate when auto.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("preflight", {
            "text": text, "turn": turn, "tier": tier, "key": key,
        })  # fmt: skip
        return cast("responses.PreflightResult", answer)

    def capture(
        self,
        text: str,
        *,
        turn: str,
        speaker: str = "user",
        session: str | None = None,
        said_at: str | None = None,
        fidelity: Literal["verbatim", "transcription", "ocr"] = "verbatim",
        of: str | None = None,
        allow_secret: bool = False,
        key: str | None = None,
    ) -> "responses.CaptureResult":
        """Keep the words of a judged turn, byte for byte.

        text: the words.
        turn: the name of the turn, one a message.
        speaker: who said them.
        session: the dialogue that they belong to; they follow its newest words.
        said_at: when they were said, ISO 8601; now by default.
        fidelity: as they were said, or read from an attachment.
        of: the attachment that they were read from.
        allow_secret: keep what looks like a password, key or token all the same; a person's
            word.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("capture", {
            "text": text, "turn": turn, "speaker": speaker, "session": session,
            "said_at": said_at, "fidelity": fidelity, "of": of, "allow_secret": allow_secret,
            "key": key,
        })  # fmt: skip
        return cast("responses.CaptureResult", answer)

    def capture_attachment(
        self,
        path: str | PathLike[str],
        *,
        turn: str,
        speaker: str = "user",
        allow_secret: bool = False,
        key: str | None = None,
    ) -> "responses.CaptureAttachmentResult":
        """Keep a file of a judged turn under its hash, and its words if it is a text.

        path: a file.
        turn: the name of the turn, one a message.
        speaker: who gave it.
        allow_secret: keep what looks like a password, key or token all the same; a person's
            word.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("capture-attachment", {
            "path": path, "turn": turn, "speaker": speaker, "allow_secret": allow_secret,
            "key": key,
        })  # fmt: skip
        return cast("responses.CaptureAttachmentResult", answer)

    def finalize(
        self,
        capture: str,
        outcome: Literal["derived", "no_derivation_needed"],
        *,
        reason: str | None = None,
        records: Sequence[str] | None = None,
        trace: str | None = None,
        key: str | None = None,
    ) -> "responses.FinalizeResult":
        """Close a capture: records quote it, or a question shows that none are needed.

        capture: the id of a capture.
        outcome: whether records were derived from it.
        reason: why, which no_derivation_needed has to say.
        records: a record that quotes it, all of them by default; or one that the question
            found; may be repeated.
        trace: the id of the search, probe or absence that shows that none is needed.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("finalize", {
            "capture": capture, "outcome": outcome, "reason": reason, "records": records,
            "trace": trace, "key": key,
        })  # fmt: skip
        return cast("responses.FinalizeResult", answer)

    def session_check(
        self,
        turn: str | None = None,
    ) -> "responses.SessionCheckResult":
        """Say whether a turn is kept and closed, before anybody says that it is saved.

        turn: the name of the turn; the one judged last by default.
        """
        answer = self._call("session-check", {
            "turn": turn,
        })  # fmt: skip
        return cast("responses.SessionCheckResult", answer)

    def pending(self) -> "responses.PendingResult":
        """List what is left open, oldest first, each with its next step."""
        answer = self._call("pending", {})
        return cast("responses.PendingResult", answer)

    def ledger(
        self,
        *,
        turn: str | None = None,
        capture: str | None = None,
        repair: bool = False,
        limit: int = 50,
        key: str | None = None,
    ) -> "responses.LedgerResult":
        """List what was done in turns, and close what the links show to be done.

        turn: only the steps of a turn.
        capture: only the steps of a capture.
        repair: close what records quote, and name what is left.
        limit: the most steps, the last ones.
        key: idempotency key: a repeated repair returns the first result.
        """
        answer = self._call("ledger", {
            "turn": turn, "capture": capture, "repair": repair, "limit": limit, "key": key,
        })  # fmt: skip
        return cast("responses.LedgerResult", answer)

    def timeline(
        self,
        turn: str,
    ) -> "responses.TimelineResult":
        """Replay one turn, step by step.

        turn: the name of the turn.
        """
        answer = self._call("timeline", {
            "turn": turn,
        })  # fmt: skip
        return cast("responses.TimelineResult", answer)

    def import_(
        self,
        path: str | PathLike[str],
        *,
        format: ImportFormat = "auto",
        allow_secret: bool = False,
    ) -> "responses.ImportResult":
        """Take in files: notes, chats, exports; what is already there is not added again.

        path: a file, a folder or a zip.
        format: what it is; found out by itself.
        allow_secret: keep what looks like a password, key or token all the same; a person's
            word.
        """
        answer = self._call("import", {
            "path": path, "format": format, "allow_secret": allow_secret,
        })  # fmt: skip
        return cast("responses.ImportResult", answer)

    def search(
        self,
        text: str,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        limit: int = 8,
        budget: int = 4_000,
        kind: Sequence[Kind] | None = None,
        layer: Sequence[Layer] | None = None,
        status: Sequence[Status] | None = None,
        topic: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        only: Literal["all", "records", "captures"] = "all",
        channel: Channel = "hybrid",
        weak: bool = False,
        now: str | None = None,
    ) -> "responses.SearchResult":
        """Find memories by words, meaning and identifiers, each with its reasons.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        text: what to look for.
        limit: the most hits.
        budget: the most tokens that the answer may cost; at least 200.
        kind: only records of a kind; may be repeated.
        layer: only records of a layer; may be repeated; durable ones by default.
        status: records of a status; may be repeated.
        topic: only what has a topic; may be repeated.
        since: only what is dated then or later.
        until: only what is dated then or earlier.
        only: what to look in.
        channel: words and meaning, or one of them alone.
        weak: also return what lies below the evidence floor.
        now: when it is asked, ISO 8601: what words such as 去年 are counted from.
        """
        answer = self._call("search", {
            "turn": turn, "maintenance": maintenance, "text": text, "limit": limit,
            "budget": budget, "kind": kind, "layer": layer, "status": status, "topic": topic,
            "since": since, "until": until, "only": only, "channel": channel, "weak": weak,
            "now": now,
        })  # fmt: skip
        return cast("responses.SearchResult", answer)

    def survey(
        self,
        query: str | None = None,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        window: str | None = None,
        as_of: str | None = None,
        now: str | None = None,
        format: Literal["json", "markdown"] = "markdown",
        resume: str | None = None,
        budget: int = 48_000,
    ) -> "responses.SurveyResult":
        """Draw the map of a scope: its timeline, state, names, and what is due or missing.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        window: only what happened then: 2025-03, 2025-03:2025-08, 2025-03:, :2024, a phase.
        as_of: the records as they stood at the end of a day, or at an instant.
        now: when it is asked, ISO 8601: what is due is counted from it.
        format: what is counted and printed.
        resume: the cursor of the answer before.
        query: what it leans towards, in words.
        budget: the most tokens that the answer may cost; at least 200.
        """
        answer = self._call("survey", {
            "turn": turn, "maintenance": maintenance, "window": window, "as_of": as_of,
            "now": now, "format": format, "resume": resume, "query": query, "budget": budget,
        })  # fmt: skip
        return cast("responses.SurveyResult", answer)

    def routing(
        self,
        about: str,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        window: str | None = None,
        as_of: str | None = None,
        now: str | None = None,
        format: Literal["json", "markdown"] = "markdown",
        resume: str | None = None,
        budget: int = 68_000,
    ) -> "responses.RoutingResult":
        """Draw the map of one person, place, topic, phase or query, wider than a survey.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        window: only what happened then: 2025-03, 2025-03:2025-08, 2025-03:, :2024, a phase.
        as_of: the records as they stood at the end of a day, or at an instant.
        now: when it is asked, ISO 8601: what is due is counted from it.
        format: what is counted and printed.
        resume: the cursor of the answer before.
        about: an entity, a topic or a phase by its name, a record by its id, or a query.
        budget: the most tokens that the answer may cost; at least 200.
        """
        answer = self._call("routing", {
            "turn": turn, "maintenance": maintenance, "window": window, "as_of": as_of,
            "now": now, "format": format, "resume": resume, "about": about, "budget": budget,
        })  # fmt: skip
        return cast("responses.RoutingResult", answer)

    def catalog(
        self,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        window: str | None = None,
        as_of: str | None = None,
        now: str | None = None,
        format: Literal["json", "markdown"] = "markdown",
        resume: str | None = None,
        kind: Sequence[Kind] | None = None,
        status: Sequence[Status] | None = None,
        by: Literal["kind", "phase"] = "kind",
        budget: int = 96_000,
    ) -> "responses.CatalogResult":
        """List every record by its title, by kind or by phase, page by page.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        window: only what happened then: 2025-03, 2025-03:2025-08, 2025-03:, :2024, a phase.
        as_of: the records as they stood at the end of a day, or at an instant.
        now: when it is asked, ISO 8601: what is due is counted from it.
        format: what is counted and printed.
        resume: the cursor of the answer before.
        kind: only records of a kind; may be repeated.
        status: records of a status; may be repeated.
        by: what titles stand together by.
        budget: the most tokens that the answer may cost; at least 200.
        """
        answer = self._call("catalog", {
            "turn": turn, "maintenance": maintenance, "window": window, "as_of": as_of,
            "now": now, "format": format, "resume": resume, "kind": kind, "status": status,
            "by": by, "budget": budget,
        })  # fmt: skip
        return cast("responses.CatalogResult", answer)

    def recall(
        self,
        about: str | None = None,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        window: str | None = None,
        as_of: str | None = None,
        now: str | None = None,
        format: Literal["json", "markdown"] = "markdown",
        resume: str | None = None,
        kind: Sequence[Kind] | None = None,
        status: Sequence[Status] | None = None,
        before: str | None = None,
        after: str | None = None,
        budget: int = 4_000,
    ) -> "responses.RecallResult":
        """Walk along time when no word is known: titles of somebody, a window or a phase.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        window: only what happened then: 2025-03, 2025-03:2025-08, 2025-03:, :2024, a phase.
        as_of: the records as they stood at the end of a day, or at an instant.
        now: when it is asked, ISO 8601: what is due is counted from it.
        format: what is counted and printed.
        resume: the cursor of the answer before.
        kind: only records of a kind; may be repeated.
        status: records of a status; may be repeated.
        about: an entity, a topic or a phase to walk along, or a dated record to look around.
        before: only what is dated before a day, or before a record; newest first.
        after: only what is dated after a day, or after a record.
        budget: the most tokens that the answer may cost; at least 200.
        """
        answer = self._call("recall", {
            "turn": turn, "maintenance": maintenance, "window": window, "as_of": as_of,
            "now": now, "format": format, "resume": resume, "kind": kind, "status": status,
            "about": about, "before": before, "after": after, "budget": budget,
        })  # fmt: skip
        return cast("responses.RecallResult", answer)

    def probe(
        self,
        queries: Sequence[str] | None = None,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        ids: Sequence[str] | None = None,
        format: Literal["json", "markdown"] = "markdown",
        resume: str | None = None,
        limit: int = 50,
        kind: Sequence[Kind] | None = None,
        layer: Sequence[Layer] | None = None,
        status: Sequence[Status] | None = None,
        topic: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        only: Literal["all", "records", "captures"] = "all",
        weak: bool = False,
        now: str | None = None,
        window: str | None = None,
        as_of: str | None = None,
        budget: int = 80_000,
        order: Literal["value", "top"] = "value",
    ) -> "responses.ProbeResult":
        """Read cards of what fits a few questions, with what stands beside them.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        queries: what to look for; up to 4 questions.
        ids: a record or capture to read; may be repeated.
        format: what is counted and printed.
        resume: the cursor of the answer before.
        limit: the most hits of a question.
        kind: only records of a kind; may be repeated.
        layer: only records of a layer; may be repeated; durable ones by default.
        status: records of a status; may be repeated.
        topic: only what has a topic; may be repeated.
        since: only what is dated then or later.
        until: only what is dated then or earlier.
        only: what to look in.
        weak: also return what lies below the evidence floor.
        now: when it is asked, ISO 8601: what words such as 去年 are counted from.
        window: only what was then: 2025-03, 2025-03:2025-08, 2025-03:, :2024 or a phase.
        as_of: records as they stood then: a day or a time.
        budget: the most tokens that the answer may cost; at least 200.
        order: what fills the budget: most value for tokens, or from the top.
        """
        answer = self._call("probe", {
            "turn": turn, "maintenance": maintenance, "queries": queries, "ids": ids,
            "format": format, "resume": resume, "limit": limit, "kind": kind, "layer": layer,
            "status": status, "topic": topic, "since": since, "until": until, "only": only,
            "weak": weak, "now": now, "window": window, "as_of": as_of, "budget": budget,
            "order": order,
        })  # fmt: skip
        return cast("responses.ProbeResult", answer)

    def absence(
        self,
        topic: str,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        now: str | None = None,
    ) -> "responses.AbsenceResult":
        """Ask for a topic in every way there is, before anybody says that there is nothing.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        topic: what there may be nothing about.
        now: when it is asked, ISO 8601: what words such as 去年 are counted from.
        """
        answer = self._call("absence", {
            "turn": turn, "maintenance": maintenance, "topic": topic, "now": now,
        })  # fmt: skip
        return cast("responses.AbsenceResult", answer)

    def trace(
        self,
        id: str | None = None,
        *,
        replay: bool = False,
        feedback: bool = False,
        limit: int = 20,
    ) -> "responses.TraceResult":
        """Say why an answer was what it was, or list the newest answers.

        id: the id that the answer gave; without one, the newest are listed.
        replay: ask the same again and say what is not as it was.
        feedback: list only answers of which a person said something, with what it was.
        limit: the most in a list.
        """
        answer = self._call("trace", {
            "id": id, "replay": replay, "feedback": feedback, "limit": limit,
        })  # fmt: skip
        return cast("responses.TraceResult", answer)

    def deep(
        self,
        queries: Sequence[str] | None = None,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        ids: Sequence[str] | None = None,
        format: Literal["json", "markdown"] = "markdown",
        resume: str | None = None,
        limit: int = 50,
        kind: Sequence[Kind] | None = None,
        layer: Sequence[Layer] | None = None,
        status: Sequence[Status] | None = None,
        topic: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        only: Literal["all", "records", "captures"] = "all",
        weak: bool = False,
        now: str | None = None,
        budget: int = 100_000,
        neighbours: int = 0,
    ) -> "responses.DeepResult":
        """Read the words themselves, of what fits a few questions or is named.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        queries: what to look for; up to 4 questions.
        ids: a record or capture to read; may be repeated.
        format: what is counted and printed.
        resume: the cursor of the answer before.
        limit: the most hits of a question.
        kind: only records of a kind; may be repeated.
        layer: only records of a layer; may be repeated; durable ones by default.
        status: records of a status; may be repeated.
        topic: only what has a topic; may be repeated.
        since: only what is dated then or later.
        until: only what is dated then or earlier.
        only: what to look in.
        weak: also return what lies below the evidence floor.
        now: when it is asked, ISO 8601: what words such as 去年 are counted from.
        budget: the most tokens that the answer may cost; at least 200.
        neighbours: turns before and after each, as well.
        """
        answer = self._call("deep", {
            "turn": turn, "maintenance": maintenance, "queries": queries, "ids": ids,
            "format": format, "resume": resume, "limit": limit, "kind": kind, "layer": layer,
            "status": status, "topic": topic, "since": since, "until": until, "only": only,
            "weak": weak, "now": now, "budget": budget, "neighbours": neighbours,
        })  # fmt: skip
        return cast("responses.DeepResult", answer)

    def show(
        self,
        id: str,
        *,
        versions: bool = False,
    ) -> "responses.ShowResult":
        """Show one record or capture whole.

        id: the id of a record or capture, or the name that its source gave it.
        versions: with every older version of a record.
        """
        answer = self._call("show", {
            "id": id, "versions": versions,
        })  # fmt: skip
        return cast("responses.ShowResult", answer)

    def origins(
        self,
        ids: Sequence[str],
    ) -> "responses.OriginsResult":
        """Say where memories come from: somebody's words, an agent's, an import, the web.

        ids: records or captures by their ids, as any answer gave them.
        """
        answer = self._call("origins", {
            "ids": ids,
        })  # fmt: skip
        return cast("responses.OriginsResult", answer)

    def list(
        self,
        *,
        what: Literal["records", "captures"] = "records",
        kind: Kind | None = None,
        layer: Layer | None = None,
        status: Status | None = None,
        topic: str | None = None,
        order: Literal["id", "updated", "newest"] = "id",
        limit: int = 50,
        after: str | None = None,
    ) -> "responses.ListResult":
        """List records or captures, page by page.

        what: what to list.
        kind: only records of this kind.
        layer: only records of this layer.
        status: only records of this status.
        topic: only records with this topic.
        order: by id; what was written last before the rest; or by its own date, the latest
            first.
        limit: the most on a page.
        after: the cursor of the page before.
        """
        answer = self._call("list", {
            "what": what, "kind": kind, "layer": layer, "status": status, "topic": topic,
            "order": order, "limit": limit, "after": after,
        })  # fmt: skip
        return cast("responses.ListResult", answer)

    def edit(
        self,
        id: str,
        *,
        kind: Kind | None = None,
        layer: Layer | None = None,
        title: str | None = None,
        gist: str | None = None,
        detail: str | None = None,
        topics: Sequence[str] | None = None,
        aliases: Sequence[str] | None = None,
        salience: int | None = None,
        level: int | None = None,
        date: str | None = None,
        phase: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        status: Status | None = None,
        reason: str | None = None,
        if_match: str | None = None,
        allow_secret: bool = False,
        key: str | None = None,
    ) -> "responses.EditResult":
        """Give a record a new version; the versions before it stay.

        kind: what it is.
        layer: how long it lives.
        title: a few words that name it.
        gist: one sentence that stands alone.
        detail: more, if it needs more.
        topics: a topic; may be repeated.
        aliases: another name for it; may be repeated.
        salience: how much it matters, 0 to 100.
        level: how much it matters, as a level: passing, related, key, axis.
        date: when it was: 2021, 2021-03, 2021-03-05 or 2021-03-05..2021-04-01.
        phase: the phase of life that it belongs to.
        attrs: what its kind has of its own, as a JSON object; null takes one away.
        id: the id of a record, or the name that its source gave it.
        status: its status.
        reason: why it changes.
        if_match: the etag that the newest version must have.
        allow_secret: keep what looks like a password, key or token all the same; a person's
            word.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("edit", {
            "kind": kind, "layer": layer, "title": title, "gist": gist, "detail": detail,
            "topics": topics, "aliases": aliases, "salience": salience, "level": level,
            "date": date, "phase": phase, "attrs": attrs, "id": id, "status": status,
            "reason": reason, "if_match": if_match, "allow_secret": allow_secret, "key": key,
        })  # fmt: skip
        return cast("responses.EditResult", answer)

    def archive(
        self,
        id: str,
        *,
        reason: str | None = None,
        if_match: str | None = None,
        key: str | None = None,
    ) -> "responses.EditResult":
        """Take a record out of ordinary search; it stays readable.

        id: the id of a record, or the name that its source gave it.
        reason: why.
        if_match: the etag that the newest version must have.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("archive", {
            "id": id, "reason": reason, "if_match": if_match, "key": key,
        })  # fmt: skip
        return cast("responses.EditResult", answer)

    def add_record(
        self,
        *,
        kind: Kind,
        layer: Layer | None = None,
        title: str | None = None,
        gist: str | None = None,
        detail: str | None = None,
        topics: Sequence[str] | None = None,
        aliases: Sequence[str] | None = None,
        salience: int | None = None,
        level: int | None = None,
        date: str | None = None,
        phase: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        quotes: Sequence[Mapping[str, Any]] | None = None,
        summary_only: bool = False,
        turn: str | None = None,
        date_precision: Literal["day", "month", "year", "range", "phase", "relative"] | None = None,
        date_basis: Literal["stated", "source", "inferred"] | None = None,
        status: Status = "active",
        reason: str | None = None,
        allow_secret: bool = False,
        key: str | None = None,
    ) -> "responses.AddRecordResult":
        """Keep a record that was derived before, checked against the words that it quotes.

        kind: what it is.
        layer: how long it lives.
        title: a few words that name it.
        gist: one sentence that stands alone.
        detail: more, if it needs more.
        topics: a topic; may be repeated.
        aliases: another name for it; may be repeated.
        salience: how much it matters, 0 to 100.
        level: how much it matters, as a level: passing, related, key, axis.
        date: when it was: 2021, 2021-03, 2021-03-05 or 2021-03-05..2021-04-01.
        phase: the phase of life that it belongs to.
        attrs: what its kind has of its own, as a JSON object; null takes one away.
        quotes: the words that it rests on, as {"capture": id} with "text", or with "start" and
            "end", or whole; may be repeated.
        summary_only: it rests on no words that are kept here.
        turn: the turn whose ledger names it; by default that of the words that it quotes.
        date_precision: how exactly the date is known; as it is written by default.
        date_basis: how the date is known: said in the words, the day of the source, or
            inferred; read from the words that are quoted by default.
        status: its status.
        reason: why it was written.
        allow_secret: keep what looks like a password, key or token all the same; a person's
            word.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("add-record", {
            "kind": kind, "layer": layer, "title": title, "gist": gist, "detail": detail,
            "topics": topics, "aliases": aliases, "salience": salience, "level": level,
            "date": date, "phase": phase, "attrs": attrs, "quotes": quotes,
            "summary_only": summary_only, "turn": turn, "date_precision": date_precision,
            "date_basis": date_basis, "status": status, "reason": reason,
            "allow_secret": allow_secret, "key": key,
        })  # fmt: skip
        return cast("responses.AddRecordResult", answer)

    def link(
        self,
        src: str,
        rel: Relation,
        dst: str,
        *,
        key: str | None = None,
    ) -> "responses.LinkResult":
        """Tie two records together, or a record to a capture that it quotes.

        src: the id of a record, or the name that its source gave it.
        rel: how they belong together.
        dst: the id of a record, or of a capture that is quoted, or its source's name.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("link", {
            "src": src, "rel": rel, "dst": dst, "key": key,
        })  # fmt: skip
        return cast("responses.LinkResult", answer)

    def supersede(
        self,
        old: str,
        new: str,
        *,
        reason: str | None = None,
        source: Mapping[str, Any] | None = None,
        if_match: str | None = None,
        key: str | None = None,
    ) -> "responses.SupersedeResult":
        """Say that a record holds instead of another; both stay readable.

        old: the id of a record, or the name that its source gave it.
        new: the id of a record, or the name that its source gave it.
        reason: why the new one holds.
        source: the words that say so, as {"capture": id} with "text", or with "start" and
            "end", or whole.
        if_match: the etag that the old one must have.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("supersede", {
            "old": old, "new": new, "reason": reason, "source": source, "if_match": if_match,
            "key": key,
        })  # fmt: skip
        return cast("responses.SupersedeResult", answer)

    def contradict(
        self,
        record: str,
        other: str,
        *,
        reason: str,
        source: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> "responses.ContradictResult":
        """Say that two records cannot both be so, and why; both stay as they are.

        record: the id of a record, or the name that its source gave it.
        other: the id of a record, or the name that its source gave it.
        reason: why they cannot both be so.
        source: the words that say so, as {"capture": id} with "text", or with "start" and
            "end", or whole.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("contradict", {
            "record": record, "other": other, "reason": reason, "source": source, "key": key,
        })  # fmt: skip
        return cast("responses.ContradictResult", answer)

    def conflicts(
        self,
        *,
        settled: bool = False,
        limit: int = 20,
    ) -> "responses.ConflictsResult":
        """Show both sides of what contradicts, with dates, sources and the difference.

        settled: also pairs of which one side holds no longer.
        limit: the most pairs.
        """
        answer = self._call("conflicts", {
            "settled": settled, "limit": limit,
        })  # fmt: skip
        return cast("responses.ConflictsResult", answer)

    def current(
        self,
        *,
        as_of: str | None = None,
        of: str | None = None,
        limit: int = 100,
    ) -> "responses.CurrentResult":
        """Show the states that cover a day, before anybody tells how things are.

        as_of: the day, month or year in question; today by default.
        of: whose states: an entity, or "self"; of everybody by default.
        limit: the most states.
        """
        answer = self._call("current", {
            "as_of": as_of, "of": of, "limit": limit,
        })  # fmt: skip
        return cast("responses.CurrentResult", answer)

    def footprint(
        self,
        text: str,
        *,
        quotes: Sequence[Mapping[str, Any]] | None = None,
        date: str | None = None,
        level: int = 0,
        key: str | None = None,
    ) -> "responses.FootprintResult":
        """Keep that something was done; the same activity is versioned, not added again.

        text: what was done, in a few words.
        quotes: the words that say so, as {"capture": id} with "text", or with "start" and
            "end", or whole; may be repeated.
        date: when; by default the day of the words, or else today.
        level: how much it matters, 0 or 1.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("footprint", {
            "text": text, "quotes": quotes, "date": date, "level": level, "key": key,
        })  # fmt: skip
        return cast("responses.FootprintResult", answer)

    def feedback(
        self,
        target: str,
        verdict: Literal["helpful", "missed", "corrected", "unclear"],
        *,
        evidence: Mapping[str, Any],
        trace: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> "responses.FeedbackResult":
        """Keep what a person said of a memory or an answer, in their own words.

        target: a record, a capture, or the trace of an answer.
        verdict: what was said of it.
        evidence: the words in which it was said, as {"capture": id} with "text", or with
            "start" and "end", or whole.
        trace: the answer in which it was shown.
        note: what to make of it.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("feedback", {
            "target": target, "verdict": verdict, "evidence": evidence, "trace": trace,
            "note": note, "key": key,
        })  # fmt: skip
        return cast("responses.FeedbackResult", answer)

    def followup_list(
        self,
        *,
        closed: bool = False,
        now: str | None = None,
        limit: int = 50,
    ) -> "responses.FollowupListResult":
        """List what is to be come back to, the most overdue first.

        closed: also those that are closed.
        now: when it is asked, ISO 8601: what is due is counted from it.
        limit: the most in the list.
        """
        answer = self._call("followup list", {
            "closed": closed, "now": now, "limit": limit,
        })  # fmt: skip
        return cast("responses.FollowupListResult", answer)

    def followup_close(
        self,
        id: str,
        outcome: Literal["answered", "declined", "resolved"],
        *,
        note: str,
        if_match: str | None = None,
        key: str | None = None,
    ) -> "responses.EditResult":
        """Close a follow-up with what came of it.

        id: the id of a record, or the name that its source gave it.
        outcome: how it ended.
        note: what came of it.
        if_match: the etag that the newest version must have.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("followup close", {
            "id": id, "outcome": outcome, "note": note, "if_match": if_match, "key": key,
        })  # fmt: skip
        return cast("responses.EditResult", answer)

    def entity_merge(
        self,
        old: str,
        into: str,
        *,
        reason: str | None = None,
        if_match: str | None = None,
        key: str | None = None,
    ) -> "responses.EntityResult":
        """Let one entity stand for another, whose links and names it then has.

        old: the id of a record, or the name that its source gave it.
        into: the id of a record, or the name that its source gave it.
        reason: why they are one.
        if_match: the etag that the old one must have.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("entity merge", {
            "old": old, "into": into, "reason": reason, "if_match": if_match, "key": key,
        })  # fmt: skip
        return cast("responses.EntityResult", answer)

    def entity_split(
        self,
        id: str,
        *,
        reason: str | None = None,
        if_match: str | None = None,
        key: str | None = None,
    ) -> "responses.EntityResult":
        """Let an entity that was merged stand for itself again.

        id: the id of a record, or the name that its source gave it.
        reason: why they are two.
        if_match: the etag that it must have.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("entity split", {
            "id": id, "reason": reason, "if_match": if_match, "key": key,
        })  # fmt: skip
        return cast("responses.EntityResult", answer)

    def review(
        self,
        *,
        turn: str | None = None,
        maintenance: bool = False,
        window: str | None = None,
        as_of: str | None = None,
        now: str | None = None,
        format: Literal["json", "markdown"] = "markdown",
        resume: str | None = None,
        deep: bool = False,
        budget: int = 4_000,
    ) -> "responses.ReviewResult":
        """Say what is owed: what was corrected, is due, unnamed, unsourced, undated.

        turn: the turn that it is asked under; refused until its words are captured.
        maintenance: ask under the turn all the same; the trace says so.
        window: only what happened then: 2025-03, 2025-03:2025-08, 2025-03:, :2024, a phase.
        as_of: the records as they stood at the end of a day, or at an instant.
        now: when it is asked, ISO 8601: what is due is counted from it.
        format: what is counted and printed.
        resume: the cursor of the answer before.
        deep: with the records of each debt.
        budget: the most tokens that the answer may cost; at least 200.
        """
        answer = self._call("review", {
            "turn": turn, "maintenance": maintenance, "window": window, "as_of": as_of,
            "now": now, "format": format, "resume": resume, "deep": deep, "budget": budget,
        })  # fmt: skip
        return cast("responses.ReviewResult", answer)

    def starters(
        self,
        *,
        now: str | None = None,
    ) -> "responses.StartersResult":
        """Propose one thing to begin with: the most overdue follow-up, or one real gap.

        now: when it is asked, ISO 8601: what is due is counted from it.
        """
        answer = self._call("starters", {
            "now": now,
        })  # fmt: skip
        return cast("responses.StartersResult", answer)

    def salience_review(
        self,
        *,
        days: int = 90,
        ids: Sequence[str] | None = None,
        apply: bool = False,
        now: str | None = None,
        limit: int = 50,
        key: str | None = None,
    ) -> "responses.SalienceReviewResult":
        """Propose which unconfirmed weights to lower; lower those that are named.

        days: not confirmed for so many days.
        ids: with apply: a record to lower; may be repeated.
        apply: lower those that are named.
        now: when it is asked, ISO 8601.
        limit: the most proposals.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("salience review", {
            "days": days, "ids": ids, "apply": apply, "now": now, "limit": limit, "key": key,
        })  # fmt: skip
        return cast("responses.SalienceReviewResult", answer)

    def purge(
        self,
        ids: Sequence[str] | None = None,
        *,
        with_records: bool = False,
        confirm: bool = False,
    ) -> "responses.PurgeResult":
        """Remove memories for good from every file of the home, or say what would go.

        ids: the ids of captures, records or attachments; none ends an interrupted purge.
        with_records: also the records that quote the captures, with all their versions.
        confirm: do it; without this, only say what would go. A person's word.
        """
        answer = self._call("purge", {
            "ids": ids, "with_records": with_records, "confirm": confirm,
        })  # fmt: skip
        return cast("responses.PurgeResult", answer)

    def undo(
        self,
        *,
        to: str,
        reason: str | None = None,
        key: str | None = None,
    ) -> "responses.UndoResult":
        """Return the records of a scope to how they stood; what was said stays.

        to: a time, ISO 8601, or the number of a change; what came after it is undone.
        reason: why.
        key: idempotency key: a repeat returns the first result.
        """
        answer = self._call("undo", {
            "to": to, "reason": reason, "key": key,
        })  # fmt: skip
        return cast("responses.UndoResult", answer)

    def export(
        self,
        path: str | PathLike[str],
        *,
        format: Literal["jsonl", "markdown"] = "jsonl",
    ) -> "responses.ExportResult":
        """Write a scope as plain files: jsonl that import takes back, Markdown for people.

        path: a new or empty directory.
        format: for programs or people.
        """
        answer = self._call("export", {
            "path": path, "format": format,
        })  # fmt: skip
        return cast("responses.ExportResult", answer)

    def eval_label(
        self,
        queries: str | PathLike[str] | None = None,
        *,
        query: Sequence[str] | None = None,
        directory: str | PathLike[str],
        system: Sequence[Channel] | None = None,
        depth: int = 10,
        export: str | PathLike[str] | None = None,
        texts: bool = False,
    ) -> "responses.EvalLabelResult":
        """Judge by hand what a scope answers to queries of yours, for a set of your own.

        queries: a text file of queries, one a line, or a .jsonl with text and _id; or the word
            traces: what was searched for lately; or feedback: what was asked where a person
            said something of the answer.
        query: a query to judge; may be repeated.
        directory: where the judgements are kept, to go on from.
        system: what finds the documents to judge: hybrid, keyword, dense; all that work by
            default.
        depth: how many of each are judged.
        export: a new directory for the labelled set, once you stop.
        texts: write the texts of documents into the labelled set too.
        """
        answer = self._call("eval label", {
            "queries": queries, "query": query, "directory": directory, "system": system,
            "depth": depth, "export": export, "texts": texts,
        })  # fmt: skip
        return cast("responses.EvalLabelResult", answer)


class Memory(Connection):
    """A home and everything in it."""

    def scope(self, name: str) -> Scope:
        """Return the scope of that name; the first thing kept in it makes it."""
        return Scope(self, name)

    def _call(self, operation: str, values: dict[str, Any]) -> Any:
        return self.call(operation, values)

    def init(self) -> "responses.InitResult":
        """Make a home for memories and prepare the embedding model."""
        answer = self._call("init", {})
        return cast("responses.InitResult", answer)

    def reindex(
        self,
        *,
        scope: str | None = None,
        full: bool = False,
        keywords_only: bool = False,
    ) -> "responses.ReindexResult":
        """Build the index anew from the store, embedding what is not embedded yet.

        scope: only this scope; all of them by default.
        full: analyse every text again instead of what changed.
        keywords_only: index words only, without the model.
        """
        answer = self._call("reindex", {
            "scope": scope, "full": full, "keywords_only": keywords_only,
        })  # fmt: skip
        return cast("responses.ReindexResult", answer)

    def status(self) -> "responses.StatusResult":
        """Say what the home holds, which model it uses and what is waiting."""
        answer = self._call("status", {})
        return cast("responses.StatusResult", answer)

    def doctor(self) -> "responses.DoctorResult":
        """Check the home, every stored word, the indexes and the model."""
        answer = self._call("doctor", {})
        return cast("responses.DoctorResult", answer)

    def validate(
        self,
        *,
        strict: bool = False,
        require_closed: bool = False,
    ) -> "responses.ValidateResult":
        """Say whether all that is kept fits together: clean, warnings or failed.

        strict: let warnings count as faults.
        require_closed: let captures that no turn has closed count as faults.
        """
        answer = self._call("validate", {
            "strict": strict, "require_closed": require_closed,
        })  # fmt: skip
        return cast("responses.ValidateResult", answer)

    def backup(
        self,
        path: str | PathLike[str] | None = None,
        *,
        encrypt: bool = False,
    ) -> "responses.BackupResult":
        """Write everything that is kept, read it again and compare, plain or encrypted.

        path: a new path, or a directory to put it into; the home's own backups by default.
        encrypt: encrypt it with a passphrase, asked for or in SHIYI_PASSPHRASE.
        """
        answer = self._call("backup", {
            "path": path, "encrypt": encrypt,
        })  # fmt: skip
        return cast("responses.BackupResult", answer)

    def restore(
        self,
        path: str | PathLike[str],
        *,
        into: str | PathLike[str] | None = None,
    ) -> "responses.RestoreResult":
        """Make a new home from a backup, the same to the last row.

        path: the directory or file of a backup.
        into: the new home, an empty or missing directory; else the one of --home.
        """
        answer = self._call("restore", {
            "path": path, "into": into,
        })  # fmt: skip
        return cast("responses.RestoreResult", answer)

    def calibrate(
        self,
        *,
        passages: str | PathLike[str],
        queries: str | PathLike[str],
        sources: str = "own texts",
    ) -> "responses.CalibrateResult":
        """Measure an embedding model's own constants from texts of yours.

        passages: a file of texts to find, one a line.
        queries: a file of questions, one a line.
        sources: where they are from.
        """
        answer = self._call("calibrate", {
            "passages": passages, "queries": queries, "sources": sources,
        })  # fmt: skip
        return cast("responses.CalibrateResult", answer)

    def eval_run(
        self,
        dataset: Sequence[str | PathLike[str]] | PathLike[str],
        *,
        system: Sequence[EvalSystem] | None = None,
        run: Sequence[str | PathLike[str]] | PathLike[str] | None = None,
        k: Sequence[int] | None = None,
        budget: Sequence[int] | None = None,
        view: Sequence[str] | None = None,
        by: Sequence[Literal["category", "scope", "half"]] | None = None,
        without: Sequence[str] | None = None,
        most: int | None = None,
        out: str | PathLike[str] | None = None,
        texts: bool = False,
    ) -> "responses.EvalRunResult":
        """Have systems answer labelled sets, and measure the answers.

        dataset: the name of a set that `shiyi eval datasets` lists, or the path of one.
        system: what answers; several are joined by commas.
        run: what another engine found, in TREC's form; a system called like the file.
        k: depths to measure at, ascending, 1 to 100.
        budget: token budgets to measure at, ascending, each at least 200.
        view: only these views of the sets, such as main or hant; all by default.
        by: what the queries are grouped by: category, scope or half.
        without: parts of the search to leave out, such as fold, bigrams or vector.
        most: only the first so many queries of each view.
        out: the directory for what is found; where the dashboard looks, or shiyi-eval while
            there is no home, by default.
        texts: show the texts of documents in the report.
        """
        answer = self._call("eval run", {
            "dataset": dataset, "system": system, "run": run, "k": k, "budget": budget,
            "view": view, "by": by, "without": without, "most": most, "out": out, "texts": texts,
        })  # fmt: skip
        return cast("responses.EvalRunResult", answer)

    def eval_compare(
        self,
        a: str | PathLike[str],
        b: str | PathLike[str],
        *,
        system: Sequence[str] | None = None,
        common: bool = False,
    ) -> "responses.EvalCompareResult":
        """Tell whether two results differ by more than chance.

        a: a result.json, or its directory.
        b: another one; differences are b - a.
        system: a system of a, and one of b when that is another; each with itself by default.
        common: compare only the queries that both have.
        """
        answer = self._call("eval compare", {
            "a": a, "b": b, "system": system, "common": common,
        })  # fmt: skip
        return cast("responses.EvalCompareResult", answer)

    def eval_gate(
        self,
        result: str | PathLike[str] | None = None,
        *,
        baseline: str | PathLike[str],
        write: bool = False,
        strict: bool = False,
        out: str | PathLike[str] | None = None,
    ) -> "responses.EvalGateResult":
        """Hold a result, or a new run, against the figures kept before.

        result: a result.json, or its directory; without one, what the baseline names is run.
        baseline: the file with the figures to hold.
        write: make the baseline from the result instead.
        strict: fail when a set of the baseline is not here.
        out: the directory for what a run finds; where the dashboard looks, or shiyi-eval while
            there is no home, by default.
        """
        answer = self._call("eval gate", {
            "result": result, "baseline": baseline, "write": write, "strict": strict, "out": out,
        })  # fmt: skip
        return cast("responses.EvalGateResult", answer)

    def eval_datasets(
        self,
        directory: Sequence[str | PathLike[str]] | PathLike[str] | None = None,
    ) -> "responses.EvalDatasetsResult":
        """List the labelled sets at hand.

        directory: where to look; in SHIYI_DATASETS by default.
        """
        answer = self._call("eval datasets", {
            "directory": directory,
        })  # fmt: skip
        return cast("responses.EvalDatasetsResult", answer)

    def token_create(
        self,
        *,
        role: TokenRole = "read",
        scopes: Sequence[str] | None = None,
        name: str | None = None,
    ) -> "responses.TokenCreateResult":
        """Make a token with a role, for some scopes or for all of them.

        role: what it may do; each includes those before it.
        scopes: a scope that it is for; may be repeated; all of them by default.
        name: what it is called; its id by default.
        """
        answer = self._call("token create", {
            "role": role, "scopes": scopes, "name": name,
        })  # fmt: skip
        return cast("responses.TokenCreateResult", answer)

    def token_list(self) -> "responses.TokenListResult":
        """List the tokens that hold."""
        answer = self._call("token list", {})
        return cast("responses.TokenListResult", answer)

    def token_revoke(
        self,
        name: str,
    ) -> "responses.TokenRevokeResult":
        """Take a token back, at once.

        name: its name or its id.
        """
        answer = self._call("token revoke", {
            "name": name,
        })  # fmt: skip
        return cast("responses.TokenRevokeResult", answer)

    def version(self) -> "responses.VersionResult":
        """Say which version this is."""
        answer = self._call("version", {})
        return cast("responses.VersionResult", answer)
