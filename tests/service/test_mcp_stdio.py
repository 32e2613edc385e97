"""Standard output carries the protocol and nothing else, whatever happens beside it."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from shiyi.service.mcp.tools import TOOLS
from tests.service.agents import ERAS, INITIALIZE, SHIYI, Lines, environment, refused, stdio, use

# A server whose every operation makes noise on every way out, and complains at its end.
_NOISY = """
import atexit, logging, os, subprocess, sys, time, warnings
from shiyi.service.mcp.greeting import Wire
wire = Wire()
wire.greet()
print("before")
from shiyi.service.daemon.callers import open_caller
from shiyi.service.mcp.stdio import serve
class Noisy:
    def __init__(self, caller):
        self.caller = caller
    def call(self, operation, values, scope=None):
        print("a print of", operation.name, end="")
        sys.__stdout__.write("{}\\n")
        os.write(1, b"bytes past Python\\n")
        warnings.warn("a warning", stacklevel=1)
        logging.getLogger("somebody").error("an error")
        if values.get("limit") == 7:
            subprocess.run(["echo", "a child"], check=True)
            time.sleep(0.02)
        return self.caller.call(operation, values, scope)
with open_caller(None) as caller:
    serve(wire, Noisy(caller), "me", read_only=False)
print("not flushed at exit", end="")
atexit.register(print, "the very last")
"""


@pytest.mark.parametrize(
    "calls", [100, pytest.param(1000, marks=pytest.mark.slow)], ids="{} calls".format
)
def test_every_line_is_of_the_protocol(calls: int, tmp_path: Path) -> None:
    """Prints, warnings, children and cancelled calls: each line on standard output is JSON-RPC."""
    server = Lines([sys.executable, "-P", "-c", _NOISY], environment(tmp_path / "home"))
    server.send("initialize", INITIALIZE, id_="first")
    assert server.read()["id"] == "first"
    server.send("notifications/initialized")
    server.send("tools/call", {"name": "memory_remember", "arguments": {"text": "貓在海邊"}}, id_=0)
    assert server.read()["result"]["isError"] is False
    answered = set()
    for n in range(1, calls + 1):
        limit = 7 if n % 10 == 0 else 8
        call = {"name": "memory_search", "arguments": {"query": "海邊", "limit": limit}}
        server.send("tools/call", call, id_=n)
        if n % 10 == 0:
            server.send("notifications/cancelled", {"requestId": n, "reason": "changed my mind"})
            continue
        if n % 25 == 1:
            server.send_line("this is no JSON")
        while True:
            message = server.read()
            assert message["jsonrpc"] == "2.0"
            answered.add(message["id"])
            if message["id"] == n:
                break
    out, err = server.end()

    rest = [json.loads(line) for line in out]
    assert all(message["jsonrpc"] == "2.0" for message in rest)
    assert {n for n in range(1, calls + 1) if n % 10} <= answered
    assert b"a print of search" in err  # it went where people look
    assert b"a child" in err
    assert server.process.returncode == 0


@pytest.mark.parametrize("mode", ERAS)
def test_the_real_server_in_both_eras(mode: str, tmp_path: Path) -> None:
    """`shiyi mcp` answers the SDK's client, in the scope of the process."""

    async def main() -> None:
        async with stdio(tmp_path / "home", "--scope", "work", mode=mode) as client:
            assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
            assert len((await client.list_tools()).tools) == len(TOOLS)
            await use(client, "memory_remember", text="會議改到週五")
            assert (await use(client, "memory_status"))["scope"] == "work"
            assert (await use(client, "memory_search", query="週五"))["results"]

    anyio.run(main)


def test_initialize_waits_for_nothing(tmp_path: Path) -> None:
    """It is answered before the SDK, a home or a model is loaded, and makes no home."""
    script = (
        "import sys\n"
        "from shiyi.service.mcp import greeting\n"
        "wire = greeting.Wire()\n"
        "wire.greet()\n"
        "heavy = {'mcp', 'mcp_types', 'pydantic', 'duckdb', 'numpy', 'asyncio', 'faiss'}\n"
        "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))\n"
    )
    home = tmp_path / "home"
    server = Lines([sys.executable, "-P", "-c", script], environment(home))
    server.send("initialize", INITIALIZE, id_=1)
    said = server.read()
    _, loaded = server.end()

    assert said["result"]["serverInfo"]["name"] == "shiyi"
    assert loaded == b""
    assert not home.exists()


def test_a_memory_that_is_not_there_yet(tmp_path: Path) -> None:
    """Reading says that nothing is remembered, and names no place; keeping makes the home."""
    home = tmp_path / "home"

    async def main() -> None:
        async with stdio(home) as client:
            sentence = await refused(client, "memory_search", query="海")
            assert "Nothing is remembered" in sentence
            assert not home.exists()
            await use(client, "memory_remember", text="海邊")
            assert (await use(client, "memory_search", query="海邊"))["results"]

    anyio.run(main)


def test_it_ends_with_its_input(tmp_path: Path) -> None:
    """Without a client there is no server: at once, before a word, and after a fault."""
    deep = b"[" * 200_000 + b"\n"
    for said in (b"", deep, b'no JSON\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'):
        done = subprocess.run(
            [str(SHIYI), "mcp"], input=said, env=environment(tmp_path / "home"),
            capture_output=True, check=False, timeout=30,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_bad_settings_are_told_before_the_protocol(tmp_path: Path) -> None:
    """A scope that cannot be is a sentence on standard error, and nothing on standard output."""
    done = subprocess.run(
        [str(SHIYI), "mcp", "--scope", "no/scope"], input=b"", env=environment(tmp_path / "home"),
        capture_output=True, check=False, timeout=30,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"scope name" in done.stderr
