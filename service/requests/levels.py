"""What the levels of retrieval are asked with."""

from typing import Annotated, Literal

from pydantic import Field

from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.service.requests.forms import ARGUMENT, MAX_NAME, SEVERAL, Reading, flag, token_budget
from shiyi.store.kinds import KINDS, LAYERS, STATUSES

Format = Literal["json", "markdown"]
_Reference = Annotated[str, Field(min_length=1, max_length=MAX_EXTERNAL_ID)]
_MOST_QUERIES, _MOST_IDS = 4, 100


class _Asked(Reading):
    """What every level is asked with."""

    queries: Annotated[list[str], SEVERAL] = Field(
        [], max_length=_MOST_QUERIES, description="what to look for; up to 4 questions",
        json_schema_extra=ARGUMENT,
    )  # fmt: skip
    ids: Annotated[list[_Reference], SEVERAL] = Field(
        [], max_length=_MOST_IDS, json_schema_extra=flag("id"),
        description="a record or capture to read; may be repeated",
    )  # fmt: skip
    format: Format = Field("markdown", description="what is counted and printed")
    resume: str | None = Field(None, description="the cursor of the answer before")
    limit: int = Field(50, ge=1, le=100, description="the most hits of a question")
    kind: list[Literal[KINDS]] | None = Field(  # type: ignore[valid-type]
        None, description="only records of a kind; may be repeated"
    )
    layer: list[Literal[LAYERS]] | None = Field(  # type: ignore[valid-type]
        None, description="only records of a layer; may be repeated; durable ones by default"
    )
    status: list[Literal[STATUSES]] = Field(  # type: ignore[valid-type]
        ["active"], description="records of a status; may be repeated"
    )
    topic: list[str] | None = Field(None, description="only what has a topic; may be repeated")
    since: str | None = Field(None, description="only what is dated then or later")
    until: str | None = Field(None, description="only what is dated then or earlier")
    only: Literal["all", "records", "captures"] = Field("all", description="what to look in")
    weak: bool = Field(False, description="also return what lies below the evidence floor")
    now: str | None = Field(
        None, description="when it is asked, ISO 8601: what words such as 去年 are counted from"
    )


class ProbeRequest(_Asked):
    """Read cards."""

    window: str | None = Field(
        None,
        max_length=MAX_NAME,
        description="only what was then: 2025-03, 2025-03:2025-08, 2025-03:, :2024 or a phase",
    )
    as_of: str | None = Field(
        None, max_length=MAX_NAME, description="records as they stood then: a day or a time"
    )

    budget: int = token_budget(80_000)
    order: Literal["value", "top"] = Field(
        "value", description="what fills the budget: most value for tokens, or from the top"
    )


class DeepRequest(_Asked):
    """Read words."""

    budget: int = token_budget(100_000)
    neighbours: int = Field(0, ge=0, le=10, description="turns before and after each, as well")
