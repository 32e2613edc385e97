"""Keeping it safe: looking, saving, bringing back."""

from shiyi.core.files import expanded
from shiyi.core.settings import home_directory
from shiyi.lifecycle.backup import back_up
from shiyi.lifecycle.restore import open_backup, restore
from shiyi.lifecycle.sealed import is_sealed
from shiyi.lifecycle.snapshots import described
from shiyi.lifecycle.validate import validate, verdict
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.session import Session


def handle_validate(
    session: Session, _: str, request: ask.ValidateRequest
) -> answer.ValidateResult:
    """Look at everything."""
    findings = validate(
        session.store, require_closed=request.require_closed, progress=session.progress
    )
    found = verdict(findings)
    return answer.ValidateResult(
        verdict=found,
        passed=found == "clean" or (found == "warnings" and not request.strict),
        checks=[answer.Check(name=f.name, state=f.state, detail=f.detail) for f in findings],
    )


def handle_backup(session: Session, _: str, request: ask.BackupRequest) -> answer.BackupResult:
    """Write a backup."""
    store = session.store
    made = back_up(
        store,
        None if request.path is None else expanded(request.path),
        managed=session.backups,
        passphrase=session.passphrase(new=True) if request.encrypt else None,
    )
    notes = list(made.notes)
    if made.manifest.missing:
        notes.append("Bytes of attachments were missing or changed; see `shiyi validate`.")
    return answer.BackupResult(
        path=str(made.path),
        encrypted=made.sealed,
        last_change=made.manifest.last_seq,
        counts=described(made.manifest),
        bytes=made.bytes,
        shared=made.linked,
        missing=made.manifest.missing,
        removed=made.removed,
        notes=notes,
    )


def handle_restore(session: Session, _: str, request: ask.RestoreRequest) -> answer.RestoreResult:
    """Make a home from a backup; the home of the session is not opened."""
    path = expanded(request.path).absolute()
    home = session.home if request.into is None else home_directory(request.into)
    passphrase = session.passphrase(new=False) if is_sealed(path) else None
    manifest = restore(open_backup(path, passphrase), home, path)
    notes = ["The index is made anew by `shiyi reindex`, or by the first search."]
    return answer.RestoreResult(
        home=str(home),
        home_id=manifest.home_id,
        made_at=manifest.created_at,
        last_change=manifest.last_seq,
        counts=described(manifest),
        missing=manifest.missing,
        notes=notes,
    )
