"""Long work, as whoever waits for it hears of it."""

import asyncio
import http.client
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.cli import call
from shiyi.service.daemon.host import Call, Host
from shiyi.service.daemon.listening import tcp_socket
from shiyi.service.daemon.servers import Servers
from shiyi.service.http import app
from shiyi.service.http.app import Identity, make_app
from shiyi.service.http.guard import for_owner
from shiyi.service.session import Session
from tests.service.serving import PATIENCE, Served, wait_until


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with Host(Session(tmp_path / "home", model="none", create=True)) as one:
        one.do_now(Call(operation="remember", values={"text": "花生過敏"}))
        yield one


class Held:
    """A job that goes no further than its first figures, until it is let."""

    def __init__(self, host: Host) -> None:
        self._begun, self._go = threading.Event(), threading.Event()
        self._call = Call(operation="reindex", values={}, progress=self._tell)
        self._thread = threading.Thread(target=host.do_now, args=(self._call,))
        self._thread.start()
        assert self._begun.wait(PATIENCE)

    def _tell(self, *_: int) -> None:
        self._begun.set()
        assert self._go.wait(PATIENCE)

    def let_go(self) -> None:
        self._go.set()
        self._thread.join()


def lines(host: Host, held: Held) -> list[dict[str, Any]]:
    """Ask for a job over HTTP while another is held; return what is told, line by line."""

    def ask(port: int) -> list[dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        headers = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}
        connection.request("POST", "/v1/reindex", b"{}", headers)
        told = []
        for line in connection.getresponse():
            told.append(json.loads(line))
            if len(told) == 2:
                held.let_go()
        connection.close()
        return told

    async def main() -> list[dict[str, Any]]:
        async def control(*_: Any) -> dict[str, Any]:
            return {}

        listener, servers = tcp_socket("127.0.0.1", 0), Servers()
        made = make_app(host, Identity(os.getpid(), "x", "0", 1), control)
        await servers.serve(for_owner(made), listener)
        try:
            return await asyncio.to_thread(ask, listener.getsockname()[1])
        finally:
            await servers.stop()

    return asyncio.run(main())


def test_a_job_that_waits_says_so(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon, how many are before it, and again and again; then its own figures."""
    monkeypatch.setattr(app, "_HEARTBEAT", 0.2)
    told = lines(host, Held(host))

    assert told[:2] == [{"progress": None, "state": "waiting", "before": 1}] * 2
    assert "answer" in told[-1]
    running = [one for one in told[2:-1] if one["state"] == "running"]
    assert running[-1] == {"progress": [2, 2], "state": "running", "before": 0}


def test_how_far_a_job_is_stays_known(host: Host) -> None:
    """Between two figures the last ones hold."""
    held = Held(host)
    (job,) = (one for one in host.jobs.all() if one.is_open)
    found = host.jobs.find(job.number)
    held.let_go()

    assert found is not None
    assert (found[0].state, found[0].done, found[0].total, found[1]) == ("running", 1, 2, 0)
    assert host.jobs.find(99) is None


def test_no_search_writes_an_index_amid_an_import(tmp_path: Path) -> None:
    """Not even when the import is what opened the home: answers come from memory meanwhile."""
    notes = tmp_path / "many.jsonl"
    notes.write_text("".join(f'{{"text": "n{n} 花生"}}\n' for n in range(2600)), "utf-8")
    indexes = tmp_path / "home" / "index"
    found: list[tuple[int, list[Path]]] = []

    with Host(Session(tmp_path / "home", model="none", create=True)) as new:

        def search(*_: int) -> None:
            if new.session.is_open:
                asked = Call(operation="search", values={"text": "花生", "limit": 1})
                answer: Any = new.do_now(asked)
                found.append((answer.basis.searched, list(indexes.rglob("CURRENT"))))

        new.do_now(Call(operation="import", values={"path": str(notes)}, progress=search))
    assert max(searched for searched, _ in found) > 2000
    assert not any(written for _, written in found)


@pytest.mark.parametrize("operation", ["validate", "doctor"])
def test_looks_are_counted(operation: str, host: Host) -> None:
    """What looks at everything says at which look it is."""
    told: list[tuple[int, int]] = []
    look = Call(operation=operation, values={}, progress=lambda *one: told.append(one))
    host.do_now(look)
    job, _ = host.jobs.find(look.job or 0) or (None, 0)

    assert job is not None
    assert told[0] == (0, job.total)
    assert job.done == job.total - 1


def test_a_command_says_that_it_waits(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, on standard error, so that nobody takes it for dead."""
    many = "".join(f'{{"text": "第{n}句話"}}\n' for n in range(1500))
    (tmp_path / "many.jsonl").write_text(many, "utf-8")
    home = ["--home", str(served.home)]
    assert call([*home, "init"]) == 0
    first = threading.Thread(target=call, args=([*home, "import", str(tmp_path / "many.jsonl")],))
    with served.client() as client:
        client.start()
        first.start()
        wait_until(lambda: not first.is_alive() or client.control("state")["jobs"])
        began = first.is_alive()
        assert call([*home, "reindex"]) == 0
        first.join()

    assert not began or "reindex waits until another job of this home is done." in (
        capsys.readouterr().err
    )
