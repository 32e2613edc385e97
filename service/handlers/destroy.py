"""Removing for good, and going back."""

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.purge import Purge, plan_purge, purge
from shiyi.lifecycle.undo import moment_of, undo
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.references import readings, whole
from shiyi.service.session import Session


def handle_purge(session: Session, scope: str, request: ask.PurgeRequest) -> answer.PurgeResult:
    """Say what would go, or remove it."""
    if not request.ids and not request.confirm:
        raise UsageError("Name what is to be purged; --confirm alone ends an interrupted purge.")
    if request.ids:
        session.existing_scope(scope)
    ids = list(dict.fromkeys(id_ for one in request.ids for id_ in _meant(session, scope, one)))
    plan = plan_purge(session.store, scope, ids, with_records=request.with_records)
    done = Purge(plan)
    if request.confirm:
        session.drop_indexes()
        done = purge(session.store, scope, plan, session.traces, session.backups)
        if ids:
            session.indexes.settle(scope)
    doomed = plan.doomed
    return answer.PurgeResult(
        scope=scope,
        done=request.confirm,
        captures=list(doomed.captures),
        records=list(doomed.records),
        attachments=list(doomed.attachments),
        quoting=list(plan.quoting),
        repeating=list(plan.repeating),
        beside=list(plan.beside),
        gone=list(plan.gone),
        vectors=done.vectors,
        files=done.files,
        traces=done.traces,
        backups=done.backups,
        left=done.left,
    )


def handle_undo(session: Session, scope: str, request: ask.UndoRequest) -> answer.UndoResult:
    """Return the records to how they stood."""
    store = session.store
    session.existing_scope(scope)
    number = int(request.to) if request.to.isascii() and request.to.isdecimal() else None
    moment = parse_timestamp(request.to) if number is None else None
    seq = moment_of(store, time=moment, seq=number)
    result = undo(store, scope, seq, reason=request.reason, key=request.key)
    return answer.UndoResult(scope=scope, **result)


def _meant(session: Session, scope: str, reference: str) -> list[str]:
    """Return the ids that are meant; a source's name may be that of a capture and of a record."""
    store = session.store
    for name in readings(reference):
        capture_id, record_id = capture_id_of(scope, name), record_id_of(scope, name)
        found = [*store.captures(scope, [capture_id]), *store.versions_of(scope, [record_id])]
        found += sorted(store.purged.among(scope, [capture_id, record_id]))
        if found:
            return found
    return [whole(session, scope, reference)]
