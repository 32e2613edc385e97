"""The MCP server at /mcp/ of the daemon. The SDK is loaded when the first client comes."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from starlette.routing import BaseRoute, Mount, Route

from shiyi.core.errors import ForbiddenError
from shiyi.core.ids import check_scope
from shiyi.core.settings import Settings
from shiyi.service.daemon.host import Call, Host
from shiyi.service.http.guard import MOST_BYTES, PERMIT, SETTINGS, App, Receive, Scope, Send
from shiyi.service.http.refusals import Refused
from shiyi.service.permit import ROLES, Permit

if TYPE_CHECKING:
    from shiyi.service.daemon.process import Daemon

_WAIT = 5.0  # seconds that a question waits for a model that is being loaded


class HostDoor:
    """Does operations in the daemon, as far as a permit goes."""

    def __init__(
        self, host: Host, permit: Permit, scope: str, settings: Settings | None = None
    ) -> None:
        self.scope = scope
        self._host, self._permit, self._settings = host, permit, settings

    def may(self, permission: str) -> bool:
        """Tell whether what needs that permission may be done."""
        role = self._permit.role
        return role is None or ROLES.index(permission) <= ROLES.index(role)

    async def call(self, operation: str, values: Mapping[str, Any]) -> BaseModel:
        """Do an operation."""
        call = Call(
            operation=operation, values=values, scope=self.scope, permit=self._permit,
            settings=self._settings, wait=_WAIT,
        )  # fmt: skip
        return await self._host.do(call)


class HttpDoor:
    """Streamable HTTP: stateless, one JSON answer to each request, both eras of the protocol.

    Who asks was let in by the guard before. The scope is that of the address (`/mcp/?scope=work`,
    written into the client's configuration), else the only one of the token, else the default.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._app: App | None = None
        self._ready: asyncio.Future[App] | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. There is nothing to listen for, so nobody holds a GET open."""
        if scope["method"] != "POST":
            answer = Refused(405, "usage", "MCP is asked by POST here.").answer()
            answer.headers["Allow"] = "POST"
            await answer(scope, receive, send)
            return
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._ready))
        app = await asyncio.shield(self._ready)
        await app(scope, receive, send)

    def door_of(self, context: Any) -> HostDoor:
        """Return the door of one request; raises ForbiddenError or UsageError."""
        request = context.request
        permit = request.scope.get(PERMIT)
        if not isinstance(permit, Permit):
            raise ForbiddenError("This needs a token.")
        settings = request.scope.get(SETTINGS)
        own = settings or self._host.session.settings
        named = permit.scope_of(request.query_params.get("scope") or None, own.scope)
        return HostDoor(self._host, permit, check_scope(named), settings)

    async def _run(self, ready: "asyncio.Future[App]") -> None:
        """Hold what the SDK needs for as long as the daemon runs."""
        try:
            own = await asyncio.to_thread(import_module, "shiyi.service.mcp.streamable")
            manager = own.make_manager(self.door_of, most_bytes=MOST_BYTES)
            async with manager.run():
                ready.set_result(own.app_of(manager))
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            if not ready.done():
                ready.set_exception(error)
            self._ready = None


def routes(daemon: "Daemon") -> Sequence[BaseRoute]:
    """Return what the daemon answers at /mcp and /mcp/."""
    door = HttpDoor(daemon.host)
    return [Route("/mcp", endpoint=door), Mount("/mcp", app=door)]
