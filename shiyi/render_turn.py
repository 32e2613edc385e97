"""The steps of a turn, for people."""

from collections.abc import Sequence

from shiyi.core.text import visible
from shiyi.service.responses import (
    CaptureAttachmentResult,
    CaptureResult,
    FinalizeResult,
    LedgerResult,
    PendingResult,
    PreflightResult,
    SessionCheckResult,
    TimelineResult,
)
from shiyi.service.responses.turns import OpenItemView
from shiyi.service.responses.wording import counted, one_line

_VERDICTS = {
    "pass": "is kept and closed.",
    "pass_with_warnings": "is kept and closed; see the warnings.",
    "fail": "is not saved:",
}


def render_preflight(answer: PreflightResult) -> str:
    """Say how a turn was judged."""
    wanted = "captured and closed first" if answer.required else "not to be kept"
    receipt = f"signal {answer.signal}, receipt {answer.version}"
    lines = [f"{visible(answer.turn_id)} is {answer.tier}: its words are {wanted} ({receipt})."]
    if answer.reasons:
        lines.append(f"  because  {', '.join(answer.reasons)}")
    if answer.reasons_suppressed:
        lines.append(f"  put aside  {', '.join(answer.reasons_suppressed)}")
    lines.append(f"  sha256  {answer.sha256}")
    return "\n".join([*lines, *answer.warnings])


def render_capture(answer: CaptureResult) -> str:
    """Say which words are kept."""
    state = "Kept" if answer.new else "Held before:"
    line = (
        f"{state} {counted(answer.bytes, 'bytes')} ({answer.fidelity}) as {answer.capture_id} in "
        f"the turn {visible(answer.turn_id)}."
    )
    return "\n".join([line, *answer.warnings])


def render_capture_attachment(answer: CaptureAttachmentResult) -> str:
    """Say which file is kept."""
    state = "Kept" if answer.new else "Held before:"
    what = f"{counted(answer.bytes, 'bytes')}, {answer.media_type}"
    lines = [
        f"{state} {one_line(answer.name)} ({what}) as {answer.attachment_id}.",
        f"  sha256  {answer.sha256}",
    ]
    if answer.capture_id:
        lines.append(f"Its words are the capture {answer.capture_id}.")
    return "\n".join([*lines, *answer.warnings])


def render_finalize(answer: FinalizeResult) -> str:
    """Say how a capture is closed."""
    state = "was closed before" if answer.repeated else "is closed"
    named = f": {', '.join(answer.records)}" if answer.records else ""
    return "\n".join([f"{answer.capture_id} {state}, {answer.closed}{named}.", *answer.warnings])


def render_session_check(answer: SessionCheckResult) -> str:
    """Say whether a turn is saved, and what is open."""
    name = visible(answer.turn_id) if answer.turn_id else "The turn"
    lines = [f"{answer.verdict}: {name} {_VERDICTS[answer.verdict]}"]
    lines += _items(answer.open)
    if answer.warnings:
        lines += ["Warnings:", *_items(answer.warnings)]
    return "\n".join(lines)


def render_pending(answer: PendingResult) -> str:
    """Say what is open."""
    return "\n".join([*(_items(answer.open) or ["Nothing is open."]), *answer.notes])


def render_ledger(answer: LedgerResult) -> str:
    """List steps, and say what was mended."""
    lines = []
    for one in answer.entries:
        ids = " ".join(filter(None, [one.capture_id, one.attachment_id, *one.records]))
        reason = f"  ({one_line(one.reason)})" if one.reason else ""
        turn = visible(one.turn_id) if one.turn_id else "-"
        lines.append(f"{one.seq:>6}  {turn:12}  {one.step:9} {one.outcome:21} {ids}{reason}")
    if not answer.entries:
        lines.append("Nothing here.")
    if answer.repaired:
        lines.append(f"Closed from their links: {', '.join(answer.repaired)}.")
    if answer.left:
        lines += ["Left, since nobody but you can close it:", *_items(answer.left)]
    return "\n".join([*lines, *answer.notes])


def render_timeline(answer: TimelineResult) -> str:
    """List the steps of a turn, in order."""
    lines = [f"The turn {visible(answer.turn_id)} in {answer.scope}:"]
    for one in answer.steps:
        found = f" → {', '.join(one.ids)}" if one.ids else ""
        note = f"  {one_line(one.note)}" if one.note else ""
        ids = " ".join(filter(None, [one.id, one.trace and f"trace {one.trace}"]))
        lines.append(
            f"{one.seq:>6}  {one.at[:19]}  {one.step:9} {one.outcome:21} {ids}{found}{note}"
        )
    return "\n".join([*lines, *answer.notes])


def _items(items: Sequence[OpenItemView]) -> list[str]:
    lines = []
    for one in items:
        where = " · ".join(filter(None, [one.turn_id and visible(one.turn_id), one.id]))
        lines.append(f"  {one.problem}  {where}")
        lines.append(f"    {visible(one.todo)}")
    return lines
