"""Finding."""

from shiyi.core.dates import parse_day_range, parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.indexer.index import Filter
from shiyi.models.tokens import get_counter
from shiyi.retrieval.pack import pack
from shiyi.retrieval.search import Query, search
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.session import Session
from shiyi.service.tracing import Tracing
from shiyi.store.kinds import DURABLE_LAYERS

_CHANNELS = {
    "hybrid": frozenset({"lexical", "dense"}),
    "keyword": frozenset({"lexical"}),
    "dense": frozenset({"dense"}),
}


def handle_search(session: Session, scope: str, request: ask.SearchRequest) -> answer.SearchResult:
    """Find memories. Notes and sessions stay out unless their layer is named."""
    missing = session.notes_on(scope)
    query = Query(
        text=request.text,
        limit=request.limit,
        budget=request.budget,
        filter=filter_of(request),
        weak=request.weak,
        # No model is loaded for a scope that is not there.
        channels=_CHANNELS["keyword" if missing else request.channel],
        without=session.without,
        now=parse_timestamp(request.now) if request.now else None,
    )
    counter = get_counter(session.settings.tokens)
    with Tracing(session, "search", scope, request) as trace:
        found = search(session.indexes, scope, query, counter, trace)
        notes = missing or [*session.lost(), *found.notes]
        if notes != found.notes:
            found = pack(found.model_copy(update={"notes": notes}), request.budget, counter)
        return trace.answer(found)


def filter_of(request: ask.SearchRequest | ask.ProbeRequest | ask.DeepRequest) -> Filter:
    """Return which documents a request lets a search see.

    Raises UsageError for filters that contradict each other.
    """
    named = bool(request.kind or request.layer)
    since = parse_day_range(request.since).start if request.since else None
    until = parse_day_range(request.until).end if request.until else None
    if since and until and until < since:
        raise UsageError("until lies before since; swap them.")
    if named and request.only == "captures":
        raise UsageError("Captures have no kind and no layer; leave those out, or --only captures.")
    return Filter(
        kinds=frozenset(request.kind or ()),
        layers=frozenset(request.layer or DURABLE_LAYERS),
        statuses=frozenset(request.status),
        topics=frozenset(request.topic or ()),
        since=since,
        until=until,
        captures=request.only != "records" and not named,
        records=request.only != "captures",
    )
