"""Where there are no sockets that have a path: a loopback port with a secret in their place."""

import http.client
import json
import stat
from pathlib import Path

import pytest

import shiyi
from shiyi.cli import call
from shiyi.service.daemon.endpoint import ENDPOINT_FILE, read_endpoint
from tests.service.serving import PATIENCE, Served, command, daemons_of, wait_until


@pytest.fixture(autouse=True)
def without_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIYI_DAEMON_SOCKET", "off")


def ask(address: str, secret: str, **headers: str) -> int:
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        sent = {"Authorization": f"Bearer {secret}"} if secret else {}
        connection.request("POST", "/v1/list", b"{}",
                           {"Content-Type": "application/json", **sent, **headers})  # fmt: skip
        return connection.getresponse().status
    finally:
        connection.close()


def test_everything_goes_the_same_way(served: Served, tmp_path: Path) -> None:
    """Commands, Python, a job with progress, a token's port, and an orderly end."""
    (tmp_path / "notes.md").write_text("備用鑰匙在鐵罐裡。\n", "utf-8")
    home = ["--home", str(served.home)]
    assert call([*home, "remember", "花生過敏"]) == 0
    endpoint = read_endpoint(served.home)
    assert endpoint is not None
    assert call([*home, "import", str(tmp_path / "notes.md")]) == 0
    with shiyi.open(served.home) as memory:
        assert memory.scope("me").search("鑰匙").hits
        assert memory.status().daemon == endpoint.pid
    served.listen()
    assert served.ask("POST", "/v1/search", {"text": "花生"}).json["hits"]

    assert not (served.home / "daemon.sock").exists()
    assert stat.S_IMODE((served.home / ENDPOINT_FILE).stat().st_mode) == 0o600
    assert call([*home, "daemon", "stop"]) == 0
    assert read_endpoint(served.home) is None


@pytest.mark.parametrize("address", ["192.0.2.1:80", "evil.example:80", "127.0.0.1:80@evil", ""])
def test_a_home_from_elsewhere_names_no_other_machine(address: str, tmp_path: Path) -> None:
    """Nothing that is said to a memory goes where an endpoint file that came with it points."""
    told = {"pid": 1, "address": address, "instance": "x", "version": "1", "api": 1, "secret": "s"}
    (tmp_path / ENDPOINT_FILE).write_text(json.dumps(told), "utf-8")

    assert read_endpoint(tmp_path) is None


def test_only_who_can_read_the_home_may_ask(served: Served) -> None:
    """The secret is the owner's; a token does not open this port, nor does another page."""
    call(["--home", str(served.home), "remember", "花生過敏"])
    endpoint = read_endpoint(served.home)
    assert endpoint is not None
    address, secret = endpoint.address, endpoint.secret
    served.listen()

    assert address.startswith("127.0.0.1:")
    assert ask(address, secret) == 200
    assert ask(address, "") == 401
    assert ask(address, "wrong") == 401
    assert ask(address, served.token) == 401
    assert ask(served.url, secret) == 401
    assert ask(address, secret, Origin="http://evil.example") == 403
    assert ask(address, secret, Host="evil.example") == 421
    assert secret.encode() not in (served.home / "daemon.log").read_bytes()


def test_it_comes_back_after_a_kill_and_a_lost_endpoint(served: Served) -> None:
    """A port that is somebody else's now, or no file that tells of one, stops nobody."""
    with shiyi.open(served.home) as memory:
        kept = memory.scope("me").remember("花生過敏").capture_id
        served.kill()
        assert kept in {one.id for one in memory.scope("me").list(what="captures").items}
    first = served.pid()
    (served.home / ENDPOINT_FILE).unlink()
    assert call(["--home", str(served.home), "list"]) == 0

    wait_until(lambda: daemons_of(served.home) == [served.pid()])
    assert served.pid() != first


def test_a_port_that_says_something_else(served: Served) -> None:
    """What answers at the port of a daemon that has gone is not believed."""
    call(["--home", str(served.home), "remember", "花生過敏"])
    told = json.loads((served.home / ENDPOINT_FILE).read_text("utf-8"))
    served.stop()
    other = Served(served.home.with_name("other"))
    try:
        call(["--home", str(other.home), "remember", "別的"])
        theirs = json.loads((other.home / ENDPOINT_FILE).read_text("utf-8"))
        forged = {**theirs, "instance": told["instance"]}
        (served.home / ENDPOINT_FILE).write_text(json.dumps(forged), "utf-8")
        with shiyi.open(served.home) as memory:
            assert [one.title for one in memory.scope("me").list().items] == ["花生過敏"]
            assert memory.status().daemon != theirs["pid"]
    finally:
        other.stop()


@pytest.mark.slow
def test_twelve_cold_clients(served: Served) -> None:
    """All at once: one daemon, and all are answered."""
    clients = [command(served.home, "remember", f"第{n}句") for n in range(12)]
    told = [one.communicate(timeout=120) for one in clients]

    assert [one.returncode for one in clients] == [0] * 12, told
    assert len(daemons_of(served.home)) == 1
