"""The one way in: every door calls an operation by name with plain values."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_json

from shiyi.core.errors import ForbiddenError, UsageError
from shiyi.core.ids import check_scope
from shiyi.core.text import visible
from shiyi.lifecycle.held import check_reading
from shiyi.lifecycle.secrets import check_secrets
from shiyi.service import requests
from shiyi.service.permit import OWNER, Permit, permitted
from shiyi.service.requests.forms import Reading
from shiyi.service.session import Session
from shiyi.service.table.operations import Operation, find_operation

_PATHS = [get_args(kind)[1] for kind in (requests.Place, requests.Places)]
_MOST_PLACE = 100  # characters of the name of a field, which may be anything that was sent
_HALF = "it holds half a surrogate pair, which has no UTF-8 form; remove that character"


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


def path_fields(operation: Operation) -> list[str]:
    """Return the fields of its request that name files or directories."""
    fields = request_model(operation).model_fields
    return [name for name, field in fields.items() if _is_path(field)]


def invoke(
    session: Session,
    name: str,
    values: Mapping[str, Any],
    *,
    scope: str | None = None,
    permit: Permit = OWNER,
) -> BaseModel:
    """Do an operation and return its response.

    Raises ForbiddenError for what the permit does not cover, UsageError for values that do not
    fit, with the field and the reason but never the value, and for reading under a turn whose
    words are not captured yet; and whatever else the operation raises.
    """
    operation = find_operation(name)
    own_scope = check_permit(operation, permit.scope_of(scope, session.settings.scope), permit)
    request = checked(operation, values)
    if permit.role is not None:
        _refuse_a_persons_word(request)
    if operation.permission != "read" and operation.scoped:
        _refuse_secret_names(operation, request)
    if operation.creates_home:
        session.create = True
    turnstile = session.turnstile
    with permitted(permit), turnstile.alone() if operation.alone else turnstile.among():
        if isinstance(request, Reading) and request.turn is not None and not request.maintenance:
            check_reading(session.store, own_scope, request.turn)
        return handler_of(operation)(session, own_scope, request)


def check_permit(operation: Operation, scope: str, permit: Permit) -> str:
    """Return the scope in which an operation may be done; raises ForbiddenError or UsageError."""
    own = check_scope(scope)
    if permit is not OWNER:
        permit.check(operation, own, files=bool(path_fields(operation)))
    return own


def _refuse_secret_names(operation: Operation, request: BaseModel) -> None:
    """Raise UsageError for a secret in a name or a reason; texts are looked at where they are kept.

    Turns, sessions, speakers and keys are kept as they are given.
    """
    apart = {"text", *path_fields(operation)}
    names = [value for name, value in request if isinstance(value, str) and name not in apart]
    check_secrets(*names, allow=getattr(request, "allow_secret", False))


def _refuse_a_persons_word(request: BaseModel) -> None:
    """Raise ForbiddenError when a token says what only a person may say."""
    for name, field in type(request).model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and extra.get("only") == "owner" and getattr(request, name):
            raise ForbiddenError(f"{name} is for the owner of the home only, not for a token.")


def checked(operation: Operation, values: Mapping[str, Any]) -> BaseModel:
    """Return the request that the values make.

    Raises UsageError with the field and the reason, but never the value.
    """
    try:
        request = request_model(operation).model_validate(dict(values))
    except ValidationError as error:
        raise _refused(error) from None
    for name, value in request:
        if isinstance(value, dict | list):  # of a free form: its texts were not looked at
            try:
                to_json(value)
            except (PydanticSerializationError, UnicodeError):
                raise _fault(name, _HALF) from None
    return request


def _is_path(field: FieldInfo) -> bool:
    return any(one in _PATHS for one in field.metadata) or _names_path(field.annotation)


def _names_path(annotation: Any) -> bool:
    inner = get_args(annotation)
    return any(one in _PATHS for one in inner[1:]) or any(_names_path(one) for one in inner)


def _refused(error: ValidationError) -> UsageError:
    first = error.errors(include_input=False, include_url=False)[0]
    place = visible(".".join(str(part) for part in first["loc"])[:_MOST_PLACE])
    reason = first["msg"].removeprefix("Value error, ")
    if "surrogate" in reason or "unicode" in first["type"]:
        reason = _HALF
    return _fault(place, reason)


def _fault(place: str, reason: str) -> UsageError:
    refused = UsageError(f"{place or 'the request'}: {reason[0].lower()}{reason[1:]}.")
    refused.field = place or None
    return refused
