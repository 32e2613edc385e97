"""Tidying: entities that are one, follow-ups that are done, and weights that nobody confirmed."""

from datetime import UTC, datetime

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.lifecycle.entities import merge, split
from shiyi.lifecycle.feedback import add_feedback
from shiyi.lifecycle.followups import close_followup
from shiyi.lifecycle.weights import apply_decays, decays
from shiyi.retrieval.due import listed
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.handlers.relate import quote_meant
from shiyi.service.references import whole
from shiyi.service.responses.records import DecayView, FollowupView
from shiyi.service.session import Session
from shiyi.store.salience import LEVELS, level_of


def handle_entity_merge(
    session: Session, scope: str, request: ask.EntityMergeRequest
) -> answer.EntityResult:
    """Make one entity of two."""
    result = merge(
        session.store,
        scope,
        whole(session, scope, request.old),
        whole(session, scope, request.into),
        reason=request.reason,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.EntityResult(**result)


def handle_entity_split(
    session: Session, scope: str, request: ask.EntitySplitRequest
) -> answer.EntityResult:
    """Make two entities of one again."""
    result = split(
        session.store,
        scope,
        whole(session, scope, request.id),
        reason=request.reason,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.EntityResult(**result)


def handle_followup_list(
    session: Session, scope: str, request: ask.FollowupListRequest
) -> answer.FollowupListResult:
    """List what is to be come back to."""
    found = listed(session.store, scope, _now(request.now).date(), closed=request.closed)
    counts: dict[str, int] = {}
    for one in found:
        counts[one.when] = counts.get(one.when, 0) + 1
    shown = found[: request.limit]
    return answer.FollowupListResult(
        scope=scope,
        followups=[
            FollowupView(
                id=one.record.record_id,
                question=str(one.record.attrs.get("question") or one.record.title),
                context=one.record.attrs.get("context"),
                due=one.due,
                rule=one.record.attrs.get("rule"),
                when=one.when,
                note=one.record.attrs.get("note"),
            )
            for one in shown
        ],
        counts=counts,
        omitted=len(found) - len(shown),
        notes=session.notes_on(scope),
    )


def handle_followup_close(
    session: Session, scope: str, request: ask.FollowupCloseRequest
) -> answer.EditResult:
    """Close a follow-up."""
    result = close_followup(
        session.store,
        scope,
        whole(session, scope, request.id),
        request.outcome,
        request.note,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.EditResult(**result)


def handle_feedback(
    session: Session, scope: str, request: ask.FeedbackRequest
) -> answer.FeedbackResult:
    """Keep what a person said of a memory."""
    result = add_feedback(
        session.store,
        scope,
        whole(session, scope, request.target),
        request.verdict,
        quote_meant(session, scope, request.evidence),
        trace=request.trace,
        note=request.note,
        key=request.key,
    )
    return answer.FeedbackResult(**result)


def handle_salience_review(
    session: Session, scope: str, request: ask.SalienceReviewRequest
) -> answer.SalienceReviewResult:
    """Propose what may weigh less, or lower what is named."""
    if request.apply != bool(request.ids):
        raise UsageError("To lower weights give apply and the ids; without both, they are listed.")
    now, applied = _now(request.now), []
    if request.apply:
        ids = [whole(session, scope, one) for one in request.ids]
        done = apply_decays(session.store, scope, ids, now, request.days, key=request.key)
        applied = done["applied"]
    found = decays(session.store, scope, now, request.days)
    shown = found[: request.limit]
    return answer.SalienceReviewResult(
        scope=scope,
        proposals=[
            DecayView(
                id=one.record.record_id, title=one.record.title, salience=one.record.salience,
                to=one.to, level=LEVELS[level_of(one.record.salience)],
                to_level=LEVELS[level_of(one.to)], source=one.record.salience_source,
            )
            for one in shown
        ],
        omitted=len(found) - len(shown),
        applied=applied,
        notes=session.notes_on(scope),
    )  # fmt: skip


def _now(text: str | None) -> datetime:
    return parse_timestamp(text) if text else datetime.now(UTC).astimezone()
