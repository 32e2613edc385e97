"""The guard of a TCP port: who does not belong here gets no further. Pure ASGI, over everything.

A loopback port is open to every program and every web page of the machine, so nothing is taken for
granted: exact Host and Origin, no cross-site request, a bearer token, and no CORS header ever.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers

from shiyi.core.errors import TooManyError
from shiyi.core.settings import Settings
from shiyi.service.daemon.listening import in_url
from shiyi.service.http.refusals import Refused, failure, failure_of_call
from shiyi.service.permit import OWNER, Permit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Key = Callable[[Scope, Headers], Permit | None]
Count = Callable[[str], AbstractContextManager[None]]
PERMIT = "shiyi.permit"
SETTINGS = "shiyi.settings"
_HTTP = "http://"
_PATIENCE, _AGAIN = 30.0, 0.02  # seconds to wait for a turn, and between two looks
_MOST_WAITING = 32  # calls of one token: each holds a connection
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
    everywhere: it listens at every address of the machine, and may be addressed by any of them.
    keys: what may open, tried in turn; the first is usually the bearer token.
    count: counts a call of the holder of that name, before anything of its body is read.
    forms: beginnings of paths whose bodies are forms of our own pages, not JSON.
    free: beginnings of paths that look for the key themselves; none may change anything before.
    patient: beginnings of paths of agents, which ask much at once and never again: they wait.
    note: told the code of each refusal.
    """

    def __init__(
        self,
        app: App,
        *,
        hosts: Collection[str],
        everywhere: bool = False,
        keys: Sequence[Key],
        count: Count | None = None,
        forms: Sequence[str] = (),
        free: Sequence[str] = (),
        patient: Sequence[str] = (),
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._everywhere = everywhere
        self._keys, self._forms, self._free = tuple(keys), tuple(forms), tuple(free)
        self._patient = tuple(patient)
        self._count, self._note = count, note
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        send = _hardened(send)
        headers = Headers(scope=scope)
        refused = self._strange(scope, headers) or self._unfit(scope, headers)
        if refused is None:
            refused = self._unknown(scope, headers)
        if refused is not None:
            self._note(refused.code)
            await refused.answer()(scope, receive, send)
            return
        with ExitStack() as counted:
            try:
                await self._take_turn(scope, counted)
            except TooManyError as error:
                self._note(error.code)
                answer = failure_of_call(error) if self._is_patient(scope) else failure(error)
                await answer(scope, receive, send)
                return
            await self._app(scope, receive, send)

    async def _take_turn(self, scope: Scope, counted: ExitStack) -> None:
        """Count a call; raises TooManyError when there are too many, and stay so for a while."""
        permit = scope[PERMIT]
        if self._count is None or permit is None:
            return
        try:
            counted.enter_context(self._count(permit.name))
        except TooManyError:
            if not self._is_patient(scope) or self._waiting[permit.name] >= _MOST_WAITING:
                raise
            self._waiting[permit.name] += 1
            try:
                counted.enter_context(await _turn(partial(self._count, permit.name)))
            finally:
                self._waiting[permit.name] -= 1

    def _is_patient(self, scope: Scope) -> bool:
        return bool(scope["path"].startswith(self._patient or ("\0",)))

    def _unknown(self, scope: Scope, headers: Headers) -> Refused | None:
        """Look for the permit, and refuse who has none where one is needed."""
        permit = next((one for key in self._keys if (one := key(scope, headers))), None)
        scope[PERMIT] = permit
        path = scope["path"]
        if permit is None and path not in OPEN and not path.startswith(self._free or ("\0",)):
            return Refused(401, "unauthorized", "Send the token: Authorization: Bearer …")
        return None

    def _strange(self, scope: Scope, headers: Headers) -> Refused | None:
        """Refuse what was not addressed to us, or comes from another page."""
        known = self._hosts | (_reached(scope) if self._everywhere else frozenset())
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in known:
            return Refused(421, "host", "This is not the host that serves that name.")
        origins = headers.getlist("origin")
        sites = headers.getlist("sec-fetch-site")
        from_us = all(one.startswith(_HTTP) and one[len(_HTTP) :] in known for one in origins)
        if not from_us or any(site not in {"none", "same-origin"} for site in sites):
            return Refused(403, "origin", "Other pages may not ask this service.")
        return None

    def _unfit(self, scope: Scope, headers: Headers) -> Refused | None:
        """Refuse bodies of a wrong type or size, and what can be read in two ways."""
        length = headers.get("content-length", "0")
        clear = scope.get("http_version", "1.1") in {"1.0", "1.1"} and (
            "transfer-encoding" not in headers or "content-length" not in headers
        )
        if not (clear and length.isdecimal() and length.isascii() and len(length) <= _MOST_DIGITS):
            return Refused(400, "usage", "A request is HTTP/1.1, with one length that is a number.")
        if int(length) > MOST_BYTES:
            return Refused(413, "too_large", f"A body has at most {MOST_BYTES} bytes.")
        if scope["method"] in {"GET", "HEAD"}:
            return None
        kind = media_type(headers)
        if scope["path"].startswith(self._forms or ("\0",)):
            fits = kind in {"application/x-www-form-urlencoded", "application/json"}
        else:
            fits = kind == "application/json"
        if fits and len(headers.getlist("content-type")) == 1:
            return None
        return Refused(415, "content_type", "The body is JSON: application/json.")


async def _turn(count: Callable[[], AbstractContextManager[None]]) -> ExitStack:
    """Return what counts a call, once there is a turn for it; raises TooManyError after a while."""
    clock = asyncio.get_running_loop().time
    until, counted = clock() + _PATIENCE, ExitStack()
    while True:
        try:
            counted.enter_context(count())
        except TooManyError:
            if clock() >= until:
                raise
            await asyncio.sleep(_AGAIN)
        else:
            return counted


def _reached(scope: Scope) -> frozenset[str]:
    """Return the address of this machine at which a request has come in.

    No page of another name is there: whoever says the address itself was led by no name.
    """
    host, port = scope.get("server") or ("", None)
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return frozenset()
    plain = getattr(address, "ipv4_mapped", None) or address
    return frozenset({f"{in_url(str(plain))}:{port}"})


def media_type(headers: Headers) -> str:
    """Return the type of a body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


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


def with_settings(app: App, settings: Settings) -> App:
    """Return the app for a port whose calls are done with some settings."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        scope[SETTINGS] = settings
        await app(scope, receive, send)

    return asked
