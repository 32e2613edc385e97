"""What no well-meaning client sends: refused or answered, in the one shape."""

import json
import re

import pytest

from tests.service.serving import Served
from tests.service.test_limits import answer, is_over, talking

CHUNKS = "Transfer-Encoding: chunked"
LISTED = b"2\r\n{}\r\n0\r\n\r\n"


def request(
    door: Served, *headers: str, body: bytes = b"{}", path: str = "/v1/list", method: str = "POST",
    version: str = "1.1", host: bool = True, length: bool = True,
) -> bytes:  # fmt: skip
    """Return a request of a token, changed as it is wanted."""
    own = [f"Authorization: Bearer {door.token}", "Content-Type: application/json"]
    own += [f"Host: {door.url}"] if host else []
    own += [f"Content-Length: {len(body)}"] if length else []
    lines = [f"{method} {path} HTTP/{version}", *own, *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def plain(door: Served, sent: bytes) -> tuple[int, bytes]:
    with talking(door.url, sent) as one:
        status, headers, body = answer(one)
    assert not any(name.startswith("access-control") for name in headers)
    return status, body


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ([CHUNKS], b"zz\r\n{}\r\n0\r\n\r\n", 400),
        ([CHUNKS], b"-2\r\n{}\r\n0\r\n\r\n", 400),
        ([CHUNKS], b"2\r\n{}XX0\r\n\r\n", 400),
        ([CHUNKS], b"2;" + b"a" * 200_000 + b"\r\n{}\r\n0\r\n\r\n", 400),
        ([CHUNKS], b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 20_000, 400),
        ([CHUNKS, CHUNKS], LISTED, 400),
        ([CHUNKS, "Content-Length: 2"], LISTED, 400),
        ([CHUNKS], LISTED, 200),
        (["Transfer-Encoding: gzip"], b"{}", 400),
        (["Content-Length: 2", "Content-Length: 5"], b"{}", 400),
        (["Content-Length: -1"], b"{}", 400),
        (["Content-Length: +2"], b"{}", 400),
        (["Content-Length: 0x2"], b"{}", 400),
        (["Content-Length: \xb2"], b"{}", 400),
        (["Content-Length: 99999999999999999999"], b"{}", 400),
        (["Content-Length: 70000000"], b"{}", 413),
        (["Content-Encoding: gzip", "Content-Length: 3"], b"\x1f\x8b\x08", 400),
        (["Content-Length: 4"], b"\xff\xfe{\0", 400),
        (["Content-Length: 5"], b"\xef\xbb\xbf{}", 400),
    ],
    ids=lambda one: str(one)[:40],
)
def test_bodies(headers: list[str], body: bytes, status: int, door: Served) -> None:
    """Lengths and chunks that lie, say it twice, or are no numbers."""
    told, text = plain(door, request(door, *headers, body=body, length=False))

    assert told == status
    if status != 200:
        assert set(json.loads(text)["error"]) == {"code", "message", "field", "outcome"}


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"headers": ["X: " + "a" * 1_000_000]}, 400),
        ({"headers": [f"X{n}: 1" for n in range(20_000)]}, 400),
        ({"path": "/v1/" + "a" * 1_000_000}, 400),
        ({"headers": ["X: a\0b"]}, 400), ({"path": "/v1/li\0st"}, 400), ({"path": "/v1/l t"}, 400),
        ({"path": "/v1/\xe9"}, 400), ({"headers": ["X : a"]}, 400),
        ({"headers": ["Host: evil.example"]}, 400), ({"host": False}, 400),
        ({"host": False, "version": "1.0"}, 421), ({"version": "1.0"}, 200),
        ({"version": "2.0"}, 400), ({"version": "1.9"}, 400),
        ({"headers": ["Content-Type: text/plain"]}, 415),
        ({"headers": ["Authorization: Bearer x"]}, 401),
        ({"headers": ["Upgrade: websocket", "Connection: Upgrade"]}, 200),
        ({"headers": ["Shiyi-Client: {}"]}, 200),  # a token's are not read
        ({"method": "OPTIONS"}, 405), ({"method": "TRACE"}, 405), ({"method": "post"}, 405),
        ({"method": "G" * 3000}, 405), ({"method": "OPTIONS", "path": "*"}, 404),
        ({"path": "http://evil.example/v1/list"}, 404),
        ({"path": "/v1/%6cist"}, 200), ({"path": "/v1/list%00"}, 404), ({"path": "//v1/list"}, 404),
        ({"path": "/v1//list"}, 404), ({"path": "/v1/list/"}, 404), ({"path": "/metrics/"}, 404),
        ({"path": "/v1/%2e%2e/v1/list"}, 404), ({"path": "/healthz/../v1/list"}, 404),
        ({"path": "/v1/daemon%2fstop"}, 403), ({"path": "/v1/token%20list"}, 403),
        ({"path": "/v1/list?scope=me&scope=other"}, 400), ({"path": "/v1/list?scope=%"}, 400),
        ({"path": "/v1/list?%73cope=a%20b"}, 400), ({"path": "/v1/list?scope=%ff"}, 400),
        ({"path": "/v1/list?scope=" + "a" * 10_000}, 400),
    ],
    ids=lambda one: str(one)[:60],
)  # fmt: skip
def test_heads(changed: dict[str, object], status: int, door: Served) -> None:
    """Too long, in two minds, in other words, or for somebody else."""
    headers = changed.pop("headers", [])
    assert isinstance(headers, list)
    told, text = plain(door, request(door, *headers, **changed))  # type: ignore[arg-type]

    assert told == status
    if status != 200:
        assert set(json.loads(text)["error"]) == {"code", "message", "field", "outcome"}


def test_what_is_no_http(door: Served) -> None:
    """Refused in a sentence, and the connection ends."""
    for sent in (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\0" * 500, b"\0\xff" * 5000):
        with talking(door.url, sent) as one:
            assert answer(one)[0] == 400
            assert is_over(one)


def test_requests_in_a_row(door: Served) -> None:
    """Many at once on one connection are answered in turn, each by its own token."""
    other = request(door).replace(door.token.encode(), b"wrong")
    with talking(door.url, (request(door) + other) * 50) as one:
        text = b""
        while len(told := re.findall(rb"HTTP/1\.1 (\d+)", text)) < 100:
            text += one.recv(1 << 20)

    assert told == [b"200", b"401"] * 50


def test_half_a_request_and_gone(door: Served) -> None:
    """Nothing is kept of one that ends in the middle of its words."""
    words = b'{"text": "ZQX halb'
    for headers, body in (([CHUNKS], b"ff\r\n" + words), (["Content-Length: 99"], words)):
        sent = request(door, *headers, body=body, path="/v1/remember?scope=half", length=False)
        with talking(door.url, sent) as one:
            one.shutdown(1)
            assert is_over(one)

    assert door.ask("POST", "/v1/list?scope=half", {"what": "captures"}).json["items"] == []
