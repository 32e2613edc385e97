"""Check what a record has of its own against the shape of its kind, before anything is written."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from shiyi.core.errors import UsageError
from shiyi.core.text import encode_text
from shiyi.store.shapes.base import MISSING, Shape
from shiyi.store.shapes.happenings import DecisionShape, EventShape, ExperienceShape, FeelingShape
from shiyi.store.shapes.persons import (
    MYSELF,
    EntityShape,
    FacetShape,
    RelationshipShape,
    StateShape,
)
from shiyi.store.shapes.stances import (
    BoundaryShape,
    HeuristicShape,
    PreferenceShape,
    PromiseShape,
    RuleShape,
)
from shiyi.store.shapes.thoughts import FollowupShape, HypothesisShape
from shiyi.store.shapes.work import CheckpointShape, HandoffShape, MethodShape, ProcedureShape

_DEEPEST = 100

# A fact, value, insight, canon or model is all said in its gist, and has nothing of its own.
SHAPES: Mapping[str, type[Shape]] = {
    "event": EventShape,
    "experience": ExperienceShape,
    "feeling": FeelingShape,
    "state": StateShape,
    "decision": DecisionShape,
    "preference": PreferenceShape,
    "rule": RuleShape,
    "heuristic": HeuristicShape,
    "promise": PromiseShape,
    "boundary": BoundaryShape,
    "relationship": RelationshipShape,
    "entity": EntityShape,
    "facet": FacetShape,
    "hypothesis": HypothesisShape,
    "followup": FollowupShape,
    "checkpoint": CheckpointShape,
    "handoff": HandoffShape,
    "method": MethodShape,
    "procedure": ProcedureShape,
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
            if whole or one["type"] != MISSING:
                raise UsageError(_sentence(kind, one["loc"], one["type"], one["msg"])) from None


def check_beginning(kind: str, attrs: Mapping[str, Any]) -> None:
    """Raise UsageError when a new record says that it has come further than a new one can have."""
    for name, value in SHAPES[kind].begins.items() if kind in SHAPES else ():
        if attrs.get(name, value) != value:
            raise UsageError(
                f"A new {kind} begins with {name} {value}; edit it when there is more to say."
            )


def check_staying(kind: str, attrs: Mapping[str, Any]) -> None:
    """Raise UsageError when what an edit gives would take a record further than edits can."""
    shape = SHAPES.get(kind, Shape)
    for name, why in shape.stays.items():
        value = shape.begins[name]
        if attrs.get(name, value) not in {value, None}:
            raise UsageError(f"A {kind} keeps the {name} {value}; {why}.")


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
            found[name] = [one if one == MYSELF else id_of(one) for one in value]
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
    if type_ == MISSING:
        field = SHAPES[kind].model_fields[str(place[0])]
        return f"A record of kind {kind} has {place[0]} in its attrs: {field.description}."
    return f"{'.'.join(map(str, place))} of kind {kind}: {reason[0].lower()}{reason[1:]}."
