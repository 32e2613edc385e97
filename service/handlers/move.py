"""Moving in and out: import and export."""

from shiyi.core.files import expanded
from shiyi.lifecycle.exporting import export_scope
from shiyi.lifecycle.importing import import_path
from shiyi.lifecycle.readers import progress_total
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.session import Session


def handle_import(session: Session, scope: str, request: ask.ImportRequest) -> answer.ImportResult:
    """Take in files, then index their words."""
    path = expanded(request.path)
    total = progress_total(path, format=request.format)
    done = 0

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        session.progress(min(done, total), total)

    report = import_path(
        session.store, scope, path, format_=request.format, allow_secret=request.allow_secret,
        on_bytes=on_bytes,
    )  # fmt: skip
    for one in sorted(report.scopes):
        session.indexes.settle(one, progress=session.progress)
    added = report.captures + report.records + report.versions
    return answer.ImportResult(
        scopes=sorted(report.scopes),
        captures=report.captures,
        records=report.records,
        versions=report.versions,
        links=report.links,
        feedback=report.feedback,
        unchanged=report.unchanged,
        failed=report.failed,
        skipped=dict(report.skipped),
        errors=report.errors,
        waiting=0 if session.model_problem() else added,
    )


def handle_export(session: Session, scope: str, request: ask.ExportRequest) -> answer.ExportResult:
    """Write plain files."""
    path = expanded(request.path).absolute()
    counts = export_scope(session.store, session.existing_scope(scope), path, request.format)
    return answer.ExportResult(path=str(path), format=request.format, counts=counts)
