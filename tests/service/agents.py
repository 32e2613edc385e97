"""An agent for tests: the real client of the SDK, beside a memory in this process or another."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent

from shiyi.service.daemon.callers import Here
from shiyi.service.mcp.server import make_server
from shiyi.service.mcp.stdio import CallerDoor
from shiyi.service.session import Session
from tests.service.serving import PATIENCE

SHIYI = Path(sys.executable).with_name("shiyi")
ERAS: tuple[Literal["auto", "legacy"], ...] = ("auto", "legacy")
INITIALIZE = {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip
_META = "io.modelcontextprotocol/"
STATELESS = {
    "_meta": {
        f"{_META}protocolVersion": "2026-07-28",
        f"{_META}clientInfo": INITIALIZE["clientInfo"],
        f"{_META}clientCapabilities": {},
    }
}


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
        self._said: queue.Queue[bytes] = queue.Queue()
        self._complaints: list[bytes] = []
        self._heard = threading.Event()
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._overhear, daemon=True),
        ]  # fmt: skip
        for thread in self._threads:
            thread.start()

    def send(self, method: str, params: Any = None, *, id_: int | str | None = None) -> None:
        told = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        self.send_line(json.dumps({name: one for name, one in told.items() if one is not None}))

    def send_line(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self, seconds: float = PATIENCE) -> Any:
        return json.loads(self._said.get(timeout=seconds))

    def overheard(self, words: bytes, seconds: float = PATIENCE) -> bool:
        """Wait until it complained of something."""
        until = time.monotonic() + seconds
        while not any(words in line for line in self._complaints):
            if not self._heard.wait(until - time.monotonic()):
                return False
            self._heard.clear()
        return True

    def end(self) -> tuple[list[bytes], bytes]:
        """Close its input; return the lines that it still said, and what it complained of."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        rest = [self._said.get() for _ in range(self._said.qsize())]
        return rest, b"".join(self._complaints)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._said.put(line)

    def _overhear(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as text:
            for line in text:
                self._complaints.append(line)
                self._heard.set()
