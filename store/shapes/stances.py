"""What somebody holds to: preference, rule, heuristic, promise, boundary."""

from typing import Literal

from pydantic import Field

from shiyi.store.shapes.base import Day, Shape, Words

PROMISE_STATES: tuple[str, ...] = ("open", "kept", "broken", "released")
PromiseState = Literal[PROMISE_STATES]  # type: ignore[valid-type]


class PreferenceShape(Shape):
    """What is liked better."""

    over: Words | None = Field(None, description="what it is liked better than")


class RuleShape(Shape):
    """What is always done, or never."""

    when: Words | None = Field(None, description="when it applies")
    exceptions: list[Words] = Field([], description="when it does not")


class HeuristicShape(Shape):
    """What mostly works."""

    when: Words | None = Field(None, description="when it applies")


class PromiseShape(Shape):
    """What somebody gave their word for."""

    to: Words = Field(description="to whom, in words")
    what: Words = Field(description="what was promised")
    due: Day | None = Field(None, description="the day, month or year by which it is to be kept")
    state: PromiseState | None = Field(None, description="open, until it is kept or not")


class BoundaryShape(Shape):
    """What is not to be crossed."""

    limit: Words = Field(description="what is not to be done")
    towards: Words | None = Field(None, description="to whom that is said, when not to everybody")
