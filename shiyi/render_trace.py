"""Traces and proofs of absence for people."""

from collections.abc import Iterator

import click

from shiyi.core.text import visible
from shiyi.retrieval.traced import (
    AbsenceResult,
    Engine,
    Question,
    Ranked,
    Replay,
    Trace,
    TraceLine,
    TraceResult,
)
from shiyi.service.responses import OriginsResult
from shiyi.service.responses.wording import counted

_TEXT_SHOWN = 48
_RANKED_SHOWN = 16
_SHOWN_FROM = 0.005
_FATES = {
    "same words": "the same words as",
    "limit": "beyond the limit",
    "budget": "did not fit the budget",
    "junk": "too little beside the best",
    "silent": "nothing in it speaks for itself",
    "floor": "below the evidence floor",
    "held back": "held back",
    "stepped down": "shown, in a smaller form",
}
_PARTS = {
    "dense": "meaning", "interaction": "tokens", "lexical": "words", "exact": "identifier",
    "time": "time", "neighbour": "neighbours", "source": "source",
}  # fmt: skip


def render_trace(answer: TraceResult) -> str:
    """Return one trace as its stages, readings and rankings, or a list of the newest."""
    if answer.trace is None:
        lines = [
            f"{one.id}  {one.at[:19]}  {one.operation:8} {one.outcome:11} "
            f"{one.chosen:3} shown {one.milliseconds:8.1f} ms  {_cut(one.text)}{_said(one)}"
            for one in answer.traces
        ]
        return "\n".join([*(lines or ["No traces are kept here."]), *answer.notes])
    lines = list(_trace(answer.trace))
    if answer.replay is not None:
        lines += ["", *_replay(answer.replay)]
    return "\n".join([*lines, *answer.notes])


def _said(line: TraceLine) -> str:
    told = (one.verdict if one.target == line.id else f"{one.verdict} {one.target}"
            for one in line.feedback)  # fmt: skip
    return "".join(f"\n    {one}" for one in told)


def render_absence(answer: AbsenceResult) -> str:
    """Return what was asked, what came of it, and the conclusion."""
    lines = []
    for run in answer.probes:
        nearest = f"; nearest {', '.join(run.nearest)}" if run.nearest else ""
        came = {
            "found": f"{len(run.found)} found",
            "empty": f"nothing, {run.misses} near{nearest}",
        }.get(run.outcome, "could not be asked")
        lines.append(f"{run.name}: {_cut(run.text)} → {came}")
    asked = f"{counted(len(answer.probes), 'probes')} of {counted(answer.searched, 'documents')}"
    if answer.outcome == "found":
        more = f" and {answer.omitted} more" if answer.omitted else ""
        lines.append(f"Found: {', '.join(answer.found)}{more}.")
    elif answer.outcome == "empty" and not answer.probes:
        lines.append("Nothing: there was nothing to ask.")
    elif answer.outcome == "empty":
        lines.append(f"Nothing: {asked} found nothing above the evidence floor.")
    elif not answer.probes:
        lines.append("Not known (unavailable): nothing could be asked.")
    else:
        lines.append(
            f"Not known (unavailable): {asked} found nothing, but not all of them could be asked."
        )
    proof = [f"trace {answer.trace}"] if answer.trace else []
    return "\n".join([*lines, *answer.notes, *proof])


def _trace(trace: Trace) -> Iterator[str]:
    error = f" ({trace.error})" if trace.error else ""
    yield f"{trace.operation} at {trace.at[:19]}: {trace.outcome}{error}"
    options = {k: v for k, v in trace.request.items() if v != [] and k not in {"text", "topic"}}
    if options:
        yield f"asked with  {visible(', '.join(f'{k}={_plain(v)}' for k, v in options.items()))}"
    tokens = f", {counted(trace.tokens, 'tokens')}" if trace.tokens is not None else ""
    for note in trace.notes:
        yield f"note        {visible(note)}"
    yield f"shown       {', '.join(trace.chosen) or 'nothing'}{tokens}"
    for why, ids in trace.left_out.items():
        more = "" if trace.omitted[why] <= _RANKED_SHOWN else ", …"
        some = f"{', '.join(ids[:_RANKED_SHOWN])}{more}"
        yield f"left out    {trace.omitted[why]} × {_FATES.get(why, why)}: {some}"
    for id_, form in trace.stepped_down.items():
        yield f"stepped down  {id_} → {form}"
    yield f"index       {_engine(trace.engine)}"
    took = (f"{name} {ms:.1f}" for name, ms in trace.stages.items())
    yield f"took (ms)   {' · '.join(took)}"
    for question in trace.questions:
        yield ""
        yield from _question(question)


def _question(question: Question) -> Iterator[str]:
    yield click.style(f"{question.name}: {visible(question.text)}", bold=True)
    yield f"read as     {visible(' '.join(question.terms)) or '–'}"
    for time in question.times:
        doubt = "" if time.certain else ", perhaps"
        yield f"time        {visible(time.text)}: {time.start or '…'} to {time.end or '…'}{doubt}"
    kind = "a remark" if question.remark else "a question"
    floor = "something stands out" if question.known else "nothing stands out"
    if question.margin is not None:
        floor += f" ({question.margin:+.2f} beside the evidence floor)"
    left = f", the filters leave {question.filtered} out" if question.filtered else ""
    basis = question.basis
    yield f"searched    {counted(basis.searched, 'documents')} by {question.mode}{left}"
    yield f"judged      {kind}; {floor}; words believed {basis.gate:.2f}"
    for name, scored in question.channels.items():
        best = ", ".join(f"{one.id} {one.score:.2f}" for one in scored[:3])
        yield f"{name:<11} {counted(len(scored), 'candidates')} noted, best {best}"
    for place, one in enumerate(question.ranking[:_RANKED_SHOWN], 1):
        yield f"{place:>3}. {one.id}  {_sum(one)}  {_fate(one)}"
    rest = len(question.ranking) - _RANKED_SHOWN
    if rest > 0:
        yield f"     … and {rest} more; --json lists them."


def _sum(one: Ranked) -> str:
    parts = [
        f"{value:.2f} {words}"
        for name, words in _PARTS.items()
        if abs(value := getattr(one, name)) >= _SHOWN_FROM
    ]
    return f"{one.score:.2f} = {' + '.join(parts) or '0'}"


def _fate(one: Ranked) -> str:
    if one.fate == "chosen":
        return "✓"
    return f"✗ {_FATES[one.fate]}{f' {one.of}' if one.of else ''}"


def _engine(engine: Engine) -> str:
    generation = f"generation {engine.generation}" if engine.generation else "no generation yet"
    model = f"model {engine.model[:12]}" if engine.model else "no model"
    return f"{generation}, change {engine.sequence}, {model}, version {engine.version}"


def _replay(replay: Replay) -> Iterator[str]:
    yield (
        "The same call gives the same answer today."
        if replay.same
        else f"The same call gives another answer today ({replay.outcome})."
    )
    for name, ids in (("came", replay.came), ("went", replay.went), ("moved", replay.moved)):
        if ids:
            yield f"{name:<11} {', '.join(ids)}"
    for one in replay.changed:
        yield f"changed     {one.what}: {_value(one.before)} → {_value(one.now)}"


def _value(value: str | None) -> str:
    return "none" if value is None else visible(value)


def _plain(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _cut(text: str) -> str:
    shown = visible(" ".join(text.split()))
    return shown if len(shown) <= _TEXT_SHOWN else f"{shown[: _TEXT_SHOWN - 1]}…"


def render_origins(answer: OriginsResult) -> str:
    """Return whose word each memory is, and what is not here."""
    lines: list[str] = []
    for one in answer.origins:
        known = [part for part in (one.origin, one.speaker, one.fidelity) if part]
        lines.append(f"{one.id}  {one.trust:8} {' · '.join(known)}")
    lines += [f"{visible(id_)}  is not here" for id_ in answer.unknown]
    return "\n".join(visible(line).rstrip() for line in lines)
