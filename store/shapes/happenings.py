"""What happened and was felt: event, experience, feeling, decision."""

from pydantic import Field

from shiyi.store.shapes.base import Day, Shape, Words


class _Happening(Shape):
    """Something that happened to somebody."""

    unresolved_referent: Words | list[Words] | None = Field(
        None, description="a he, she or they that nobody could name, as it was said"
    )
    recalled: Day | None = Field(
        None, description="the day on which it was told again, when that is not when it was written"
    )


class EventShape(_Happening):
    """Something that happened."""


class ExperienceShape(_Happening):
    """Something that somebody went through."""


class FeelingShape(_Happening):
    """How something felt."""

    feeling: Words | None = Field(None, description="its name")
    intensity: int | None = Field(None, ge=0, le=100, description="how strong it was, 0 to 100")


class DecisionShape(Shape):
    """What was chosen."""

    alternatives: list[Words] = Field([], description="what else could have been chosen")
    reason: Words | None = Field(None, description="why it was chosen")
