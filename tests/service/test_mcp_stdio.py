"""Standard output carries the protocol and nothing else, whatever happens beside it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from shiyi.service.mcp.tools import TOOLS
from tests.service.agents import (
    ERAS,
    INITIALIZE,
    SHIYI,
    STATELESS,
    Lines,
    environment,
    refused,
    stdio,
    use,
)
from tests.service.serving import PATIENCE

# A server whose every operation makes noise on every way out, and complains at its end.
_NOISY = """
import atexit, logging, os, subprocess, sys, time, warnings
from shiyi.service.mcp import greeting
greeting._LINGER = float(os.environ.get("LINGER", 30))
wire = greeting.Wire()
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
        if values.get("limit") == 6:
            time.sleep(600)
        if values.get("limit") == 7:
            subprocess.run(["echo", "a child"], check=True)
            time.sleep(0.02)
        return self.caller.call(operation, values, scope)
with open_caller(None) as caller:
    serve(wire, Noisy(caller), "me", read_only=False)
print("not flushed at exit", end="")
atexit.register(print, "the very last")
"""


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    "calls", [50, pytest.param(1000, marks=pytest.mark.slow)], ids="{} calls".format
)
def test_every_line_is_of_the_protocol(calls: int, mode: str, tmp_path: Path) -> None:
    """Prints, warnings, children and cancelled calls: each line on standard output is JSON-RPC."""
    server, each = begun(mode, tmp_path)
    call = {"name": "memory_remember", "arguments": {"text": "貓在海邊"}, **each}
    server.send("tools/call", call, id_=0)
    assert server.read()["result"]["isError"] is False
    answered = set()
    for n in range(1, calls + 1):
        limit = 7 if n % 10 == 0 or n == 5 else 8  # what is cancelled may never begin
        call = {"name": "memory_search", "arguments": {"query": "海邊", "limit": limit}, **each}
        server.send("tools/call", call, id_=n)
        if n % 10 == 0:
            told = {"requestId": n, "reason": "changed my mind", **each}
            server.send("notifications/cancelled", told)
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


def begun(mode: str, tmp_path: Path, **more: str) -> tuple[Lines, dict[str, Any]]:
    """Start the noisy server; return it, and what each request says of the client."""
    server = Lines([sys.executable, "-P", "-c", _NOISY], environment(tmp_path / "home", **more))
    first = ("initialize", INITIALIZE) if mode == "legacy" else ("server/discover", STATELESS)
    server.send(*first, id_="first")
    assert server.read()["id"] == "first"
    if mode == "legacy":
        server.send("notifications/initialized")
    return server, {} if mode == "legacy" else dict(STATELESS)


def test_it_ends_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """When its input ends nobody hears the answer of a call that waits, so it does not stay."""
    server, _ = begun("legacy", tmp_path, LINGER="0.05")
    call = {"name": "memory_search", "arguments": {"query": "海", "limit": 6}}
    server.send("tools/call", call, id_=1)
    assert server.overheard(b"bytes past Python")

    out, _ = server.end()

    assert out == []
    assert server.process.returncode == 0


def test_odd_requests_are_answered(tmp_path: Path) -> None:
    """Half a character, bytes that are no text, huge texts, and arguments that are no object."""
    server, _ = begun("legacy", tmp_path)
    kept = {"name": "memory_remember", "arguments": {"text": "貓在海邊"}}
    server.send("tools/call", kept, id_=0)
    assert server.read()["id"] == 0
    whole = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}'
    search = '{"name":"memory_search","arguments":{"query":%s}}'
    for id_, params, says in (
        (1, search % r'"half \ud83d"', "half a surrogate pair"),
        (2, search % r'"whole \ud83d\ude00 花生"', "outcome"),
        (3, search % "NaN", "query: "),
        (4, search % f'"{"x" * 10_000_000}"', "at most 4000"),
        (5, '{"name":"memory_search","arguments":["x"]}', "Invalid request parameters"),
        (6, search % "7", "query: "),
    ):
        server.send_line(whole % (id_, params))
        answer = server.read()
        assert answer["id"] == id_
        assert says in json.dumps(answer), (id_, answer)
    _, err = server.end()
    assert b"Traceback" not in err


def test_many_at_once_and_odd_addresses(tmp_path: Path) -> None:
    """Twenty calls beside each other are answered, and so is every address that is none."""
    odd = ("", "x", "memory://record/", f"memory://record/{'x' * 9999}", "memory://record/%2e%2e",
           "memory://capture/01ARZ3NDEKTSV4RRFFQ69G5FAV", "memory://record/\u202e貓",
           "memory://capture/01ARZ3NDEKTSV4RRFFQ69G5FAV?x=1")  # fmt: skip
    answers = []

    async def main() -> None:
        async with stdio(tmp_path / "home") as client:
            await use(client, "memory_remember", text="貓在海邊")

            async def ask() -> None:
                answers.append((await use(client, "memory_search", query="海邊"))["outcome"])

            async with anyio.create_task_group() as group:
                for _ in range(20):
                    group.start_soon(ask)
            for uri in odd:
                with pytest.raises(MCPError, match=r"A resource is|There is no such"):
                    await client.read_resource(uri)

    anyio.run(main)
    assert answers == ["found"] * 20


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


@pytest.mark.parametrize("mode", ERAS)
def test_the_first_answer_waits_for_nothing(mode: str, tmp_path: Path) -> None:
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
    first = ("initialize", INITIALIZE) if mode == "legacy" else ("server/discover", STATELESS)
    server.send(*first, id_=1)
    said = server.read()
    _, loaded = server.end()

    assert said["result"]["instructions"]
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
            capture_output=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_bad_settings_are_told_before_the_protocol(tmp_path: Path) -> None:
    """A scope that cannot be is a sentence on standard error, and nothing on standard output."""
    done = subprocess.run(
        [str(SHIYI), "mcp", "--scope", "no/scope"], input=b"", env=environment(tmp_path / "home"),
        capture_output=True, check=False, timeout=PATIENCE,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"scope name" in done.stderr
