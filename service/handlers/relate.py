"""Relating: derived records, and how they belong together."""

from dataclasses import replace
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.core.text import visible
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.readers.quotes import quote_of
from shiyi.lifecycle.relate import add_record, link
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.references import whole, whole_capture
from shiyi.service.session import Session

_OF_QUOTE = {"capture", "text", "start", "end"}
_DATES = ("date_precision", "date_basis")


def handle_add_record(
    session: Session, scope: str, request: ask.AddRecordRequest
) -> answer.AddRecordResult:
    """Keep a derived record."""
    statement = {**request.statement(), "status": request.status, "reason": request.reason}
    statement |= {name: value for name in _DATES if (value := getattr(request, name)) is not None}
    result = add_record(
        session.store,
        scope,
        statement,
        [quote_meant(session, scope, one) for one in request.quotes],
        summary_only=request.summary_only,
        turn=request.turn,
        allow_secret=request.allow_secret,
        key=request.key,
    )
    return answer.AddRecordResult(**result)


def quote_meant(session: Session, scope: str, given: dict[str, Any]) -> Quote:
    """Return a quote as it was given, its capture by its whole id."""
    if unknown := given.keys() - _OF_QUOTE:
        raise UsageError(
            f"A quote has capture, and text, or start and end; {visible(min(unknown))} is none of "
            "these."
        )
    quote = quote_of(given)
    return replace(quote, capture=whole_capture(session, scope, quote.capture))


def handle_link(session: Session, scope: str, request: ask.LinkRequest) -> answer.LinkResult:
    """Tie two memories together."""
    meant = whole_capture if request.rel == "quotes" else whole
    src, dst = whole(session, scope, request.src), meant(session, scope, request.dst)
    result = link(session.store, scope, src, request.rel, dst, key=request.key)
    return answer.LinkResult(**result)
