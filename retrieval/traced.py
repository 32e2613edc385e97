"""What traces and proofs of absence say.

Of stored texts a trace has ids only; its words are those of the question.
"""

from typing import Any, Literal

from pydantic import BaseModel, Field

from shiyi.retrieval.outcome import Outcome
from shiyi.retrieval.results import Basis, Mode, TimeRead

Fate = Literal[
    "chosen",
    "stepped down",  # shown in a smaller form, for want of budget
    "same words",  # shown by the other of the two
    "limit",
    "budget",
    "junk",  # too little beside the best
    "silent",  # nothing in it speaks for itself
    "floor",  # nothing stands out, so nothing is known
    "held back",  # superseded, or beside the question, and only counted
]


class Scored(BaseModel):
    """A candidate of one channel."""

    id: str
    score: float


class Ranked(BaseModel):
    """A candidate of the fused ranking: the parts of its score, and what became of it."""

    id: str
    score: float
    dense: float
    lexical: float
    exact: float
    time: float
    neighbour: float
    source: float
    interaction: float = 0.0  # traces of before have none
    fate: Fate
    of: str | None = Field(default=None, description="the id that is shown in its place")


class Question(BaseModel):
    """One question, as it was read, and what there was to answer it."""

    name: str
    text: str
    terms: list[str]
    times: list[TimeRead]
    remark: bool
    by_meaning: bool
    mode: Mode
    filtered: int = Field(description="documents that the filters leave out")
    known: bool = Field(description="something stands above the evidence floor")
    margin: float | None = Field(description="by how much; null when beyond any doubt")
    basis: Basis
    channels: dict[str, list[Scored]] = Field(description="the best of each channel, ids only")
    ranking: list[Ranked] = Field(description="the best by fused score")


class Engine(BaseModel):
    """What answered: where any of it differs, so may the answer."""

    version: str
    analyzer: str
    counter: str
    model: str | None = Field(description="the fingerprint of the model; null for keywords alone")
    calibration: str | None
    generation: str | None = Field(description="the generation of the index; null before the first")
    sequence: int = Field(description="the newest change that the index held")
    documents: int | None


class Trace(BaseModel):
    """What one call did, and why its answer is what it is."""

    id: str
    at: str = Field(description="when it was asked")
    operation: str
    request: dict[str, Any] = Field(description="as it was asked")
    turn: str | None = Field(default=None, description="the turn that it was asked under")
    maintenance: bool = Field(default=False, description="asked before the turn's own words")
    outcome: Outcome
    error: str | None = Field(default=None, description="the code of the error that ended it")
    notes: list[str] = Field(default=[], description="how the call was understood")
    questions: list[Question]
    chosen: list[str]
    stepped_down: dict[str, str] = Field(description="the form that was shown, by id")
    left_out: dict[str, list[str]] = Field(description="up to 100 ids by the reason")
    omitted: dict[str, int] = Field(description="how many there were by the reason")
    tokens: int | None
    engine: Engine
    stages: dict[str, float] = Field(description="milliseconds by stage, the whole last")


class SaidOfAnswer(BaseModel):
    """What a person said of an answer, or of a memory in it."""

    verdict: str
    target: str = Field(description="the memory that was meant, or the answer as a whole")


class TraceLine(BaseModel):
    """A trace in a list."""

    id: str
    at: str
    operation: str
    outcome: Outcome
    text: str
    chosen: int
    milliseconds: float
    feedback: list[SaidOfAnswer] = Field(default=[], description="when it was asked for")


class Changed(BaseModel):
    """One thing that is not as it was."""

    what: str
    before: str | None
    now: str | None


class Replay(BaseModel):
    """The same call today, beside what it did then."""

    same: bool = Field(description="the outcome is the same, and so are the ids and their order")
    outcome: Outcome
    came: list[str]
    went: list[str]
    moved: list[str] = Field(description="ids whose order among those of both answers changed")
    changed: list[Changed] = Field(description="of the index, the model, the settings")


class TraceResult(BaseModel):
    """One trace, or the newest ones."""

    scope: str
    trace: Trace | None
    replay: Replay | None
    traces: list[TraceLine]
    notes: list[str]


class ProbeRun(BaseModel):
    """One way in which the topic was asked for, and what came of it."""

    name: str
    text: str = Field(description="what was asked")
    outcome: Outcome
    found: list[str] = Field(description="ids above the evidence floor")
    misses: int = Field(description="those below the floor, hardly farther than the nearest")
    nearest: list[str] = Field(description="the ids of the nearest of those")


class AbsenceResult(BaseModel):
    """Whether there is nothing about a topic, and what that rests on."""

    outcome: Outcome = Field(description="empty only when every probe ran and found nothing")
    searched: int = Field(description="documents that every probe went through")
    probes: list[ProbeRun]
    found: list[str] = Field(description="ids above the evidence floor, best probes first")
    omitted: int = Field(description="more such ids")
    notes: list[str]
    trace: str | None = Field(default=None, description="the id of the trace that proves it")
