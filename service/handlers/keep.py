"""Keeping: words in, versions on."""

from typing import Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.names import record_id_of
from shiyi.lifecycle.write import Words, edit, remember
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.session import Session


def handle_remember(
    session: Session, scope: str, request: ask.RememberRequest
) -> answer.RememberResult:
    """Keep words."""
    words = Words(
        text=request.text,
        speaker=request.speaker,
        session=request.session,
        turn=request.turn,
        said_at=request.said_at,
    )
    result = remember(
        session.store,
        scope,
        words,
        request.statement(),
        words_only=request.words_only,
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
    result = edit(
        session.store,
        scope,
        record_id_of(scope, request.id),
        fields,
        reason=request.reason,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.EditResult(**result)
