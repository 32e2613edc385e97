"""An agent for tests: the real client of the SDK, beside a memory in this process or another."""

import json
import os
import select
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent

from shiyi.service.callers import Here
from shiyi.service.mcp import make_server
from shiyi.service.mcp_stdio import CallerDoor
from shiyi.service.session import Session

SHIYI = Path(sys.executable).with_name("shiyi")
ERAS: tuple[Literal["auto", "legacy"], ...] = ("auto", "legacy")
INITIALIZE = {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip


@asynccontextmanager
async def here(
    home: Path, *, scope: str = "me", read_only: bool = False, mode: Any = "auto"
) -> AsyncIterator[Client]:
    """Give a client of a server in this process, which owns the home meanwhile."""
    with Here(Session(home, model="none", create=True)) as caller:
        door = CallerDoor(caller, scope, read_only=read_only)
        async with Client(make_server(lambda _: door), mode=mode) as client:
            yield client


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return what a client passes on to a server that owns its home."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(home.parent), "SHIYI_HOME": str(home),
        "SHIYI_MODEL": "none", "SHIYI_DAEMON": "off", **more,
    }  # fmt: skip


def stdio(home: Path, *arguments: str, mode: Any = "auto", **more: str) -> Client:
    """Return a client of a server in a process of its own."""
    server = StdioServerParameters(
        command=str(SHIYI), args=["mcp", *arguments], env=environment(home, **more)
    )
    return Client(server, mode=mode)


def text_of(result: CallToolResult) -> str:
    """Return what a client reads that knows text only."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def use(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Use a tool and return its answer, the same in both forms."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content == json.loads(text_of(result))
    return dict(result.structured_content or {})


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Use a tool that refuses, and return its sentence."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


class Lines:
    """A server in a process of its own, spoken to line by line."""

    def __init__(self, command: list[str], env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(env),
        )  # fmt: skip

    def send(self, method: str, params: Any = None, *, id_: int | str | None = None) -> None:
        assert self.process.stdin is not None
        told = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        line = json.dumps({name: one for name, one in told.items() if one is not None})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self, seconds: float = 30) -> Any:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert ready, "no answer"
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[bytes, bytes]:
        """Close its input and return what it still said, and what it complained of."""
        return self.process.communicate(timeout=30)
