"""The MCP server on standard input and output, for one client and one scope."""

import logging
import sys
from collections.abc import Mapping
from typing import Any, cast

import anyio
from anyio.to_thread import run_sync
from mcp.server.stdio import stdio_server
from pydantic import BaseModel

from shiyi.service.daemon.callers import Caller, Here
from shiyi.service.mcp.greeting import Wire
from shiyi.service.mcp.server import make_server
from shiyi.service.table.operations import find_operation

_AT_ONCE = 8


class CallerDoor:
    """Does operations through a caller, in threads: beside each other through a daemon."""

    def __init__(self, caller: Caller, scope: str, *, read_only: bool = False) -> None:
        """Name the scope that everything works in."""
        self.scope = scope
        self._caller, self._read_only = caller, read_only
        self._limiter = anyio.CapacityLimiter(1 if isinstance(caller, Here) else _AT_ONCE)

    def may(self, permission: str) -> bool:
        """Tell whether what needs that permission may be done."""
        return permission == "read" or not self._read_only

    async def call(self, operation: str, values: Mapping[str, Any]) -> BaseModel:
        """Do an operation; one that was begun ends, whoever waits for it."""
        found = find_operation(operation)
        return await run_sync(self._caller.call, found, values, self.scope, limiter=self._limiter)


def serve(wire: Wire, caller: Caller, scope: str, *, read_only: bool) -> None:
    """Answer until standard input ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, force=True)

    async def main() -> None:
        door = CallerDoor(caller, scope, read_only=read_only)
        server = make_server(lambda _: door)
        text: Any = wire
        stdin, stdout = (cast("anyio.AsyncFile[str]", anyio.wrap_file(text)) for _ in range(2))
        async with stdio_server(stdin, stdout) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(main)
