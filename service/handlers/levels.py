"""The levels: cards of what fits a question, and the words behind them."""

from dataclasses import replace
from datetime import UTC, datetime

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.models.tokens import get_counter
from shiyi.retrieval.asof import parse_as_of
from shiyi.retrieval.deep import Deep, deep
from shiyi.retrieval.moment import Moment
from shiyi.retrieval.probe import Probe, probe
from shiyi.retrieval.query import Query
from shiyi.retrieval.window import parse_window
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.handlers.find import filter_of
from shiyi.service.references import Named, named
from shiyi.service.session import Session
from shiyi.service.tracing import Tracing
from shiyi.store.kinds import STATUSES


def handle_probe(session: Session, scope: str, request: ask.ProbeRequest) -> answer.ProbeResult:
    """Read cards by questions, by ids, or both."""
    meant, moment = _meant(session, scope, request), _moment(session, scope, request)
    ids, merged = _through(session, scope, meant.ids, request.as_of)
    with Tracing(session, "probe", scope, request) as trace:
        found = probe(
            session.indexes, session.store, scope,
            Probe(
                queries=[_at(query, moment) for query in _queries(session, scope, request)],
                ids=ids, unknown=meant.unknown,
                budget=request.budget, format=request.format, resume=request.resume,
                order=request.order, notes=[*_notes(session, scope), *merged], moment=moment,
            ),
            get_counter(session.settings.tokens), trace,
        )  # fmt: skip
        return trace.answer(found)


def _through(
    session: Session, scope: str, ids: list[str], as_of: str | None
) -> tuple[list[str], list[str]]:
    """Return ids, of merged entities those that stand for them, and a note on each of these."""
    if not ids:
        return [], []
    then = parse_as_of(as_of) if as_of else None
    redirects = session.store.redirects(scope, as_of=then)
    last = dict.fromkeys(redirects.get(id_, id_) for id_ in ids)
    notes = [f"{id_} was merged into {redirects[id_]}." for id_ in ids if id_ in redirects]
    return list(last), notes


def _moment(session: Session, scope: str, request: ask.ProbeRequest) -> Moment:
    """Return when a probe looks.

    Raises UsageError for a window or a time that cannot be read.
    """
    if request.window is None and request.as_of is None:
        return Moment()
    now = parse_timestamp(request.now) if request.now else datetime.now(UTC).astimezone()
    as_of = parse_as_of(request.as_of) if request.as_of else None
    standing = session.standings.at(scope, as_of=as_of, now=now)
    window = parse_window(request.window, standing, now) if request.window else None
    return Moment(window, standing if as_of else None)


def _at(query: Query, moment: Moment) -> Query:
    """Return a question that sees the days of a window, and what stood at a time."""
    filter_ = query.filter
    if moment.window is not None:
        filter_ = replace(filter_, since=moment.window.first, until=moment.window.last)
    if moment.standing is not None:
        filter_ = replace(filter_, statuses=frozenset(STATUSES))
    return replace(query, filter=filter_)


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
    return named(session, scope, request.ids)


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
