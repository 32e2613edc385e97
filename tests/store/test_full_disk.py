"""A full or read-only disk refuses a write in a sentence, and costs nothing that was saved."""

import random
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import HomeUnwritableError
from shiyi.store import Capture, Store
from tests.conftest import mount

Put = Callable[..., list[str]]

Child = Callable[..., "subprocess.Popen[str]"]
MEGABYTE = random.Random(1).randbytes(500_000).hex()  # nothing that a checkpoint could press


def fill(store: Store, rows: Any, put: Put) -> list[Capture]:
    """Write until the disk is full; return what was acknowledged."""
    kept: list[Capture] = []
    for size in (1_000_000, 10_000, 1):
        while True:
            capture = rows.capture(MEGABYTE[:size])
            try:
                put(store, [capture])
            except HomeUnwritableError as error:
                assert "full" in str(error)  # noqa: PT017
                assert "not stored" in str(error)  # noqa: PT017
                break
            kept.append(capture)
    return kept


def check(store: Store, kept: list[Capture]) -> None:
    """Check that what was acknowledged is all that is there, with a whole feed."""
    assert {c.capture_id: c for c in store.iterate_captures("me")} == {
        c.capture_id: c for c in kept
    }
    seqs = [change.seq for change in store.changes_since("me", 0)]
    assert seqs == list(range(1, len(kept) + 1))
    assert store.last_seq == len(kept)
    assert store.lost_tails() == []


def test_a_full_disk_refuses_and_the_same_store_goes_on(
    disk: Path, rows: Any, keep: Callable[..., Capture], put: Put
) -> None:
    """Reads go on while the disk is full, and writes when there is room again."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(3_000_000))
    with Store(disk / "home", create=True) as store:
        kept = fill(store, rows, put)
        check(store, kept)
        ballast.unlink()

        kept.append(keep(store, MEGABYTE))
        kept.append(keep(store))
        check(store, kept)
    with Store(disk / "home") as store:
        check(store, kept)


def test_a_checkpoint_without_room_loses_nothing(
    disk: Path, rows: Any, keep: Callable[..., Capture], put: Put
) -> None:
    """A checkpoint that finds no room ends neither the store nor anything saved."""
    with Store(disk / "home", create=True) as store:
        kept = fill(store, rows, put)
        reading = store.iterate_captures("me")
        next(reading)

        for _ in range(2):
            store.checkpoint()
            assert (store.home / "shiyi.duckdb.wal").stat().st_size > 1_000_000, "it had no room"
            check(store, kept)
        with pytest.raises(HomeUnwritableError):
            keep(store, MEGABYTE)
        check(store, kept)
        mount("-o", "remount,size=40m", disk)
        kept.append(keep(store, MEGABYTE))
        store.checkpoint()
        assert not (store.home / "shiyi.duckdb.wal").exists()
        check(store, kept)
    with Store(disk / "home") as store:
        check(store, kept)


def test_a_home_on_a_full_disk_opens_and_closes(
    disk: Path, rows: Any, keep: Callable[..., Capture], put: Put
) -> None:
    """A home can be opened, read and closed without any room."""
    with Store(disk / "home", create=True) as store:
        kept = fill(store, rows, put)
    (disk / "ballast").touch()
    with (disk / "ballast").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass

    for _ in range(2):
        with Store(disk / "home") as store:
            check(store, kept)
            with pytest.raises(HomeUnwritableError):
                keep(store, MEGABYTE)
    (disk / "ballast").unlink()
    mount("-o", "remount,size=40m", disk)
    with Store(disk / "home") as store:
        kept.append(keep(store, MEGABYTE))
        check(store, kept)


def test_a_home_that_finds_no_room_is_made_when_there_is(disk: Path) -> None:
    """A home that could not be made is in nobody's way later."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(9 * 1024 * 1024 - 200_000))
    with pytest.raises(HomeUnwritableError):
        Store(disk / "home", create=True)
    ballast.unlink()

    with Store(disk / "home", create=True) as store:
        assert store.last_seq == 0


LIMITED = """
import resource, sys
from datetime import UTC, datetime
from pathlib import Path
from shiyi.core.errors import HomeUnwritableError
from shiyi.core.ids import new_id
from shiyi.core.text import text_sha256
from shiyi.store import Capture, Store

with Store(Path(sys.argv[1]), create=True) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
    while True:
        text = "x" * 150_000
        capture = Capture(scope="me", capture_id=new_id(), text=text,
                          utf8_sha256=text_sha256(text), recorded_at=datetime.now(UTC))
        try:
            store.write("me", lambda t: {"n": len(t.add_captures([capture]))})
            print(capture.capture_id)
        except HomeUnwritableError:
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store.write("me", lambda t: {"n": len(t.add_captures([capture]))})
    print(capture.capture_id)
"""


def test_a_file_that_may_not_grow_refuses_and_goes_on(home: Path, child: Child) -> None:
    """A limit on file sizes is treated as a full disk."""
    process = child(LIMITED, home, preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    output, errors = process.communicate()

    assert errors == ""
    with Store(home) as store:
        assert {c.capture_id for c in store.iterate_captures("me")} == set(output.split())
    assert len(output.split()) > 5
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_read_only_disk_refuses_and_changes_nothing(
    disk: Path, keep: Callable[..., Capture]
) -> None:
    """A home on a read-only disk is refused with a sentence, and so is making one there."""
    home = disk / "home"
    with Store(home, create=True) as store:
        kept = keep(store)
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    mount("-o", "remount,ro", disk)

    for target, create in ((home, False), (home, True), (disk / "new", True)):
        with pytest.raises(HomeUnwritableError, match=r"cannot be written.*--home"):
            Store(target, create=create)

    assert {path.name: path.read_bytes() for path in home.iterdir()} == before
    mount("-o", "remount,rw", disk)
    with Store(home) as store:
        assert store.capture("me", kept.capture_id) == kept
