"""What is said of results: how two compare, whether one holds a baseline, which sets there are."""

from typing import Literal

from pydantic import BaseModel, Field

Verdict = Literal["better", "worse", "no difference shown"]


class MeasureComparison(BaseModel):
    """One measure of two systems on the same queries."""

    measure: str
    queries: int = Field(description="for which the measure is defined")
    a: float = Field(description="mean")
    b: float = Field(description="mean")
    difference: float = Field(description="b - a")
    low: float = Field(description="95 % interval of the difference")
    high: float
    p: float = Field(description="of the paired randomisation test, two-sided")
    p_holm: float = Field(description="corrected for the number of measures of this cell")
    lower_is_better: bool
    verdict: Verdict = Field(description="on b")


class CellComparison(BaseModel):
    """Two systems on one view of one set."""

    dataset: str
    view: str
    system_a: str
    system_b: str
    queries: int
    left_out: int = Field(description="queries that only one side has, or has in another form")
    measures: list[MeasureComparison]


class Comparison(BaseModel):
    """Every cell that both results have."""

    format: Literal[1] = 1
    a: str = Field(description="fingerprint")
    b: str = Field(description="fingerprint")
    resamples: int
    seed: int
    cells: list[CellComparison]
    only_a: list[str] = Field(description="cells without a counterpart: dataset, view and system")
    only_b: list[str]


class Change(BaseModel):
    """A mean that moved by more than the allowance."""

    dataset: str
    view: str
    system: str
    measure: str
    before: float
    now: float
    difference: float = Field(description="now - before")
    worst: list[str] = Field(description="ids of the queries that fell most, at most five")


class GateResult(BaseModel):
    """Whether a run holds its baseline. failures are sentences on what could not be compared."""

    passed: bool
    allowance: float
    fell: list[Change]
    rose: list[Change]
    failures: list[str]


class KnownDataset(BaseModel):
    """A set that can be evaluated on, or why it cannot."""

    name: str
    path: str
    licence: str
    documents: int
    queries: int = Field(description="of the main view")
    views: list[str]
    problem: str | None = None
