"""One owner: clients find the daemon, start it, outlive it, and are told what is wrong."""

import json
import os
import signal
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.cli import call
from shiyi.core.errors import DaemonError, HomeBusyError, HomeError, VersionSkewError
from shiyi.service.daemon import client as client_module
from shiyi.service.daemon.callers import There, open_caller
from shiyi.service.daemon.endpoint import ENDPOINT_FILE, read_endpoint
from shiyi.service.session import Session
from shiyi.service.table.operations import find_operation
from shiyi.store import Store
from tests.service.serving import PATIENCE, Served, command, daemons_of, is_alive, wait_until

MARKER = "記號七三一 marker-9f3c"


def test_a_daemon_is_started_once_and_used(served: Served) -> None:
    """The first call starts it; the second, and Python, find it; status tells of it."""
    assert call(["--home", str(served.home), "remember", "花生過敏"]) == 0
    first = served.pid()
    with shiyi.open(served.home) as memory:
        assert memory.scope("me").search("花生").hits
        assert memory.status().daemon == first

    assert daemons_of(served.home) == [first]
    for name in ("daemon.sock", ENDPOINT_FILE, "daemon.log"):
        assert stat.S_IMODE((served.home / name).stat().st_mode) == 0o600


def test_judging_by_hand_asks_the_daemon(served: Served, tmp_path: Path) -> None:
    """What somebody judges is found by the daemon, which goes on and keeps no trace."""
    shown: list[str] = []
    keys = iter("2q")
    with open_caller(str(served.home), show=shown.append, ask=lambda: next(keys)) as caller:
        assert isinstance(caller, There)
        kept: Any = caller.call(find_operation("remember"), {"text": "花生過敏"})
        pid = served.pid()
        values = {"query": ["花生"], "directory": str(tmp_path / "judged")}
        judged: Any = caller.call(find_operation("eval label"), values)
        traces: Any = caller.call(find_operation("trace"), {})

    judgement = json.loads((tmp_path / "judged" / "judgements.jsonl").read_text("utf-8"))
    assert judged.done == judged.total == 1
    assert judgement["document"] in {kept.record_id, kept.capture_id}
    assert any("花生過敏" in text for text in shown)
    assert served.pid() == pid
    assert is_alive(pid)
    assert traces.traces == []


def test_it_comes_back_after_a_kill(served: Served) -> None:
    """Whoever asks next starts another one, and what was kept is there."""
    with shiyi.open(served.home) as memory:
        me = memory.scope("me")
        kept = me.remember("花生過敏")
        served.kill()
        assert me.show(kept.capture_id).capture.text == "花生過敏"  # type: ignore[union-attr]
        served.kill()
        assert me.remember("喜歡散步").capture_id


def test_it_leaves_when_nobody_asks(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the idle time nothing is left behind, and the next call starts anew."""
    monkeypatch.setenv("SHIYI_DAEMON_IDLE", "1")
    call(["--home", str(served.home), "remember", "花生過敏"])
    wait_until(lambda: not (served.home / "owner.json").exists())

    assert read_endpoint(served.home) is None
    assert not (served.home / "daemon.sock").exists()
    assert call(["--home", str(served.home), "list"]) == 0


def test_stale_endpoint_and_removed_socket(served: Served) -> None:
    """Neither a file that tells of nobody nor a socket that is gone stops anybody."""
    with served.client() as client:
        client.start()
        (served.home / "daemon.sock").unlink()
    with served.client() as client:
        hello = client.start()
        text = (served.home / ENDPOINT_FILE).read_text("utf-8")
    served.stop()
    (served.home / ENDPOINT_FILE).write_text(text, "utf-8")
    with served.client() as client:
        assert client.start()["instance"] != hello["instance"]


def test_a_long_path_has_its_socket_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel takes no long names for sockets; the runtime directory has a short one."""
    monkeypatch.setenv("SHIYI_DAEMON", "on")
    monkeypatch.setenv("SHIYI_MODEL", "none")
    monkeypatch.setenv("SHIYI_DAEMON_IDLE", "120")
    one = Served(tmp_path / ("長" * 60) / "home")
    try:
        assert call(["--home", str(one.home), "remember", "花生過敏"]) == 0
        endpoint = read_endpoint(one.home)
        assert endpoint is not None
        assert len(os.fsencode(endpoint.address)) <= 100
        assert stat.S_IMODE(Path(endpoint.address).parent.stat().st_mode) == 0o700
    finally:
        one.stop()


def test_a_home_that_somebody_owns(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who owns a home in its own process keeps it, and a daemon's home is refused to others."""
    with Store(served.home, create=True), pytest.raises(HomeBusyError, match="is in use by"):
        shiyi.open(served.home)
    call(["--home", str(served.home), "remember", "花生過敏"])
    with pytest.raises(HomeBusyError, match="shiyi daemon stop"):
        shiyi.open(served.home, embedded=True)


def test_reading_makes_no_home(served: Served) -> None:
    """A home that is not there needs no daemon to say so."""
    assert call(["--home", str(served.home), "list"]) == 66
    with pytest.raises(HomeError, match="no memory"):
        shiyi.open(served.home, create=False)

    assert not served.home.exists()


def test_a_home_that_is_being_made(served: Served) -> None:
    """Who found no home, and then a daemon that just made it, asks that daemon."""

    def late() -> Session:
        call(["--home", str(served.home), "remember", "花生過敏"])
        return Session(served.home)

    with There(served.client(), late) as caller:
        listed: Any = caller.call(find_operation("list"), {})
    assert [item.title for item in listed.items] == ["花生過敏"]


def test_other_versions_are_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that speaks another way says what to run."""
    with served.client() as client:
        client.start()
        monkeypatch.setattr(client_module, "API", 99)
        with pytest.raises(VersionSkewError, match="shiyi daemon restart"):
            client.start()


def test_a_daemon_that_stands_still(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process is not waited for without end, and nothing is sent to it."""
    monkeypatch.setattr(client_module, "_CONNECT", 0.5)
    with served.client() as client:
        pid = client.start()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        with served.client() as client, pytest.raises(DaemonError, match="does not answer"):
            client.call(find_operation("status"), {}, None)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_no_log_holds_what_was_said(served: Served) -> None:
    """Not words, not questions, not names of scopes, whatever goes wrong."""
    home = ["--home", str(served.home), "--scope", "marker-9f3c"]
    for words in (
        ["remember", MARKER], ["search", MARKER], ["search", MARKER, "--since", MARKER],
        ["show", MARKER], ["import", f"/nowhere/{MARKER}"], ["edit", MARKER, "--title", MARKER],
        ["absence", MARKER], ["reindex"],
    ):  # fmt: skip
        call([*home, *words])
    served.listen()
    served.ask("POST", f"/v1/search?scope={'marker-9f3c'}", {"text": MARKER})
    served.ask("GET", "/marker-9f3c")
    served.stop()
    told = b"".join(
        path.read_bytes()
        for path in served.home.iterdir()
        if path.suffix in {".log", ".json"} or path.name in {"lock", "spawn.lock"}
    )

    assert b"listening" in told
    assert b"marker-9f3c" not in told
    assert "記號七三一".encode() not in told


def test_the_daemon_keeps_no_passphrase(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of the command that starts one, and lives no longer."""
    monkeypatch.setenv("SHIYI_PASSPHRASE", MARKER)
    assert call(["--home", str(served.home), "remember", "花生過敏"]) == 0

    assert MARKER.encode() not in Path(f"/proc/{served.pid()}/environ").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serving_ends_with_a_signal(served: Served, number: int) -> None:
    """A service manager ends it as Ctrl-C does: the port is closed, the daemon stays.

    The signal comes with the first line, so that no moment is left in which none is heeded.
    """
    serving = command(served.home, "serve", "--port", "0")
    assert serving.stdout is not None
    assert b"Serving" in serving.stdout.readline()
    serving.send_signal(number)
    _, said = serving.communicate(timeout=PATIENCE)
    assert serving.returncode == 0
    assert said == b""
    with served.client() as client:
        client.start()
        wait_until(lambda: client.control("state")["urls"] == [])


def test_work_under_way_is_finished(served: Served) -> None:
    """Asked to leave, the daemon first answers what it was asked."""
    with shiyi.open(served.home) as memory:
        me, kept = memory.scope("me"), list[str]()
        thread = threading.Thread(
            target=lambda: kept.extend(me.remember(f"第{n}句").capture_id for n in range(30))
        )
        thread.start()
        wait_until(lambda: len(kept) > 3)
        os.kill(served.pid(), signal.SIGTERM)
        thread.join()
        listed = me.list(what="captures", limit=100).items

    assert len(set(kept)) == len(kept) == 30
    assert {one.id for one in listed} == set(kept)


@pytest.mark.slow
def test_twenty_cold_clients(served: Served) -> None:
    """All at once on a cold home: one daemon, and all are answered."""
    with Store(served.home, create=True):
        pass
    clients = [command(served.home, "status", "--json") for _ in range(20)]
    told = [one.communicate(timeout=120) for one in clients]

    assert [one.returncode for one in clients] == [0] * 20, told
    assert len({out.split(b'"daemon":')[1].split(b",")[0] for out, _ in told}) == 1
    assert len(daemons_of(served.home)) == 1
    assert (served.home / "daemon.log").read_text("utf-8").count("listening") == 1


@pytest.mark.slow
def test_kills_under_six_writers(served: Served) -> None:
    """Ten kills: never two alive, nothing acknowledged is lost, and writers need no help."""
    with served.client() as client:
        client.start()
    kept: list[list[str]] = [[] for _ in range(6)]
    failed: list[Exception] = []
    end = threading.Event()

    def write(mine: list[str], number: int) -> None:
        try:
            with shiyi.open(served.home) as memory:
                n = 0
                while not end.is_set():
                    n += 1
                    answer = memory.scope("me").remember(f"{number} 說第 {n} 句", words_only=True)
                    mine.append(answer.capture_id)
        except Exception as error:  # noqa: BLE001 - shown below
            failed.append(error)

    threads = [threading.Thread(target=write, args=(mine, n)) for n, mine in enumerate(kept)]
    for thread in threads:
        thread.start()
    most = 0
    for _ in range(10):
        before = sum(map(len, kept))
        wait_until(lambda before=before: sum(map(len, kept)) > before + 20 or failed, 60)
        most = max(most, len(daemons_of(served.home)))
        served.kill()
    before = sum(map(len, kept))
    wait_until(lambda: sum(map(len, kept)) > before or failed, 60)
    end.set()
    for thread in threads:
        thread.join()
    acknowledged = [one for mine in kept for one in mine]
    with shiyi.open(served.home) as memory:
        counted = memory.status().scopes[0].captures
        listed: set[str] = set()
        after = None
        while True:
            page = memory.scope("me").list(what="captures", limit=1000, after=after)
            listed.update(one.id for one in page.items)
            after = page.next
            if after is None:
                break

    assert not failed
    assert most == 1
    assert set(acknowledged) <= listed
    assert counted - len(acknowledged) <= 6  # at most the last of each, unheard
    print(f"{len(acknowledged)} acknowledged, {counted} kept")  # noqa: T201
