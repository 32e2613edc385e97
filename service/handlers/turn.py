"""The turn: judged, captured, closed, checked, and looked back upon."""

from functools import partial
from typing import Any

from shiyi.core.errors import NotFoundError
from shiyi.core.ids import check_turn
from shiyi.lifecycle.attach import capture_attachment
from shiyi.lifecycle.audit import OpenItem, pending, session_check
from shiyi.lifecycle.closing import finalize
from shiyi.lifecycle.ledger import entries_of, repair, timeline
from shiyi.lifecycle.turn import capture, preflight
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.handlers.words import words_of
from shiyi.service.references import whole, whole_capture
from shiyi.service.responses.turns import LedgerEntry, OpenItemView, TimelineStep
from shiyi.service.session import Session
from shiyi.store import Entry


def handle_preflight(
    session: Session, scope: str, request: ask.PreflightRequest
) -> answer.PreflightResult:
    """Judge words."""
    result = preflight(
        session.store, scope, request.text, request.turn, tier=request.tier, key=request.key
    )
    return answer.PreflightResult(**result)


def handle_capture(
    session: Session, scope: str, request: ask.CaptureRequest
) -> answer.CaptureResult:
    """Keep the words of a turn."""
    words = words_of(request)
    result = capture(
        session.store,
        scope,
        words,
        fidelity=request.fidelity,
        of=request.of,
        allow_secret=request.allow_secret,
        key=request.key,
    )
    return answer.CaptureResult(**result)


def handle_capture_attachment(
    session: Session, scope: str, request: ask.CaptureAttachmentRequest
) -> answer.CaptureAttachmentResult:
    """Keep a file."""
    result = capture_attachment(
        session.store,
        scope,
        request.path,
        request.turn,
        most_megabytes=session.settings.attachment_mb,
        speaker=request.speaker,
        allow_secret=request.allow_secret,
        key=request.key,
    )
    return answer.CaptureAttachmentResult(**result)


def handle_finalize(
    session: Session, scope: str, request: ask.FinalizeRequest
) -> answer.FinalizeResult:
    """Close a capture."""
    result = finalize(
        session.store,
        scope,
        whole_capture(session, scope, request.capture),
        request.outcome,
        reason=request.reason,
        records=[whole(session, scope, one) for one in request.records],
        trace_id=request.trace,
        find_trace=partial(session.traces.find, scope),
        key=request.key,
    )
    return answer.FinalizeResult(**result)


def handle_session_check(
    session: Session, scope: str, request: ask.SessionCheckRequest
) -> answer.SessionCheckResult:
    """Say whether a turn is saved."""
    session.existing_scope(scope)
    days = session.settings.stale_days
    result = session_check(session.store, scope, request.turn, stale_days=days)
    return answer.SessionCheckResult(**result)


def handle_pending(
    session: Session, scope: str, request: ask.PendingRequest
) -> answer.PendingResult:
    """Say what is open."""
    del request
    items = [_item(one) for one in pending(session.store, scope)]
    return answer.PendingResult(scope=scope, open=items, notes=session.notes_on(scope))


def handle_ledger(session: Session, scope: str, request: ask.LedgerRequest) -> answer.LedgerResult:
    """Read the ledger, mended first if that is wanted."""
    store, turn = session.store, request.turn
    capture_id = whole_capture(session, scope, request.capture) if request.capture else None
    mended: dict[str, Any] = {"repaired": [], "left": []}
    if request.repair:
        session.existing_scope(scope)
        mended = repair(store, scope, turn=turn, capture_id=capture_id, key=request.key)
    found = entries_of(store, scope, turn=turn, capture_id=capture_id, limit=request.limit)
    return answer.LedgerResult(
        scope=scope, entries=[_entry(one) for one in found], notes=session.notes_on(scope), **mended
    )


def handle_timeline(
    session: Session, scope: str, request: ask.TimelineRequest
) -> answer.TimelineResult:
    """Replay a turn."""
    session.existing_scope(scope)
    turn = check_turn(request.turn)
    traces = session.traces.of_turn(scope, turn)
    steps = timeline(session.store, scope, turn, traces)
    if not steps:
        raise NotFoundError(
            f"There is no such turn in the scope {scope}; `shiyi ledger` lists the last steps."
        )
    off = ["Questions are not listed, since the setting traces is off."]
    return answer.TimelineResult(
        scope=scope,
        turn_id=turn,
        steps=[TimelineStep(**one) for one in steps],
        notes=off if session.settings.traces == "off" else [],
    )


def _item(one: OpenItem) -> OpenItemView:
    return OpenItemView(
        problem=one.problem, turn_id=one.turn_id, id=one.id, since=one.since, todo=one.todo
    )


def _entry(one: Entry) -> LedgerEntry:
    return LedgerEntry(
        seq=one.seq,
        at=one.created_at.isoformat(),
        step=one.step,
        outcome=one.outcome,
        turn_id=one.turn_id,
        capture_id=one.capture_id,
        attachment_id=one.attachment_id,
        records=list(one.records),
        trace=one.trace_id,
        reason=one.reason,
    )
