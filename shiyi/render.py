"""Answers for people. Stored text is shown with its control characters escaped."""

from collections.abc import Callable
from typing import Any

from shiyi.core.text import visible
from shiyi.service.operations import Operation
from shiyi.service.responses import (
    CalibrateResult,
    DoctorResult,
    EditResult,
    ExportResult,
    ImportResult,
    InitResult,
    ListResult,
    ReindexResult,
    RememberResult,
    SearchResult,
    ShowResult,
    StatusResult,
    VersionResult,
)

_NOTHING, _SOME_FAILED, _UNHEALTHY = 1, 3, 5
_ERRORS_SHOWN = 20
_MARKS = {"ok": "✓", "warning": "!", "failed": "✗"}


def render(operation: Operation, answer: Any) -> str:
    """Return the answer as text."""
    return _RENDERERS[operation.response](answer).rstrip("\n")


def exit_code(operation: Operation, answer: Any) -> int:
    """Return 0, or 1 for nothing found, 3 for a partial import, 5 for an unhealthy home."""
    del operation
    if isinstance(answer, SearchResult):
        return 0 if answer.hits else _NOTHING
    if isinstance(answer, ListResult):
        return 0 if answer.items else _NOTHING
    if isinstance(answer, ImportResult) and answer.failed:
        return _SOME_FAILED
    if isinstance(answer, DoctorResult) and not answer.healthy:
        return _UNHEALTHY
    return 0


def _init(answer: InitResult) -> str:
    state = "is ready" if answer.created else "was already there"
    lines = [f"The home {answer.home} {state}; search is {answer.mode}."]
    return "\n".join([*lines, *answer.notes])


def _remember(answer: RememberResult) -> str:
    lines = [f"Kept {answer.bytes} bytes as {answer.capture_id} in {answer.scope}."]
    if answer.record_id:
        lines.append(f"Record {answer.record_id} quotes them.")
    else:
        lines.append("No record was derived; the words themselves are searched.")
    return "\n".join(lines)


def _import(answer: ImportResult) -> str:
    lines = [
        f"{answer.captures} captures and {answer.records} records added, "
        f"{answer.versions} records changed, {answer.unchanged} already there, "
        f"{answer.failed} failed."
    ]
    lines += [f"  left out: {count} × {reason}" for reason, count in answer.skipped.items()]
    lines += [f"  {error}" for error in answer.errors[:_ERRORS_SHOWN]]
    if answer.failed > _ERRORS_SHOWN:
        lines.append(f"  … and {answer.failed - _ERRORS_SHOWN} more; --json lists up to 100.")
    if answer.waiting:
        lines.append("Found by words at once; run `shiyi reindex` to find them by meaning too.")
    return "\n".join(lines)


def _search(answer: SearchResult) -> str:
    lines = []
    for hit in answer.hits:
        head = [hit.kind or "capture", hit.date_start, hit.speaker, hit.title]
        lines.append(f"{hit.rank}. {visible(' · '.join(part for part in head if part))}")
        lines.append(f"   {visible(' '.join(hit.snippet.text.split()))}")
        parts = [f"{name} {value:.2f}" for name, value in hit.parts.model_dump().items() if value]
        shared = f" · words: {' '.join(hit.why.terms[:8])}" if hit.why.terms else ""
        script = " · other script" if hit.why.other_script else ""
        lines.append(f"   {hit.score:.2f} = {' + '.join(parts) or '0'}{visible(shared)}{script}")
        also = f" (also {', '.join(hit.also)})" if hit.also else ""
        lines.append(f"   {hit.id} · {hit.fidelity}{also}")
    if not answer.hits:
        lines.append("Nothing found.")
    if answer.truncated.omitted:
        lines.append(f"{answer.truncated.omitted} more did not fit the budget; raise --budget.")
    return "\n".join([*lines, *answer.notes])


def _show(answer: ShowResult) -> str:
    lines: list[str] = []
    for record in [*answer.versions, *([answer.record] if answer.record else [])]:
        fields = record.model_dump(exclude_none=True)
        lines += [f"{name}: {visible(_plain(value))}" for name, value in fields.items() if value]
        lines.append("")
    if answer.capture:
        fields = answer.capture.model_dump(exclude={"text"}, exclude_none=True)
        lines += [f"{name}: {visible(_plain(value))}" for name, value in fields.items() if value]
        lines += ["", visible(answer.capture.text), ""]
    for link in answer.links:
        span = f" [{link.start}, {link.end})" if link.start is not None else ""
        lines.append(f"{link.src} {link.rel} {link.dst}{span}")
    return "\n".join(lines)


def _list(answer: ListResult) -> str:
    lines = [
        f"{item.id}  {item.kind or item.type:12} {item.date or '':10}  {visible(item.title)}"
        f"{'' if item.status in {None, 'active'} else f'  [{item.status}]'}"
        for item in answer.items
    ]
    if not answer.items:
        lines.append("Nothing here.")
    if answer.next:
        lines.append(f"More: --after {answer.next}")
    return "\n".join(lines)


def _edit(answer: EditResult) -> str:
    if not answer.changed:
        return f"{answer.record_id} already says that; it stays at version {answer.version}."
    return f"{answer.record_id} is at version {answer.version} (etag {answer.etag})."


def _reindex(answer: ReindexResult) -> str:
    lines = [
        f"{built.scope}: {built.documents} documents, {built.embedded} embedded, "
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
    ]
    for one in answer.scopes:
        lines.append(
            f"scope    {one.scope}: {one.captures} captures, {one.records} records "
            f"({one.versions} versions), {one.links} links"
        )
        index = (
            f"generation {one.generation}, {one.documents} documents, {one.embedded} embedded, "
            f"{one.behind} changes since"
            if one.generation
            else "no generation yet; words are read from the store"
        )
        lines.append(f"  index  {index}")
    return "\n".join([*lines, *answer.notes])


def _doctor(answer: DoctorResult) -> str:
    return "\n".join(
        f"{_MARKS[check.state]} {check.name}: {check.detail}" for check in answer.checks
    )


def _export(answer: ExportResult) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in answer.counts.items())
    return f"Wrote {counts} to {answer.path}."


def _calibrate(answer: CalibrateResult) -> str:
    return (
        f"{answer.model} measured on {answer.passages} passages and {answer.queries} queries; "
        f"kept as {answer.path}. {answer.note}"
    )


def _version(answer: VersionResult) -> str:
    return f"shiyi {answer.version} (schema {answer.schema_version}, analyzer {answer.analyzer})"


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_RENDERERS: dict[str, Callable[[Any], str]] = {
    "InitResult": _init,
    "RememberResult": _remember,
    "ImportResult": _import,
    "SearchResult": _search,
    "ShowResult": _show,
    "ListResult": _list,
    "EditResult": _edit,
    "ReindexResult": _reindex,
    "StatusResult": _status,
    "DoctorResult": _doctor,
    "ExportResult": _export,
    "CalibrateResult": _calibrate,
    "VersionResult": _version,
}
