"""Answers about safety, for people."""

from collections.abc import Mapping

from shiyi.service.responses import (
    BackupResult,
    PurgeResult,
    RestoreResult,
    UndoResult,
    ValidateResult,
)
from shiyi.service.responses.wording import counted

MARKS = {"ok": "✓", "warning": "!", "failed": "✗"}


def render_validate(answer: ValidateResult) -> str:
    """Return each check on a line, and the verdict."""
    lines = [f"{MARKS[check.state]} {check.name}: {check.detail}" for check in answer.checks]
    return "\n".join([*lines, answer.verdict])


def render_backup(answer: BackupResult) -> str:
    """Return where it lies and what it holds."""
    how = "encrypted, " if answer.encrypted else ""
    shared = f", {answer.shared / 1e6:.1f} MB of them shared with the one before"
    size = f"{how}{answer.bytes / 1e6:.1f} MB{shared if answer.shared else ''}"
    held = _counts(answer.counts)
    lines = [f"Backed up {held} to {answer.path} ({size}); every byte was read again and compared."]
    if answer.removed:
        lines.append(f"Older ones went: {', '.join(answer.removed)}.")
    return "\n".join([*lines, *answer.notes])


def render_restore(answer: RestoreResult) -> str:
    """Return which home it is now."""
    when = f"as of {answer.made_at[:19]} UTC (change {answer.last_change})"
    lines = [f"Restored {_counts(answer.counts)} into {answer.home}, {when}."]
    if answer.missing:
        count = counted(len(answer.missing), "attachments")
        lines.append(f"The bytes of {count} were missing in the backup already.")
    return "\n".join([*lines, *answer.notes])


def render_purge(answer: PurgeResult) -> str:
    """Return what went, or would go, and what was out of reach."""
    named = [
        *(f"  capture {id_}" for id_ in answer.captures),
        *(f"  record {id_}, with all its versions" for id_ in answer.records),
        *(f"  attachment {id_}" for id_ in answer.attachments),
    ]
    quoting = [
        f"  record {id_} stays without this quote"
        + (" and repeats its words" if id_ in answer.repeating else "")
        for id_ in answer.quoting
    ]
    quoting += [
        f"  {id_} stays and repeats its words"
        for id_ in answer.repeating
        if id_ not in answer.quoting
    ]
    quoting += [f"  {id_} stays, one of the two being read from the other" for id_ in answer.beside]
    if not answer.done:
        first = "This would go for good:" if named else "There is nothing of it left."
        rest = ["Say --confirm to do it; --with-records takes the records that quote it as well."]
        return "\n".join([first, *named, *quoting, *(rest if named else [])])
    first = "Gone for good:" if named else "Nothing was left to remove but traces of it."
    also = {"vectors": answer.vectors, "files": answer.files, "traces": answer.traces}
    removed = [counted(number, name) for name, number in also.items()]
    counts = f"Also: {', '.join([*removed, counted(len(answer.backups), 'backups')])}."
    left = [f"  - {sentence}" for sentence in answer.left]
    return "\n".join([first, *named, *quoting, counts, "Out of reach:", *left])


def render_undo(answer: UndoResult) -> str:
    """Return what is as it stood."""
    if not answer.changed:
        return f"All records stand as they did after change {answer.to}; nothing was changed."
    return (
        f"As after change {answer.to}: {counted(answer.restored, 'records')} restored, "
        f"{answer.archived} archived, {counted(answer.unlinked, 'links')} removed, "
        f"{answer.relinked} brought back. What was said stays. `shiyi undo --to {answer.before}` "
        "undoes this."
    )


def _counts(counts: Mapping[str, int]) -> str:
    versions = {"records": "versions of records"}
    return ", ".join(
        f"{count} {versions.get(name, '')}" if name in versions else counted(count, name)
        for name, count in counts.items()
    )
