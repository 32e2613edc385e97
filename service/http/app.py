"""The HTTP door: one route for each operation of the table, and what a service has beside.

    POST /v1/<operation>      the request as a JSON object; `?scope=` names the scope
    GET  /v1/hello            who answers
    GET  /v1/openapi.json     the description of all this
    GET  /healthz, /readyz    alive; the home can be read
    GET  /metrics             counters for Prometheus, without content
    POST /v1/daemon/<what>    stop, listen, leave: for the owner only

Errors are `{"error": {code, message, field}}` and never hold a value. With `Accept:
application/x-ndjson` a job tells its progress, one object a line, before its answer.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from shiyi.core.errors import (
    ForbiddenError,
    NotFoundError,
    ShiyiError,
    TooManyError,
    UsageError,
)
from shiyi.core.settings import Settings
from shiyi.core.strictjson import STRICT_DECODER
from shiyi.service.answers import as_json, is_budgeted, packed
from shiyi.service.daemon.host import Call, Host
from shiyi.service.http.guard import PERMIT, Scope, media_type
from shiyi.service.http.openapi import openapi
from shiyi.service.invoke import request_model
from shiyi.service.permit import OWNER, Permit
from shiyi.service.refusal import refusal_of
from shiyi.service.table.operations import Operation, find_operation

LINES = "application/x-ndjson"
_JSON = "application/json"
_MOST_BYTES = 1 << 20
_MOST_WORDS = 64 << 20  # where the words themselves are sent, as much as a command takes
_HEARTBEAT = 2.0  # seconds
_STATUS = {
    "usage": 400, "not_found": 404, "conflict": 409, "forbidden": 403, "too_many": 429,
    "home": 404, "busy": 503, "unwritable": 507, "model_unavailable": 503, "model_loading": 503,
    "index_unusable": 503, "stopped": 503, "too_large": 413,
}  # fmt: skip
_MISSED = 412  # an If-Match that does not hold
Control = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]


class TooLargeError(UsageError):
    """A body is longer than its route takes."""

    code = "too_large"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers: what hello says."""

    pid: int
    instance: str
    version: str
    api: int


def make_app(
    host: Host, identity: Identity, control: Control, *, routes: Sequence[BaseRoute] = ()
) -> Starlette:
    """Return the app; `routes` come first and may be those of other doors.

    It wants the permit of whoever asks under `scope[PERMIT]`, and refuses without one.
    """
    door = _Door(host, identity, control)
    own = [
        Route("/v1/hello", door.hello, methods=["GET"]),
        Route("/v1/openapi.json", door.describe, methods=["GET"]),
        Route("/v1/daemon/{what}", door.control, methods=["POST"]),
        Route("/v1/{operation:path}", door.operate, methods=["POST"]),
        Route("/healthz", door.alive, methods=["GET"]),
        Route("/readyz", door.ready, methods=["GET"]),
        Route("/metrics", door.metrics, methods=["GET"]),
    ]
    return Starlette(routes=[*routes, *own], exception_handlers={HTTPException: _no_route})


def permit_of(scope: Scope) -> Permit:
    """Return the permit of a request; raises ForbiddenError when there is none."""
    permit = scope.get(PERMIT)
    if not isinstance(permit, Permit):
        raise ForbiddenError("This needs a token.")
    return permit


def failure(error: Exception, *, if_match: bool = False) -> Response:
    """Return the answer that tells of an error."""
    told = refusal_of(error)
    status = _STATUS.get(told.code, 500)
    if if_match and told.code == "conflict":
        status = _MISSED
    wait = error.wait if isinstance(error, TooManyError) else 1
    headers = {"Retry-After": str(wait)} if status in {429, 503} else None
    return JSONResponse({"error": told.as_json()}, status, headers)


async def _no_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = "not_found" if error.status_code == HTTPStatus.NOT_FOUND else "usage"
    told = {"code": code, "message": "There is nothing at this address.", "field": None}
    return JSONResponse({"error": told}, error.status_code, error.headers)


class _Door:
    """What the routes do."""

    def __init__(self, host: Host, identity: Identity, control: Control) -> None:
        self._host, self._identity, self._control = host, identity, control

    async def hello(self, request: Request) -> Response:
        """Say who answers."""
        try:
            permit_of(request.scope)
        except ForbiddenError as error:
            return failure(error)
        one = self._identity
        store = self._host.session.store if self._host.session.is_open else None
        home_id = store.home_id if store else None
        return JSONResponse(
            {"pid": one.pid, "instance": one.instance, "version": one.version, "api": one.api,
             "home_id": home_id}
        )  # fmt: skip

    async def describe(self, request: Request) -> Response:
        """Return the OpenAPI description."""
        try:
            permit_of(request.scope)
            return JSONResponse(openapi())
        except ShiyiError as error:
            return failure(error)

    async def alive(self, _: Request) -> Response:
        """Say that the process answers."""
        return JSONResponse({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        """Say whether the home can be read."""
        try:
            await asyncio.wrap_future(self._host.look())
        except Exception:  # noqa: BLE001 - it says no more than that
            return JSONResponse({"status": "unavailable"}, 503)
        return JSONResponse({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """Return the counters, which are of the whole home."""
        try:
            permit_of(request.scope).check_whole("What is counted")
        except ForbiddenError as error:
            return failure(error)
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(self._host.metrics.text(), headers={"Content-Type": kind})

    async def control(self, request: Request) -> Response:
        """Do something about the daemon itself."""
        try:
            if permit_of(request.scope).role is not None:
                raise ForbiddenError("Only the owner of the home may do this.")  # noqa: TRY301
            values = await json_object(request)
            answer = await self._control(request.path_params["what"], values)
        except Exception as error:  # noqa: BLE001 - told in the one shape
            return failure(error)
        return JSONResponse({"answer": answer})

    async def operate(self, request: Request) -> Response:
        """Do an operation."""
        if_match = "if-match" in request.headers
        try:
            operation = _operation(request.path_params["operation"])
            permit = permit_of(request.scope)
            mine = _mine(request) if permit is OWNER else None
            values = await json_object(
                request, most=_MOST_WORDS if _takes_words(operation) else _MOST_BYTES
            )
            values = _with_headers(operation, values, request)
            if mine is None and is_budgeted(operation):
                values.setdefault("format", "json")
            call = Call(
                operation=operation.name, values=values, permit=permit,
                scope=request.query_params.get("scope"),
            )  # fmt: skip
            if mine is not None:
                call.settings, call.wait, call.passphrase = mine
            form = _packed if mine is not None else as_json
            if LINES in request.headers.get("accept", ""):
                return StreamingResponse(_lines(self._host, call, form, request), media_type=LINES)
            answer = await self._host.do(call)
            return Response(form(answer), headers=_headers(answer), media_type=_JSON)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 - told in the one shape
            return failure(error, if_match=if_match)


async def _lines(
    host: Host, call: Call, form: Callable[[BaseModel], str], request: Request
) -> AsyncIterator[str]:
    """Yield the progress of a job, and its answer or error last."""
    loop, news = asyncio.get_running_loop(), asyncio.Queue[tuple[int, int] | None]()

    def tell(done: int, total: int) -> None:
        loop.call_soon_threadsafe(news.put_nowait, (done, total))

    call.progress = tell
    task = asyncio.ensure_future(host.do(call))
    task.add_done_callback(lambda _: news.put_nowait(None))
    try:
        while not (task.done() and news.empty()):
            try:
                told = await asyncio.wait_for(news.get(), _HEARTBEAT)
            except TimeoutError:
                told = None
            if told is not None or not task.done():
                yield json.dumps({"progress": told}) + "\n"
            if await request.is_disconnected():
                return
        yield _last(task, form)
    finally:
        call.stopped.set()
        if not task.done():
            task.cancel()


def _last(task: "asyncio.Future[BaseModel]", form: Callable[[BaseModel], str]) -> str:
    error = task.exception()
    if isinstance(error, Exception):
        return json.dumps({"error": refusal_of(error).as_json()}) + "\n"
    text = form(task.result())
    return f"{text}\n" if form is _packed else f'{{"answer": {_one_line(text)}}}\n'


def _one_line(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False)


def _packed(answer: BaseModel) -> str:
    return json.dumps({"answer": packed(answer)})


def _operation(path: str) -> Operation:
    try:
        operation = find_operation(path.replace("/", " "))
    except KeyError:
        raise NotFoundError("There is no such operation.") from None
    return operation


def _takes_words(operation: Operation) -> bool:
    fields = request_model(operation).model_fields.values()
    return any((one.json_schema_extra or {}) == {"cli": "words"} for one in fields)


def _mine(request: Request) -> tuple[Settings, float, str | None] | None:
    """Return what our own client sends along: its settings, how long it waits, and a passphrase."""
    told = request.headers.get("shiyi-client")
    if told is None:
        return None
    try:
        content = json.loads(told)
        secret = content.get("passphrase")
        return Settings(**content["settings"]), float(content["wait"]), secret
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError("The settings of the client are not those of this version.") from None


async def json_object(request: Request, *, most: int = _MOST_BYTES) -> dict[str, Any]:
    """Return the JSON object of a body.

    Raises UsageError for anything else, and for what is too long, too deep or ambiguous.
    """
    if media_type(request.headers) != _JSON:
        raise UsageError("The body is a JSON object, with Content-Type: application/json.")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLargeError(f"The body of this operation has at most {most} bytes.")
        parts.append(part)
    try:
        values = STRICT_DECODER.decode(b"".join(parts).decode("utf-8"))
    except UsageError:
        raise
    except (ValueError, RecursionError):
        raise UsageError("The body is no JSON object in UTF-8, or it is nested too deep.") from None
    if not isinstance(values, dict):
        raise UsageError("The body is a JSON object: the request's names and values.")
    return values


def _with_headers(operation: Operation, values: dict[str, Any], request: Request) -> dict[str, Any]:
    """Return the values with what stands in headers.

    Raises UsageError for a header that the operation does not know, or that contradicts the body.
    """
    fields = request_model(operation).model_fields
    for header, name in (("idempotency-key", "key"), ("if-match", "if_match")):
        given = request.headers.get(header)
        if given is None:
            continue
        given = given.strip().removeprefix("W/").strip('"') if name == "if_match" else given
        if name not in fields:
            raise UsageError(f"{operation.name} takes no {header}.")
        if values.get(name) not in (None, given):  # it may be any JSON
            raise UsageError(f"{name}: the header and the body differ.")
        values[name] = given
    return values


def _headers(answer: BaseModel) -> dict[str, str]:
    etag = getattr(answer, "etag", None)
    return {"ETag": f'"{etag}"'} if isinstance(etag, str) else {}
