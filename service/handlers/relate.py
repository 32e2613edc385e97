"""Relating: derived records, and how they belong together."""

from dataclasses import replace

from shiyi.lifecycle.readers.quotes import quote_of
from shiyi.lifecycle.relate import add_record, link, supersede
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.references import whole, whole_capture
from shiyi.service.session import Session


def handle_add_record(
    session: Session, scope: str, request: ask.AddRecordRequest
) -> answer.AddRecordResult:
    """Keep a derived record."""
    statement = {**request.statement(), "status": request.status, "reason": request.reason}
    quotes = [
        replace(quote, capture=whole_capture(session, scope, quote.capture))
        for quote in map(quote_of, request.quotes)
    ]
    result = add_record(
        session.store,
        scope,
        statement,
        quotes,
        summary_only=request.summary_only,
        turn=request.turn,
        allow_secret=request.allow_secret,
        key=request.key,
    )
    return answer.AddRecordResult(**result)


def handle_link(session: Session, scope: str, request: ask.LinkRequest) -> answer.LinkResult:
    """Tie two memories together."""
    meant = whole_capture if request.rel == "quotes" else whole
    src, dst = whole(session, scope, request.src), meant(session, scope, request.dst)
    result = link(session.store, scope, src, request.rel, dst, key=request.key)
    return answer.LinkResult(**result)


def handle_supersede(
    session: Session, scope: str, request: ask.SupersedeRequest
) -> answer.SupersedeResult:
    """Say which record holds."""
    result = supersede(
        session.store,
        scope,
        whole(session, scope, request.old),
        whole(session, scope, request.new),
        reason=request.reason,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.SupersedeResult(**result)
