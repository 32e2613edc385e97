"""What the maps answer: survey, routing, catalog and recall. No words of a capture stand in them.

Stored text stands only in `title`, `gist`, `context`, `phase`, `topics` and `aliases`.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from shiyi.retrieval.packing import Budgeted

Block = Literal["core", "situation", "load", "tensions", "next"]
BLOCKS: tuple[Block, ...] = ("core", "situation", "load", "tensions", "next")


class MapEntry(BaseModel):
    """One line of a map: a record, or a phase, a topic or a gap by its name.

    What a smaller form leaves out is null. Answers share entries, so they are not written to.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="of a record; or phase:…, topic:…, or the name of a gap")
    title: str | None = None
    kind: str | None = None
    date: str | None = Field(default=None, description="as precise as it is: 2024, 2024-05, a..b")
    phase: str | None = None
    status: str | None = Field(default=None, description="when it is not active")
    block: Block | None = Field(default=None, description="which part of the state it speaks for")
    fit: Literal["certain", "possible"] | None = Field(
        default=None, description="possible: its date is wider than the window"
    )
    due: str | None = None
    when: Literal["overdue", "today", "soon"] | None = Field(
        default=None, description="how near the due date is; soon is within three days"
    )
    records: int | None = Field(default=None, description="how many records there are of it")
    gist: str | None = None
    context: str | None = None
    with_id: str | None = Field(default=None, description="the record that contradicts it")
    aliases: list[str] | None = None
    topics: list[str] | None = None
    salience: int | None = None
    examples: list[str] | None = Field(default=None, description="ids of some of them")


class _Map(Budgeted):
    """What all maps tell of themselves."""

    scope: str
    as_of: str | None = Field(default=None, description="the records are shown as they stood then")
    held_back: dict[str, int] = Field(
        default_factory=dict, description="records left out since they hold no longer, by status"
    )


class SurveyResult(_Map):
    """Where everything lies. The words themselves are read with `deep`, records with `probe`."""

    about: str | None = Field(default=None, description="what the domain was read as")
    phases: list[MapEntry] = Field(default_factory=list, description="in time order")
    timeline: list[MapEntry] = Field(
        default_factory=list, description="some of each phase, in time order"
    )
    state: list[MapEntry] = Field(
        default_factory=list, description="core, situation, load, tensions, next"
    )
    entities: list[MapEntry] = Field(default_factory=list)
    facets: list[MapEntry] = Field(default_factory=list, description="facets, then topics")
    hypotheses: list[MapEntry] = Field(
        default_factory=list, description="titles; whole when the query names them"
    )
    followups: list[MapEntry] = Field(
        default_factory=list, description="overdue, due today, and due within three days"
    )
    gaps: list[MapEntry] = Field(
        default_factory=list, description="what is undated, unsourced or unresolved"
    )


class RoutingResult(SurveyResult):
    """The survey of one domain, wider."""


class CatalogResult(_Map):
    """The directory: every title, by kind or by phase, page by page."""

    groups: list[MapEntry] = Field(default_factory=list, description="how many there are of each")
    records: list[MapEntry] = Field(default_factory=list, description="group by group, by date")


class RecallResult(_Map):
    """Titles along time."""

    about: str | None = Field(default=None, description="what was walked along")
    records: list[MapEntry] = Field(default_factory=list)


class ReviewResult(_Map):
    """What is owed: each debt with its count and examples; the records too when asked deep."""

    debts: list[MapEntry] = Field(
        default_factory=list, description="counts, what was corrected first"
    )
    records: list[MapEntry] = Field(
        default_factory=list, description="each with its debts as the context"
    )
