"""How things stand."""

import os
from importlib import metadata

from shiyi.indexer.analyze import analyzer_fingerprint
from shiyi.lifecycle.backups import due
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.diagnosis import examine, scope_status
from shiyi.service.permit import current_permit
from shiyi.service.session import Session
from shiyi.store.migrations import SCHEMA_VERSION


def handle_status(session: Session, _: str, request: ask.StatusRequest) -> answer.StatusResult:
    """Say how the home stands, without loading the model."""
    del request
    store, permit = session.store, current_permit()
    problem = session.model_problem()
    notes = [f"Keywords only: {problem}"] if problem else []
    if permit.sees_all:
        waiting = due(store, session.settings.backup_days)
        notes += [*session.lost(), *([waiting] if waiting else [])]
    return answer.StatusResult(
        home=str(store.home),
        version=metadata.version("shiyi"),
        last_change=store.last_seq if permit.sees_all else None,
        model=session.settings.model,
        mode="keyword" if problem else "hybrid",
        daemon=os.getpid() if session.served and permit.role is None else None,
        scopes=[scope_status(store, scope) for scope in store.scopes() if permit.sees(scope)],
        notes=notes,
    )


def handle_doctor(session: Session, _: str, request: ask.DoctorRequest) -> answer.DoctorResult:
    """Check everything."""
    del request
    checks = examine(session)
    return answer.DoctorResult(
        healthy=all(check.state != "failed" for check in checks), checks=checks
    )


def handle_version(session: Session, _: str, request: ask.VersionRequest) -> answer.VersionResult:
    """Say which version this is."""
    del session, request
    return answer.VersionResult(
        version=metadata.version("shiyi"),
        schema_version=SCHEMA_VERSION,
        analyzer=analyzer_fingerprint(),
    )
