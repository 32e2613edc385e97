"""What removes for good is done while nothing else is, and leaves nothing that is open behind."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import shiyi
from shiyi.core.errors import ShiyiError
from shiyi.service.daemon.turnstile import Turnstile
from shiyi.service.session import Session
from tests.service.serving import PATIENCE, Served
from tests.service.writing import do

MARKER = "ZEBRAQUARTZ"


def holding(home: Path) -> list[str]:
    """Return the files under a home that hold the marker, in either encoding."""
    words = (MARKER.encode(), MARKER.encode("utf-16-le"), MARKER.lower().encode())
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in words)
    ]


def test_one_alone_waits_for_the_others_and_holds_them_up() -> None:
    """Whoever is in goes on, also through again; newcomers wait until the lonely one is done."""
    gate, order, inside, leave = Turnstile(), list[str](), threading.Event(), threading.Event()

    def first() -> None:
        with gate.among():
            inside.set()
            assert leave.wait(PATIENCE)
            with gate.among():
                order.append("first")

    def lonely() -> None:
        with gate.alone(), gate.among():
            order.append("alone")

    def late() -> None:
        with gate.among():
            order.append("late")

    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(first)]
        assert inside.wait(PATIENCE)
        futures.append(pool.submit(lonely))
        while not gate._wanting:
            time.sleep(0.001)
        futures.append(pool.submit(late))
        leave.set()
        for future in futures:
            future.result(PATIENCE)
    assert order == ["first", "alone", "late"]
    assert not gate._inside


def test_a_block_that_fails_lets_the_others_in() -> None:
    gate = Turnstile()
    for enter in (gate.alone, gate.among):
        with pytest.raises(KeyError), enter():
            raise KeyError
    with gate.alone():
        pass


def test_a_purge_among_searches_leaves_nothing(tmp_path: Path) -> None:
    """Threads that search, survey and write in one process go on, and nothing comes back.

    Only questions asked after it may say the words again.
    """
    stop, asked = threading.Event(), threading.Barrier(3)
    with shiyi.open(tmp_path / "home", model="hashing") as memory:
        me = memory.scope("me")
        said = [me.remember(f"{MARKER} {number} 台南") for number in range(2)]

        def ask() -> int:
            done = 0
            while not stop.is_set():
                me.search(f"{MARKER} 台南")
                me.survey()
                me.remember(f"平常的話 {threading.get_ident()} {done}")
                done += 1
                if done == 1:
                    asked.wait(PATIENCE)
            return done

        with ThreadPoolExecutor(2) as pool:
            asking = [pool.submit(ask) for _ in range(2)]
            try:
                asked.wait(PATIENCE)
                for one in said:
                    me.purge([one.capture_id], with_records=True, confirm=True)
            finally:
                stop.set()
            assert all(future.result(PATIENCE) > 0 for future in asking)
        assert MARKER not in me.search("台南").model_dump_json()
        me.purge([], confirm=True)
        assert memory.validate().verdict == "clean"
        gone = {one.capture_id for one in said}
        assert not gone & {hit.id for hit in me.search(MARKER).hits}
    assert [name for name in holding(tmp_path / "home") if not name.startswith("traces")] == []


def test_all_who_share_a_home_forget(tmp_path: Path) -> None:
    """A session with other settings purges; that with the open index knows nothing of it after."""
    with Session(tmp_path / "home", model="none", create=True) as session:
        said = do(session, "remember", text=f"{MARKER} 在台南")
        assert do(session, "search", text=MARKER).hits
        other = session.beside(replace(session.settings, trace_days=5, model="hashing"))
        assert do(other, "search", text=MARKER).hits
        third = session.beside(replace(session.settings, scope="else"))

        do(third, "purge", ids=[said.capture_id], with_records=True, confirm=True)

        for one in (session, other):
            assert not do(one, "search", text="台南").hits
            one.traces.flush()
        assert holding(tmp_path / "home") == []


def test_a_daemon_purges_what_it_has_open(served: Served) -> None:
    """The living daemon finds it no more, nor does a byte of it stay, in its log either."""
    with shiyi.open(served.home) as memory:
        me = memory.scope("me")
        said = me.remember(f"{MARKER} 在台南", title=MARKER, topics=[MARKER])
        me.search(MARKER)
        me.survey()
        memory.reindex()
        me.search(MARKER)
        shown = me.purge([said.capture_id], with_records=True)
        assert not shown.done
        assert me.purge([said.capture_id], with_records=True, confirm=True).done

        assert not me.search("台南").hits
        assert MARKER not in me.survey().model_dump_json()
        with pytest.raises(ShiyiError):
            me.show(said.capture_id)
        assert memory.validate().verdict == "clean"
    assert holding(served.home) == []
