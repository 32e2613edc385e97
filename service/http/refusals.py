"""How a refusal looks over HTTP: one shape, whoever refuses and whyever."""

from dataclasses import dataclass
from http import HTTPStatus

from starlette.responses import JSONResponse, Response

from shiyi.core.errors import ConflictError, TooManyError
from shiyi.retrieval.outcome import Outcome
from shiyi.service.refusal import Refusal, refusal_of

STATUS = {
    "usage": 400, "not_found": 404, "conflict": 409, "forbidden": 403, "too_many": 429,
    "home": 404, "busy": 503, "unwritable": 507, "model_unavailable": 503, "model_loading": 503,
    "index_unusable": 503, "stopped": 503, "too_large": 413, "too_slow": 408,
}  # fmt: skip
_MISSED = 412  # an If-Match that does not hold
_BUSY = -32000  # in JSON-RPC, where codes are numbers
_ASK_AGAIN = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that the door itself refuses, before any operation is asked."""

    status: int
    code: str
    message: str

    def answer(self, *, close: bool = False) -> Response:
        """Return what is answered. `close`: the connection ends with it."""
        outcome: Outcome | None = "unavailable" if self.status in _ASK_AGAIN else None
        headers = {"Connection": "close"} if close else {}
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = 'Bearer realm="shiyi"'
        return _answer(Refusal(self.code, self.message, None, outcome), self.status, headers)


def failure(error: Exception, *, if_match: bool = False) -> Response:
    """Return the answer that tells of an error."""
    told = refusal_of(error)
    missed = if_match and told.code == ConflictError.code
    status = _MISSED if missed else STATUS.get(told.code, 500)
    wait = error.wait if isinstance(error, TooManyError) else 1
    return _answer(told, status, {}, wait)


def failure_of_call(error: TooManyError) -> Response:
    """Return the answer to a call of an agent, in the form of its protocol, which it will show."""
    told = {"jsonrpc": "2.0", "id": None, "error": {"code": _BUSY, "message": str(error)}}
    return JSONResponse(told, HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": str(error.wait)})


def as_bytes(answer: Response) -> bytes:
    """Return an answer as it goes over the wire, for where nothing else writes it."""
    status = HTTPStatus(answer.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode("ascii")]
    lines += [b"%s: %s" % header for header in answer.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])


def _answer(told: Refusal, status: int, headers: dict[str, str], wait: int = 1) -> Response:
    again = {"Retry-After": str(wait)} if status in _ASK_AGAIN else {}
    return JSONResponse({"error": told.as_json()}, status, headers | again)
