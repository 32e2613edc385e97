"""What a search answers. Stored text stands only in `title`, `snippet.text` and `topics`.

Hits are many and made by ourselves, so they are plain dataclasses, which check nothing.
"""

from dataclasses import dataclass, field, fields
from typing import Literal

from pydantic import BaseModel, Field

from shiyi.retrieval.outcome import Outcome

Mode = Literal["hybrid", "keyword"]


def _said(description: str) -> dict[str, str]:
    """Describe a field of a dataclass, as Field does for a model."""
    return {"description": description}


@dataclass(slots=True, kw_only=True)
class Passage:
    """A piece of a stored text, with its place in the original, in code points."""

    text: str = field(metadata=_said("original[start:end] of the field named by `of`"))
    of: Literal["text", "gist", "detail"] = field(metadata=_said("the field that it comes from"))
    start: int
    end: int
    matches: list[tuple[int, int]] = field(metadata=_said("spans of matched terms in the original"))


@dataclass(slots=True, kw_only=True)
class Parts:
    """The parts whose sum is the score of a hit. None of them is a probability."""

    dense: float = field(metadata=_said("nearness in meaning; 1 is four standard deviations"))
    interaction: float = field(
        metadata=_said(
            "how well each token of the query is met by one of its own, above the least of the best"
        )
    )
    lexical: float = field(
        metadata=_said("shared words, as far as the best of them carries evidence")
    )
    exact: float = field(metadata=_said("share of the query's identifiers that stand in the text"))
    time: float = field(metadata=_said("its dates are those that the query names"))
    neighbour: float = field(metadata=_said("what the turns before and after it lend it"))
    source: float = field(
        metadata=_said(
            "what a record and the words that it quotes lend each other, and what brings "
            "it ahead of what it replaced"
        )
    )


PARTS = tuple(part.name for part in fields(Parts))


@dataclass(slots=True, kw_only=True)
class Why:
    """The measurements behind the parts."""

    cosine: float | None = field(metadata=_said("centred cosine; null when not embedded"))
    bm25: float
    coverage: float = field(metadata=_said("share of the query's idf mass in this text, 0 to 1"))
    terms: list[str] = field(metadata=_said("terms of the query in this text, the 16 rarest"))
    other_script: bool = field(metadata=_said("Han where the query is Latin, or the reverse"))


@dataclass(slots=True, kw_only=True)
class Hit:
    """One memory. A record and the fragment that it quotes are shown once, by the better one."""

    rank: int
    id: str
    path: str = field(metadata=_said("<scope>/records/<id> or <scope>/captures/<id>#<start>-<end>"))
    type: Literal["record", "capture"]
    kind: str | None
    layer: str | None
    version: int
    title: str | None
    date_start: str | None
    date_end: str | None
    modified: str | None
    speaker: str | None
    fidelity: str
    topics: list[str]
    external_id: str | None
    snippet: Passage
    score: float
    parts: Parts
    why: Why
    also: list[str] = field(metadata=_said("up to 8 ids of the same words: the source or record"))


class Truncated(BaseModel):
    """What the limit or the budget left out."""

    omitted: int = Field(description="hits that were found but did not fit the budget")


@dataclass(slots=True, kw_only=True)
class Basis:
    """What the scores of this query were measured by."""

    searched: int = field(metadata=_said("documents that the filters allow"))
    spread: float | None = field(metadata=_said("standard deviation of the centred cosines"))
    gate: float
    best_bm25: float
    best_cosine: float | None


class TimeRead(BaseModel):
    """What a time word of the query was read as, counted from the time it is asked at."""

    text: str
    start: str | None = Field(description="the first day; null for an open side")
    end: str | None = Field(description="the day after the last; null for an open side")
    certain: bool


class SearchResult(BaseModel):
    """The answer to one search."""

    outcome: Outcome
    mode: Mode
    weak: bool = Field(description="nothing stands out: the hits are only the nearest")
    terms: list[str] = Field(description="the first terms that the query was read as")
    times: list[TimeRead] = Field(description="what its time words were read as")
    hits: list[Hit]
    basis: Basis
    notes: list[str] = Field(description="what was missing, and what could be widened")
    truncated: Truncated
    tokens: int = Field(description="what this answer costs as compact JSON, at most the budget")
    counter: str
    trace: str | None = Field(
        default=None, description="the id of the trace; null when none was kept"
    )
