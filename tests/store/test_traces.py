"""Traces on disk: appended, read back, torn, pruned by age and count, forgotten."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.models.tokens import get_counter
from shiyi.store import traces as module
from shiyi.store.traces import Traces, new_trace_id

DAY = 86_400_000


def made(age_days: float = 0, **content: Any) -> dict[str, Any]:
    """Return a trace whose id is so many days old."""
    fresh = new_trace_id()
    return {"id": f"{int(fresh[:13]) - int(age_days * DAY):013d}{fresh[13:]}", **content}


def files(home: Path) -> list[Path]:
    return sorted((home / "traces").rglob("*.json-seq"))


def test_traces_are_read_back_newest_first(tmp_path: Path) -> None:
    """By id and in order, of their own scope only, by another process as well."""
    with Traces(tmp_path, days=30, most=100) as traces:
        kept = [made(n=n) for n in range(5)]
        for one in kept:
            traces.keep("me", one)
        traces.keep("另一個", made(n=9))
        assert traces.newest("me", 3) == kept[:-4:-1]
    with Traces(tmp_path, days=30, most=100) as again:
        assert again.newest("me", 100) == kept[::-1]
        assert again.find("me", kept[1]["id"]) == kept[1]
        assert again.find("另一個", kept[1]["id"]) is None
        assert again.find("me", new_trace_id()) is None


def test_only_the_owner_reads_them(tmp_path: Path) -> None:
    """Files are 0600 in directories of 0700, whatever the umask."""
    outer = os.umask(0)
    try:
        with Traces(tmp_path, days=30, most=100) as traces:
            traces.keep("me", made())
    finally:
        os.umask(outer)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "traces").rglob("*")}

    assert set(modes.values()) == {0o600, 0o700}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(), cut=st.integers(1, 400))
def test_a_torn_trace_spoils_no_other(tmp_path: Path, text: str, cut: int) -> None:
    """Whatever the words hold, and wherever the disk stopped, the other traces stay whole."""
    home = tmp_path / new_trace_id()
    one, torn, after = made(text=text), made(text="x" * 400), made(text=text)
    with Traces(home, days=30, most=100) as traces:
        traces.keep("me", one)
        traces.keep("me", torn)
    (file,) = files(home)
    os.truncate(file, file.stat().st_size - cut)
    with Traces(home, days=30, most=100) as traces:
        traces.keep("me", after)
        assert traces.newest("me", 10) == [after, one]


def test_damaged_bytes_are_passed_over(tmp_path: Path) -> None:
    """What is not JSON, or no trace, is not there."""
    with Traces(tmp_path, days=30, most=100) as traces:
        traces.keep("me", made(n=1))
        traces.flush()
        with files(tmp_path)[0].open("ab") as file:
            file.write(b'\x1e{"id": \xff\n\x1e[1]\n\x1e{"id": 5}\n\x1e"id"\n\x1e{}\n')
        traces.keep("me", made(n=2))
        assert [one["n"] for one in traces.newest("me", 10)] == [2, 1]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(most=st.integers(1, 60), count=st.integers(0, 150), at_once=st.integers(1, 40))
def test_no_more_are_kept_than_are_wanted(
    tmp_path: Path, most: int, count: int, at_once: int
) -> None:
    """The newest stay, never more than `most`, and at least three quarters of them."""
    kept = [made(n=n) for n in range(count)]
    home = tmp_path / new_trace_id()
    for first in range(0, count, at_once):  # each time another process
        with Traces(home, days=30, most=most) as traces:
            for one in kept[first : first + at_once]:
                traces.keep("me", one)
    with Traces(home, days=30, most=most) as traces:
        found = [one["n"] for one in traces.newest("me", 1000)]

    assert len(found) <= most
    assert found == [one["n"] for one in kept[::-1]][: len(found)]
    assert len(found) >= min(count, most * 3 // 4)


def test_old_traces_go(tmp_path: Path) -> None:
    """They are not shown from the day on, and their segments go when the home is next used."""
    with Traces(tmp_path, days=30, most=100) as traces:
        for age in (40, 31.5, 20, 0):
            traces.keep("me", made(age, age=age))
            traces.flush()
        assert [one["age"] for one in traces.newest("me", 10)] == [0, 20]
        assert len(files(tmp_path)) < 4
    with Traces(tmp_path, days=10, most=100) as traces:
        traces.prune()
        assert [one["age"] for one in traces.newest("me", 10)] == [0]
        assert len(files(tmp_path)) == 1


def test_what_mentions_an_id_is_forgotten(tmp_path: Path) -> None:
    """One id, or everything; another scope is left alone; new ones are taken afterwards."""
    with Traces(tmp_path, days=30, most=10) as traces:
        for n in range(6):
            traces.keep("me", made(n=n, chosen=["A" * 26] if n % 2 else [], text=f"第{n}"))
        traces.keep("other", made(n=7, chosen=["A" * 26]))
        assert traces.forget("me", "A" * 26) == 3
        assert [one["n"] for one in traces.newest("me", 10)] == [4, 2, 0]
        assert not any(b"A" * 26 in path.read_bytes() for path in files(tmp_path)[:-1])
        traces.keep("me", made(n=8))
        assert traces.newest("me", 1)[0]["n"] == 8
        assert traces.forget("me") == 4
        assert traces.newest("me", 10) == []
        assert len(traces.newest("other", 10)) == 1


def test_what_mentions_a_removed_memory_goes_in_every_scope(tmp_path: Path) -> None:
    gone, other = "01M8QHMPESJBX5MDRVQNZB2ZJ1", "01M8QHMPESJBX5MDRVQNZB2ZJ2"
    with Traces(tmp_path, days=30, most=64) as traces:
        for scope in ("me", "you"):
            traces.keep(scope, made(n=1, chosen=[gone]))
            traces.keep(scope, made(n=2, text=f"about {gone[:25].lower()}"))
            traces.keep(scope, made(n=3, request={"ids": [gone[:8]]}))
            traces.keep(scope, made(n=4, chosen=[other]))
        assert traces.remove([]) == 0
        assert traces.remove([gone]) == 6
        assert traces.remove([gone]) == 0
        assert not any(gone.encode() in path.read_bytes() for path in files(tmp_path))
        traces.keep("me", made(n=5))
        assert [one["n"] for one in traces.newest("me", 10)] == [5, 4]
        assert [one["n"] for one in traces.newest("you", 10)] == [4]


def test_a_home_that_takes_nothing_hurts_nobody(tmp_path: Path) -> None:
    """Where no file can be made, traces are given up without a word."""
    (tmp_path / "traces").write_text("in the way")
    with Traces(tmp_path, days=30, most=10) as traces:
        traces.keep("me", made())
        traces.flush()
        traces.prune()
        assert traces.newest("me", 10) == []


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    """It has no UTF-8 form, and an answer could not show it."""
    with Traces(tmp_path, days=30, most=10) as traces:
        traces.keep("me", made(text="甲\ud800\n乙"))
        assert traces.newest("me", 1)[0]["text"] == "甲?\n乙"


def test_removed_files_are_made_again(tmp_path: Path) -> None:
    """Who deletes the directory while it is in use loses what was in it and no more."""
    with Traces(tmp_path, days=30, most=10) as traces:
        traces.keep("me", made(n=1))
        traces.flush()
        files(tmp_path)[0].unlink()
        traces.keep("me", made(n=2))
        assert [one["n"] for one in traces.newest("me", 10)] == [2]


def test_many_scopes_hold_few_files_open(tmp_path: Path) -> None:
    """Descriptors do not grow with the scopes."""
    with Traces(tmp_path, days=30, most=100) as traces:
        for n in range(80):
            traces.keep(f"scope{n % 40}", made(n=n))
        traces.flush()
        assert len(traces._open) <= module._OPEN
        for n in range(40):
            assert len(traces.newest(f"scope{n}", 10)) == 2


def test_a_clock_that_goes_back_does_no_harm(tmp_path: Path) -> None:
    """A trace with an older id than its segment is found all the same."""
    with Traces(tmp_path, days=30, most=100) as traces:
        now, earlier = made(n=1), made(0.5, n=2)
        traces.keep("me", now)
        traces.keep("me", earlier)
        assert traces.find("me", earlier["id"]) == earlier


@pytest.mark.parametrize("name", ["o200k", "cl100k", "bytes"])
def test_ids_cost_the_same(name: str) -> None:
    """So that an answer costs the same with any of them."""
    count = get_counter(name).count
    assert len({count(f'"notes":[],"trace":"{new_trace_id()}","x":1') for _ in range(500)}) == 1


def test_killed_with_pending_traces(tmp_path: Path) -> None:
    """A killed process loses its last few traces at the most; what is read is whole."""
    script = (
        "import sys, time; from pathlib import Path\n"
        "from shiyi.store.traces import Traces, new_trace_id\n"
        "traces = Traces(Path(sys.argv[1]), days=30, most=1000)\n"
        "for n in range(100): traces.keep('me', {'id': new_trace_id(), 'n': n})\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with Traces(tmp_path, days=30, most=1000) as traces:
        numbers = [one["n"] for one in traces.newest("me", 1000)][::-1]

    assert numbers == list(range(len(numbers)))
    assert 100 - module._AT_ONCE <= len(numbers) <= 100
