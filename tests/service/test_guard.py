"""The guard of a TCP port: a table of requests, as browsers and others send them."""

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from shiyi.service.http.guard import Guard, bearer
from shiyi.service.permit import Permit

HOSTS = ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"]
TOKEN = "right"
GOOD = {"host": HOSTS[0], "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}


def answered(*headers: tuple[str, str], method: str = "POST", path: str = "/v1/search") -> int:
    """Return the status of a request."""
    sent: list[MutableMapping[str, Any]] = []

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    guard = Guard(
        app, hosts=HOSTS, keys=[bearer(lambda secret: Permit("read") if secret == TOKEN else None)]
    )
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    asyncio.run(guard(scope, receive, send))
    names = {name.lower() for name, _ in sent[0]["headers"]}
    assert not any(name.startswith(b"access-control") for name in names)
    assert {b"x-content-type-options", b"cache-control"} <= names
    if sent[0]["status"] != 200:
        assert set(json.loads(sent[1]["body"])["error"]) == {"code", "message", "field", "outcome"}
    return int(sent[0]["status"])


def changed(**given: str | None) -> list[tuple[str, str]]:
    headers = GOOD | {name.replace("_", "-"): value for name, value in given.items()}
    return [(name, value) for name, value in headers.items() if value is not None]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8765", 200), ("localhost:8765", 200), ("LOCALHOST:8765", 200),
        ("[::1]:8765", 200), (None, 421), ("", 421), ("127.0.0.1", 421), ("localhost", 421),
        ("127.0.0.1:8766", 421), ("127.0.0.1:08765", 421), ("localhost.:8765", 421),
        ("::1:8765", 421), ("[::1]", 421), ("[::ffff:127.0.0.1]:8765", 421), ("127.1:8765", 421),
        ("0.0.0.0:8765", 421), ("2130706433:8765", 421), ("evil.example", 421),
        ("evil.example:8765", 421), ("127.0.0.1:8765.evil.example", 421),
        ("127.0.0.1.nip.io:8765", 421), ("localhost.evil.example:8765", 421),
        ("evil.example#127.0.0.1:8765", 421), ("user@127.0.0.1:8765", 421),
        ("127.0.0.1:8765 ", 421), ("127.0.0.1:8765,evil.example", 421), ("ｌocalhost:8765", 421),
    ],
)  # fmt: skip
def test_hosts(host: str | None, status: int) -> None:
    """Only the exact names and the port under which the service is addressed."""
    if host and not host.isascii():
        host = host.encode().decode("latin-1")
    assert answered(*changed(host=host)) == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200), ("http://127.0.0.1:8765", 200), ("http://localhost:8765", 200),
        ("http://[::1]:8765", 200), ("null", 403), ("", 403), ("*", 403),
        ("http://127.0.0.1", 403), ("https://127.0.0.1:8765", 403), ("http://localhost:3000", 403),
        ("http://127.0.0.1:8765.evil.example", 403), ("http://127.0.0.1:87650", 403),
        ("http://evil.example", 403), ("http://localhost:8765@evil.example", 403),
        ("http://127.0.0.1:8765/", 403), ("file://", 403), ("chrome-extension://abcdef", 403),
        ("http://127.0.0.1:8765 http://evil.example", 403),
    ],
)  # fmt: skip
def test_origins(origin: str | None, status: int) -> None:
    """No page asks but our own."""
    assert answered(*changed(origin=origin)) == status


@pytest.mark.parametrize(
    ("site", "status"),
    [(None, 200), ("none", 200), ("same-origin", 200), ("same-site", 403), ("cross-site", 403),
     ("", 403), ("SAME-ORIGIN", 403), ("none, cross-site", 403)],
)  # fmt: skip
def test_sites(site: str | None, status: int) -> None:
    """What a browser says of where a request began."""
    assert answered(*changed(sec_fetch_site=site)) == status


@pytest.mark.parametrize(
    ("authorization", "status"),
    [("Bearer right", 200), ("bearer right", 200), ("Bearer  right", 200), (None, 401), ("", 401),
     ("Bearer", 401), ("Bearer ", 401), ("right", 401), ("Basic right", 401),
     ("Bearer wrong", 401), ("Bearer right wrong", 401), ("Bearer rightx", 401)],
)  # fmt: skip
def test_tokens(authorization: str | None, status: int) -> None:
    """Exactly one bearer token that holds."""
    assert answered(*changed(authorization=authorization)) == status


@pytest.mark.parametrize("name", ["host", "origin", "authorization", "sec-fetch-site"])
def test_a_header_that_comes_twice(name: str) -> None:
    """Two that say different things are not chosen from."""
    other = {"host": "evil.example", "origin": "http://evil.example",
             "authorization": "Bearer other", "sec-fetch-site": "cross-site"}[name]  # fmt: skip
    first = {"origin": f"http://{HOSTS[0]}", "sec-fetch-site": "none", **GOOD}[name]
    rest = [(one, value) for one, value in GOOD.items() if one != name]

    for twice in ([(name, first), (name, other)], [(name, other), (name, first)]):
        assert answered(*rest, *twice) in {401, 403, 421}


def test_open_addresses_need_no_token_but_the_right_host() -> None:
    """Health says yes or no, to whoever asks for it by its name."""
    for path in ("/healthz", "/readyz"):
        assert answered(("host", HOSTS[0]), method="GET", path=path) == 200
        assert answered(("host", "evil.example"), method="GET", path=path) == 421
    assert answered(("host", HOSTS[0]), method="GET", path="/healthz/../v1/hello") == 401
    assert answered(("host", HOSTS[0]), method="GET", path="/metrics") == 401
