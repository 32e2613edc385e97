"""How a daemon leaves while something is under way."""

import threading
from pathlib import Path

import pytest

from shiyi.core.errors import StoppedError
from shiyi.service.daemon.host import Call, Host
from shiyi.service.session import Session
from shiyi.service.table.operations import find_operation
from tests.service.serving import PATIENCE, Served, command, wait_until


def lines(place: Path, count: int) -> Path:
    path = place / "said.jsonl"
    path.write_text("".join(f'{{"text": "第{n}句話"}}\n' for n in range(count)), "utf-8")
    return path


def captures(host: Host) -> int:
    return host.session.store.counts("me")["captures"]


def test_a_job_ends_between_two_batches(tmp_path: Path) -> None:
    """What was done is kept, nothing is half there, and the same again does the rest."""
    taking = Call(operation="import", values={"path": str(lines(tmp_path, 1000))})
    with Host(Session(tmp_path / "home", model="none", create=True)) as host:
        job = threading.Thread(target=host.interrupt)

        def tell(done: int, _: int) -> None:
            if done and host.session.is_open and captures(host) and not job.ident:
                job.start()
                job.join()

        taking.progress = tell
        with pytest.raises(StoppedError, match="Run this again"):
            host.do_now(taking)
        kept = captures(host)
    with Host(Session(tmp_path / "home", model="none")) as host:
        host.do_now(Call(operation="import", values=taking.values))
        whole = captures(host)

    assert 0 < kept < 1000
    assert kept % 100 == 0
    assert whole == 1000


@pytest.mark.slow
def test_stop_says_what_is_under_way(served: Served, tmp_path: Path) -> None:
    """A long import is told of, ends soon, and says how to go on."""
    importing = command(served.home, "import", str(lines(tmp_path, 60_000)))
    with served.client() as client:
        wait_until(lambda: client.running() is not None)
        wait_until(lambda: any(job["done"] for job in client.control("state")["jobs"]))
    stopping = command(served.home, "daemon", "stop")
    out, err = stopping.communicate(timeout=PATIENCE)
    _, told = importing.communicate(timeout=PATIENCE)
    with served.client() as client:
        kept = client.call(find_operation("status"), {}, None)["scopes"][0]["captures"]

    assert stopping.returncode == 0, (out, err)
    assert b"import of me is under way" in err
    assert b"run the same again" in out
    assert importing.returncode == StoppedError.exit_code
    assert b"asked to leave" in told
    assert 0 < kept < 60_000
    assert kept % 100 == 0
