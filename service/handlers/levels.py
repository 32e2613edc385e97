"""The levels: cards of what fits a question, and the words behind them."""

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.models.tokens import get_counter
from shiyi.retrieval.deep import Deep, deep
from shiyi.retrieval.probe import Probe, probe
from shiyi.retrieval.query import Query
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.handlers.find import filter_of
from shiyi.service.references import Named, named
from shiyi.service.session import Session
from shiyi.service.tracing import Tracing


def handle_probe(session: Session, scope: str, request: ask.ProbeRequest) -> answer.ProbeResult:
    """Read cards by questions, by ids, or both."""
    meant = _meant(session, scope, request)
    with Tracing(session, "probe", scope, request) as trace:
        found = probe(
            session.indexes, session.store, scope,
            Probe(
                queries=_queries(session, scope, request), ids=meant.ids, unknown=meant.unknown,
                budget=request.budget, format=request.format, resume=request.resume,
                order=request.order, notes=_notes(session, scope),
            ),
            get_counter(session.settings.tokens), trace,
        )  # fmt: skip
        return trace.answer(found)


def handle_deep(session: Session, scope: str, request: ask.DeepRequest) -> answer.DeepResult:
    """Read the words themselves, by questions, by ids, or both."""
    meant = _meant(session, scope, request)
    with Tracing(session, "deep", scope, request) as trace:
        found = deep(
            session.indexes, session.store, scope,
            Deep(
                queries=_queries(session, scope, request), ids=meant.ids, unknown=meant.unknown,
                neighbours=request.neighbours, budget=request.budget, format=request.format,
                resume=request.resume, notes=_notes(session, scope),
            ),
            get_counter(session.settings.tokens), trace,
        )  # fmt: skip
        return trace.answer(found)


def _meant(session: Session, scope: str, request: ask.ProbeRequest | ask.DeepRequest) -> Named:
    if not request.queries and not request.ids:
        raise UsageError("Give a question to look for, or an id to read.")
    if not request.ids:
        return Named([], [])
    return named(session.indexes.get(scope, vectors=False), request.ids)


def _queries(
    session: Session, scope: str, request: ask.ProbeRequest | ask.DeepRequest
) -> list[Query]:
    # No model is loaded for a scope that is not there.
    channels = {"lexical"} if session.notes_on(scope) else {"lexical", "dense"}
    return [
        Query(
            text=text, limit=request.limit, filter=filter_of(request), weak=request.weak,
            channels=frozenset(channels), without=session.without,
            now=parse_timestamp(request.now) if request.now else None,
        )
        for text in request.queries
    ]  # fmt: skip


def _notes(session: Session, scope: str) -> list[str]:
    return session.notes_on(scope) or session.lost()
