"""A few figures kept from a run, and whether a later run still reaches them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field, FiniteFloat

from shiyi.core.errors import UsageError
from shiyi.eval.findings import Change, GateResult
from shiyi.eval.measures import LOWER_IS_BETTER, values_of
from shiyi.eval.results import Cell, EvalResult

MEASURES = ("recall@10", "nDCG@10")
ALLOWANCE = 0.005
_DIGITS = 6
_SLACK = 1e-6  # of rounding, so that a fall of just the allowance is within it
_WORST = 5


class BaselineMeasure(BaseModel):
    """One mean, and the values behind it: only of the queries that were not perfect."""

    mean: FiniteFloat
    imperfect: dict[str, FiniteFloat] = Field(description="query id → value; all others perfect")


class BaselineCell(BaseModel):
    """What one system reached on one view of one set."""

    dataset: str
    sha256: str
    view: str
    system: str
    queries: int
    measures: dict[str, BaselineMeasure]


class Baseline(BaseModel):
    """What later runs are held against; kept as a file in the repository."""

    format: Literal[1] = 1
    fingerprint: str = Field(description="of the run that it was taken from")
    allowance: float = Field(ge=0, allow_inf_nan=False, description="a fall up to this passes")
    cells: list[BaselineCell]


def make_baseline(
    result: EvalResult, measures: Sequence[str] = MEASURES, allowance: float = ALLOWANCE
) -> Baseline:
    """Return the baseline of a run: the means of these measures in every cell that has them.

    Raises UsageError for a measure that no cell has.
    """
    digests = {info.name: info.sha256 for info in result.datasets}
    cells = [
        BaselineCell(
            dataset=cell.dataset, sha256=digests[cell.dataset], view=cell.view, system=cell.system,
            queries=len(cell.queries),
            measures={
                name: BaselineMeasure(
                    mean=round(cell.overall.measures[name], _DIGITS),
                    imperfect={
                        query: round(value, _DIGITS)
                        for query, value in _values(cell, name).items()
                        if value != _perfect(name)
                    },
                )
                for name in measures
                if name in cell.overall.measures
            },
        )
        for cell in result.cells
    ]  # fmt: skip
    unknown = [name for name in measures if not any(name in cell.measures for cell in cells)]
    if unknown:
        raise UsageError(f"This result does not measure {', '.join(unknown)}.")
    return Baseline(fingerprint=result.fingerprint, allowance=allowance, cells=cells)


def check(baseline: Baseline, result: EvalResult) -> GateResult:
    """Hold a run against its baseline. What the run measured beyond that is not looked at."""
    digests = {info.name: info.sha256 for info in result.datasets}
    cells = {(cell.dataset, cell.view, cell.system): cell for cell in result.cells}
    fell: list[Change] = []
    rose: list[Change] = []
    failures: list[str] = []
    for before in baseline.cells:
        cell = cells.get((before.dataset, before.view, before.system))
        failure = _failure(before, cell, digests.get(before.dataset))
        if failure is not None:
            failures.append(f"{before.dataset} / {before.view} / {before.system}: {failure}")
            continue
        assert cell is not None
        for change in _changes(before, cell):
            gain = change.difference * _sign(change.measure)
            if gain < -baseline.allowance - _SLACK:
                fell.append(change)
            elif gain > baseline.allowance + _SLACK:
                rose.append(change)
    return GateResult(
        passed=not fell and not failures, allowance=baseline.allowance, fell=fell, rose=rose,
        failures=failures,
    )  # fmt: skip


def _failure(before: BaselineCell, cell: Cell | None, sha256: str | None) -> str | None:
    """Return the sentence on why a cell cannot be held against its baseline, if so."""
    if sha256 is not None and sha256 != before.sha256:
        return "The set has changed since the baseline was made; make a new one."
    if cell is None:
        return "The result does not have this."
    if len(cell.queries) != before.queries:
        return f"There are {len(cell.queries)} queries, not {before.queries}."
    missing = [name for name in before.measures if name not in cell.overall.measures]
    if missing:
        return f"The result does not measure {', '.join(missing)} here."
    return None


def _changes(before: BaselineCell, cell: Cell) -> Iterator[Change]:
    for name, measure in before.measures.items():
        now = cell.overall.measures[name]
        yield Change(
            dataset=cell.dataset, view=cell.view, system=cell.system, measure=name,
            before=measure.mean, now=now, difference=now - measure.mean,
            worst=_worst(measure.imperfect, _values(cell, name), name),
        )  # fmt: skip


def _worst(before: Mapping[str, float], now: Mapping[str, float], name: str) -> list[str]:
    losses = {
        query: (before.get(query, _perfect(name)) - value) * _sign(name)
        for query, value in now.items()
    }
    lost = [query for query, loss in losses.items() if loss > 10**-_DIGITS]
    return sorted(lost, key=lambda query: (-losses[query], query))[:_WORST]


def _values(cell: Cell, name: str) -> dict[str, float]:
    """Return the value of each query for which a measure is defined."""
    values = {query.id: values_of(query) for query in cell.queries}
    return {query: found[name] for query, found in values.items() if name in found}


def _perfect(name: str) -> float:
    return 0.0 if name in LOWER_IS_BETTER else 1.0


def _sign(name: str) -> int:
    return -1 if name in LOWER_IS_BETTER else 1
