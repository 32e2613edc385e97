"""Correcting: what holds instead of what, what contradicts what, and how things stood when."""

from datetime import UTC, datetime

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import NotFoundError
from shiyi.core.text import visible
from shiyi.lifecycle.correct import contradict, supersede
from shiyi.lifecycle.names import record_id_of
from shiyi.retrieval.conflicts import Conflict, conflicts, sources_of
from shiyi.retrieval.current import Held, holding
from shiyi.retrieval.listing import date_of
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.handlers.relate import quote_meant
from shiyi.service.references import whole
from shiyi.service.responses.records import ConflictView, SideView, SourceView, StateView
from shiyi.service.session import Session
from shiyi.store import Capture, Link
from shiyi.store.shapes import MYSELF

_TEXT = 300  # characters of the words of a source


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
        source=quote_meant(session, scope, request.source) if request.source else None,
        if_match=request.if_match,
        key=request.key,
    )
    return answer.SupersedeResult(**result)


def handle_contradict(
    session: Session, scope: str, request: ask.ContradictRequest
) -> answer.ContradictResult:
    """Say that two records cannot both be so."""
    result = contradict(
        session.store,
        scope,
        whole(session, scope, request.record),
        whole(session, scope, request.other),
        reason=request.reason,
        source=quote_meant(session, scope, request.source) if request.source else None,
        key=request.key,
    )
    return answer.ContradictResult(**result)


def handle_conflicts(
    session: Session, scope: str, request: ask.ConflictsRequest
) -> answer.ConflictsResult:
    """Show both sides of what contradicts."""
    store = session.store
    found = conflicts(store, scope, settled=request.settled)
    shown = found[: request.limit]
    sources = sources_of(store, scope, [side.record_id for one in shown for side in one.sides])
    said = [spot for one in shown if (spot := one.link.attrs.get("source"))]
    captures = store.captures(scope, sorted({spot["capture"] for spot in said}))
    return answer.ConflictsResult(
        scope=scope,
        conflicts=[_conflict(one, sources, captures) for one in shown],
        omitted=len(found) - len(shown),
        notes=session.notes_on(scope),
    )


def handle_current(
    session: Session, scope: str, request: ask.CurrentRequest
) -> answer.CurrentResult:
    """Show the states that cover a day."""
    store = session.store
    today = datetime.now(UTC).astimezone().date().isoformat()
    days = parse_day_range(request.as_of or today)
    of = request.of
    if of is not None and of != MYSELF:
        of = record_id_of(scope, whole(session, scope, of))
        if not store.versions(scope, of):
            raise NotFoundError(f"There is no record {visible(request.of or '')} in this scope.")
    found = holding(store, scope, days.start, days.end, of)
    shown = found[: request.limit]
    redirects = store.redirects(scope)
    named = {id_: redirects.get(id_, id_) for one in shown if (id_ := _of(one)) != MYSELF}
    heads = store.heads(scope, sorted(set(named.values())))
    titles = {id_: heads[last].title for id_, last in named.items() if last in heads}
    return answer.CurrentResult(
        scope=scope,
        as_of=request.as_of or today,
        states=[_state(one, named.get(_of(one), MYSELF), titles.get(_of(one))) for one in shown],
        omitted=len(found) - len(shown),
        notes=session.notes_on(scope),
    )


def _of(held: Held) -> str:
    return str(held.record.attrs.get("of", MYSELF))


def _state(held: Held, of: str, title: str | None) -> StateView:
    record, said = held.record, held.record.attrs
    return StateView(
        id=record.record_id, of=of, of_title=title, block=said.get("block"), name=said.get("name"),
        value=said.get("value"), title=record.title, date=date_of(record),
        date_basis=record.date_basis, since=held.since.isoformat(),
        until=held.until.isoformat() if held.until else None, status=record.status,
    )  # fmt: skip


def _conflict(
    one: Conflict,
    sources: dict[str, list[tuple[Capture, str]]],
    captures: dict[str, Capture],
) -> ConflictView:
    sides = [
        SideView(
            id=record.record_id, kind=record.kind, status=record.status, title=record.title,
            gist=record.gist, date=date_of(record), date_basis=record.date_basis,
            recorded=record.created_at.isoformat(), only=list(only),
            sources=[_source(*spot) for spot in sources.get(record.record_id, [])],
        )
        for record, only in zip(one.sides, one.only, strict=True)
    ]  # fmt: skip
    return ConflictView(
        sides=sides,
        differs=list(one.differs),
        reason=one.link.attrs.get("reason"),
        source=_said(one.link, captures),
    )


def _said(link: Link, captures: dict[str, Capture]) -> SourceView | None:
    spot = link.attrs.get("source")
    if spot is None or spot["capture"] not in captures:
        return None
    capture = captures[spot["capture"]]
    return _source(capture, capture.text[spot["start"] : spot["end"]])


def _source(capture: Capture, text: str) -> SourceView:
    return SourceView(
        capture=capture.capture_id,
        written=capture.captured_at.isoformat() if capture.captured_at else None,
        speaker=capture.speaker,
        text=text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…",
    )
