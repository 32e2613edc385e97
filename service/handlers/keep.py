"""Keeping: words in, versions on."""

from typing import Any

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.text import visible
from shiyi.lifecycle.edit import edit
from shiyi.lifecycle.remember import remember
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.handlers.words import words_of
from shiyi.service.references import whole, whole_capture
from shiyi.service.session import Session


def handle_remember(
    session: Session, scope: str, request: ask.RememberRequest
) -> answer.RememberResult:
    """Keep words."""
    if request.words_only and (given := request.statement()):
        raise UsageError(
            f"Words alone have no {next(iter(given))}, which belongs to a record; leave it or "
            "words-only out."
        )
    words = words_of(request)
    result = remember(
        session.store,
        scope,
        words,
        request.statement(),
        words_only=request.words_only,
        allow_secret=request.allow_secret,
        key=request.key,
    )
    return answer.RememberResult(scope=scope, **result)


def handle_edit(session: Session, scope: str, request: ask.EditRequest) -> answer.EditResult:
    """Append a version."""
    fields = request.statement()
    if request.status is not None:
        fields["status"] = request.status
    if not fields:
        raise UsageError("Nothing to change was given; name at least one field.")
    return _edit(session, scope, request, fields)


def handle_archive(session: Session, scope: str, request: ask.ArchiveRequest) -> answer.EditResult:
    """Append a version whose status is archived."""
    return _edit(session, scope, request, {"status": "archived"})


def _edit(
    session: Session,
    scope: str,
    request: ask.EditRequest | ask.ArchiveRequest,
    fields: dict[str, Any],
) -> answer.EditResult:
    try:
        result = edit(
            session.store,
            scope,
            whole(session, scope, request.id),
            fields,
            reason=request.reason,
            if_match=request.if_match,
            allow_secret=isinstance(request, ask.EditRequest) and request.allow_secret,
            key=request.key,
        )
    except NotFoundError:
        _refuse_capture(session, scope, request.id)
        raise
    return answer.EditResult(**result)


def _refuse_capture(session: Session, scope: str, typed: str) -> None:
    """Raise UsageError when what was to be edited is a capture."""
    capture_id = whole_capture(session, scope, typed)
    if session.store.capture(scope, capture_id) is None:
        return
    quotes = session.store.links_to(scope, [capture_id], rels=["quotes"]).get(capture_id, [])
    record_id = next((link.src for link in quotes), None)
    instead = (
        f"Edit the record that quotes it ({record_id})." if record_id else ("No record quotes it.")
    )
    raise UsageError(f"{visible(typed)} is a capture; words never change. {instead}")
