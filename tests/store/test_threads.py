"""Threads share one store: readers see whole writes, and nobody waits for a long read to end."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from shiyi.store import Capture, Store

Put = Callable[..., list[str]]


def run(*actions: Callable[[], None]) -> None:
    """Run each action in a thread of its own and raise the first error."""
    errors: list[BaseException] = []

    def guarded(action: Callable[[], None]) -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_four_readers_and_a_writer_see_whole_writes(store: Store, rows: Any, put: Put) -> None:
    """Whatever a reader asks while writes go on, it sees each write whole or not at all."""
    rounds, done = 40, threading.Event()

    def write() -> None:
        try:
            for number in range(rounds):
                record = rows.record(gist=str(number))
                capture = rows.capture(str(number), session_id="s")
                link = rows.link(record.record_id, capture.capture_id)
                put(store, [record, capture, link])
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            seq = store.last_seq
            assert seq % 3 == 0
            changes = store.changes_since("me", 0)
            assert len(changes) % 3 == 0
            assert len(changes) >= seq
            heads = [head.record_id for head in store.iterate_heads("me")]
            links = store.links_from("me", heads)
            assert sorted(links) == heads
            captures = store.captures("me", [link[0].dst for link in links.values()])
            assert len(captures) == len(heads)
            last = store.last_of_session("me", "s")
            assert last is None or store.capture("me", last) is not None

    run(write, read, read, read, read)

    assert store.counts("me") == {
        "captures": rounds, "records": rounds, "versions": rounds, "links": rounds,
    }  # fmt: skip


def test_writers_take_turns(store: Store, rows: Any, put: Put) -> None:
    """Writers in many threads make one feed without gaps; a key runs once among them."""
    ran: list[int] = []

    def write(number: int) -> None:
        def once(_: Any) -> dict[str, Any]:
            ran.append(number)
            return {"by": number}

        for _ in range(8):
            put(store, [rows.capture()])
        results.append(store.write("me", once, key="one", request={}))

    results: list[dict[str, Any]] = []
    run(*(lambda n=n: write(n) for n in range(4)))

    assert [change.seq for change in store.changes_since("me", 0)] == list(range(1, 33))
    assert len(ran) == 1
    assert results == [{"by": ran[0]}] * 4


def test_an_iteration_sees_the_state_it_began_with(
    store: Store, rows: Any, keep: Callable[..., Capture], put: Put
) -> None:
    """Writes and checkpoints go on under a long iteration, which they do not change."""
    captures = [rows.capture(str(i)) for i in range(5000)]
    put(store, captures)
    ids = sorted(capture.capture_id for capture in captures)
    seen: list[str] = []

    for place, capture in enumerate(store.iterate_captures("me")):
        seen.append(capture.capture_id)
        if place % 1000 == 0:
            keep(store)
            store.checkpoint()

    assert seen == ids
    assert store.counts("me")["captures"] == 5005


def test_an_iteration_given_up_holds_nothing(
    store: Store, home: Any, rows: Any, keep: Callable[..., Capture], put: Put
) -> None:
    """Closing under a half-read iteration frees the home, and the iteration says so."""
    captures = [rows.capture(str(i)) for i in range(5000)]
    put(store, captures)
    reading = store.iterate_captures("me")
    next(reading)
    store.close()

    with Store(home) as again:
        keep(again)
        with pytest.raises(OSError, match="closed"):
            list(reading)
        assert again.counts("me")["captures"] == 5001
