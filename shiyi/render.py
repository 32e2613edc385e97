"""Answers for people. Stored text is shown with its control characters escaped."""

import json
import re
from collections.abc import Callable
from typing import Any

import click

from shiyi.core.text import visible
from shiyi.render_eval import (
    render_eval_compare,
    render_eval_datasets,
    render_eval_gate,
    render_eval_label,
    render_eval_run,
)
from shiyi.render_record import RECORD_RENDERERS
from shiyi.render_safety import (
    MARKS,
    render_backup,
    render_purge,
    render_restore,
    render_undo,
    render_validate,
)
from shiyi.render_tokens import render_token_create, render_token_list, render_token_revoke
from shiyi.render_trace import render_absence, render_origins, render_trace
from shiyi.render_turn import (
    render_capture,
    render_capture_attachment,
    render_finalize,
    render_ledger,
    render_pending,
    render_preflight,
    render_session_check,
    render_timeline,
)
from shiyi.retrieval.outcome import EXIT_CODES, Outcome
from shiyi.retrieval.packing import Budgeted
from shiyi.retrieval.results import PARTS, Hit, Passage
from shiyi.service.responses import (
    CalibrateResult,
    DoctorResult,
    EditResult,
    EvalGateResult,
    ExportResult,
    ImportResult,
    InitResult,
    LinkResult,
    ListResult,
    ReindexResult,
    RememberResult,
    SearchResult,
    SessionCheckResult,
    ShowResult,
    StatusResult,
    ValidateResult,
    VersionResult,
)
from shiyi.service.responses.wording import counted, one_line
from shiyi.service.table.operations import Operation

_NOTHING, _NOT_HELD, _SOME_FAILED, _UNHEALTHY = 1, 1, 3, 5
_ERRORS_SHOWN = 20
_WORDS_SHOWN = 8
_SHOWN_FROM = 0.005  # a smaller part of a score would be shown as 0.00
_BLANKS = re.compile(r"\s+")
_SOURCED = {"sourced": "quotes its source", "summary_only": "quotes no source"}


def render(operation: Operation, answer: Any) -> str:
    """Return the answer as text."""
    return _RENDERERS[operation.response](answer).rstrip("\n")


def exit_code(answer: Any) -> int:
    """Return that of the outcome, 1 for nothing listed or a gate not held, 3 and 5 for faults."""
    outcome: Outcome | None = getattr(answer, "outcome", None)
    if outcome is not None:
        return EXIT_CODES[outcome]
    if isinstance(answer, ListResult):
        return 0 if answer.items else _NOTHING
    if isinstance(answer, ImportResult) and answer.failed:
        return _SOME_FAILED
    if _is_not_held(answer):
        return _NOT_HELD
    healthy = getattr(answer, "healthy", getattr(answer, "passed", True))
    if isinstance(answer, DoctorResult | ValidateResult) and not healthy:
        return _UNHEALTHY
    return 0


def _is_not_held(answer: Any) -> bool:
    if isinstance(answer, SessionCheckResult):
        return answer.verdict == "fail"
    return isinstance(answer, EvalGateResult) and not answer.passed


def _init(answer: InitResult) -> str:
    state = "is ready" if answer.created else "was already there"
    model = (
        f"the model {answer.model} answered after {answer.seconds:.1f} s"
        if answer.mode == "hybrid"
        else "search goes by keywords only"
    )
    return "\n".join([f"The home {answer.home} {state}; {model}.", *answer.notes])


def _remember(answer: RememberResult) -> str:
    lines = [f"Kept {counted(answer.bytes, 'bytes')} as {answer.capture_id} in {answer.scope}."]
    if answer.record_id:
        lines.append(f"Record {answer.record_id} quotes them.")
    else:
        lines.append("No record was derived; the words themselves are searched.")
    return "\n".join([*lines, *answer.warnings])


def _import(answer: ImportResult) -> str:
    if _nothing_to_import(answer):
        lines = ["There was nothing to import."]
    else:
        counts = (
            f"{counted(answer.captures, 'captures')} and {counted(answer.records, 'records')} "
            f"added, {counted(answer.versions, 'records')} changed, "
            f"{answer.unchanged} already there, "
            f"{answer.failed} failed."
        )
        lines = [counts]
        if answer.links:
            lines.append(f"{counted(answer.links, 'links')} added between records.")
        if answer.feedback:
            lines.append(f"{answer.feedback} times feedback on them.")
    lines += [f"  left out: {count} × {reason}" for reason, count in answer.skipped.items()]
    lines += [f"  {error}" for error in answer.errors[:_ERRORS_SHOWN]]
    if answer.failed > _ERRORS_SHOWN:
        lines.append(f"  … and {answer.failed - _ERRORS_SHOWN} more; --json lists up to 100.")
    if answer.waiting:
        lines.append(
            "They are found by their words at once, and by meaning after `shiyi reindex` (a few "
            "are embedded by the next search itself)."
        )
    return "\n".join(lines)


def _nothing_to_import(answer: ImportResult) -> bool:
    kept = answer.captures or answer.records or answer.links or answer.feedback
    return not (kept or answer.unchanged or answer.failed)


def _search(answer: SearchResult) -> str:
    lines = []
    for hit in answer.hits:
        head = [hit.kind or "capture", _days(hit.date_start, hit.date_end), hit.speaker, hit.title]
        lines.append(f"{hit.rank}. {one_line(' · '.join(part for part in head if part))}")
        lines.append(f"   {_marked(hit.snippet)}")
        lines.append(f"   {_why(hit)}")
        name = f" ({visible(hit.external_id)})" if hit.external_id else ""
        also = f" · also {', '.join(hit.also)}" if hit.also else ""
        lines.append(click.style(f"   {hit.id}{name} · {_grounds(hit)}{also}", dim=True))
    if answer.outcome == "empty":
        lines.append("Nothing found.")
    if answer.truncated.omitted:
        omitted = counted(answer.truncated.omitted, "more hits" if answer.hits else "hits")
        lines.append(f"{omitted} did not fit the budget; raise --budget.")
    return "\n".join([*lines, *answer.notes])


def _budgeted(answer: Budgeted) -> str:
    """Return the text that was fitted to the budget, in the format that was asked for."""
    return answer.text


def _why(hit: Hit) -> str:
    """Return the score as the sum of what words, meaning, dates and neighbours gave."""
    words = ", ".join(_matched(hit.snippet)[:_WORDS_SHOWN])
    found = f" ({visible(words)})" if words else ""
    lent = hit.why.bm25 == 0  # no word is shared; what words would give, its meaning earned
    names = {
        "dense": "meaning",
        "lexical": "lent across languages" if lent else f"words{found}",
        "exact": "identifier",
        "time": "the time asked for",
        "neighbour": "the turns beside it",
        "interaction": "token by token",
        "source": "what it quotes" if hit.type == "record" else "a record that quotes it",
    }
    parts = [
        f"{value:.2f} {names[name]}"
        for name in PARTS
        if abs(value := getattr(hit.parts, name)) >= _SHOWN_FROM
    ]
    language = ", in another language" if hit.why.other_script and lent else ""
    return f"{hit.score:.2f} = {' + '.join(parts) or '0'}{language}"


def _grounds(hit: Hit) -> str:
    """Say how exact the words of a capture are, or whether a record quotes its source."""
    return _SOURCED.get(hit.fidelity, hit.fidelity) if hit.type == "record" else hit.fidelity


def _spans(passage: Passage) -> list[tuple[int, int]]:
    """Return the matches as they lie in the passage, joined where they touch."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(passage.matches):
        first, last = max(start, passage.start) - passage.start, min(end, passage.end)
        last -= passage.start
        if last <= first:
            continue
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _matched(passage: Passage) -> list[str]:
    """Return the words that matched, once each; single characters only when there is no more."""
    found = list(dict.fromkeys(passage.text[start:end] for start, end in _spans(passage)))
    return [word for word in found if len(word) > 1] or found


def _marked(passage: Passage) -> str:
    """Return the passage on one line with its matches in bold."""
    text, made, at = passage.text, "", 0
    for start, end in _spans(passage):
        made += f"{one_line(text[at:start])}{click.style(one_line(text[start:end]), bold=True)}"
        at = end
    return f"{made}{one_line(text[at:])}".strip()


def _days(start: str | None, end: str | None) -> str | None:
    return start if end is None or end == start else f"{start}..{end}"


def _show(answer: ShowResult) -> str:
    lines: list[str] = []
    for record in [*answer.versions, *([answer.record] if answer.record else [])]:
        lines += [*_fields(record.model_dump(exclude_none=True)), ""]
    if answer.capture:
        fields = answer.capture.model_dump(exclude={"text"}, exclude_none=True)
        lines += [*_fields(fields), "", visible(answer.capture.text), ""]
    if answer.attachment:
        lines += [*_fields(answer.attachment.model_dump(exclude_none=True)), ""]
    own = answer.record.record_id if answer.record else answer.capture and answer.capture.capture_id
    for link in answer.links:
        span = f" [{link.start}, {link.end})" if link.start is not None else ""
        if link.src == own:
            lines.append(f"{link.rel} → {link.dst}{span}")
        else:
            lines.append(f"{link.rel} ← {link.src}{span}")
    said = [
        f"feedback       {one.verdict}, {one.at[:10]}, {one.capture}" for one in answer.feedback
    ]
    return "\n".join([*lines, *said, *answer.notes])


def _fields(fields: dict[str, Any]) -> list[str]:
    return [
        f"{name:<14} {visible(_plain(value))}"
        for name, value in fields.items()
        if value and value != "unknown"
    ]


def _list(answer: ListResult) -> str:
    lines = [
        f"{item.id}  {item.kind or item.type:12} {item.date or '':10}  {one_line(item.title)}"
        f"{'' if item.status in {None, 'active'} else f'  [{item.status}]'}"
        for item in answer.items
    ]
    if not answer.items:
        lines.append("Nothing here.")
    if answer.next:
        lines.append(f"More: --after {answer.next}")
    return "\n".join([*lines, *answer.notes])


def _edit(answer: EditResult) -> str:
    if not answer.changed:
        return f"{answer.record_id} already says that; it stays at version {answer.version}."
    return f"{answer.record_id} is at version {answer.version} (etag {answer.etag})."


def _link(answer: LinkResult) -> str:
    state = "is tied" if answer.added else "was tied before"
    return f"{answer.src} {state}: {answer.rel} {answer.dst}."


def _reindex(answer: ReindexResult) -> str:
    lines = [
        f"{built.scope}: {counted(built.documents, 'documents')}, {built.embedded} embedded, "
        f"{built.bytes / 1e6:.1f} MB, {built.seconds:.1f} s (generation {built.generation})"
        for built in answer.indexes
    ]
    return "\n".join([*(lines or ["There is nothing to index yet."]), *answer.notes])


def _status(answer: StatusResult) -> str:
    lines = [
        f"home     {answer.home}",
        f"version  {answer.version}",
        f"search   {answer.mode}, model {answer.model}",
        f"changes  {answer.last_change}",
        f"daemon   {'none' if answer.daemon is None else f'process {answer.daemon}'}",
    ]
    for one in answer.scopes:
        lines.append(
            f"scope    {one.scope}: {counted(one.captures, 'captures')}, "
            f"{counted(one.records, 'records')} ({counted(one.versions, 'versions')}), "
            f"{counted(one.links, 'links')}"
        )
        index = (
            f"generation {one.generation}, {counted(one.documents, 'documents')}, "
            f"{one.embedded} embedded, {counted(one.behind, 'changes')} since"
            if one.generation
            else "no generation yet; words are read from the store"
        )
        lines.append(f"  index  {index}")
    return "\n".join([*lines, *answer.notes])


def _doctor(answer: DoctorResult) -> str:
    return "\n".join(
        f"{MARKS[check.state]} {check.name}: {check.detail}" for check in answer.checks
    )


def _export(answer: ExportResult) -> str:
    counts = ", ".join(counted(count, name) for name, count in answer.counts.items())
    return f"Wrote {counts} to {answer.path}."


def _calibrate(answer: CalibrateResult) -> str:
    return (
        f"{answer.model} measured on {answer.passages} passages and {answer.queries} queries; "
        f"kept as {answer.path}. {answer.note}"
    )


def _version(answer: VersionResult) -> str:
    return f"shiyi {answer.version} (schema {answer.schema_version}, analyzer {answer.analyzer})"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_RENDERERS: dict[str, Callable[[Any], str]] = {
    "AbsenceResult": render_absence,
    "TraceResult": render_trace,
    "InitResult": _init,
    "RememberResult": _remember,
    "PreflightResult": render_preflight,
    "CaptureResult": render_capture,
    "CaptureAttachmentResult": render_capture_attachment,
    "FinalizeResult": render_finalize,
    "SessionCheckResult": render_session_check,
    "PendingResult": render_pending,
    "LedgerResult": render_ledger,
    "TimelineResult": render_timeline,
    "ImportResult": _import,
    "SearchResult": _search,
    "ProbeResult": _budgeted,
    "DeepResult": _budgeted,
    "CatalogResult": _budgeted,
    "RecallResult": _budgeted,
    "RoutingResult": _budgeted,
    "SurveyResult": _budgeted,
    "ReviewResult": _budgeted,
    "ShowResult": _show,
    "ListResult": _list,
    "OriginsResult": render_origins,
    "EditResult": _edit,
    "LinkResult": _link,
    **RECORD_RENDERERS,
    "ReindexResult": _reindex,
    "StatusResult": _status,
    "DoctorResult": _doctor,
    "ValidateResult": render_validate,
    "BackupResult": render_backup,
    "RestoreResult": render_restore,
    "PurgeResult": render_purge,
    "UndoResult": render_undo,
    "ExportResult": _export,
    "CalibrateResult": _calibrate,
    "EvalRunResult": render_eval_run,
    "EvalCompareResult": render_eval_compare,
    "EvalGateResult": render_eval_gate,
    "EvalLabelResult": render_eval_label,
    "EvalDatasetsResult": render_eval_datasets,
    "TokenCreateResult": render_token_create,
    "TokenListResult": render_token_list,
    "TokenRevokeResult": render_token_revoke,
    "VersionResult": _version,
}
