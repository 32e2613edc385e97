"""Ctrl-C and kill -9: what was acknowledged is there, and running it again completes it."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi import interrupt
from tests.shiyi.conftest import SHIYI

Run = Callable[..., Any]
LINES, RECORDS = 2000, 400  # together above the number from which an import builds an index
WRITER = """
import sys
import shiyi

memory = shiyi.open(sys.argv[1], model="hashing")
me = memory.scope("me")
print("ready", flush=True)
for number in range(int(sys.argv[2]), 1_000_000):
    text = f"第 {number} 句，關於搬家和花生。" * (1 + number % 5)
    kept = me.remember(text, session="s", key=f"k{number}")
    print("kept", number, kept.capture_id, kept.record_id, flush=True)
    if number % 3 == 0:
        edited = me.edit(kept.record_id, title=f"題 {number}")
        print("edited", number, kept.record_id, edited.version, flush=True)
    if number % 7 == 0:
        memory.reindex()
        print("indexed", number, flush=True)
    if number % 11 == 0:
        found = me.search(f"第 {number} 句", limit=3)
        assert found.hits, "what was kept is found"
"""


def write_source(path: Path, lines: int) -> Path:
    """Write captures, and a record for every fifth."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(lines):
            text = f"第 {number} 則：今天去了市場，買了 {number} 顆花生。"
            capture = {"type": "capture", "id": f"c{number}", "session": "s", "text": text}
            file.write(json.dumps(capture, ensure_ascii=False) + "\n")
        for number in range(0, lines, 5):
            record = {"type": "record", "id": f"r{number}", "kind": "event",
                      "title": f"市場{number}", "quotes": [{"capture": f"c{number}"}]}  # fmt: skip
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def interrupted(home: Path, seconds: float, *arguments: object) -> tuple[int, str]:
    """Start a command, press Ctrl-C after a while, and return how it ended and what it said."""
    process = subprocess.Popen(
        [SHIYI, *map(str, arguments)],
        env={**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "hashing"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    return process.returncode, error


def counts(run: Run) -> dict[str, int]:
    scopes = run("status", "--json").json["scopes"]
    return {name: scopes[0][name] for name in ("captures", "records", "versions", "links")}


def check_ended(code: int, error: str) -> None:
    """It was interrupted in order, or was done, or had not begun: never a traceback."""
    # Before any line of ours runs, the interpreter itself dies of the signal, or cannot begin.
    unbegun = code == 1 and "init_import_site" in error
    assert unbegun or code in {0, 130, -signal.SIGINT}, error
    if code == 130:
        assert error.strip() == f"shiyi: {interrupt.SENTENCE}"


def try_interrupting_import(run: Run, home: Path, source: Path, times: int) -> None:
    seen = {"captures": 0}
    for _ in range(times):
        check_ended(*interrupted(home, random.uniform(0.1, 2.5), "import", source))
        if home.exists() and run("status").code == 0 and run("status", "--json").json["scopes"]:
            now = counts(run)
            assert now["captures"] >= seen["captures"], "what is in stays in"
            seen = now
    last = run("import", source, "--json").json
    assert last["failed"] == 0
    assert last["captures"] + last["records"] + last["unchanged"] == LINES + RECORDS
    assert counts(run) == {
        "captures": LINES, "records": RECORDS, "versions": RECORDS, "links": RECORDS,
    }  # fmt: skip


def try_interrupting_reindex(run: Run, home: Path, source: Path, times: int) -> None:
    run("import", source)
    before = counts(run)
    for _ in range(times):
        check_ended(*interrupted(home, random.uniform(0.3, 4.0), "reindex", "--full"))
        assert counts(run) == before
        assert run("search", "第 77 則", "--channel", "keyword").code == 0
    built = run("reindex", "--model", "hashing", "--json").json["indexes"][0]
    assert built["documents"] == built["embedded"] == LINES + RECORDS
    assert run("doctor").code == 0


def test_interrupted_import_continues(run: Run, home: Path, tmp_path: Path) -> None:
    """After Ctrl-C what was read stays, and the next import adds the rest."""
    try_interrupting_import(run, home, write_source(tmp_path / "s.jsonl", LINES), 2)


def test_interrupted_reindex_harms_nothing(run: Run, home: Path, tmp_path: Path) -> None:
    """After Ctrl-C the index before serves, and the next reindex completes."""
    try_interrupting_reindex(run, home, write_source(tmp_path / "s.jsonl", LINES), 1)


@pytest.mark.slow
def test_interrupted_at_any_moment(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    """Twenty times each, at moments drawn by lot."""
    source = write_source(tmp_path / "s.jsonl", LINES)
    for name, attempt in (("i", try_interrupting_import), ("r", try_interrupting_reindex)):
        monkeypatch.setenv("SHIYI_HOME", str(tmp_path / name))
        attempt(run, tmp_path / name, source, 20)


def test_three_kills(tmp_path: Path) -> None:
    """Nothing acknowledged is lost by kill -9 among writes and index builds."""
    try_killing(tmp_path / "home", 3)


@pytest.mark.slow
def test_fifty_kills(tmp_path: Path) -> None:
    """The same, fifty times over in one home."""
    try_killing(tmp_path / "home", 50)


def try_killing(home: Path, times: int) -> None:
    acknowledged: list[list[str]] = []
    start = 0
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", WRITER, str(home), str(start)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        first = "".join(process.stdout.readline() for _ in range(random.randrange(20)))
        time.sleep(random.uniform(0, 0.05))
        process.kill()
        lines = [line.split() for line in (first + process.stdout.read()).splitlines()]
        process.stdout.close()
        process.wait()
        acknowledged += lines
        start = 1 + max([start - 1, *(int(line[1]) for line in lines)])
        check_acknowledged(home, acknowledged)


def check_acknowledged(home: Path, lines: list[list[str]]) -> None:
    """Everything that a line was printed for is there, and the home is whole."""
    with shiyi.open(home, model="hashing") as memory:
        me = memory.scope("me")
        versions = {item.id: me.show(item.id) for item in _all(me)}
        for line in lines:
            if line[0] == "kept":
                assert versions[line[3]].record is not None
                assert me.show(line[2]).capture is not None
            elif line[0] == "edited":
                record = versions[line[2]].record
                assert record is not None
                assert record.version >= int(line[3])
        checks = {check.name: check.state for check in memory.doctor().checks}
        assert checks["words"] == checks["changes"] == "ok"
        if lines:
            assert me.search("搬家 花生").hits


def _all(scope: shiyi.Scope) -> list[Any]:
    items, after = [], None
    while True:
        page = scope.list(limit=1000, after=after)
        items += page.items
        if page.next is None:
            return items
        after = page.next
