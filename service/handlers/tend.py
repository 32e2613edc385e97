"""Tending: the home, its indexes and its model."""

import time
from pathlib import Path

from shiyi.core.errors import ModelUnavailableError, UsageError
from shiyi.core.files import expanded
from shiyi.core.ids import check_scope
from shiyi.core.text import decode_text
from shiyi.indexer.generation import Generation
from shiyi.models.cache import default_cache
from shiyi.models.calibration import calibration_path, fit_calibration
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.responses.wording import counted
from shiyi.service.session import Session

_LEAST_TEXTS = 50  # of each kind; fewer give no mean that can be believed


def handle_init(session: Session, _: str, request: ask.InitRequest) -> answer.InitResult:
    """Make the home and load the model once, which prepares it."""
    del request
    created = not (session.home / "shiyi.duckdb").exists()
    session.create = True
    store = session.store
    model, mode, notes = session.settings.model, "hybrid", []
    start = time.perf_counter()
    try:
        encoder = session.load_encoder()
        encoder.encode_queries(["拾忆"])
        model = encoder.name
    except ModelUnavailableError as error:
        mode, notes = "keyword", [str(error)]
    return answer.InitResult(
        home=str(store.home),
        created=created,
        model=model,
        mode=mode,
        seconds=round(time.perf_counter() - start, 1),
        notes=notes,
    )


def handle_reindex(session: Session, _: str, request: ask.ReindexRequest) -> answer.ReindexResult:
    """Build the indexes of one scope or of all."""
    scopes = session.store.scopes()
    if request.scope is not None:
        scopes = [session.existing_scope(check_scope(request.scope))]
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


def handle_calibrate(
    session: Session, _: str, request: ask.CalibrateRequest
) -> answer.CalibrateResult:
    """Fit the constants of the model in use and keep them beside it."""
    passages, queries = _lines(request.passages), _lines(request.queries)
    encoder = (session.loader or session.load_encoder)()
    calibration = fit_calibration(encoder, passages, queries, sources=request.sources)
    path = calibration_path(encoder.fingerprint, Path(default_cache()))
    calibration.save(path)
    encoder.calibration = calibration  # a daemon has it loaded
    if session.is_open:
        session.indexes.take_calibration(calibration)
    return answer.CalibrateResult(
        path=str(path),
        model=encoder.name,
        passages=len(passages),
        queries=len(queries),
        note=(
            "It holds for every home of yours with this model. Run `shiyi reindex` in each, so "
            "that their indexes use it."
        ),
    )


def _lines(path: str) -> list[str]:
    try:
        content = expanded(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}).") from None
    lines = [line for line in decode_text(content, path).splitlines() if line.strip()]
    if len(lines) < _LEAST_TEXTS:
        raise UsageError(
            f"{path} holds {counted(len(lines), 'texts')}; give at least {_LEAST_TEXTS}, one a "
            "line."
        )
    return lines
