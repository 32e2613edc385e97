"""Why an answer was what it was, and whether there is nothing about a topic."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from pydantic import ValidationError

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import NotFoundError, ShiyiError, UsageError
from shiyi.retrieval.absence import nowhere, prove_absence
from shiyi.retrieval.query import Query
from shiyi.retrieval.traced import Changed, Engine, Replay, SaidOfAnswer, Trace, TraceLine
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.invoke import invoke, request_model
from shiyi.service.permit import current_permit
from shiyi.service.session import Session
from shiyi.service.table.operations import find_operation
from shiyi.service.tracing import Tracing
from shiyi.store.traces import Content

_REFUSED = "The same call is refused today; this version asks in another way."
_SAYING = ("query", "about", "window", "ids")  # of calls without a question
_ENGINE = {
    "version": "the version of Shiyi",
    "analyzer": "how words are cut",
    "counter": "the counter of tokens",
    "model": "the model",
    "calibration": "the constants of the model",
    "generation": "the generation of the index",
    "sequence": "the newest change in the index",
    "documents": "how many documents there are",
}


def handle_absence(
    session: Session, scope: str, request: ask.AbsenceRequest
) -> answer.AbsenceResult:
    """Ask for a topic in every way."""
    missing = session.notes_on(scope)
    if missing:
        return nowhere(missing)
    now = parse_timestamp(request.now) if request.now else None
    query = Query(text=request.topic, now=now, without=session.without)
    with Tracing(session, "absence", scope, request) as trace:
        found = prove_absence(session.indexes, session.store, scope, query, trace)
        lost = session.lost()
        if lost:
            found = found.model_copy(update={"notes": [*lost, *found.notes]})
        proven = trace.answer(found)
    session.traces.flush()  # a proof does not wait for the next few traces
    return proven


def handle_trace(session: Session, scope: str, request: ask.TraceRequest) -> answer.TraceResult:
    """Read one trace, and ask the same again if that is wanted, or list the newest."""
    _ = session.store  # only who owns the home reads its traces
    notes = session.notes_on(scope)
    if session.settings.traces == "off":
        notes.append("No traces are kept, since the setting traces is off.")
    if request.id is None:
        if request.replay:
            raise UsageError("Name the trace that is to be replayed.")
        lines = _spoken_of(session, scope) if request.feedback else _newest(session, scope, request)
        return answer.TraceResult(
            scope=scope, trace=None, replay=None, traces=lines[: request.limit], notes=notes
        )
    if request.feedback:
        raise UsageError("A trace is read by its id, or listed by its feedback; leave one out.")
    kept = session.traces.find(scope, request.id)
    trace = next(_whole([kept] if kept else []), None)
    if trace is None:
        raise NotFoundError(
            f"There is no such trace in the scope {scope}, or not any more; `shiyi trace` lists "
            "the newest."
        )
    replay = _replay(session, scope, trace) if request.replay else None
    return answer.TraceResult(scope=scope, trace=trace, replay=replay, traces=[], notes=notes)


def _newest(session: Session, scope: str, request: ask.TraceRequest) -> list[TraceLine]:
    return [_line(one) for one in _whole(session.traces.newest(scope, request.limit))]


def _spoken_of(session: Session, scope: str) -> list[TraceLine]:
    """Return the answers that have feedback and are still kept, newest first."""
    said: dict[str, list[SaidOfAnswer]] = {}
    for one in session.store.feedback(scope):
        trace = one.trace_id or one.target_id
        said.setdefault(trace, []).append(SaidOfAnswer(verdict=one.verdict, target=one.target_id))
    kept = session.traces.newest(scope, session.settings.trace_most) if said else []
    found = _whole([one for one in kept if one["id"] in said])
    return [_line(one).model_copy(update={"feedback": said[one.id]}) for one in found]


def _whole(kept: Sequence[Content]) -> Iterator[Trace]:
    """Yield the traces that this version can read."""
    for content in kept:
        with suppress(ValidationError):
            yield Trace.model_validate(content)


def _line(trace: Trace) -> TraceLine:
    asked = [question.text for question in trace.questions]
    asked += [str(trace.request[name]) for name in _SAYING if name in trace.request]
    return TraceLine(
        id=trace.id, at=trace.at, operation=trace.operation, outcome=trace.outcome,
        text=next(iter(asked), ""), chosen=len(trace.chosen),
        milliseconds=trace.stages.get("all", 0.0),
    )  # fmt: skip


def _replay(session: Session, scope: str, then: Trace) -> Replay:
    """Do the same call again, as of the same time, and compare what it chose."""
    values = dict(then.request)
    try:
        operation = find_operation(then.operation)
    except KeyError:  # another version had it
        raise UsageError(_REFUSED) from None
    if "now" in request_model(operation).model_fields:
        values.setdefault("now", then.at)
    seen: list[Content] = []

    def see(_: str, content: Content) -> None:
        seen.append(content)

    with session.traces_to(see), suppress(ShiyiError):  # an error leaves a trace as well
        invoke(session, then.operation, values, scope=scope, permit=current_permit())
    now = next(_whole(seen), None)
    if now is None:
        raise UsageError(_REFUSED)
    came = [id_ for id_ in now.chosen if id_ not in set(then.chosen)]
    went = [id_ for id_ in then.chosen if id_ not in set(now.chosen)]
    return Replay(
        same=(then.outcome, then.chosen, then.stepped_down)
        == (now.outcome, now.chosen, now.stepped_down),
        outcome=now.outcome, came=came, went=went, moved=_moved(then.chosen, now.chosen),
        changed=_changed(then.engine, now.engine),
    )  # fmt: skip


def _moved(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return the ids that both have, at another place among those that both have."""
    old = [id_ for id_ in before if id_ in set(now)]
    new = [id_ for id_ in now if id_ in set(before)]
    return [b for a, b in zip(old, new, strict=True) if a != b]


def _changed(before: Engine, now: Engine) -> list[Changed]:
    return [
        Changed(what=words, before=_said(a), now=_said(b))
        for name, words in _ENGINE.items()
        if (a := getattr(before, name)) != (b := getattr(now, name))
    ]


def _said(value: object) -> str | None:
    return None if value is None else str(value)
