"""How much a port takes: of a token's calls, of bodies, of connections, and how slowly."""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from shiyi.core.errors import TooManyError
from shiyi.service.daemon.listening import tcp_socket
from shiyi.service.daemon.servers import Servers
from shiyi.service.http import connection, intake
from shiyi.service.http.guard import Guard, Receive, Scope, Send
from shiyi.service.http.intake import Intake
from shiyi.service.permit import Permit
from shiyi.service.rates import MOST_AT_ONCE, Rates
from shiyi.service.tokens import create_token
from tests.service.serving import PATIENCE, Served, wait_until

ERROR = {"code", "message", "field", "outcome"}
REMEMBER = "/v1/remember?scope=limits"


@contextmanager
def talking(url: str, *said: bytes) -> Iterator[socket.socket]:
    """Connect and say something."""
    host, _, port = url.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as one:
        for part in said:
            one.sendall(part)
        yield one


def head(door: Served, token: str, length: int | str, path: str = REMEMBER) -> bytes:
    """Return the head of a request."""
    size = "Transfer-Encoding: chunked" if length == "chunked" else f"Content-Length: {length}"
    return (
        f"POST {path} HTTP/1.1\r\nHost: {door.url}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\n{size}\r\n\r\n"
    ).encode()


def answer(one: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one answer."""
    text = b""
    while b"\r\n\r\n" not in text:
        part = one.recv(65536)
        assert part, text
        text += part
    top, _, body = text.partition(b"\r\n\r\n")
    first, *lines = top.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers["content-length"]):
        body += one.recv(65536)
    return int(first.split()[1]), headers, body


def test_calls_are_counted_before_their_bodies(door: Served) -> None:
    """Whoever sends nothing holds a place all the same; the next is refused, others are not."""
    token, other = (create_token(door.home, name=None, role="write", scopes=None)[1] for _ in "ab")
    with ExitStack() as held:
        for _ in range(MOST_AT_ONCE):
            held.enter_context(talking(door.url, head(door, token, 60 << 20), b'{"text"'))
        wait_until(lambda: door.ask("POST", "/v1/list", {}, token=token).status == 429)
        refused = door.ask("POST", "/v1/list", {}, token=token)
        assert door.ask("POST", "/v1/list", {}, token=other).status == 200

    assert refused.json["error"]["code"] == "too_many"
    assert int(refused.headers["retry-after"]) >= 1
    wait_until(lambda: door.ask("POST", "/v1/list", {}, token=token).status == 200)


@pytest.mark.parametrize("length", [60 << 20, "chunked"])
def test_permission_is_looked_at_before_the_body(length: int | str, door: Served) -> None:
    """What may not be done is refused without a byte of it, at every step."""
    reading = create_token(door.home, name=None, role="read", scopes=["limits"])[1]
    for path, status in (
        (REMEMBER, 403), ("/v1/list?scope=other", 403), ("/v1/nothing", 404),
        ("/v1/list?scope=a%20b", 400), ("/v1/daemon/stop", 403), ("/v1/version", 404),
    ):  # fmt: skip
        with talking(door.url, head(door, reading, length, path)) as one:
            told, _, body = answer(one)

        assert told == status, path
        assert set(json.loads(body)["error"]) == ERROR


def test_a_refused_upload_is_told_why(door: Served) -> None:
    """Its rest is thrown away, so that the answer arrives, and the connection serves on."""
    with talking(door.url, head(door, "wrong", 4 << 20), b"x" * (4 << 20)) as one:
        assert answer(one)[0] == 401
        one.sendall(head(door, door.token, 2, "/v1/list") + b"{}")
        assert answer(one)[0] == 200


def test_an_agent_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where agents ask, a call waits until another one ends; else it is told in their form."""
    rates, sent = Rates(), []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response()(scope, receive, send)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    guard = Guard(
        app, hosts=["h:1"], keys=[lambda *_: Permit("read")], patient=["/mcp"],
        count=partial(rates.call, calls=0),
    )  # fmt: skip

    async def ask(path: str) -> tuple[int, bytes]:
        sent.clear()
        await guard({"type": "http", "method": "GET", "path": path,
                     "headers": [(b"host", b"h:1")]}, receive, send)  # fmt: skip
        return sent[0]["status"], sent[1]["body"]

    async def main() -> None:
        going = ExitStack()
        for _ in range(MOST_AT_ONCE):
            going.enter_context(rates.call(Permit("read").name, calls=0))
        assert (await ask("/v1/list"))[0] == 429
        asyncio.get_running_loop().call_later(0.05, going.close)
        assert (await ask("/mcp/"))[0] == 200
        with ExitStack() as going:
            for _ in range(MOST_AT_ONCE):
                going.enter_context(rates.call(Permit("read").name, calls=0))
            monkeypatch.setattr("shiyi.service.http.guard._MOST_WAITING", 1)
            first = asyncio.ensure_future(ask("/mcp/"))
            await asyncio.sleep(0)
            assert (await ask("/mcp/"))[0] == 429
            first.cancel()
            monkeypatch.setattr("shiyi.service.http.guard._PATIENCE", 0.0)
            await asyncio.wait([first])
            status, body = await ask("/mcp/")
        told = json.loads(body)
        assert (status, told["jsonrpc"], told["id"]) == (429, "2.0", None)
        assert "calls going already" in told["error"]["message"]

    asyncio.run(main())


def test_calls_a_minute() -> None:
    """Each caller by itself; what is refused says when to come back, and costs nothing."""
    rates = Rates()
    for _ in range(3):
        with rates.call("one", calls=3):
            pass
    for _ in range(2):
        with pytest.raises(TooManyError) as raised, rates.call("one", calls=3):
            pass
        assert 10 < raised.value.wait <= 20
    with rates.call("two", calls=3), rates.call("two", calls=0):
        pass


def test_too_many_calls_are_told_when_to_come_back(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """429 with Retry-After, by the settings of who serves; refusals are counted."""
    monkeypatch.setenv("SHIYI_TOKEN_RATE", "3")
    served.listen()
    replies = [served.ask("POST", "/v1/list", {})]
    while replies[-1].status != 429 and len(replies) < 30:  # a slow machine earns some back
        replies.append(served.ask("POST", "/v1/list", {}))

    assert len(replies) >= 4
    assert replies[-1].status == 429
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 20
    assert replies[-1].json["error"]["code"] == "too_many"
    monkeypatch.setenv("SHIYI_TOKEN_RATE", "0")
    served.listen()
    assert b'shiyi_refused_total{code="too_many"} 1.0' in served.ask("GET", "/metrics").body


# What follows has short times, so the server is in this process.


async def echo(request: Request) -> Response:
    """Answer with the length of the body."""
    return Response(str(len(await request.body())))


async def much(_: Request) -> Response:
    """Answer with more than anybody reads."""

    async def parts() -> Any:
        for _ in range(4096):
            yield b"x" * 65536

    return StreamingResponse(parts())


def serving(work: Callable[[str], None]) -> None:
    """Do something in a thread while a server of ours answers at the address."""

    async def main() -> None:
        listener, servers = tcp_socket("127.0.0.1", 0), Servers()
        app = Starlette(routes=[Route("/echo", echo, methods=["POST"]), Route("/much", much)])
        await servers.serve(Intake(app), listener)
        try:
            port = listener.getsockname()[1]
            await asyncio.to_thread(work, f"127.0.0.1:{port}")
        finally:
            await servers.stop()

    asyncio.run(main())


def post(length: int) -> bytes:
    return f"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()


def is_over(one: socket.socket) -> bool:
    """Tell whether the other side ends the connection."""
    try:
        while one.recv(1 << 20):
            pass
    except ConnectionResetError:
        pass
    return True


def test_a_head_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing said, a head in drops, and a second head after an answer: none is waited for long."""
    monkeypatch.setattr(connection, "HEAD", 0.6)

    def work(url: str) -> None:
        with talking(url) as silent, talking(url, b"POST /echo HTT") as half:
            assert is_over(silent)
            told, headers, body = answer(half)
            assert (told, headers["connection"]) == (408, "close")
            assert json.loads(body)["error"]["code"] == "too_slow"
            assert is_over(half)
        with talking(url, post(2) + b"{}") as again:
            assert answer(again)[0] == 200
            again.sendall(b"POST /ec")
            assert answer(again)[0] == 408

    serving(work)


def test_a_body_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that stands still is refused; one that goes on is taken, however long that is."""
    monkeypatch.setattr(intake, "_GRACE", 0.6)
    monkeypatch.setattr(intake, "_PACE", 1 << 17)

    def work(url: str) -> None:
        with talking(url, post(10), b"x") as still:
            told, _, body = answer(still)
            assert (told, json.loads(body)["error"]["code"]) == (408, "too_slow")
        with talking(url, post(3 << 20)) as steady:
            for _ in range(12):
                steady.sendall(b"x" * (1 << 18))
                time.sleep(0.1)
            assert answer(steady)[2] == str(3 << 20).encode()

    serving(work)


def test_what_is_left_of_a_refused_body_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload that nobody wants is not thrown away for ever."""
    monkeypatch.setattr(connection, "REST", 0.3)

    def work(url: str) -> None:
        with talking(url, post(1 << 30).replace(b"/echo", b"/none")) as one:
            assert answer(one)[0] == 404
            assert is_over(one)

    serving(work)


def test_an_answer_is_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever does not read it is not waited for."""
    monkeypatch.setattr(connection, "READ", 0.3)

    def work(url: str) -> None:
        with talking(url, b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n") as one:
            time.sleep(2)
            read = 0
            while part := one.recv(1 << 20):
                read += len(part)
            assert read < 4096 * 65536

    serving(work)


def test_there_are_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is idle for longest makes room; when all are at work, one is told to wait."""
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 4)
    asking = post(2).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")

    def work(url: str) -> None:
        with ExitStack() as held:
            idle = [held.enter_context(talking(url)) for _ in range(5)]
            assert is_over(idle[0])
            busy = [held.enter_context(talking(url, asking)) for _ in range(4)]
            assert all(one.recv(100).startswith(b"HTTP/1.1 100 ") for one in busy)
            with talking(url, post(2) + b"{}") as one:
                told, headers, body = answer(one)
                assert (told, headers["retry-after"]) == (503, "1")
                assert json.loads(body)["error"]["code"] == "busy"
                assert is_over(one)
            for one in busy:
                one.sendall(b"{}")
                assert answer(one)[0] == 200

    serving(work)


def test_long_bodies_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for so much at once; one more waits a moment, and is told to come back."""
    monkeypatch.setattr(intake, "LONG", 1000)
    monkeypatch.setattr(intake, "ROOM", 6500)
    monkeypatch.setattr(intake, "_ROOM", 0.3)

    def work(url: str) -> None:
        with ExitStack() as held:
            long = [held.enter_context(talking(url, post(3000), b"x" * 2000)) for _ in range(2)]
            with talking(url, post(1000) + b"x" * 1000) as short:
                assert answer(short)[0] == 200
            with talking(url, post(3000), b"x" * 2000) as one:
                told, headers, body = answer(one)
                assert (told, headers["retry-after"]) == (503, "1")
                assert json.loads(body)["error"]["outcome"] == "unavailable"
            for one in long:
                one.sendall(b"x" * 1000)
                assert answer(one)[2] == b"3000"
            with talking(url, post(3000) + b"x" * 3000) as one:
                assert answer(one)[2] == b"3000"

    serving(work)
