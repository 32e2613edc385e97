"""What corrections, follow-ups, feedback and the merging of entities answer."""

from pydantic import BaseModel, Field


class AddRecordResult(BaseModel):
    """A new record; it is on disk when this is returned."""

    record_id: str
    version: int
    etag: str
    links: int = Field(description="to the words that it quotes and the records that it names")
    fidelity: str = Field(description="sourced or summary_only: it follows from the quotes")
    turn_id: str | None = Field(description="the turn whose ledger names it")
    replaced: list[str] = Field(description="states that hold no longer, since this one does")
    warnings: list[str] = Field(description="what to look at again, such as an old correction")


class SupersedeResult(BaseModel):
    """Which record holds now, and the newest version of the one that does not."""

    old: str
    new: str
    version: int
    etag: str
    changed: bool
    warnings: list[str] = Field(description="what was not given: the reason, the source")


class ContradictResult(BaseModel):
    """A pair that cannot both be so."""

    src: str
    dst: str
    added: bool = Field(description="false when it was said before")
    warnings: list[str]


class SourceView(BaseModel):
    """Words that a record quotes, and when they were written."""

    capture: str
    written: str | None
    speaker: str
    text: str


class SideView(BaseModel):
    """One side of a conflict."""

    id: str
    kind: str
    status: str
    title: str
    gist: str
    date: str | None = Field(description="when it was, as precisely as it is known")
    date_basis: str
    recorded: str
    sources: list[SourceView]
    only: list[str] = Field(description="what only this side says")


class ConflictView(BaseModel):
    """Two records that contradict one another; the newer one first."""

    sides: list[SideView]
    differs: list[str] = Field(description="fields that are not alike")
    reason: str | None
    source: SourceView | None = Field(description="the words that say that they contradict")


class ConflictsResult(BaseModel):
    """What contradicts what."""

    scope: str
    conflicts: list[ConflictView]
    omitted: int = Field(description="pairs beyond the limit")
    notes: list[str]


class StateView(BaseModel):
    """A state and the days that it covers."""

    id: str
    of: str
    of_title: str | None
    block: str | None
    name: str | None
    value: str | int | float | bool | None
    title: str
    date: str | None
    date_basis: str
    since: str = Field(description="its first day; when undated, the day it was recorded")
    until: str | None = Field(description="its last day; null while it holds")
    status: str


class CurrentResult(BaseModel):
    """How things stood."""

    scope: str
    as_of: str
    states: list[StateView]
    omitted: int
    notes: list[str]


class EntityResult(BaseModel):
    """An entity that was merged or split."""

    old: str
    into: str | None = Field(description="which entity stands for it; null when it does itself")
    version: int
    etag: str
    changed: bool


class FollowupView(BaseModel):
    """A question to come back to."""

    id: str
    question: str
    context: str | None
    due: str | None
    rule: str | None
    when: str = Field(description="overdue, today, soon, later, by rule, or how it was closed")
    note: str | None


class FollowupListResult(BaseModel):
    """Follow-ups, the most overdue first."""

    scope: str
    followups: list[FollowupView]
    counts: dict[str, int] = Field(description="how many there are of each")
    omitted: int
    notes: list[str]


class FeedbackResult(BaseModel):
    """What was kept; the memory that it is about is as it was."""

    feedback_id: str
    target_id: str
    verdict: str
    added: bool = Field(description="false when the same was said before")


class FootprintResult(BaseModel):
    """A footprint, and whether it is a new one."""

    record_id: str
    version: int
    etag: str
    links: int
    added: bool = Field(description="false when the footprint of the same activity was versioned")
    times: int = Field(description="how often it was done")
    probed: list[str] = Field(description="footprints of the same activity that were found before")


class StartersResult(BaseModel):
    """One thing to begin with, or nothing."""

    scope: str
    kind: str = Field(description="followup, gap or none")
    question: str | None
    why: str | None
    title: str | None = Field(description="of the record that it rests on")
    ids: list[str] = Field(description="what it rests on")
    notes: list[str]


class DecayView(BaseModel):
    """A record that may weigh less."""

    id: str
    title: str
    salience: int
    to: int
    level: str
    to_level: str
    source: str = Field(description="where its weight is from")


class SalienceReviewResult(BaseModel):
    """Weights that nobody confirmed."""

    scope: str
    proposals: list[DecayView]
    omitted: int
    applied: list[str] = Field(description="records that were lowered")
    notes: list[str]
