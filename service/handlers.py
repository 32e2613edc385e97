"""The handlers of the table: a session, a scope and a request in, a response out."""

import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import ModelUnavailableError, NotFoundError, UsageError
from shiyi.core.ids import check_id, check_scope
from shiyi.core.text import decode_text
from shiyi.indexer.analyze import analyzer_fingerprint
from shiyi.indexer.generation import Generation
from shiyi.indexer.index import Filter
from shiyi.lifecycle.exporting import export_scope
from shiyi.lifecycle.importing import import_path
from shiyi.lifecycle.readers import progress_total
from shiyi.lifecycle.write import Words, edit, remember
from shiyi.models.cache import default_cache
from shiyi.models.calibration import calibration_path, fit_calibration
from shiyi.retrieval.search import Query, search
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.diagnosis import examine, scope_status
from shiyi.service.session import Session
from shiyi.service.views import capture_view, link_view, list_item_of, record_view
from shiyi.store.kinds import DURABLE_LAYERS
from shiyi.store.migrations import SCHEMA_VERSION

_CHANNELS = {
    "hybrid": frozenset({"lexical", "dense"}),
    "keyword": frozenset({"lexical"}),
    "dense": frozenset({"dense"}),
}


def handle_init(session: Session, _: str, request: ask.InitRequest) -> answer.InitResult:
    """Make the home and load the model once, which prepares it."""
    del request
    created = not (session.home / "shiyi.duckdb").exists()
    session.create = True
    store = session.store
    mode, notes = "hybrid", []
    try:
        session.load_encoder().encode_queries(["拾忆"])
    except ModelUnavailableError as error:
        mode, notes = "keyword", [str(error)]
    return answer.InitResult(
        home=str(store.home), created=created, model=session.settings.model, mode=mode, notes=notes
    )


def handle_remember(
    session: Session, scope: str, request: ask.RememberRequest
) -> answer.RememberResult:
    """Keep words."""
    words = Words(
        text=request.text,
        speaker=request.speaker,
        session=request.session,
        turn=request.turn,
        said_at=request.said_at,
    )
    result = remember(
        session.store,
        scope,
        words,
        request.statement(),
        words_only=request.words_only,
        key=request.key,
    )
    return answer.RememberResult(scope=scope, **result)


def handle_import(session: Session, scope: str, request: ask.ImportRequest) -> answer.ImportResult:
    """Take in files, then index their words."""
    path = Path(request.path).expanduser()
    total = progress_total(path, format=request.format)
    done = 0

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        session.progress(min(done, total), total)

    report = import_path(session.store, scope, path, format_=request.format, on_bytes=on_bytes)
    for one in sorted(report.scopes):
        session.indexes.settle(one, progress=session.progress)
    return answer.ImportResult(
        scopes=sorted(report.scopes),
        captures=report.captures,
        records=report.records,
        versions=report.versions,
        unchanged=report.unchanged,
        failed=report.failed,
        skipped=dict(report.skipped),
        errors=report.errors,
        waiting=report.captures + report.records + report.versions,
    )


def handle_search(session: Session, scope: str, request: ask.SearchRequest) -> answer.SearchResult:
    """Find memories."""
    named = bool(request.kind or request.layer)
    filter_ = Filter(
        kinds=frozenset(request.kind or ()),
        layers=frozenset(request.layer or DURABLE_LAYERS),
        statuses=frozenset(request.status),
        topics=frozenset(request.topic or ()),
        since=parse_day_range(request.since).start if request.since else None,
        until=parse_day_range(request.until).end if request.until else None,
        captures=request.only != "records" and not named,
        records=request.only != "captures",
    )
    if filter_.since and filter_.until and filter_.until < filter_.since:
        raise UsageError("until lies before since; swap them.")
    query = Query(
        text=request.text,
        limit=request.limit,
        budget=request.budget,
        filter=filter_,
        weak=request.weak,
        channels=_CHANNELS[request.channel],
    )
    return search(session.indexes, session.existing_scope(scope), query, session.counter)


def handle_show(session: Session, scope: str, request: ask.ShowRequest) -> answer.ShowResult:
    """Read one record or capture."""
    id_ = check_id(request.id)
    store = session.store
    versions = store.versions(scope, id_)
    capture = None if versions else store.capture(scope, id_)
    if not versions and capture is None:
        raise NotFoundError(f"There is no record or capture {id_} in the scope {scope}.")
    links = [*store.links_from(scope, [id_]).get(id_, []), *store.links_to(scope, id_)]
    return answer.ShowResult(
        scope=scope,
        record=record_view(versions[-1]) if versions else None,
        capture=capture_view(capture) if capture else None,
        links=[link_view(link) for link in links],
        versions=[record_view(one) for one in versions[:-1]] if request.versions else [],
    )


def handle_list(session: Session, scope: str, request: ask.ListRequest) -> answer.ListResult:
    """Read one page of a scope."""
    store = session.store
    after = check_id(request.after) if request.after else ""
    rows: Sequence[answer.ListItem]
    if request.what == "captures":
        captures = store.page_captures(scope, after=after, limit=request.limit + 1)
        rows = [list_item_of(one) for one in captures]
    else:
        records = store.page_heads(
            scope,
            after=after,
            limit=request.limit + 1,
            kind=request.kind,
            layer=request.layer,
            status=request.status,
            topic=request.topic,
        )
        rows = [list_item_of(one) for one in records]
    more = len(rows) > request.limit
    items = list(rows[: request.limit])
    return answer.ListResult(scope=scope, items=items, next=items[-1].id if more else None)


def handle_edit(session: Session, scope: str, request: ask.EditRequest) -> answer.EditResult:
    """Append a version."""
    fields = request.statement()
    if request.status is not None:
        fields["status"] = request.status
    if not fields:
        raise UsageError("Nothing to change was given; name at least one field.")
    result = edit(
        session.store,
        scope,
        check_id(request.id),
        fields,
        reason=request.reason,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.EditResult(**result)


def handle_archive(session: Session, scope: str, request: ask.ArchiveRequest) -> answer.EditResult:
    """Append a version whose status is archived."""
    result = edit(
        session.store,
        scope,
        check_id(request.id),
        {"status": "archived"},
        reason=request.reason,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.EditResult(**result)


def handle_reindex(session: Session, _: str, request: ask.ReindexRequest) -> answer.ReindexResult:
    """Build the indexes of one scope or of all."""
    scopes = session.store.scopes()
    if request.only_scope is not None:
        scopes = [session.existing_scope(check_scope(request.only_scope))]
    notes, model, keywords_only = [], None, request.keywords_only
    if not keywords_only:
        try:
            model = session.indexes.model().encoder.name
        except ModelUnavailableError as error:
            keywords_only = True
            notes.append(f"Keywords only: {error}")
    built = []
    for scope in scopes:
        start = time.perf_counter()
        generation = session.indexes.reindex(
            scope, keywords_only=keywords_only, full=request.full, progress=session.progress
        )
        built.append(_built(scope, generation, time.perf_counter() - start))
    return answer.ReindexResult(indexes=built, model=model, notes=notes)


def _built(scope: str, generation: Generation, seconds: float) -> answer.BuiltIndex:
    manifest = generation.manifest
    return answer.BuiltIndex(
        scope=scope,
        generation=generation.directory.name,
        documents=manifest.documents,
        embedded=manifest.embedded,
        bytes=sum(int(one["size"]) for one in manifest.files.values()),
        seconds=round(seconds, 2),
    )


def handle_status(session: Session, _: str, request: ask.StatusRequest) -> answer.StatusResult:
    """Say how the home stands, without loading the model's weights."""
    del request
    store = session.store
    mode, notes = "hybrid", []
    try:
        session.load_encoder()
    except ModelUnavailableError as error:
        mode = "keyword"
        notes.append(f"Keywords only: {error}")
    notes += [
        f"{tail['expected'] - tail['found']} saved changes are missing after number "
        f"{tail['found']}: the database's log was lost. Restore a backup if you have one."
        for tail in store.lost_tails()
    ]
    return answer.StatusResult(
        home=str(store.home),
        version=metadata.version("shiyi"),
        last_change=store.last_seq,
        model=session.settings.model,
        mode=mode,
        scopes=[scope_status(store, scope) for scope in store.scopes()],
        notes=notes,
    )


def handle_doctor(session: Session, _: str, request: ask.DoctorRequest) -> answer.DoctorResult:
    """Check everything."""
    del request
    checks = examine(session)
    return answer.DoctorResult(
        healthy=all(check.state != "failed" for check in checks), checks=checks
    )


def handle_export(session: Session, scope: str, request: ask.ExportRequest) -> answer.ExportResult:
    """Write plain files."""
    path = Path(request.path).expanduser().absolute()
    counts = export_scope(session.store, session.existing_scope(scope), path, request.format)
    return answer.ExportResult(path=str(path), format=request.format, counts=counts)


def handle_calibrate(
    session: Session, _: str, request: ask.CalibrateRequest
) -> answer.CalibrateResult:
    """Fit the constants of the model in use and keep them beside it."""
    passages, queries = _lines(request.passages), _lines(request.queries)
    encoder = session.load_encoder()
    calibration = fit_calibration(encoder, passages, queries, sources=request.sources)
    path = calibration_path(encoder.fingerprint, Path(default_cache()))
    calibration.save(path)
    return answer.CalibrateResult(
        path=str(path),
        model=encoder.name,
        passages=len(passages),
        queries=len(queries),
        note="Run `shiyi reindex` so that every index uses it.",
    )


def _lines(path: str) -> list[str]:
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}).") from None
    lines = [line for line in decode_text(content, path).splitlines() if line.strip()]
    if not lines:
        raise UsageError(f"{path} holds no text; give one text a line.")
    return lines


def handle_version(session: Session, _: str, request: ask.VersionRequest) -> answer.VersionResult:
    """Say which version this is."""
    del session, request
    return answer.VersionResult(
        version=metadata.version("shiyi"),
        schema_version=SCHEMA_VERSION,
        analyzer=analyzer_fingerprint(),
    )
