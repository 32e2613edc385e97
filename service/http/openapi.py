"""The OpenAPI description, made from the table of operations."""

from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shiyi.service.answers import is_budgeted, response_model
from shiyi.service.invoke import path_fields, request_model
from shiyi.service.table.operations import OPERATIONS, Operation

_REF = "#/components/schemas/{model}"
_JSON = "application/json"
_Use = tuple[type[BaseModel], Literal["validation", "serialization"]]


def served() -> Iterator[Operation]:
    """Yield the operations that a daemon does, in the order of the table."""
    yield from (operation for operation in OPERATIONS if not operation.here)


def path_of(operation: Operation) -> str:
    """Return its path; each word of a name of two is a part."""
    return f"/v1/{operation.name.replace(' ', '/')}"


def openapi() -> dict[str, Any]:
    """Return the description as OpenAPI 3.1."""
    models: dict[_Use, None] = {}
    for one in served():
        models[request_model(one), "validation"] = None
        models[response_model(one), "serialization"] = None
    names, schemas = models_json_schema(list(models), ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Shiyi",
            "version": metadata.version("shiyi"),
            "description": "One memory. Every answer is what the command line gives with --json.",
        },
        "security": [{"token": []}],
        "paths": {path_of(one): {"post": _described(one, names)} for one in served()},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**schemas.get("$defs", {}), "Error": _ERROR},
        },
    }


def _described(operation: Operation, names: Mapping[Any, Any]) -> dict[str, Any]:
    request = names[request_model(operation), "validation"]
    response = names[response_model(operation), "serialization"]
    read = {"text/markdown": {"schema": {"type": "string"}}} if is_budgeted(operation) else {}
    return {
        "operationId": operation.python_name,
        "summary": operation.purpose,
        "x-permission": operation.permission,
        "x-owner-only": operation.owner_only or bool(path_fields(operation)),
        "parameters": list(_parameters(operation)),
        "requestBody": {"required": True, "content": {_JSON: {"schema": request}}},
        "responses": {
            "200": {"description": "the answer", "content": {_JSON: {"schema": response}, **read}},
            "default": {
                "description": "an error",
                "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }


def _parameters(operation: Operation) -> Iterator[dict[str, Any]]:
    fields = request_model(operation).model_fields
    text = {"type": "string"}
    if operation.scoped:
        says = "the scope; that of the settings by default"
        yield {"name": "scope", "in": "query", "schema": text, "description": says}
    if "key" in fields:
        says = "the same as `key`"
        yield {"name": "Idempotency-Key", "in": "header", "schema": text, "description": says}
    if "if_match" in fields:
        says = "the same as `if_match`"
        yield {"name": "If-Match", "in": "header", "schema": text, "description": says}


_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "field", "outcome"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string", "description": "what to do; never a value"},
                "field": {"type": ["string", "null"], "description": "of the request"},
                "outcome": {"type": ["string", "null"], "description": "how a question ended"},
            },
        }
    },
}
