"""What the maps are asked with: survey, routing, catalog and recall."""

from typing import Annotated, Literal

from pydantic import Field

from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.service.requests.forms import ARGUMENT, MAX_NAME, SEVERAL, Reading, token_budget
from shiyi.store.kinds import KINDS, STATUSES


class _MapRequest(Reading):
    """What every map is asked with."""

    window: str | None = Field(
        None,
        max_length=MAX_NAME,
        description="only what happened then: 2025-03, 2025-03:2025-08, 2025-03:, :2024, a phase",
    )
    as_of: str | None = Field(
        None,
        max_length=MAX_NAME,
        description="the records as they stood at the end of a day, or at an instant",
    )
    now: str | None = Field(
        None, description="when it is asked, ISO 8601: what is due is counted from it"
    )
    format: Literal["json", "markdown"] = Field(
        "markdown", description="what is counted and printed"
    )
    resume: str | None = Field(None, description="the cursor of the answer before")


class SurveyRequest(_MapRequest):
    """Look at the whole of a scope."""

    query: str | None = Field(
        None, description="what it leans towards, in words", json_schema_extra=ARGUMENT
    )
    budget: int = token_budget(48_000)


class RoutingRequest(_MapRequest):
    """Look at one domain."""

    about: str = Field(
        min_length=1,
        description="an entity, a topic or a phase by its name, a record by its id, or a query",
        json_schema_extra=ARGUMENT,
    )
    budget: int = token_budget(68_000)


class _Listed(_MapRequest):
    """What lists of titles are asked with."""

    kind: Annotated[list[Literal[KINDS]] | None, SEVERAL] = Field(  # type: ignore[valid-type]
        None, description="only records of a kind; may be repeated"
    )
    status: Annotated[list[Literal[STATUSES]], SEVERAL] = Field(  # type: ignore[valid-type]
        ["active"], description="records of a status; may be repeated"
    )


class CatalogRequest(_Listed):
    """Read the directory."""

    by: Literal["kind", "phase"] = Field("kind", description="what titles stand together by")
    budget: int = token_budget(96_000)


class RecallRequest(_Listed):
    """Walk along time."""

    about: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="an entity, a topic or a phase to walk along, or a dated record to look around",
        json_schema_extra=ARGUMENT,
    )
    before: str | None = Field(
        None, description="only what is dated before a day, or before a record; newest first"
    )
    after: str | None = Field(None, description="only what is dated after a day, or after a record")
    budget: int = token_budget(4000)


class ReviewRequest(_MapRequest):
    """Look at what is owed."""

    deep: bool = Field(False, description="with the records of each debt")
    budget: int = token_budget(4000)
