"""How a daemon leaves while something is under way, and how often a token may call."""

import asyncio
import threading
from pathlib import Path

import pytest

from shiyi.core.errors import StoppedError, TooManyError
from shiyi.service.daemon.host import MOST_AT_ONCE, Call, Host
from shiyi.service.http.app import failure
from shiyi.service.permit import Permit
from shiyi.service.rates import Rates
from shiyi.service.session import Session
from shiyi.service.table.operations import find_operation
from tests.service.serving import Served, command, wait_until

TOKEN = Permit("read", None, "token:1")


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

        taking.progress = tell
        with pytest.raises(StoppedError, match="Run this again"):
            host.do_now(taking)
        job.join()
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
    out, err = stopping.communicate(timeout=60)
    _, told = importing.communicate(timeout=60)
    with served.client() as client:
        kept = client.call(find_operation("status"), {}, None)["scopes"][0]["captures"]

    assert stopping.returncode == 0, (out, err)
    assert b"import of me is under way" in err
    assert b"run the same again" in out
    assert importing.returncode == StoppedError.exit_code
    assert b"asked to leave" in told
    assert 0 < kept < 60_000
    assert kept % 100 == 0


def test_a_token_has_so_many_calls_at_once(tmp_path: Path) -> None:
    """One more is refused until one of them is done; the owner is not counted."""
    with Host(Session(tmp_path / "home", model="none", create=True)) as host:
        go = threading.Event()
        asked = Call(operation="list", values={}, permit=TOKEN)
        host.do_now(Call(operation="remember", values={"text": "花生過敏"}))

        async def main() -> list[BaseException]:
            busy = asyncio.wrap_future(host._lanes.quick(go.wait))
            calls = [asyncio.ensure_future(host.do(asked)) for _ in range(MOST_AT_ONCE + 1)]
            owner = asyncio.ensure_future(host.do(Call(operation="list", values={})))
            await asyncio.sleep(0)
            go.set()
            told = await asyncio.gather(*calls, owner, busy, return_exceptions=True)
            return [one for one in told if isinstance(one, BaseException)]

        failed = asyncio.run(main())
        host.do_now(asked)

    assert [type(one) for one in failed] == [TooManyError]


def test_a_token_has_so_many_calls_a_minute() -> None:
    """Each token by itself; what is refused says when to come back, and costs nothing."""
    rates = Rates(3)
    for _ in range(3):
        rates.count("one")
    for _ in range(2):
        with pytest.raises(TooManyError) as raised:
            rates.count("one")
        assert raised.value.wait in {19, 20}
        assert failure(raised.value).headers["retry-after"] == str(raised.value.wait)
    rates.count("two")
    for _ in range(100):
        Rates(0).count("one")


def test_too_many_calls_are_told_when_to_come_back(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """429 with Retry-After."""
    monkeypatch.setenv("SHIYI_TOKEN_RATE", "3")
    served.listen()
    replies = [served.ask("POST", "/v1/list", {}) for _ in range(4)]

    assert replies[-1].status == 429
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 20
    assert replies[-1].json["error"]["code"] == "too_many"
    assert all(one.status != 429 for one in replies[:3])
