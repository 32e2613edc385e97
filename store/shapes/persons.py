"""Who and what there is, how it stands, and who belongs together."""

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from shiyi.store.shapes.base import Shape, Words, needed

ENTITY_TYPES: tuple[str, ...] = (
    "person", "group", "organization", "place", "object", "work", "game", "concept", "environment",
)  # fmt: skip
STATE_BLOCKS: tuple[str, ...] = ("core", "situation", "load", "tensions", "next")
MYSELF = "self"  # whom a state is of, when it is of the person whose memory this is
REDIRECT = "redirects_to"  # the attribute of an entity that was merged into another one
_STATE_FIELDS = ("block", "value")

EntityType = Literal[ENTITY_TYPES]  # type: ignore[valid-type]
StateBlock = Literal[STATE_BLOCKS]  # type: ignore[valid-type]


class EntityShape(Shape):
    """Somebody or something with a name; other names are the record's aliases."""

    entity_type: EntityType = Field(description="what it is")

    @model_validator(mode="after")
    def _lasting(self) -> "EntityShape":
        if any(name in (self.model_extra or {}) for name in _STATE_FIELDS):
            raise needed(
                "An entity holds no state, which changes; keep a record of kind state whose `of` "
                "is this entity"
            )
        return self


class FacetShape(Shape):
    """The crossing of several entities; the events that they share are `member_of` it."""

    references: ClassVar[tuple[str, ...]] = ("entities", "events")
    entities: list[Words] = Field(description="the records of at least two entities")
    events: list[Words] = Field(description="the events that they share, each mentioning them all")

    @field_validator("entities")
    @classmethod
    def _several(cls, entities: list[str]) -> list[str]:
        if len(set(entities)) < 2:  # noqa: PLR2004
            raise ValueError("A facet is where at least two entities meet")
        return entities

    @field_validator("events")
    @classmethod
    def _some(cls, events: list[str]) -> list[str]:
        if not events:
            raise needed("A facet lists at least one event that its entities share")
        return events


class StateShape(Shape):
    """How things stand with somebody, in one of five blocks."""

    references: ClassVar[tuple[str, ...]] = ("of",)
    of: Words = Field(description='the record of an entity, or "self"')
    block: StateBlock = Field(description="the part of a life")
    value: Words | int | float | bool = Field(description="how it stands, in a few words")
    name: Words | None = Field(
        None, description="what it says the value of; the next value of that name replaces it"
    )


class RelationshipShape(Shape):
    """How two are to one another."""

    references: ClassVar[tuple[str, ...]] = ("between",)
    between: list[Words] = Field(description='two records of entities, one of which may be "self"')
    relation: Words | None = Field(None, description="what they are to one another, in a word")

    @field_validator("between")
    @classmethod
    def _two(cls, between: list[str]) -> list[str]:
        if len(between) != 2 or len(set(between)) != 2:  # noqa: PLR2004
            raise ValueError("A relationship is between two; name both")
        return between


def is_merged(kind: str, attrs: dict[str, Any] | Any) -> bool:
    """Tell whether an entity was merged into another one."""
    return kind == "entity" and isinstance(attrs.get(REDIRECT), str)
