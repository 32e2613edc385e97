"""Looking at a home: how each scope stands, and whether everything is as it should be."""

import stat
from collections.abc import Callable, Iterator
from importlib import metadata

import opencc

from shiyi.core.errors import IndexUnusableError, ModelUnavailableError
from shiyi.indexer.analyze import terms
from shiyi.indexer.generation import Generation, open_current, scope_directory
from shiyi.lifecycle.validate import Finding, attachments, changes, words
from shiyi.models.bundled import verify_bundled
from shiyi.models.cache import default_cache
from shiyi.models.calibration import calibration_path
from shiyi.models.encoder import Encoder
from shiyi.service.responses import Check, ScopeStatus
from shiyi.service.session import Session
from shiyi.store import Store
from shiyi.store.rows import SEARCHED

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def scope_status(store: Store, scope: str) -> ScopeStatus:
    """Return the rows and the index of a scope."""
    generation = _generation(store, scope)
    manifest = generation.manifest if generation else None
    since = store.changes_since(scope, manifest.seq if manifest else 0)
    return ScopeStatus(
        scope=scope,
        **store.counts(scope),
        generation=generation.directory.name if generation else None,
        documents=manifest.documents if manifest else 0,
        embedded=manifest.embedded if manifest else 0,
        behind=sum(change.what in SEARCHED for change in since),
    )


def _generation(store: Store, scope: str) -> Generation | None:
    try:
        return open_current(scope_directory(store.home, scope))
    except IndexUnusableError:
        return None


def examine(session: Session) -> list[Check]:
    """Return what was looked at, in order."""
    looks: tuple[Callable[[Session], Iterator[Check]], ...] = (
        _look_at_files, _look_at_changes, _look_at_words, _look_at_attachments, _look_at_indexes,
        _look_at_analysis, _look_at_model,
    )  # fmt: skip
    checks: list[Check] = []
    for done, look in enumerate(looks):
        session.progress(done, len(looks))
        checks += look(session)
    return checks


def _look_at_files(session: Session) -> Iterator[Check]:
    home = session.store.home
    open_to_others = [
        path.name for path in [home, *home.iterdir()] if stat.S_IMODE(path.stat().st_mode) & _OTHERS
    ]
    if open_to_others:
        yield Check(
            name="permissions",
            state="warning",
            detail=f"Others may read {', '.join(open_to_others)}; run chmod -R go= on the home.",
        )
    else:
        yield Check(name="permissions", state="ok", detail="Only you can read the home.")


def _look_at_changes(session: Session) -> Iterator[Check]:
    yield from map(check_of, changes(session.store))


def _look_at_words(session: Session) -> Iterator[Check]:
    yield from map(check_of, words(session.store))


def check_of(finding: Finding) -> Check:
    """Return what validate found, as doctor says it."""
    return Check(name=finding.name, state=finding.state, detail=finding.detail)


def _look_at_attachments(session: Session) -> Iterator[Check]:
    yield from map(check_of, attachments(session.store))


def _look_at_indexes(session: Session) -> Iterator[Check]:
    for scope in session.store.scopes():
        name = f"index of {scope}"
        try:
            generation = open_current(scope_directory(session.store.home, scope))
            if generation is None:
                detail = "None yet; words are read straight from the store."
            else:
                generation.verify()
                detail = f"Generation {generation.directory.name} is whole."
            yield Check(name=name, state="ok", detail=detail)
        except IndexUnusableError as error:
            detail = f"It is rebuilt at the next search, because {error}."
            yield Check(name=name, state="warning", detail=detail)


def _look_at_analysis(session: Session) -> Iterator[Check]:
    del session
    expected = metadata.version("opencc")
    if getattr(opencc, "__version__", expected) != expected:
        yield Check(
            name="analysis",
            state="failed",
            detail="Another package took the name opencc; reinstall the package `opencc`.",
        )
        return
    works = "计程车" in terms("我搭計程車")
    yield Check(
        name="analysis",
        state="ok" if works else "failed",
        detail="Both scripts are read as one."
        if works
        else "Traditional text is not folded; reinstall the package `opencc`.",
    )


def _look_at_model(session: Session) -> Iterator[Check]:
    try:
        encoder = session.load_encoder()
        vectors = encoder.encode_queries(["我住在哪里", "where do I live"])
    except ModelUnavailableError as error:
        yield Check(name="model", state="warning", detail=f"Keywords only: {error}")
        return
    detail = f"{session.settings.model} answers with {vectors.shape[1]} dimensions."
    damaged = verify_bundled(default_cache()) if session.settings.model == "default" else []
    if damaged:
        yield Check(name="model", state="warning", detail=" ".join(damaged))
    else:
        yield Check(name="model", state="ok", detail=detail)
    yield Check(name="constants", state="ok", detail=_constants(encoder))
    yield _vectors(session)


def _vectors(session: Session) -> Check:
    """Say whether what was embedded is kept: whole rows, in files that can be written."""
    try:
        counts = [session.indexes.kept(scope) for scope in session.store.scopes()]
    except ModelUnavailableError as error:
        return Check(name="vectors", state="failed", detail=f"Keywords only: {error}")
    except OSError as error:
        detail = f"Keywords only: {error.filename} cannot be written ({error.strerror})."
        return Check(name="vectors", state="failed", detail=detail)
    embedded, kept = (sum(count) for count in zip(*counts, strict=True)) if counts else (0, 0)
    if kept < embedded:
        detail = (
            f"{embedded - kept} of {embedded} are gone or damaged; a search makes those that it "
            "needs again, `shiyi reindex` all of them."
        )
        return Check(name="vectors", state="warning", detail=detail)
    return Check(name="vectors", state="ok", detail=f"{embedded} are kept, each of them whole.")


def _constants(encoder: Encoder) -> str:
    own = calibration_path(encoder.fingerprint, default_cache())
    if encoder.calibration is None:
        return "None were measured for this model; `shiyi calibrate` does it."
    if own.exists():
        return f"Your own, in {own}; without that file the shipped ones, if any, are used again."
    return "The shipped ones of the model."
