"""What a run found, as it is written to disk. The same run writes the same bytes.

What differs from run to run (times, sizes) stands in a file of its own, `Timings`.
"""

from typing import Literal

from pydantic import BaseModel, Field

Outcome = Literal["found", "weak", "empty"]


class QueryResult(BaseModel):
    """What one system answered to one query, and how good that was."""

    id: str
    text: str
    category: str | None
    scope: str | None
    half: str | None
    answerable: bool
    outcome: Outcome = Field(description="weak: answered, but marked as nothing that stands out")
    found: list[str] = Field(description="ids of documents, best first, as deep as the largest k")
    gold: dict[str, int] = Field(description="grade of each relevant document")
    measures: dict[str, float] = Field(description="by the names of eval/measures.py")


class Summary(BaseModel):
    """Means over a group of queries."""

    queries: int
    answerable: int
    measures: dict[str, float]


class Cell(BaseModel):
    """One system on one view of one set."""

    dataset: str
    view: str
    system: str
    overall: Summary
    by: dict[str, dict[str, Summary]] = Field(description="category, scope or half → its value")
    queries: list[QueryResult]


class DatasetInfo(BaseModel):
    """What was measured on."""

    name: str
    sha256: str
    licence: str
    documents: int
    scopes: int
    views: dict[str, int] = Field(description="queries of each view")


class Conditions(BaseModel):
    """All that the figures depend on."""

    version: str = Field(description="of Shiyi")
    code: str = Field(description="sha256 over the code that ranks, so that edits show")
    model: str = Field(description="fingerprint of the encoder, or none")
    analyzer: str
    counter: str
    systems: list[str]
    runs: dict[str, str] = Field(default={}, description="sha256 of each run of another engine")
    ks: list[int]
    budgets: list[int]
    by: list[str]
    without: list[str] = Field(description="what an ablation left out")
    seed: int


class EvalResult(BaseModel):
    """A whole run. fingerprint is the sha256 of datasets and conditions."""

    format: Literal[1] = 1
    fingerprint: str
    conditions: Conditions
    datasets: list[DatasetInfo]
    cells: list[Cell]


class CellTimings(BaseModel):
    """How long one system took; milliseconds of wall time a query."""

    dataset: str
    view: str
    system: str
    p50_ms: float
    p95_ms: float


class BuildTimings(BaseModel):
    """How long a set took to import and index, and how large its index is."""

    dataset: str
    build_seconds: float
    index_bytes: int
    embedded: int = Field(description="texts embedded now; the others were kept from before")


class Timings(BaseModel):
    """What differs from run to run."""

    fingerprint: str
    machine: str
    builds: list[BuildTimings]
    cells: list[CellTimings]
