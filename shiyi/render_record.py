"""Corrections, follow-ups, feedback and entities for people."""

from collections.abc import Callable, Mapping
from typing import Any

from shiyi.core.text import visible
from shiyi.service.responses.records import (
    AddRecordResult,
    ConflictsResult,
    ContradictResult,
    CurrentResult,
    EntityResult,
    FeedbackResult,
    FollowupListResult,
    FootprintResult,
    SalienceReviewResult,
    SideView,
    StartersResult,
    SupersedeResult,
)
from shiyi.service.responses.wording import counted, one_line


def _add_record(answer: AddRecordResult) -> str:
    kept = f"{answer.record_id} is kept with {counted(answer.links, 'links')} (etag {answer.etag})."
    replaced = [f"It holds instead of {id_}." for id_ in answer.replaced]
    return "\n".join([kept, *replaced, *_warned(answer.warnings)])


def _supersede(answer: SupersedeResult) -> str:
    if not answer.changed:
        return f"{answer.new} holds instead of {answer.old} already."
    said = f"{answer.new} holds instead of {answer.old}, now at version {answer.version}."
    return "\n".join([said, *_warned(answer.warnings)])


def _contradict(answer: ContradictResult) -> str:
    said = "contradicts" if answer.added else "was said before to contradict"
    return "\n".join([f"{answer.src} {said} {answer.dst}.", *_warned(answer.warnings)])


def _warned(warnings: list[str]) -> list[str]:
    return [f"! {one}" for one in warnings]


def _conflicts(answer: ConflictsResult) -> str:
    lines: list[str] = []
    for number, one in enumerate(answer.conflicts, 1):
        because = f": {visible(one.reason)}" if one.reason else ""
        lines.append(f"{number}. They contradict one another{because}")
        for side in one.sides:
            lines += _side(side)
        if one.differs:
            lines.append(f"   not alike: {', '.join(one.differs)}")
    if not answer.conflicts:
        lines.append("Nothing contradicts anything.")
    return "\n".join([*lines, *_more(answer.omitted, "more pairs"), *answer.notes])


def _side(side: SideView) -> list[str]:
    when = f"{side.date} ({side.date_basis})" if side.date else "at no known time"
    lines = [
        f"   {side.id}  {side.kind}, {when}, recorded {side.recorded[:10]}",
        f"      {one_line(side.gist)}",
    ]
    if side.only:
        lines.append(f"      only here: {' · '.join(one_line(one) for one in side.only)}")
    lines += [
        f"      “{one_line(one.text)}” {visible(one.speaker)}, {(one.written or '?')[:10]}, "
        f"{one.capture}"
        for one in side.sources
    ]
    return lines


def _current(answer: CurrentResult) -> str:
    lines = []
    for one in answer.states:
        whose = one_line(one.of_title or one.of)
        name = " · ".join(one_line(part) for part in (one.block, one.name) if part)
        until = f" to {one.until}" if one.until else ""
        lines.append(f"{one.id}  {whose} · {name}: {one_line(str(one.value))}")
        lines.append(f"   from {one.since}{until} ({one.date_basis})")
    if not lines:
        lines.append(f"No state covers {answer.as_of}.")
    return "\n".join([*lines, *_more(answer.omitted, "more states"), *answer.notes])


def _entity(answer: EntityResult) -> str:
    if not answer.changed:
        return f"{answer.old} stays as it is, at version {answer.version}."
    if answer.into is None:
        return f"{answer.old} stands for itself again, at version {answer.version}."
    return f"{answer.into} stands for {answer.old}, which is at version {answer.version}."


def _followups(answer: FollowupListResult) -> str:
    lines = [
        f"{one.id}  {one.when:9} {one.due or '':10}  {one_line(one.question)}"
        f"{f'  ({one_line(one.rule)})' if one.rule and not one.due else ''}"
        for one in answer.followups
    ]
    lines = lines or ["Nothing is left open."]
    return "\n".join([*lines, *_more(answer.omitted, "more of them"), *answer.notes])


def _feedback(answer: FeedbackResult) -> str:
    kept = "Kept" if answer.added else "It was said before"
    return f"{kept}: {answer.verdict}, of {answer.target_id} ({answer.feedback_id})."


def _footprint(answer: FootprintResult) -> str:
    if answer.added:
        return f"{answer.record_id} is kept (etag {answer.etag})."
    times = f"done {answer.times} times"
    return f"{answer.record_id} was there already; it is at version {answer.version}, {times}."


def _starters(answer: StartersResult) -> str:
    if answer.question is None:
        return "\n".join(answer.notes)
    lines = [one_line(answer.question), f"   {one_line(answer.title or '')}: {answer.why}"]
    return "\n".join([*lines, *(f"   {id_}" for id_ in answer.ids), *answer.notes])


def _salience_review(answer: SalienceReviewResult) -> str:
    lines = [f"{id_} weighs less now." for id_ in answer.applied]
    lines += [
        f"{one.id}  {one.salience} → {one.to} ({one.level} → {one.to_level}, {one.source})  "
        f"{one_line(one.title)}"
        for one in answer.proposals
    ]
    lines = lines or ["There is no weight to lower."]
    return "\n".join([*lines, *_more(answer.omitted, "more proposals"), *answer.notes])


def _more(omitted: int, what: str) -> list[str]:
    return [f"{counted(omitted, what)}; raise --limit."] if omitted else []


RECORD_RENDERERS: Mapping[str, Callable[[Any], str]] = {
    "AddRecordResult": _add_record,
    "SupersedeResult": _supersede,
    "ContradictResult": _contradict,
    "ConflictsResult": _conflicts,
    "CurrentResult": _current,
    "EntityResult": _entity,
    "FollowupListResult": _followups,
    "FeedbackResult": _feedback,
    "FootprintResult": _footprint,
    "StartersResult": _starters,
    "SalienceReviewResult": _salience_review,
}
