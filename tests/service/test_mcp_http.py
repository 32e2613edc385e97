"""MCP at the daemon's port: the same server, for tokens, behind the guard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from shiyi.service.mcp.tools import TOOLS
from shiyi.service.tokens import create_token
from tests.service.agents import ERAS, use
from tests.service.serving import Served

_READING = {tool.name for tool in TOOLS if tool.permission == "read"}


@asynccontextmanager
async def agent(
    door: Served, token: str, *, path: str = "/mcp/", mode: Any = "auto"
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        transport = streamable_http_client(f"http://{door.url}{path}", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def token_for(door: Served, role: Any, *scopes: str) -> str:
    return create_token(door.home, name=None, role=role, scopes=list(scopes) or None)[1]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("path", ["/mcp/", "/mcp"])
def test_a_turn_in_both_eras(mode: str, path: str, door: Served) -> None:
    """Words go in and come back, as on standard input."""

    async def main() -> None:
        async with agent(door, door.token, path=path, mode=mode) as client:
            assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
            await use(client, "memory_remember", text="會議改到週五")
            found = await use(client, "memory_search", query="週五")
            assert found["results"][0]["trust"] == "user"

    anyio.run(main)


@pytest.mark.parametrize("mode", ERAS)
def test_long_words_and_many_at_once(mode: str, door: Served) -> None:
    """Words beyond a megabyte are kept, and twenty calls at once are answered, eight by eight."""
    answers = []

    async def main() -> None:
        async with agent(door, door.token, path="/mcp/?scope=long", mode=mode) as client:
            words = f"{mode} {'x' * (9 << 17)}"
            kept = await use(client, "memory_remember", text=words, words_only=True)
            assert kept["bytes"] == len(words)

            async def ask() -> None:
                answers.append((await use(client, "memory_search", query=mode))["outcome"])

            async with anyio.create_task_group() as group:
                for _ in range(20):
                    group.start_soon(ask)

    anyio.run(main)
    assert answers == ["found"] * 20


def test_a_token_decides_what_is_seen(door: Served) -> None:
    """A reading token has the reading tools; one for a scope is in that scope, and in no other."""
    reading, scoped = token_for(door, "read"), token_for(door, "write", "mine")

    async def main() -> None:
        async with agent(door, reading) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == _READING
            result = await client.call_tool("memory_remember", {"text": "不"})
            assert result.is_error
        async with agent(door, scoped) as client:
            await use(client, "memory_remember", text="只在這裡的海豚")
            assert (await use(client, "memory_search", query="海豚"))["results"]
            stands = await use(client, "memory_status")
            assert (stands["scope"], stands["counts"]["captures"]) == ("mine", 1)
        async with agent(door, scoped, path="/mcp/?scope=me") as client:
            result = await client.call_tool("memory_search", {"query": "海豚"})
            assert result.is_error
        async with agent(door, door.token) as client:
            assert (await use(client, "memory_search", query="海豚"))["outcome"] == "empty"
        async with agent(door, door.token, path="/mcp/?scope=mine") as client:
            assert (await use(client, "memory_search", query="海豚"))["results"]

    anyio.run(main)


def test_the_log_holds_no_words(door: Served) -> None:
    """Neither what was kept nor what was asked stands in the log of the daemon."""

    async def main() -> None:
        async with agent(door, door.token) as client:
            await use(client, "memory_remember", text="ZQXMARKER 在海邊")
            await client.call_tool("memory_search", {"query": "ZQXMARKER", "limit": 0})
            await client.call_tool("memory_fetch", {"id": "ZQXMARKER"})

    anyio.run(main)
    log = (door.home / "daemon.log").read_bytes()
    assert log
    assert b"ZQXMARKER" not in log


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer shiyi_wrong"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1.evil.example"}, 421),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
    ids=str,
)
def test_the_guard_stands_before_it(headers: dict[str, str], status: int, door: Served) -> None:
    """Exact Host and Origin, and a token, as for everything at this port."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    for path in ("/mcp", "/mcp/"):
        reply = door.ask("POST", path, body, {**accept, **headers})

        assert reply.status == status, path
        assert "Access-Control-Allow-Origin" not in reply.headers
        assert b"memory_" not in reply.body


@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD"])
def test_nothing_is_held_open(method: str, door: Served) -> None:
    """There are no sessions and no events, so a client that waits for some is told so at once."""
    accept = {"Accept": "text/event-stream", "Content-Type": "application/json"}
    for path in ("/mcp", "/mcp/", "/mcp/?scope=me"):
        reply = door.ask(method, path, headers=accept)

        assert (reply.status, reply.headers["allow"]) == (405, "POST")
