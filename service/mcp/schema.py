"""Schemas that every client accepts, made from the models of the operations.

A root object, arrays with items, no references, no unions: what a field may be besides null. So
what is null in an answer is left out of it.
"""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_SIMPLE: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_DEEPEST = 1  # models within models are objects: schemas cost tokens too


def schema_of_model(model: type[BaseModel], depth: int = 0) -> dict[str, Any]:
    """Return the schema of what a model answers, without what is null."""
    properties = {
        name: _schema_of(field.annotation, depth + 1) for name, field in model.model_fields.items()
    }
    return {"type": "object", "properties": properties}


def schema_of_field(field: FieldInfo, description: str | None = None) -> dict[str, Any]:
    """Return the schema of one field, with its bounds and its description."""
    schema = _schema_of(field.annotation, 0)
    for bound in field.metadata:
        schema |= _bound(bound, schema.get("type"))
    said = description or field.description
    if said:
        schema["description"] = said
    if isinstance(field.default, str | int | float | bool):
        schema["default"] = field.default
    return schema


def without_nulls(content: Any) -> Any:
    """Return the content without what is null, at any depth."""
    if isinstance(content, dict):
        return {name: without_nulls(one) for name, one in content.items() if one is not None}
    if isinstance(content, list):
        return [without_nulls(one) for one in content]
    return content


def _schema_of(annotation: Any, depth: int) -> dict[str, Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    schema: dict[str, Any] = {"type": _SIMPLE.get(annotation, "object")}
    if origin is Annotated:
        schema = _schema_of(arguments[0], depth)
    elif origin in (Union, UnionType):
        rest = [one for one in arguments if one is not NoneType]
        schema = _schema_of(rest[0], depth) if len(rest) == 1 else {}
    elif origin is Literal:
        schema = {"type": "string", "enum": list(arguments)}
    elif origin in (list, tuple):
        schema = {"type": "array", "items": _schema_of(arguments[0], depth)}
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel) and depth < _DEEPEST:
        schema = schema_of_model(annotation, depth)
    return schema


def _bound(bound: Any, kind: str | None) -> dict[str, Any]:
    """Return a bound as a model is told it; how long a text may be is told when one is too long."""
    if isinstance(bound, Ge):
        return {"minimum": bound.ge}
    if isinstance(bound, Le):
        return {"maximum": bound.le}
    if isinstance(bound, MaxLen) and kind == "array":
        return {"maxItems": bound.max_length}
    return {}
