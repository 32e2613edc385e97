"""The one way in: every door calls an operation by name with plain values."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from shiyi.core.errors import UsageError
from shiyi.core.ids import check_scope
from shiyi.lifecycle.held import check_reading
from shiyi.service import requests
from shiyi.service.forms import Reading
from shiyi.service.operations import Operation, find_operation
from shiyi.service.session import Session


class _Handler(Protocol):
    def __call__(self, session: Session, scope: str, request: Any, /) -> BaseModel: ...


def request_model(operation: Operation) -> type[BaseModel]:
    """Return the model that an operation is asked with."""
    model: type[BaseModel] = getattr(requests, operation.request)
    return model


def handler_of(operation: Operation) -> _Handler:
    """Return the function that does an operation; loads what it stands on."""
    room = import_module(f"shiyi.service.handlers.{operation.room}")
    handler: _Handler = getattr(room, operation.handler)
    return handler


def invoke(
    session: Session, name: str, values: Mapping[str, Any], *, scope: str | None = None
) -> BaseModel:
    """Do an operation and return its response.

    Raises UsageError for values that do not fit, with the field and the reason but never the
    value, and for reading under a turn whose words are not captured yet; and whatever else the
    operation raises.
    """
    operation = find_operation(name)
    try:
        request = request_model(operation).model_validate(dict(values))
    except ValidationError as error:
        raise UsageError(_sentence(error)) from None
    if operation.creates_home:
        session.create = True
    own_scope = check_scope(session.settings.scope if scope is None else scope)
    if isinstance(request, Reading) and request.turn is not None and not request.maintenance:
        check_reading(session.store, own_scope, request.turn)
    return handler_of(operation)(session, own_scope, request)


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the request"
    reason = first["msg"].removeprefix("Value error, ")
    if "surrogate" in reason or "unicode" in first["type"]:
        reason = "it holds half a surrogate pair, which has no UTF-8 form; remove that character"
    return f"{place}: {reason[0].lower()}{reason[1:]}."
