"""What corrections, follow-ups, feedback and the merging of entities are asked with."""

from typing import Annotated, Literal

from pydantic import Field

from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.service.requests.forms import (
    ARGUMENT,
    SEVERAL,
    WORDS,
    JsonObject,
    Request,
    flag,
    optional_name,
    record_id,
)
from shiyi.store.kinds import OUTCOMES, VERDICTS

_KEY = "idempotency key: a repeat returns the first result"
_MAX_REASON = 2000
_NOW = "when it is asked, ISO 8601: what is due is counted from it"
_QUOTE = 'as {"capture": id} with "text", or with "start" and "end", or whole'


class SupersedeRequest(Request):
    """Say that one record holds instead of another."""

    old: str = record_id()
    new: str = record_id()
    reason: str | None = Field(None, max_length=_MAX_REASON, description="why the new one holds")
    source: JsonObject | None = Field(None, description=f"the words that say so, {_QUOTE}")
    if_match: str | None = optional_name("the etag that the old one must have")
    key: str | None = optional_name(_KEY)


class ContradictRequest(Request):
    """Say that two records cannot both be so."""

    record: str = record_id()
    other: str = record_id()
    reason: str = Field(max_length=_MAX_REASON, description="why they cannot both be so")
    source: JsonObject | None = Field(None, description=f"the words that say so, {_QUOTE}")
    key: str | None = optional_name(_KEY)


class ConflictsRequest(Request):
    """Read what contradicts what."""

    settled: bool = Field(False, description="also pairs of which one side holds no longer")
    limit: int = Field(20, ge=1, le=1000, description="the most pairs")


class CurrentRequest(Request):
    """Ask how things stood."""

    as_of: str | None = optional_name("the day, month or year in question; today by default")
    of: str | None = Field(
        None, min_length=1, max_length=MAX_EXTERNAL_ID,
        description='whose states: an entity, or "self"; of everybody by default',
    )  # fmt: skip
    limit: int = Field(100, ge=1, le=1000, description="the most states")


class EntityMergeRequest(Request):
    """Make one entity of two."""

    old: str = record_id()
    into: str = record_id()
    reason: str | None = Field(None, max_length=_MAX_REASON, description="why they are one")
    if_match: str | None = optional_name("the etag that the old one must have")
    key: str | None = optional_name(_KEY)


class EntitySplitRequest(Request):
    """Make two entities of one again."""

    id: str = record_id()
    reason: str | None = Field(None, max_length=_MAX_REASON, description="why they are two")
    if_match: str | None = optional_name("the etag that it must have")
    key: str | None = optional_name(_KEY)


class FollowupListRequest(Request):
    """Read what is to be come back to."""

    closed: bool = Field(False, description="also those that are closed")
    now: str | None = Field(None, description=_NOW)
    limit: int = Field(50, ge=1, le=1000, description="the most in the list")


class FollowupCloseRequest(Request):
    """Close a follow-up."""

    id: str = record_id()
    outcome: Literal[OUTCOMES] = Field(  # type: ignore[valid-type]
        description="how it ended", json_schema_extra=ARGUMENT
    )
    note: str = Field(max_length=_MAX_REASON, description="what came of it")
    if_match: str | None = optional_name("the etag that the newest version must have")
    key: str | None = optional_name(_KEY)


class FeedbackRequest(Request):
    """Keep what a person said of a memory or an answer."""

    target: str = Field(
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="a record, a capture, or the trace of an answer",
        json_schema_extra=ARGUMENT,
    )
    verdict: Literal[VERDICTS] = Field(  # type: ignore[valid-type]
        description="what was said of it", json_schema_extra=ARGUMENT
    )
    evidence: JsonObject = Field(description=f"the words in which it was said, {_QUOTE}")
    trace: str | None = Field(
        None, pattern="^[0-9]{24}$", description="the answer in which it was shown"
    )
    note: str | None = Field(None, max_length=_MAX_REASON, description="what to make of it")
    key: str | None = optional_name(_KEY)


class FootprintRequest(Request):
    """Keep that something was done."""

    text: str = Field(description="what was done, in a few words", json_schema_extra=WORDS)
    quotes: list[JsonObject] = Field(
        [], max_length=20, description=f"the words that say so, {_QUOTE}; may be repeated",
        json_schema_extra=flag("quote"),
    )  # fmt: skip
    date: str | None = Field(
        None, description="when; by default the day of the words, or else today"
    )
    level: int = Field(0, ge=0, le=1, description="how much it matters, 0 or 1")
    key: str | None = optional_name(_KEY)


class StartersRequest(Request):
    """Ask what to begin with."""

    now: str | None = Field(None, description=_NOW)


class SalienceReviewRequest(Request):
    """Look at weights that nobody confirmed."""

    days: int = Field(90, ge=1, le=36_500, description="not confirmed for so many days")
    ids: Annotated[list[str], SEVERAL] = Field(
        [], max_length=1000, json_schema_extra=flag("id"),
        description="with apply: a record to lower; may be repeated",
    )  # fmt: skip
    apply: bool = Field(False, description="lower those that are named")
    now: str | None = Field(None, description="when it is asked, ISO 8601")
    limit: int = Field(50, ge=1, le=1000, description="the most proposals")
    key: str | None = optional_name(_KEY)
