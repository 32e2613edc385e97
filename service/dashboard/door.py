"""How the daemon comes to have a dashboard: at a port of its own, opened when it is wanted."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from shiyi.service.daemon.endpoint import check_port
from shiyi.service.daemon.host import Call
from shiyi.service.dashboard.asking import Backing
from shiyi.service.dashboard.entry import CODE_SECONDS, ROOT, Entries
from shiyi.service.http.app import check_owner, json_object
from shiyi.service.http.refusals import failure
from shiyi.service.permit import Permit

if TYPE_CHECKING:
    from shiyi.service.daemon.process import Daemon

_WAIT = 5.0  # seconds that a question waits for a model that is being loaded
_TRACED = ("search", "trace")  # what a person asks; the pages themselves leave no trace
_PERMIT = Permit("write", None, "dashboard")  # no more than the pages need


class Door:
    """The dashboard of one daemon."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._entries = Entries(daemon.instance)
        self._url: str | None = None
        self._opening = asyncio.Lock()

    async def invite(self, request: Request) -> Response:
        """Return an address that opens the dashboard once; only the owner is invited."""
        try:
            check_owner(request)
            given = await json_object(request)
            port, scope = check_port(given.get("port", 0)), given.get("scope")
            async with self._opening:
                self._url = self._url or await self._listen(port)
        except Exception as error:  # noqa: BLE001 - told in the one shape
            return failure(error)
        query = {"code": self._entries.new_code()} | ({"scope": scope} if scope else {})
        url = f"{self._url}{ROOT}/open?{urlencode(query)}"
        return JSONResponse({"answer": {"url": url, "seconds": CODE_SECONDS}})

    async def _listen(self, port: int) -> str:
        settings = self._daemon.settings
        backing = Backing(
            call=self._call,
            scope=settings.scope,
            evals=self._daemon.host.session.evals,
            jobs=self._daemon.host.jobs.all,
            leaving=self._daemon.is_leaving,
        )
        # Templates and charts are loaded when they are first wanted.
        pages = await asyncio.to_thread(import_module, "shiyi.service.dashboard.app")
        app = Starlette(routes=pages.Dashboard(backing, self._entries).routes())
        self._daemon.stays.append(self._entries.is_used)
        return await self._daemon.listen_beside(app, port, ROOT)

    async def _call(self, operation: str, values: Mapping[str, Any], scope: str) -> dict[str, Any]:
        """Do an operation as the person who looks at the pages."""
        own = self._daemon.settings
        settings = own if operation in _TRACED else replace(own, traces="off")
        call = Call(
            operation=operation, values=values, scope=scope, permit=_PERMIT, settings=settings,
            wait=_WAIT,
        )  # fmt: skip
        return (await self._daemon.host.do(call)).model_dump(mode="json")


def routes(daemon: "Daemon") -> Sequence[BaseRoute]:
    """Return what the owner's own socket answers about the dashboard."""
    return [Route("/v1/daemon/dashboard", Door(daemon).invite, methods=["POST"])]
