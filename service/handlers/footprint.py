"""Footprints: looked for by a probe before one is made."""

from shiyi.lifecycle.footprint import add_footprint
from shiyi.retrieval.activity import same_activity
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.handlers.relate import quote_meant
from shiyi.service.session import Session


def handle_footprint(
    session: Session, scope: str, request: ask.FootprintRequest
) -> answer.FootprintResult:
    """Keep that something was done, or that it was done again."""
    store = session.store
    known = (
        same_activity(session.indexes, store, scope, request.text) if session.holds(scope) else []
    )
    result = add_footprint(
        store,
        scope,
        request.text,
        [quote_meant(session, scope, one) for one in request.quotes],
        known,
        day=request.date,
        level=request.level,
        key=request.key,
    )
    return answer.FootprintResult(**result)
