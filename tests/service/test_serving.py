"""`shiyi serve`: at which addresses, by which names, with which settings, and for how long."""

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from shiyi.cli import call
from shiyi.core.errors import UsageError
from shiyi.core.settings import load_settings
from shiyi.service.daemon.client import Client
from tests.service.serving import PATIENCE, Served, command, wait_until

NAME = "Memory.example"


def own_address() -> str:
    """Return an address of this machine that others reach, if there is one; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return str(one.getsockname()[0])


def has_six() -> bool:
    with socket.socket(socket.AF_INET6) as one:
        try:
            one.bind(("::1", 0))
        except OSError:
            return False
    return True


OWN = own_address()
six = pytest.mark.skipif(not has_six(), reason="no IPv6 here")


@contextmanager
def serving(served: Served, model: str = "none", **wanted: Any) -> Iterator[tuple[str, int]]:
    """Serve for the length of the block, as the command does; yields the address and the port."""
    with Client(served.home, load_settings(served.home, model=model)) as client:
        client.start()
        with closing(client.held("serve", **wanted)) as held:
            url = next(held)["url"]
            yield url, int(url.rpartition(":")[2])


def status(address: str, port: int, host: str, token: str) -> int:
    """Ask at an address under the name of a host; return the status."""
    connection = http.client.HTTPConnection(address, port, timeout=PATIENCE)
    try:
        headers = {"Host": host} | ({"Authorization": f"Bearer {token}"} if token else {})
        connection.request("GET", "/v1/hello", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def is_open(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.fixture
def token(served: Served) -> str:
    served.listen()
    return served.token


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.0.2.7", "::ffff:127.0.0.1"])
def test_others_reach_it_only_when_that_is_allowed(
    bind: str, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it would mean is said, and nothing is started."""
    assert call(["--home", str(served.home), "serve", "--bind", bind]) == 2
    assert "With --allow-remote whoever" in capsys.readouterr().err
    assert not served.home.exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--bind", "localhost"), ("--bind", ""), ("--name", "x:80"), ("--name", "http://x"),
     ("--name", "a b"), ("--name", ""), ("--name", "-x"), ("--name", "[::1]")],
)  # fmt: skip
def test_addresses_and_names(option: str, value: str, served: Served) -> None:
    """An address to listen at is a number; a name has no port."""
    assert call(["--home", str(served.home), "serve", option, value]) == 2
    assert not served.home.exists()


@pytest.mark.parametrize(
    ("bind", "at", "yes"),
    [
        (OWN, OWN, [OWN, "localhost", "127.0.0.1", NAME]),
        ("0.0.0.0", OWN, [OWN, "localhost", "127.0.0.1", NAME]),
        ("0.0.0.0", "127.0.0.3", ["127.0.0.3"]),
        pytest.param("::1", "::1", ["[::1]", "localhost", NAME], marks=six),
        pytest.param("0:0:0:0:0:0:0:1", "::1", ["[::1]"], marks=six),
        pytest.param("::", "::1", ["[::1]", NAME], marks=six),
        pytest.param("::", OWN, [OWN], marks=six),
    ],
)
def test_by_which_names(bind: str, at: str, yes: list[str], door: Served) -> None:
    """By the address it was reached at, localhost and the names given; nothing else, ever."""
    no = ["0.0.0.0", "[::]", "evil.example", "192.0.2.9", "memory.example.", "sub.memory.example",
          f"[::ffff:{OWN}]", "127.0.0.9", "[fd00::9]"]  # fmt: skip
    token = door.token
    with serving(door, bind=bind, names=[NAME]) as (_, port):
        for host in yes:
            assert status(at, port, f"{host}:{port}", token) == 200, host
            assert status(at, port, f"{host.upper()}:{port}", token) == 200, host
            assert status(at, port, f"{host}:{port}", "") == 401, host
            assert status(at, port, host, token) == 421, host
            assert status(at, port, f"{host}:{port + 1}", token) == 421, host
        for host in no:
            assert status(at, port, f"{host}:{port}", token) == 421, host


def test_an_address_of_others_is_none_of_ours(door: Served) -> None:
    """What is served at every address is called by that at which it was reached, not by another."""
    token = door.token
    with serving(door, bind="0.0.0.0") as (_, port):
        assert status("127.0.0.3", port, f"{OWN}:{port}", token) == 421
        origin = http.client.HTTPConnection(OWN, port, timeout=PATIENCE)
        for page, told in ((f"http://{OWN}:{port}", 200), ("http://evil.example", 403)):
            headers = {"Authorization": f"Bearer {token}", "Origin": page}
            origin.request("GET", "/v1/hello", headers=headers)
            reply = origin.getresponse()
            reply.read()
            assert reply.status == told
        origin.close()


def test_the_command(served: Served) -> None:
    """It says where, what is exposed and where the token is; a daemon that is lost comes back."""
    words = ["serve", "--port", "0", "--bind", OWN, "--allow-remote", "--name", NAME]
    running = command(served.home, *words)
    try:
        assert running.stdout is not None
        where = running.stdout.readline().decode()
        said = running.stdout.readline().decode()
        url = where.partition(" at ")[2].partition("/v1/")[0]
        port = int(url.rpartition(":")[2])
        secret = (served.home / "http-token").read_text("ascii").strip()

        assert url == f"http://{OWN}:{port}"
        assert str(served.home / "http-token") in said
        assert status(OWN, port, f"{NAME}:{port}", secret) == 200
        served.kill()
        wait_until(lambda: is_open(OWN, port))
        assert status(OWN, port, f"{NAME}:{port}", secret) == 200
    finally:
        running.send_signal(signal.SIGTERM)
        _, told = running.communicate(timeout=PATIENCE)

    assert running.returncode == 0
    if OWN != "127.0.0.2":
        assert told.decode().startswith("Exposed: every operation but those for the owner")
        assert "the address, memory.example or localhost" in told.decode()
    wait_until(lambda: not is_open(OWN, port))


def test_who_stops_the_daemon_is_told_of_what_starts_it_again(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that serves wants one."""
    with serving(served) as (url, _):
        assert call(["--home", str(served.home), "daemon", "stop"]) == 0
    told = capsys.readouterr()

    assert "The daemon has left." in told.out
    assert f"The `shiyi serve` at {url} starts it again" in told.err


def test_several_serve_one_home(served: Served) -> None:
    """Each has a port of its own, and ends no other; one that is taken already is refused."""
    with serving(served) as (first, port):
        with serving(served) as (second, other):
            assert first != second
            again = serving(served, port=port)
            with pytest.raises(UsageError, match="already, by another `shiyi serve`"), again:
                pass
            with served.client() as client:
                client.start()
                assert set(client.control("state")["urls"]) == {first, second}
        wait_until(lambda: not is_open("127.0.0.1", other))
        assert is_open("127.0.0.1", port)
    wait_until(lambda: not is_open("127.0.0.1", port))
    with serving(served, port=port) as (third, _):
        assert third == first


def test_the_settings_are_those_of_who_serves(served: Served, token: str) -> None:
    """Not those with which the daemon was started, nor those of another who serves."""
    with serving(served, model="hashing") as (url, _):
        served.ask("POST", "/v1/remember", {"text": "花生過敏"})
        none = served.ask("POST", "/v1/status", {}).json
        served.url = url.removeprefix("http://")
        hashing = served.ask("POST", "/v1/status", {}).json
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "memory_status", "arguments": {}}}  # fmt: skip
        accept = {"Accept": "application/json, text/event-stream"}
        agent = served.ask("POST", "/mcp/", body, accept).json

    assert token
    assert (none["model"], none["mode"]) == ("none", "keyword")
    assert (hashing["model"], hashing["mode"]) == ("hashing", "hybrid")
    assert json.loads(agent["result"]["content"][0]["text"])["model"] == "hashing"
