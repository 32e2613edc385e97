"""The HTTP door: who is let in, what is refused, and in which shape."""

import json
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import UsageError
from shiyi.service.http.openapi import openapi, path_of
from shiyi.service.http.openapi import served as served_operations
from shiyi.service.tokens import TOKENS_FILE, create_token
from tests.service.serving import Served

SEARCH = "/v1/search"
ASKED = {"text": "花生"}
ERROR = {"code", "message", "field", "outcome"}  # the one shape of a refusal


@pytest.mark.parametrize(
    ("headers", "token", "status"),
    [
        ({}, None, 200),
        ({}, "", 401),
        ({}, "shiyi_wrong", 401),
        ({"Authorization": "Basic eDp5"}, "", 401),
        ({"Host": "evil.example"}, None, 421),
        ({"Host": "127.0.0.1"}, None, 421),
        ({"Host": "127.0.0.1:1.evil.example"}, None, 421),
        ({"Origin": "http://evil.example"}, None, 403),
        ({"Origin": "http://localhost:3000"}, None, 403),
        ({"Origin": "null"}, None, 403),
        ({"Sec-Fetch-Site": "cross-site"}, None, 403),
        ({"Sec-Fetch-Site": "same-site"}, None, 403),
        ({"Sec-Fetch-Site": "same-origin"}, None, 200),
        ({"Content-Type": "text/plain"}, None, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, None, 415),
        ({"Content-Length": "99999999999"}, None, 413),
    ],
)
def test_who_is_let_in(
    headers: dict[str, str], token: str | None, status: int, door: Served
) -> None:
    """Exact host and origin, a token, JSON; nothing else, and no CORS header ever."""
    reply = door.ask("POST", SEARCH, ASKED, headers, token)

    assert reply.status == status, reply.body
    assert not any(name.lower().startswith("access-control") for name in reply.headers)
    if status != 200:
        assert set(reply.json["error"]) == ERROR


def test_own_origin_is_let_in(door: Served) -> None:
    """Our own pages may ask."""
    reply = door.ask("POST", SEARCH, ASKED, {"Origin": f"http://{door.url}"})

    assert reply.status == 200


def test_health_needs_no_token_and_tells_nothing(door: Served) -> None:
    """They say yes or no; what is counted needs a token."""
    for path in ("/healthz", "/readyz"):
        assert set(door.ask("GET", path, token="").json) == {"status"}
    assert door.ask("GET", "/metrics", token="").status == 401
    assert door.ask("GET", "/v1/hello", token="").status == 401
    assert b"shiyi_calls_total" in door.ask("GET", "/metrics").body
    assert door.ask("GET", "/v1/hello").json["api"] == 1


def test_only_the_owner_controls_the_daemon(door: Served) -> None:
    """A token cannot stop it."""
    assert door.ask("POST", "/v1/daemon/stop", {}).status == 403


def deep(levels: int) -> bytes:
    return b'{"text":' + b"[" * levels + b"]" * levels + b"}"


HOSTILE: list[bytes] = [
    b"", b"null", b"[]", b'"x"', b"1", b"{", b"{}", b"\xff\xfe", b"\0", b'{"text":"\\ud800"}',
    b'{"text":"x","limit":NaN}', b'{"text":"x","limit":Infinity}', b'{"text":"x","limit":1e999}',
    b'{"text":"x","limit":' + b"9" * 5000 + b"}", b'{"text":"x","text":"y"}', deep(100_000),
    deep(500), b'{"text":{"$ref":"x"}}', b'{"text":"x","extra":1}', b'{"text":null}',
    b'{"text":"x","budget":-1}', b'{"text":"x","since":"9999999-99-99"}', b'{"\\ud800":1}',
    b'{"text":"x","topic":["\\udfff"]}', b'{"text":"x","now":"0000-00-00T99:99"}', b'{"text":true}',
    b'{"text":"x","kind":["x"]}', b'{"kind":"fact","attrs":{"a":"\\ud800"},"summary_only":true}',
    b'{"id":"../../etc/passwd"}', b'{"id":"\\u0000"}', b'{"id":"\\ud800"}', b'{"id":1e400}',
    b'{"kind":"fact","attrs":{"a":' + b"9" * 4000 + b'},"summary_only":true,"gist":"x"}',
    b'{"text":"' + "\u202e\u0000".encode() + b'"}', b'{"text":"x","date":"2021-02-31"}',
    b'{"after":"%00"}', b'{"what":"captures","after":"\\ud800"}', b'{"path":"\\u0000"}',
    b'{"text":"' + b"x" * (1 << 20) + b'"}', b'{"scopes":["\\ud800"]}', b'{"name":"\\ud800"}',
]  # fmt: skip


@pytest.mark.parametrize("operation", list(served_operations()), ids=lambda one: one.name)
def test_hostile_bodies_are_refused(operation: Any, door: Served) -> None:
    """Whatever is sent is answered with a refusal or an answer, never with a fault of ours."""
    for body in HOSTILE:
        reply = door.ask("POST", path_of(operation), body)

        assert reply.status < 500, (body[:80], reply.body)
        if reply.status >= 400:
            assert set(reply.json["error"]) == ERROR


@pytest.mark.parametrize("scope", ["%00", "%ff%fe", "..%2f..", "x" * 500, "%ed%a0%80", "a%20b", ""])
def test_hostile_scopes_are_refused(scope: str, door: Served) -> None:
    """A scope is a name, not a path."""
    assert door.ask("POST", f"{SEARCH}?scope={scope}", ASKED).status == 400


def test_a_refusal_names_the_field_and_never_the_value(door: Served) -> None:
    """What was wrong is said without repeating it."""
    reply = door.ask("POST", SEARCH, {"text": "x", "limit": "marker-9f3c"})

    assert reply.status == 400
    assert reply.json["error"]["field"] == "limit"
    assert b"marker" not in reply.body


def test_an_unknown_field_is_not_repeated_at_length(door: Served) -> None:
    """Its name may hold anything, so it is cut, and what cannot be seen is written out."""
    reply = door.ask("POST", SEARCH, {"text": "x", "\u202e" + "長" * 5000: 1})

    assert reply.status == 400
    assert len(reply.json["error"]["message"]) < 300
    assert "\u202e" not in reply.json["error"]["message"]


def test_unknown_addresses(door: Served) -> None:
    """They are refused in the same shape."""
    for method, path in (("POST", "/v1/nothing"), ("GET", "/x"), ("GET", SEARCH), ("PUT", SEARCH)):
        reply = door.ask(method, path, b"{}" if method != "GET" else None)

        assert reply.status in {404, 405}
        assert set(reply.json["error"]) == ERROR


def test_idempotency_and_etags(door: Served) -> None:
    """The usual headers stand for `key` and `if_match`."""
    key = {"Idempotency-Key": "k1"}
    first = door.ask("POST", "/v1/remember?scope=keys", {"text": "花生過敏"}, key)
    again = door.ask("POST", "/v1/remember?scope=keys", {"text": "花生過敏"}, key)
    other = door.ask("POST", "/v1/remember?scope=keys", {"text": "別的"}, key)
    record = first.json["record_id"]
    missed = door.ask(
        "POST", "/v1/edit?scope=keys", {"id": record, "title": "甲"}, {"If-Match": '"0"'}
    )
    edited = door.ask("POST", "/v1/edit?scope=keys", {"id": record, "title": "甲"})
    etag = edited.headers["etag"]
    shown = door.ask("POST", "/v1/show?scope=keys", {"id": record})
    held = door.ask("POST", "/v1/edit?scope=keys", {"id": record, "title": "乙"},
                    {"If-Match": etag})  # fmt: skip

    assert first.json == again.json
    assert shown.headers["etag"] == etag
    assert (other.status, missed.status, held.status) == (409, 412, 200)
    assert door.ask("POST", SEARCH, ASKED, key).status == 400
    both = door.ask("POST", "/v1/remember", {"text": "x", "key": "k2"}, key)
    assert both.json["error"]["field"] is None
    assert both.status == 400
    assert door.ask("POST", "/v1/remember", {"text": "x", "key": []}, key).status == 400


def test_counters_are_of_the_whole_home(door: Served) -> None:
    """A token of one scope does not learn how often others are used."""
    _, secret = create_token(door.home, name="narrow", role="destroy", scopes=["mine"])

    assert door.ask("GET", "/metrics", token=secret).status == 403


def test_a_damaged_file_of_tokens_lets_nobody_in(served: Served) -> None:
    """A refusal, not a fault; and once it is removed, the first token is made anew."""
    served.listen()
    before = served.token
    (served.home / TOKENS_FILE).write_text("{", "utf-8")

    assert served.ask("POST", SEARCH, ASKED).status == 401
    (served.home / TOKENS_FILE).unlink()
    served.listen()
    assert served.token != before
    assert served.ask("GET", "/v1/hello").status == 200


def test_a_port_is_a_number(served: Served) -> None:
    """What is none is refused in a sentence, at both ports."""
    with served.client() as client:
        client.start()
        for port in ("x", -1, 1 << 20, None, [1]):
            client.start()
            with pytest.raises(UsageError, match="port is a number"):
                client.control("dashboard", port=port)
            with pytest.raises(UsageError, match="port is a number"):
                next(client.held("serve", port=port))


def test_a_job_tells_its_progress(door: Served, tmp_path: Path) -> None:
    """One object a line: how far it is, then the answer."""
    (tmp_path / "notes.md").write_text("一段筆記\n", "utf-8")
    door.ask("POST", "/v1/remember?scope=jobs", {"text": "花生過敏"})

    reply = door.ask("POST", "/v1/reindex", {"scope": "jobs"}, {"Accept": "application/x-ndjson"})

    lines = [json.loads(line) for line in reply.body.splitlines()]
    assert all("progress" in line for line in lines[:-1])
    assert lines[-1]["answer"]["indexes"][0]["scope"] == "jobs"
    failed = door.ask("POST", "/v1/reindex", {"scope": "nosuch"},
                      {"Accept": "application/x-ndjson"})  # fmt: skip
    assert json.loads(failed.body.splitlines()[-1])["error"]["code"] == "not_found"


def test_an_answer_as_people_read_it(door: Served) -> None:
    """Markdown says that it is, and stands whole in one line where lines are wanted."""
    asked = {"queries": ["花生"], "format": "markdown"}
    plain = door.ask("POST", "/v1/probe", asked)
    lines = door.ask("POST", "/v1/probe", asked, {"Accept": "application/x-ndjson"})

    assert plain.headers["content-type"].startswith("text/markdown")
    told = json.loads(lines.body.splitlines()[-1])["answer"]
    assert told.splitlines()[0].startswith("outcome: found")
    assert len(told.splitlines()) == len(plain.body.decode().splitlines())


def test_the_description_has_every_operation(door: Served) -> None:
    """OpenAPI is made from the table, and is what is served."""
    told = door.ask("GET", "/v1/openapi.json").json

    assert told == json.loads(json.dumps(openapi()))
    assert set(told["paths"]) == {path_of(one) for one in served_operations()}


def test_words_may_be_longer_than_other_bodies(door: Served) -> None:
    """A megabyte is enough for a question; words have more room."""
    long = "長" * 500_000
    kept = door.ask("POST", "/v1/remember?scope=long", {"text": long, "words_only": True})

    assert kept.status == 200
    assert door.ask("POST", SEARCH, {"text": long}).status == 413
