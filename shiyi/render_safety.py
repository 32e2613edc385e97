"""Answers about safety, for people."""

from collections.abc import Mapping

from shiyi.service.responses import BackupResult, RestoreResult, ValidateResult
from shiyi.service.wording import counted

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


def _counts(counts: Mapping[str, int]) -> str:
    versions = {"records": "versions of records"}
    return ", ".join(
        f"{count} {versions.get(name, '')}" if name in versions else counted(count, name)
        for name, count in counts.items()
    )
