"""How things are done and handed on: method, procedure, checkpoint, handoff."""

from pydantic import Field

from shiyi.store.shapes.base import Shape, Words


class MethodShape(Shape):
    """A way of doing something."""

    steps: list[Words] = Field([], description="what is done, in order")


class ProcedureShape(Shape):
    """What is done each time that something comes up."""

    trigger: Words = Field(description="what it is to be done at")
    steps: list[Words] = Field([], description="what is done, in order")


class _Closing(Shape):
    goal: Words | None = Field(None, description="what it is all for")
    done: list[Words] = Field([], description="what is done")
    next_step: Words | None = Field(None, description="the one thing to do next")
    gaps: list[Words] = Field([], description="what is not known or not done")


class CheckpointShape(_Closing):
    """Where a piece of work stands."""


class HandoffShape(_Closing):
    """What somebody else needs to go on."""

    evidence: list[Words] = Field([], description="where it can be seen, in words")
