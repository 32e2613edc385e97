"""The HTTP door: one route for each operation of the table, and what a service has beside.

    POST /v1/<operation>      the request as a JSON object; `?scope=` names the scope
    GET  /v1/hello            who answers
    GET  /v1/openapi.json     the description of all this
    GET  /healthz, /readyz    alive; the home can be read
    GET  /metrics             counters for Prometheus, without content
    POST /v1/daemon/<what>    about the daemon itself: for the owner only

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

from shiyi.core.errors import ForbiddenError, NotFoundError, ShiyiError, UsageError
from shiyi.core.settings import Settings
from shiyi.core.strictjson import STRICT_DECODER
from shiyi.retrieval.packing import Budgeted
from shiyi.service.answers import as_json, is_budgeted, packed
from shiyi.service.daemon.host import Call, Host
from shiyi.service.http.guard import PERMIT, SETTINGS, Scope, media_type
from shiyi.service.http.intake import LONG
from shiyi.service.http.openapi import openapi
from shiyi.service.http.refusals import Refused, failure
from shiyi.service.invoke import request_model
from shiyi.service.permit import OWNER, Permit
from shiyi.service.refusal import refusal_of
from shiyi.service.table.operations import Operation, find_operation

LINES = "application/x-ndjson"
_JSON = "application/json"
_MOST_BYTES = 1 << 20
_MOST_WORDS = 64 << 20  # where the words themselves are sent, as much as a command takes
_SOON, _HEARTBEAT = 0.2, 2.0  # seconds until it is told how a job stands, and between two times
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
    app = Starlette(routes=[*routes, *own], exception_handlers={HTTPException: _no_route})
    app.router.redirect_slashes = False  # an address is itself or nothing
    return app


def permit_of(scope: Scope) -> Permit:
    """Return the permit of a request; raises ForbiddenError when there is none."""
    permit = scope.get(PERMIT)
    if not isinstance(permit, Permit):
        raise ForbiddenError("This needs a token.")
    return permit


def check_owner(request: Request) -> None:
    """Raise ForbiddenError for whoever is not the owner of the home."""
    if permit_of(request.scope).role is not None:
        raise ForbiddenError("Only the owner of the home may do this.")


async def _no_route(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException)
    code, sentence = "not_found", "There is nothing at this address."
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        code, sentence = "usage", "This address is asked in another way; Allow says how."
    answer = Refused(error.status_code, code, sentence).answer()
    answer.headers.update(error.headers or {})
    return answer


class _Door:
    """What the routes do."""

    def __init__(self, host: Host, identity: Identity, control: Control) -> None:
        self._host, self._identity, self._control = host, identity, control

    async def hello(self, request: Request) -> Response:
        """Say who answers, and a token what it may do."""
        try:
            permit = permit_of(request.scope)
        except ForbiddenError as error:
            return failure(error)
        one = self._identity
        store = self._host.session.store if self._host.session.is_open else None
        told: dict[str, Any] = {
            "version": one.version, "api": one.api, "home_id": store.home_id if store else None
        }  # fmt: skip
        if permit.role is None:
            return JSONResponse(told | {"pid": one.pid, "instance": one.instance})
        scopes = None if permit.scopes is None else sorted(permit.scopes)
        return JSONResponse(told | {"role": permit.role, "scopes": scopes})

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
            check_owner(request)
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
            call = Call(
                operation=operation.name, values={}, permit=permit,
                scope=_scope(request), settings=request.scope.get(SETTINGS),
            )  # fmt: skip
            mine = of_client(request) if permit is OWNER else None
            if mine is not None:
                call.settings, call.wait, call.passphrase = mine
            self._host.check(call)
            values = await json_object(
                request, most=_MOST_WORDS if _takes_words(operation) else _MOST_BYTES
            )
            call.values = _with_headers(operation, values, request)
            if mine is None and is_budgeted(operation):
                values.setdefault("format", "json")
            form = _packed if mine is not None else _markdown if _is_read(call) else as_json
            if LINES in request.headers.get("accept", ""):
                return StreamingResponse(_lines(self._host, call, form, request), media_type=LINES)
            answer = await self._host.do(call)
            kind = "text/markdown" if form is _markdown else _JSON
            return Response(form(answer), headers=_headers(answer), media_type=kind)
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
    patience = _SOON
    try:
        while not (task.done() and news.empty()):
            try:
                told = await asyncio.wait_for(news.get(), patience)
            except TimeoutError:
                told, patience = None, _HEARTBEAT
            if told is not None or not task.done():
                yield json.dumps(_how_far(host, call, told)) + "\n"
            if await request.is_disconnected():
                return
        yield _last(task, form)
    finally:
        call.stopped.set()
        if not task.done():
            task.cancel()


def _how_far(host: Host, call: Call, told: tuple[int, int] | None) -> dict[str, Any]:
    """Return how far a job is, as far as anybody knows, and how many have to end before it."""
    found = None if call.job is None else host.jobs.find(call.job)
    if found is None:
        return {"progress": told, "state": "running", "before": 0}
    job, before = found
    known = (job.done, job.total) if job.total else None
    waits = job.state == "waiting"
    return {
        "progress": told or known, "state": "waiting" if waits else "running",
        "before": before if waits else 0,
    }  # fmt: skip


def _last(task: "asyncio.Future[BaseModel]", form: Callable[[BaseModel], str]) -> str:
    error = task.exception()
    if isinstance(error, Exception):
        return json.dumps({"error": refusal_of(error).as_json()}) + "\n"
    text = form(task.result())
    if form is _packed:
        return f"{text}\n"
    told = text if form is _markdown else json.loads(text)
    return json.dumps({"answer": told}, ensure_ascii=False) + "\n"


def _is_read(call: Call) -> bool:
    """Tell whether the answer is wanted as people read it."""
    operation = find_operation(call.operation)
    return is_budgeted(operation) and call.values.get("format") != "json"


def _markdown(answer: BaseModel) -> str:
    assert isinstance(answer, Budgeted)
    return answer.text


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


def _scope(request: Request) -> str | None:
    """Return the scope that the address names; raises UsageError when it names two."""
    named = request.query_params.getlist("scope")
    if len(named) > 1:
        raise UsageError("The address names more than one scope; name one.")
    return named[0] if named else None


def of_client(request: Request) -> tuple[Settings, float, str | None] | None:
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
    body, length = bytearray(), request.headers.get("content-length", "")
    too_large = TooLargeError(f"The body of this operation has at most {most} bytes.")
    if length.isdecimal() and int(length) > most:
        raise too_large
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise too_large
    try:
        if len(body) > LONG:  # others are answered meanwhile
            values = await asyncio.to_thread(_decoded, body)
        else:
            values = _decoded(body)
    except UsageError:
        raise
    except (ValueError, RecursionError):
        raise UsageError("The body is no JSON object in UTF-8, or it is nested too deep.") from None
    if not isinstance(values, dict):
        raise UsageError("The body is a JSON object: the request's names and values.")
    return values


def _decoded(body: bytearray) -> Any:
    return STRICT_DECODER.decode(body.decode("utf-8"))


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
    told = getattr(answer, "record", None) or answer
    etag = getattr(told, "etag", None)
    return {"ETag": f'"{etag}"'} if isinstance(etag, str) else {}
