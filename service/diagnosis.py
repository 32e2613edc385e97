"""Looking at a home: how each scope stands, and whether everything is as it should be."""

import stat
from collections.abc import Callable, Iterator
from importlib import metadata

import opencc

from shiyi.core.errors import IndexUnusableError, ModelUnavailableError
from shiyi.core.text import text_sha256
from shiyi.indexer.analyze import terms
from shiyi.indexer.generation import Generation, open_current, scope_directory
from shiyi.service.responses import Check, ScopeStatus
from shiyi.service.session import Session
from shiyi.store import Store

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def scope_status(store: Store, scope: str) -> ScopeStatus:
    """Return the rows and the index of a scope."""
    generation = _generation(store, scope)
    manifest = generation.manifest if generation else None
    return ScopeStatus(
        scope=scope,
        **store.counts(scope),
        generation=generation.directory.name if generation else None,
        documents=manifest.documents if manifest else 0,
        embedded=manifest.embedded if manifest else 0,
        behind=len(store.changes_since(scope, manifest.seq if manifest else 0)),
    )


def _generation(store: Store, scope: str) -> Generation | None:
    try:
        return open_current(scope_directory(store.home, scope))
    except IndexUnusableError:
        return None


def examine(session: Session) -> list[Check]:
    """Return what was looked at, in order."""
    looks: tuple[Callable[[Session], Iterator[Check]], ...] = (
        _look_at_files, _look_at_log, _look_at_words, _look_at_indexes, _look_at_analysis,
        _look_at_model,
    )  # fmt: skip
    return [check for look in looks for check in look(session)]


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


def _look_at_log(session: Session) -> Iterator[Check]:
    lost = session.store.lost_tails()
    if not lost:
        detail = f"All {session.store.last_seq} changes are there."
        yield Check(name="changes", state="ok", detail=detail)
    for tail in lost:
        yield Check(
            name="changes",
            state="failed",
            detail=f"Changes {tail['found'] + 1} to {tail['expected']} are missing.",
        )


def _look_at_words(session: Session) -> Iterator[Check]:
    store = session.store
    seen, wrong = 0, []
    for scope in store.scopes():
        for capture in store.iterate_captures(scope):
            seen += 1
            if text_sha256(capture.text) != capture.utf8_sha256:
                wrong.append(capture.capture_id)
    if wrong:
        detail = f"{len(wrong)} of {seen} captures do not fit their SHA-256, first {wrong[0]}."
        yield Check(name="words", state="failed", detail=detail)
    else:
        detail = f"All {seen} captures fit their SHA-256."
        yield Check(name="words", state="ok", detail=detail)


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
        vectors = session.load_encoder().encode_queries(["我住在哪里", "where do I live"])
    except ModelUnavailableError as error:
        yield Check(name="model", state="warning", detail=f"Keywords only: {error}")
        return
    detail = f"{session.settings.model} answers with {vectors.shape[1]} dimensions."
    yield Check(name="model", state="ok", detail=detail)
