"""What a kind has of its own: one class each, checked before anything is written.

A shape describes `attrs` of one kind. Names that it does not list are kept as they are, and so are
all attrs of kinds without a shape. What is given must fit; what a shape needs must be there only
where a record is newly made as its kind, so that what was imported before stays as it is.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import UsageError
from shiyi.core.text import encode_text

ENTITY_TYPES: tuple[str, ...] = (
    "person", "group", "organization", "place", "object", "work", "game", "concept", "environment",
)  # fmt: skip
STATE_BLOCKS: tuple[str, ...] = ("core", "situation", "load", "tensions", "next")
FOLLOWUP_STATES: tuple[str, ...] = ("open", "answered", "declined", "resolved")
HYPOTHESIS_STATUSES: tuple[str, ...] = ("candidate", "supported", "refuted")
MYSELF = "self"  # whom a state is of, when it is of the person whose memory this is
_DEEPEST = 100
_MISSING = "missing"  # the type that pydantic gives to what is not there

EntityType = Literal[ENTITY_TYPES]  # type: ignore[valid-type]
StateBlock = Literal[STATE_BLOCKS]  # type: ignore[valid-type]
FollowupState = Literal[FOLLOWUP_STATES]  # type: ignore[valid-type]
HypothesisStatus = Literal[HYPOTHESIS_STATUSES]  # type: ignore[valid-type]


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("It is empty; give at least one visible character")
    return text


Words = Annotated[str, AfterValidator(_visible)]


class Shape(BaseModel):
    """The attrs of one kind. `references` names the fields that hold ids of records."""

    model_config = ConfigDict(strict=True, extra="allow")
    references: ClassVar[tuple[str, ...]] = ()


class EntityShape(Shape):
    """Somebody or something with a name; other names are the record's aliases."""

    entity_type: EntityType = Field(description="what it is")


class FacetShape(Shape):
    """The crossing of several entities; the events that they share are `member_of` it."""

    references: ClassVar[tuple[str, ...]] = ("entities",)
    entities: list[Words] = Field(description="the records of at least two entities")

    @field_validator("entities")
    @classmethod
    def _several(cls, entities: list[Words]) -> list[str]:
        if len(set(entities)) < 2:  # noqa: PLR2004
            raise ValueError("A facet is where at least two entities meet")
        return entities


class StateShape(Shape):
    """How things stand with somebody, in one of five blocks."""

    references: ClassVar[tuple[str, ...]] = ("of",)
    of: Words = Field(description='the record of an entity, or "self"')
    block: StateBlock = Field(description="the part of a life")
    value: Words | int | float | bool = Field(description="how it stands, in a few words")


class HypothesisShape(Shape):
    """A guess that says what would speak against it."""

    references: ClassVar[tuple[str, ...]] = ("supports", "contradicts")
    claim: Words = Field(description="what may be so")
    mechanism: Words = Field(description="why it would be so")
    supports: list[Words] = Field([], description="records that speak for it")
    contradicts: list[Words] = Field([], description="records that speak against it")
    counterexample_missing: bool = Field(False, description="nothing against it was found yet")
    alternatives: list[Words] = Field([], description="what else may be so, in words")
    scope: str | None = Field(None, description="where and when it is meant to hold")
    status: HypothesisStatus = Field("candidate", description="how far it has come")

    @model_validator(mode="after")
    def _answerable(self) -> "HypothesisShape":
        if not self.contradicts and not self.counterexample_missing:
            raise PydanticCustomError(
                _MISSING,
                "A hypothesis names what contradicts it, or says counterexample_missing: true",
            )
        return self


class FollowupShape(Shape):
    """A question to come back to."""

    question: Words = Field(description="what is to be asked or done")
    context: Words = Field(description="why, so that it makes sense when it is due")
    due: str | None = Field(None, description="the day, month or year")
    rule: str | None = Field(None, description="when it comes up again, if not on a date")
    state: FollowupState = Field("open", description="how it stands")
    note: str | None = Field(None, description="what came of it")

    @field_validator("due")
    @classmethod
    def _a_date(cls, due: str | None) -> str | None:
        if due is not None:
            try:
                parse_day_range(due)
            except UsageError as error:
                raise ValueError(str(error).rstrip(".")) from None
        return due

    @model_validator(mode="after")
    def _comes_back(self) -> "FollowupShape":
        if self.state == "open" and self.due is None and self.rule is None:
            raise PydanticCustomError(_MISSING, "An open follow-up has a due date or a rule")
        return self


SHAPES: Mapping[str, type[Shape]] = {
    "entity": EntityShape,
    "facet": FacetShape,
    "state": StateShape,
    "hypothesis": HypothesisShape,
    "followup": FollowupShape,
}


def check_attrs(kind: str, attrs: Mapping[str, Any], *, whole: bool = False) -> None:
    """Check what is given of a kind's own fields; with `whole`, also that none is missing.

    Raises UsageError with one sentence that names the field and never repeats the value.
    """
    _check_texts(attrs)
    shape = SHAPES.get(kind)
    if shape is None:
        return
    try:
        shape.model_validate(dict(attrs))
    except ValidationError as error:
        for one in error.errors(include_input=False, include_url=False):
            if whole or one["type"] != _MISSING:
                raise UsageError(_sentence(kind, one["loc"], one["type"], one["msg"])) from None


def is_whole(kind: str, attrs: Mapping[str, Any]) -> bool:
    """Tell whether a record has all that its kind needs."""
    try:
        check_attrs(kind, attrs, whole=True)
    except UsageError:
        return False
    return True


def with_ids(kind: str, attrs: Mapping[str, Any], id_of: Callable[[str], str]) -> dict[str, Any]:
    """Return checked attrs with every name of a record turned into its id."""
    found = dict(attrs)
    for name in SHAPES[kind].references if kind in SHAPES else ():
        value = found.get(name)
        if isinstance(value, str) and value != MYSELF:
            found[name] = id_of(value)
        elif isinstance(value, list):
            found[name] = [id_of(one) for one in value]
    return found


def references_of(kind: str, attrs: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the records that checked attrs name, by field."""
    found: dict[str, list[str]] = {}
    for name in SHAPES[kind].references if kind in SHAPES else ():
        value = attrs.get(name, [])
        ids = [value] if isinstance(value, str) else list(value or [])
        found[name] = [id_ for id_ in ids if id_ != MYSELF]
    return found


def _check_texts(value: Any, depth: int = 0) -> None:
    """Raise UsageError for a text without a UTF-8 form, wherever it stands in the attrs."""
    if depth > _DEEPEST:
        raise UsageError(f"attrs are nested more than {_DEEPEST} deep; keep them flat.")
    if isinstance(value, str):
        encode_text(value, "text in attrs")
    elif isinstance(value, Mapping):
        for name, one in value.items():
            _check_texts(name, depth + 1)
            _check_texts(one, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value:
            _check_texts(one, depth + 1)


def _sentence(kind: str, place: tuple[int | str, ...], type_: str, message: str) -> str:
    reason = message.removeprefix("Value error, ")
    if not place:
        return f"{reason}."
    if type_ == _MISSING:
        field = SHAPES[kind].model_fields[str(place[0])]
        return f"A record of kind {kind} has {place[0]} in its attrs: {field.description}."
    return f"{'.'.join(map(str, place))} of kind {kind}: {reason[0].lower()}{reason[1:]}."
