"""What is thought about it all: hypothesis and followup."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from shiyi.store.shapes.base import Day, Shape, Words, needed

FOLLOWUP_STATES: tuple[str, ...] = ("open", "answered", "declined", "resolved")
HYPOTHESIS_STATUSES: tuple[str, ...] = ("candidate", "supported", "refuted")
FollowupState = Literal[FOLLOWUP_STATES]  # type: ignore[valid-type]
HypothesisStatus = Literal[HYPOTHESIS_STATUSES]  # type: ignore[valid-type]


class HypothesisShape(Shape):
    """A guess that says what would speak against it."""

    references: ClassVar[tuple[str, ...]] = ("supports", "contradicts")
    begins: ClassVar[dict[str, str]] = {"status": "candidate"}
    stays: ClassVar[dict[str, str]] = {
        "status": "keep what turns out as a record of its own that supports or contradicts it"
    }
    claim: Words = Field(description="what may be so")
    mechanism: Words = Field(description="why it would be so")
    supports: list[Words] = Field(description="records that speak for it")
    contradicts: list[Words] = Field([], description="records that speak against it")
    counterexample_missing: bool = Field(
        False, description="true when nothing against it was found yet; this, or contradicts"
    )
    alternatives: list[Words] = Field(description="what else may be so, in words")
    scope: Words = Field(description="where and when it is meant to hold")
    confidence: float = Field(ge=0, le=1, description="how sure it is, 0.0 to 1.0")
    status: HypothesisStatus = Field(
        "candidate", description="a candidate; what is taken in from elsewhere may say more"
    )

    @model_validator(mode="after")
    def _answerable(self) -> "HypothesisShape":
        if not self.contradicts and not self.counterexample_missing:
            raise needed(
                "A hypothesis names what contradicts it, or says counterexample_missing: true"
            )
        for name in ("supports", "alternatives"):
            if not getattr(self, name):
                raise needed(f"A hypothesis names at least one of its {name}")
        return self


class FollowupShape(Shape):
    """A question to come back to."""

    begins: ClassVar[dict[str, str]] = {"state": "open"}
    question: Words = Field(description="what is to be asked or done")
    context: Words = Field(description="why, so that it makes sense when it is due")
    due: Day | None = Field(
        None, description="the day, month or year; an open one has this, or a rule"
    )
    rule: Words | None = Field(None, description="when it comes up again, if not on a date")
    state: FollowupState = Field("open", description="how it stands")
    note: str | None = Field(None, description="what came of it")

    @model_validator(mode="after")
    def _comes_back(self) -> "FollowupShape":
        if self.state == "open" and self.due is None and self.rule is None:
            raise needed("An open follow-up has a due date or a rule")
        if self.state != "open" and not (self.note and self.note.strip()):
            raise needed("A follow-up is closed with a note; use `shiyi followup close`")
        return self
