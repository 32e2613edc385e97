"""What was acknowledged is there after kill -9, and a lost tail is named."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shiyi.core.errors import HomeDamagedError
from shiyi.store import Capture, Store

Child = Callable[..., "subprocess.Popen[str]"]

# Writes of every kind, each acknowledged by a line after it returned; 1 in 20 is a checkpoint.
WRITER = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from shiyi.core.ids import derived_id
from shiyi.core.text import text_sha256
from shiyi.store import Capture, Link, Record, Store

home, start = Path(sys.argv[1]), int(sys.argv[2])
store = Store(home, create=True)
print("ready", flush=True)
for number in range(start, start + 100_000):
    now, name = datetime.now(UTC), derived_id("me", str(number))
    text = f"第 {number} 句 👍" * (1 + number % 7 * 40)
    capture = Capture(scope="me", capture_id=name, text=text, utf8_sha256=text_sha256(text),
                      recorded_at=now, session_id="s")
    record = Record(scope="me", record_id=name, version=1, kind="fact", layer="core", title="t",
                    gist=str(number), created_at=now, updated_at=now)
    link = Link(scope="me", src=name, rel="quotes", dst=name)
    def action(t):
        t.add_captures([capture])
        if number % 3 == 0:
            t.add_records([record])
        if number % 5 == 0:
            t.add_links([link])
        return {"number": number}
    store.write("me", action, key=f"k{number}" if number % 2 else None)
    print(number, store.last_seq, flush=True)
    if number % 20 == 0:
        store.checkpoint()
"""

MAKER = """
import pathlib, sys, shiyi.store
print(flush=True)
shiyi.store.Store(pathlib.Path(sys.argv[1]), create=True)
"""


def kill_while_writing(
    child: Child, home: Path, start: int, chance: random.Random
) -> dict[int, int]:
    """Return what a writer, killed after some writes, had acknowledged: seq by number."""
    process = child(WRITER, home, start)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    first = [process.stdout.readline() for _ in range(chance.randrange(2, 30))]
    time.sleep(chance.uniform(0, 0.02))
    process.send_signal(signal.SIGKILL)
    output, errors = process.communicate()
    assert errors == ""
    lines = [*first, *output.splitlines(keepends=True)]
    pairs = [line.split() for line in lines if line.endswith("\n")]
    return {int(number): int(seq) for number, seq in pairs}


def check_after_crash(home: Path, acknowledged: dict[int, int], numbers: list[int]) -> int:
    """Check that the home holds whole writes only, all acknowledged ones among them."""
    with Store(home) as store:
        captures = {int(c.text.split()[1]): c for c in store.iterate_captures("me")}
        records = {int(r.gist) for r in store.iterate_heads("me")}
        links = {link.src for link in store.iterate_links("me")}
        changes = store.changes_since("me", 0)
        assert store.lost_tails() == []
        assert set(acknowledged) <= set(captures)
        assert len(set(captures) - set(acknowledged)) <= len(numbers), "one a kill"
        assert records == {n for n in captures if n % 3 == 0}
        assert links == {c.capture_id for n, c in captures.items() if n % 5 == 0}
        assert [change.seq for change in changes] == list(range(1, store.last_seq + 1))
        assert store.last_seq >= max(acknowledged.values(), default=0)
        assert len(changes) == len(captures) + len(records) + len(links)
        for number in acknowledged:
            if number % 2:
                again = store.write("me", lambda _: {"ran": "again"}, key=f"k{number}")
                assert again == {"number": number}
        return max(captures, default=0) + 1


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_kill_9(child: Child, home: Path, kills: int) -> None:
    """No acknowledged write is lost, none is torn, and a repeat under its key runs nothing."""
    chance = random.Random(kills)
    acknowledged: dict[int, int] = {}
    starts = [1]
    for _ in range(kills):
        acknowledged |= kill_while_writing(child, home, starts[-1], chance)
        starts.append(check_after_crash(home, acknowledged, starts))

    assert len(acknowledged) > kills


def test_a_kill_while_the_home_is_made_leaves_nothing_in_the_way(child: Child, home: Path) -> None:
    """Whenever the making of a home is killed, the next opening makes or opens it."""
    for delay in range(6):
        target = home.with_name(f"home{delay}")
        process = child(MAKER, target)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay * 0.025)
        process.kill()
        process.wait()

        with Store(target, create=True) as store:
            assert store.last_seq == 0
            assert not list(target.glob("*.new*"))


def abandon(child: Child, home: Path, writes: int) -> None:
    """Write and be killed, so that the writes lie in the log only."""
    code = WRITER.replace("100_000", str(writes)).replace("number % 20 == 0", "False")
    process = child(code + "\nimport os; os.kill(os.getpid(), 9)", home, 1)
    process.communicate()
    assert (home / "shiyi.duckdb.wal").stat().st_size > 0


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_a_lost_tail_is_named_and_stays_named(
    child: Child, home: Path, keep: Callable[..., Capture], kept: float
) -> None:
    """A log that was removed or cut after a crash is a loss that the home tells of, for ever."""
    abandon(child, home, 20)
    log = home / "shiyi.duckdb.wal"
    whole = log.read_bytes()
    if kept:
        log.write_bytes(whole[: int(len(whole) * kept)])
    else:
        log.unlink()

    with Store(home) as store:
        lost = store.lost_tails()
        assert len(lost) == 1
        expected, found = lost[0]["expected"], lost[0]["found"]
        assert found < expected
        assert found == len(store.changes_since("me", 0)) == (found if kept else 0)
        keep(store)
        assert store.last_seq == expected + 1, "a lost number is never given again"
        held = {n: store.holds(n) for n in range(found, expected + 3)}
        assert [n for n, holds in held.items() if holds] == [found, expected + 1]
    for _ in range(2):
        with Store(home) as store:
            assert store.lost_tails() == lost
            keep(store)


def test_a_log_without_its_database_is_damage(child: Child, home: Path) -> None:
    """A database file that disappeared from beside its log is not replaced by an empty one."""
    abandon(child, home, 3)
    (home / "shiyi.duckdb").unlink()

    with pytest.raises(OSError, match="damaged"):
        Store(home, create=True)

    assert (home / "shiyi.duckdb.wal").stat().st_size > 0


def test_a_database_that_disappeared_is_a_lost_tail(
    home: Path, keep: Callable[..., Capture]
) -> None:
    """Making a home anew where one was lost says what is missing."""
    with Store(home, create=True) as store:
        keep(store)
    (home / "shiyi.duckdb").unlink()

    with Store(home, create=True) as store:
        assert store.lost_tails() == [{"expected": 1, "found": 0}]


@pytest.mark.parametrize("position", [0, 10, 19, 20, 22, 28, 29])
def test_a_damaged_watermark_is_no_failure(
    home: Path, keep: Callable[..., Capture], position: int
) -> None:
    """A flipped bit in the watermark is neither an error nor a loss, and it is written anew."""
    with Store(home, create=True) as store:
        keep(store)
    mark = home / "watermark"
    content = bytearray(mark.read_bytes())
    content[position] ^= 0x04
    mark.write_bytes(content)

    with Store(home) as store:
        assert store.lost_tails() == []
        keep(store)
    assert int(mark.read_bytes()[:20]) == 2


@pytest.mark.parametrize("content", [b"", b"\xff" * 30, b"99\n", b"9" * 64, None])
def test_any_watermark_is_no_failure(
    home: Path, keep: Callable[..., Capture], content: bytes | None
) -> None:
    """A missing, empty or senseless watermark is no failure."""
    with Store(home, create=True) as store:
        keep(store)
    if content is None:
        (home / "watermark").unlink()
    else:
        (home / "watermark").write_bytes(content)

    with Store(home) as store:
        assert (store.lost_tails(), store.last_seq) == ([], 1)


def test_every_flip_in_the_log_is_refused_or_named(
    child: Child, home: Path, tmp_path: Path
) -> None:
    """A flipped bit in the log is an error or a named loss, never a silent one."""
    abandon(child, home, 12)
    files = {path.name: path.read_bytes() for path in home.iterdir()}
    whole = files["shiyi.duckdb.wal"]
    outcomes: list[str] = []
    for place in random.Random(1).sample(range(len(whole)), 25):
        copy = tmp_path / f"copy{place}"
        copy.mkdir(mode=0o700)
        for name, content in files.items():
            (copy / name).write_bytes(content)
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        (copy / "shiyi.duckdb.wal").write_bytes(flipped)
        try:
            with Store(copy) as store:
                complete = len(list(store.iterate_captures("me"))) == 12
                assert complete or store.lost_tails(), place
                outcomes.append("whole" if complete else "named")
        except HomeDamagedError:
            assert (copy / "shiyi.duckdb.wal").read_bytes() == flipped
            outcomes.append("refused")
    assert "refused" in outcomes, json.dumps(outcomes)
