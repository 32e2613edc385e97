"""Measuring: runs on labelled sets, in a home of their own, and what is held against a baseline."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from shiyi.core.errors import UsageError
from shiyi.core.files import expanded
from shiyi.eval.dataset import Dataset
from shiyi.eval.files import (
    REPORT,
    RESULT,
    TIMINGS,
    make_output,
    read_baseline,
    read_result,
    texts_of,
    write_baseline,
    write_run,
)
from shiyi.eval.findings import GateResult
from shiyi.eval.gate import Baseline, check, make_baseline
from shiyi.eval.load import find_datasets, known_datasets, load_dataset
from shiyi.eval.rerun import only_sets, rerun_of
from shiyi.eval.results import EvalResult
from shiyi.eval.run import Plan, run
from shiyi.eval.table import render_table
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.session import Session
from shiyi.service.trial import open_trial
from shiyi.store.home import FILE_NAME

_HERE = Path("shiyi-eval")
_BY_MEANING = ("hybrid", "dense")


def handle_eval_run(session: Session, _: str, request: ask.EvalRunRequest) -> answer.EvalRunResult:
    """Run systems on sets, and write what was found."""
    datasets = [load_dataset(path, request.view) for path in find_datasets(request.dataset)]
    plan = Plan(
        systems=request.system, runs=[expanded(one) for one in request.run], ks=request.k,
        budgets=request.budget, by=request.by,
        without=request.without or (), counter=session.settings.tokens, most=request.most,
    )  # fmt: skip
    result, files = _run(session, plan, datasets, request.out, texts=request.texts)
    return answer.EvalRunResult(
        fingerprint=result.fingerprint,
        files=files,
        rows=[
            answer.EvalRow(
                dataset=cell.dataset, view=cell.view, system=cell.system,
                **cell.overall.model_dump(),
            )
            for cell in result.cells
        ],
        table=render_table(result),
        notes=[
            *(f"{one.name}: {note}" for one in datasets for note in one.notes),
            *_without_meaning(result),
        ],
    )  # fmt: skip


def handle_eval_gate(
    session: Session, _: str, request: ask.EvalGateRequest
) -> answer.EvalGateResult:
    """Check a result against a baseline, or run what the baseline names, or make a baseline."""
    file = expanded(request.baseline)
    given = read_result(expanded(request.result)) if request.result else None
    if request.write:
        if given is None:
            raise UsageError("Name the result that the baseline is to be made from.")
        baseline = make_baseline(given)
        write_baseline(baseline, file)
        return _held(baseline, check(baseline, given), wrote=str(file.absolute()))
    baseline = read_baseline(file)
    if given is not None:
        return _held(baseline, check(baseline, given))
    return _checked_by_a_run(session, baseline, request)


def _checked_by_a_run(
    session: Session, baseline: Baseline, request: ask.EvalGateRequest
) -> answer.EvalGateResult:
    wanted = rerun_of(baseline, session.settings.tokens)
    known = {one.name: Path(one.path) for one in reversed(known_datasets())}
    here = [name for name in wanted.views if name in known]
    skipped = [name for name in wanted.views if name not in known]
    baseline = only_sets(baseline, here)
    found = GateResult(passed=True, allowance=baseline.allowance, fell=[], rose=[], failures=[])
    files, notes = None, []
    if here:
        datasets = [load_dataset(known[name], wanted.views[name]) for name in here]
        result, files = _run(session, wanted.plan, datasets, request.out, texts=False)
        found, notes = check(baseline, result), _without_meaning(result)
    if request.strict and skipped:
        failures = [*found.failures, *(f"{name}: This set is not here." for name in skipped)]
        found = found.model_copy(update={"passed": False, "failures": failures})
    return _held(baseline, found, skipped=skipped, files=files, notes=notes)


def _held(
    baseline: Baseline,
    found: GateResult,
    *,
    skipped: Sequence[str] = (),
    files: answer.EvalFiles | None = None,
    wrote: str | None = None,
    notes: Sequence[str] = (),
) -> answer.EvalGateResult:
    return answer.EvalGateResult(
        **found.model_dump(), checked=sum(len(cell.measures) for cell in baseline.cells),
        skipped=list(skipped), files=files, wrote=wrote, notes=list(notes),
    )  # fmt: skip


def _run(
    session: Session, plan: Plan, datasets: Sequence[Dataset], out: str | None, *, texts: bool
) -> tuple[EvalResult, answer.EvalFiles]:
    place = _place(session) if out is None else expanded(out)
    directory = make_output(place.absolute())
    opens = partial(open_trial, session.settings, plan.without)
    result, timings = run(plan, datasets, opens, directory, session.progress)
    write_run(result, timings, directory, texts_of(datasets) if texts else None)
    names = {"result": RESULT, "timings": TIMINGS, "report": REPORT}
    return result, answer.EvalFiles(**{key: str(directory / name) for key, name in names.items()})


def _place(session: Session) -> Path:
    """Return where a run goes that names no place; a home is not made for it."""
    at_home = session.settings.eval_directory or (session.home / FILE_NAME).exists()
    return session.evals if at_home else _HERE


def _without_meaning(result: EvalResult) -> list[str]:
    """Return a sentence when systems that go by meaning had no model for it."""
    measured = [name for name in result.conditions.systems if name in _BY_MEANING]
    if result.conditions.model != "none" or not measured:
        return []
    return [f"There was no embedding model, so {' and '.join(measured)} went without meaning."]
