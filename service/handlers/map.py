"""Maps: a survey of everything or of one domain, the directory, and recall along time."""

from contextlib import suppress
from datetime import UTC, datetime

import numpy as np

from shiyi.core.dates import parse_day_range, parse_timestamp
from shiyi.core.errors import NotFoundError, UsageError
from shiyi.indexer.index import Filter
from shiyi.lifecycle.names import record_id_of
from shiyi.models.tokens import get_counter
from shiyi.retrieval.asof import Mask, days_of, parse_as_of
from shiyi.retrieval.catalog import Walk, catalog, recall
from shiyi.retrieval.domain import find_domain
from shiyi.retrieval.leaning import Lean, lean_by_search, lean_by_words
from shiyi.retrieval.listing import Page, mark_of, read_cursor
from shiyi.retrieval.maps import Desk, routing, survey
from shiyi.retrieval.packing import fingerprint_of
from shiyi.retrieval.query import Query
from shiyi.retrieval.review import review
from shiyi.retrieval.search import find
from shiyi.retrieval.short_ids import ShortIds
from shiyi.retrieval.starters import starter
from shiyi.retrieval.trace import SILENT, Tracer
from shiyi.retrieval.window import parse_window
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.references import whole
from shiyi.service.session import Session
from shiyi.service.tracing import Tracing
from shiyi.store.kinds import DURABLE_LAYERS
from shiyi.store.rolls import NO_DAY

_Asked = (
    ask.SurveyRequest
    | ask.RoutingRequest
    | ask.CatalogRequest
    | ask.RecallRequest
    | ask.ReviewRequest
)
_NOTHING = "Nothing is overdue and no gap is left that a question could close."


def handle_survey(session: Session, scope: str, request: ask.SurveyRequest) -> answer.SurveyResult:
    """Draw the map of a scope, leaning towards a query if there is one."""
    with Tracing(session, "survey", scope, request) as trace:
        desk = _desk(session, scope, request, trace)
        lean = None if request.query is None else _lean(session, desk, request.query, request.now)
        return trace.answer(survey(desk, lean))


def handle_routing(
    session: Session, scope: str, request: ask.RoutingRequest
) -> answer.RoutingResult:
    """Draw the map of one domain, or of what a query finds."""
    with Tracing(session, "routing", scope, request) as trace:
        desk = _desk(session, scope, request, trace)
        id_ = _id_of(session, scope, request.about)
        domain = find_domain(desk.store, desk.standing, request.about, id_)
        lean = _lean(session, desk, request.about, request.now) if domain is None else None
        return trace.answer(routing(desk, domain, lean))


def handle_review(session: Session, scope: str, request: ask.ReviewRequest) -> answer.ReviewResult:
    """Look at what is owed."""
    with Tracing(session, "review", scope, request) as trace:
        return trace.answer(review(_desk(session, scope, request, trace), deep=request.deep))


def handle_starters(
    session: Session, scope: str, request: ask.StartersRequest
) -> answer.StartersResult:
    """Propose the one thing to begin with."""
    missing = session.notes_on(scope)
    asked = ask.SurveyRequest.model_validate({"now": request.now})
    found = None if missing else starter(_desk(session, scope, asked, SILENT))
    if found is None:
        notes = missing or [_NOTHING]
        return answer.StartersResult(
            scope=scope, kind="none", question=None, why=None, title=None, ids=[], notes=notes
        )
    return answer.StartersResult(
        scope=scope, kind=found.kind, question=found.question, why=found.why,
        title=found.record.title, ids=[found.record.record_id], notes=[],
    )  # fmt: skip


def handle_catalog(
    session: Session, scope: str, request: ask.CatalogRequest
) -> answer.CatalogResult:
    """List every title."""
    with Tracing(session, "catalog", scope, request) as trace:
        desk = _desk(session, scope, request, trace)
        among = _among(desk, request)
        return trace.answer(catalog(desk, among, by_phase=request.by == "phase"))


def handle_recall(session: Session, scope: str, request: ask.RecallRequest) -> answer.RecallResult:
    """List titles along time."""
    with Tracing(session, "recall", scope, request) as trace:
        desk = _desk(session, scope, request, trace)
        walk = Walk(
            before=_day(session, desk, request.before, first=True),
            after=_day(session, desk, request.after, first=False),
        )
        if walk.before is not None and walk.after is not None and walk.before <= walk.after:
            raise UsageError("before lies at or before after; swap them.")
        domain = None
        if request.about is not None:
            id_ = _id_of(session, scope, request.about)
            domain = find_domain(desk.store, desk.standing, request.about, id_)
            if domain is None:
                desk = desk.noting("No record, entity, topic or phase has that name.")
                return trace.answer(recall(desk, np.zeros(len(desk.standing), bool), walk, None))
        return trace.answer(recall(desk, _among(desk, request), walk, domain))


def _desk(session: Session, scope: str, request: _Asked, trace: Tracer) -> Desk:
    now = parse_timestamp(request.now) if request.now else datetime.now(UTC).astimezone()
    as_of = parse_as_of(request.as_of) if request.as_of else None
    missing = session.notes_on(scope)
    resume, made_at = read_cursor(request.resume)
    with trace.stage("roll"):
        standings, seen = session.standings, None
        if as_of is None and made_at is not None:
            as_of = standings.went_on(scope, made_at)
            seen = now if as_of else None
        standing = standings.at(scope, as_of=as_of, now=now, seen=seen)
        window = parse_window(request.window, standing, now) if request.window else None
    # Without a given time the same cursor goes on whenever it is used on the same day.
    plain = request.model_dump(
        exclude={"budget", "resume", "format", "turn", "maintenance"}, exclude_none=True
    )
    return Desk(
        store=session.store,
        standings=standings,
        standing=standing,
        counter=get_counter(session.settings.tokens),
        page=Page(
            budget=request.budget,
            format=request.format,
            resume=resume,
            request=fingerprint_of(type(request).__name__, scope, plain),
            mark=mark_of(standing.seq if made_at is None else made_at),
        ),
        short=ShortIds(session.indexes.get(scope, vectors=False)).of,
        trace=trace,
        window=window,
        notes=tuple(missing or session.lost()),
    )


def _lean(session: Session, desk: Desk, text: str, now: str | None) -> Lean:
    """Return how near each record is to a query: by search or, as of a time, by words."""
    scope = desk.standing.scope
    if desk.standing.as_of is not None:
        return lean_by_words(desk.store, desk.standing, text)
    query = Query(
        text=text,
        limit=1,
        filter=Filter(layers=frozenset(DURABLE_LAYERS), statuses=frozenset({"active"})),
        # No model is loaded for a scope that is not there.
        channels=frozenset({"lexical"} if session.notes_on(scope) else {"lexical", "dense"}),
        without=session.without,
        now=parse_timestamp(now) if now else None,
    )
    return lean_by_search(desk.standing, find(session.indexes, scope, query, desk.trace))


def _among(desk: Desk, request: ask.CatalogRequest | ask.RecallRequest) -> Mask:
    """Return the records of the kinds and statuses asked for that a map may speak of."""
    among = desk.standing.kept()
    statuses = [desk.standing.of_status(status) for status in request.status]
    among &= np.logical_or.reduce(statuses) if statuses else False
    if request.kind:
        among &= desk.standing.of_kinds(request.kind)
    return among


def _id_of(session: Session, scope: str, reference: str) -> str:
    """Return the id that a name, an id or the beginning of one stands for."""
    return record_id_of(scope, whole(session, scope, reference))


def _day(session: Session, desk: Desk, text: str | None, *, first: bool) -> int | None:
    """Return the first or the last day of a date, or of a record, counted from 1970."""
    if text is None:
        return None
    with suppress(UsageError):
        days = parse_day_range(text)
        return days_of(days.start if first else days.end)
    places = desk.standing.places([_id_of(session, desk.standing.scope, text)])
    if not len(places):
        raise NotFoundError("before and after take a date, or the id of a dated record.")
    day = int(desk.standing["first" if first else "last"][places[0]])
    if day == NO_DAY:
        raise UsageError("That record has no date, so nothing lies before or after it.")
    return day
