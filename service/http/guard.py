"""The guard of a TCP port: who does not belong here gets no further. Pure ASGI, over everything.

A loopback port is open to every program and every web page of the machine, so nothing is taken for
granted: exact Host and Origin, no cross-site request, a bearer token, and no CORS header ever.
"""

import json
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers

from shiyi.service.permit import OWNER, Permit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Key = Callable[[Scope, Headers], Permit | None]
PERMIT = "shiyi.permit"
_MOST_DIGITS = 12  # of a length that is meant
MOST_BYTES = 65 << 20  # of any body; most routes take less
OPEN = frozenset({"/healthz", "/readyz"})  # they say yes or no, and nothing else
_HARDENING = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
]


class Guard:
    """Lets in who may come in, with the permit under `scope[PERMIT]`.

    hosts: the exact `name:port` under which the port is addressed.
    keys: what may open, tried in turn; the first is usually the bearer token.
    forms: beginnings of paths whose bodies are forms of our own pages, not JSON.
    free: beginnings of paths that look for the key themselves; none may change anything before.
    """

    def __init__(
        self,
        app: App,
        *,
        hosts: Collection[str],
        keys: Sequence[Key],
        forms: Sequence[str] = (),
        free: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._keys, self._forms, self._free = tuple(keys), tuple(forms), tuple(free)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        refused = self._strange(headers) or self._unfit(scope, headers)
        if refused is None:
            permit = next((one for key in self._keys if (one := key(scope, headers))), None)
            scope[PERMIT] = permit
            path = scope["path"]
            if permit is None and path not in OPEN and not path.startswith(self._free or ("\0",)):
                refused = (401, "unauthorized", "Send the token: Authorization: Bearer …")
        if refused is not None:
            await refuse(send, *refused)
            return
        await self._app(scope, receive, _hardened(send))

    def _strange(self, headers: Headers) -> tuple[int, str, str] | None:
        """Refuse what was not addressed to us, or comes from another page."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "host", "This is not the host that serves that name."
        if any(origin not in self._origins for origin in headers.getlist("origin")):
            return 403, "origin", "Other pages may not ask this service."
        sites = headers.getlist("sec-fetch-site")
        if any(site not in {"none", "same-origin"} for site in sites):
            return 403, "origin", "Other pages may not ask this service."
        return None

    def _unfit(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        """Refuse bodies of a wrong type or size."""
        length = headers.get("content-length", "0")
        if not length.isdecimal() or not length.isascii() or len(length) > _MOST_DIGITS:
            return 400, "usage", "Content-Length is no number."
        if int(length) > MOST_BYTES:
            return 413, "too_large", f"A body has at most {MOST_BYTES} bytes."
        if scope["method"] in {"GET", "HEAD"}:
            return None
        kind = media_type(headers)
        if scope["path"].startswith(self._forms or ("\0",)):
            fits = kind in {"application/x-www-form-urlencoded", "application/json"}
        else:
            fits = kind == "application/json"
        return None if fits else (415, "content_type", "The body is JSON: application/json.")


def media_type(headers: Headers) -> str:
    """Return the type of a body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def refuse(send: Send, status: int, code: str, message: str) -> None:
    """Answer with an error in the one shape."""
    body = json.dumps({"error": {"code": code, "message": message, "field": None}}).encode("ascii")
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b'Bearer realm="shiyi"'))
    headers += [(b"content-length", str(len(body)).encode("ascii")), *_HARDENING]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _hardened(send: Send) -> Send:
    async def send_on(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {one[0].lower() for one in message["headers"]}
            added = [one for one in _HARDENING if one[0] not in given]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return send_on


def bearer(permit_of: Callable[[str], Permit | None]) -> Key:
    """Return the key of a bearer token."""

    def key(_: Scope, headers: Headers) -> Permit | None:
        given = headers.getlist("authorization")
        if len(given) != 1:
            return None
        scheme, _space, secret = given[0].partition(" ")
        return permit_of(secret.strip()) if scheme.lower() == "bearer" and secret else None

    return key


def for_owner(app: App) -> App:
    """Return the app for a socket that only its owner can reach."""

    async def owned(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            from_owner = dict(scope)
            from_owner[PERMIT] = OWNER
            await app(from_owner, receive, send)

    return owned
