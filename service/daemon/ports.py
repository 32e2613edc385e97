"""The TCP ports of a daemon, for holders of a token: each as long as a command wants it.

`shiyi serve` holds a request open. It is answered with the address, and ends the port when it ends,
however that comes about; the settings of the command are those of the port.
"""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from shiyi.core.errors import HomeDamagedError, UsageError
from shiyi.core.settings import Settings
from shiyi.service.daemon.endpoint import check_port
from shiyi.service.daemon.host import Host
from shiyi.service.daemon.listening import (
    LOOPBACK,
    address_of,
    host_name,
    in_url,
    tcp_socket,
)
from shiyi.service.daemon.servers import Server, Servers
from shiyi.service.http.app import LINES, check_owner, json_object, of_client
from shiyi.service.http.guard import App, Guard, bearer, with_settings
from shiyi.service.http.refusals import failure
from shiyi.service.permit import Permit
from shiyi.service.rates import Rates
from shiyi.service.tokens import first_token, permit_of

_HTTP_PORT = 80  # that is left out of addresses
_BEAT = 2.0  # seconds between two signs of life
log = logging.getLogger("shiyi.daemon")


class Ports:
    """Those that are open."""

    def __init__(self, home: Path, host: Host, servers: Servers, leaving: asyncio.Event) -> None:
        self._home, self._host, self._servers, self._leaving = home, host, servers, leaving
        self._rates = Rates()
        self._open: dict[str, Server] = {}

    @property
    def urls(self) -> list[str]:
        """Their addresses."""
        return list(self._open)

    async def hold(self, app: App, request: Request) -> Response:
        """Answer the owner at a port for as long as the request is held."""
        try:
            check_owner(request)
            mine = of_client(request)
            settings = mine[0] if mine else self._host.session.settings
            told = await self._listen(app, settings, await json_object(request))
        except Exception as error:  # noqa: BLE001 - told in the one shape
            return failure(error)
        return _Held(self._news(told), partial(self._close, told["url"]))

    async def _listen(
        self, app: App, settings: Settings, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        names = given.get("names", [])
        if not isinstance(names, list):
            raise UsageError("The names of a host are a list.")
        names = [host_name(str(name)) for name in names]
        address = address_of(str(given.get("bind", LOOPBACK)))
        token_file = str(first_token(self._home))
        listener = self._socket(str(address), check_port(given.get("port", 0)))
        port = listener.getsockname()[1]
        everywhere = address.is_unspecified
        own = [] if everywhere else [str(address)]
        own += [LOOPBACK, "localhost", *(["::1"] if ":" in str(address) else []), *names]
        hosts = [f"{in_url(name)}:{port}" for name in own]
        guard = Guard(
            with_settings(app, settings),
            hosts=hosts + ([in_url(name) for name in own] if port == _HTTP_PORT else []),
            everywhere=everywhere,
            keys=[bearer(self._permit_of)],
            count=partial(self._rates.call, calls=settings.token_rate),
            patient=("/mcp",),
            note=self._host.metrics.refused,
        )
        url = f"http://{in_url(str(address))}:{port}"
        self._open[url] = await self._servers.serve(guard, listener)
        log.info("also listening at a TCP port")
        return {"url": url, "token_file": token_file}

    def _socket(self, bind: str, port: int) -> socket.socket:
        try:
            return tcp_socket(bind, port)
        except UsageError:
            if not any(url.endswith(f":{port}") for url in self._open):
                raise
            raise UsageError(
                f"This home is served at port {port} already, by another `shiyi serve`; end that "
                "one, or choose another --port."
            ) from None

    async def _news(self, told: dict[str, Any]) -> AsyncIterator[str]:
        yield json.dumps({"answer": told}) + "\n"
        while not self._leaving.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), _BEAT)
            yield json.dumps({"answer": None}) + "\n"

    def _close(self, url: str) -> None:
        self._open.pop(url).close()
        log.info("not at that TCP port any more")

    def _permit_of(self, secret: str) -> Permit | None:
        try:
            return permit_of(self._home, secret)
        except (HomeDamagedError, OSError):
            log.warning("the file of tokens cannot be read, so no token holds")
            return None


class _Held(StreamingResponse):
    """An answer that goes on; `end` is called when it is over, or was never begun."""

    def __init__(self, content: AsyncIterator[str], end: Callable[[], None]) -> None:
        super().__init__(content, media_type=LINES)
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._end()
