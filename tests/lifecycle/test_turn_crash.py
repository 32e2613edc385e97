"""Every step of a turn after kill -9: what was acknowledged is there, and nothing is by half."""

import json
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from shiyi.core.text import text_sha256
from shiyi.lifecycle.validate import validate
from shiyi.store import Store

Child = Callable[..., "Popen[str]"]

# Turns one after another; each step is acknowledged by a line after it returned.
WRITER = """
import json, sys
from pathlib import Path
import shiyi

home, start, folder = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
memory = shiyi.open(home, model="none")
me = memory.scope("me")

def told(step, number, id):
    print(json.dumps([step, number, id]), flush=True)

print("ready", flush=True)
for number in range(start, start + 100_000):
    turn, text = f"t{number}", f"我第 {number} 次去游泳。" * (1 + number % 5 * 50)
    if number % 4 == 0:
        told("remember", number, me.remember(text, turn=turn, key=turn).capture_id)
        continue
    me.preflight(text, turn=turn, tier="full", key=f"p{turn}")
    told("preflight", number, turn)
    kept = me.capture(text, turn=turn, key=f"c{turn}").capture_id
    told("capture", number, kept)
    if number % 2:
        path = folder / f"{number % 3}.bin"
        path.write_bytes(bytes([255, number % 3]) * 100_000)
        told("attach", number, me.capture_attachment(path, turn=turn).attachment_id)
    record = me.add_record(kind="fact", gist=str(number), quotes=[{"capture": kept}]).record_id
    told("record", number, record)
    me.finalize(kept, "derived", key=f"f{turn}")
    told("finalize", number, kept)
    assert me.session_check(turn).verdict in {"pass", "pass_with_warnings"}
    told("check", number, turn)
    if number % 10 == 0:
        memory._caller.session.store.checkpoint()
"""


def kill_while_writing(
    child: Child, home: Path, folder: Path, start: int, chance: random.Random
) -> list[tuple[str, int, str]]:
    """Return what a writer that was killed after some steps had acknowledged."""
    process = child(WRITER, home, start, folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    first = "".join(process.stdout.readline() for _ in range(chance.randrange(2, 20)))
    time.sleep(chance.uniform(0, 0.02))
    process.send_signal(signal.SIGKILL)
    output, errors = process.communicate()
    assert errors == ""
    lines = [line for line in (first + output).splitlines(keepends=True) if line.endswith("\n")]
    return [tuple(json.loads(line)) for line in lines]


def check_after_crash(home: Path, acknowledged: list[tuple[str, int, str]]) -> int:
    """Check that all that was acknowledged is there, and all that is there is whole."""
    with Store(home) as store:
        assert store.lost_tails() == []
        faults = [one for one in validate(store) if one.state == "failed"]
        assert faults == []
        captures = {c.capture_id: c for c in store.iterate_captures("me")}
        for step, number, id_ in acknowledged:
            assert _is_there(store, captures, step, f"t{number}", id_), (step, number)
        for capture in captures.values():
            turn = str(capture.turn_id)
            receipt = store.turns.receipt("me", turn)
            assert receipt is not None
            assert receipt.utf8_sha256 == text_sha256(capture.text)
            entries = [one.step for one in store.turns.of_turn("me", turn)]
            assert entries.count("capture") == 1
        for head in store.iterate_heads("me"):
            assert len(store.links_from("me", [head.record_id])[head.record_id]) == 1
        for attachment in store.attachments.iterate("me"):
            assert store.attachments.is_there(attachment)
        turns = {int(str(c.turn_id)[1:]) for c in captures.values()}
        opened = {int(one.turn_id[1:]) for one in store.turns.open_receipts("me")}
        return max(turns | opened, default=0) + 1


def _is_there(store: Store, captures: dict[str, Any], step: str, turn: str, id_: str) -> bool:
    entries = store.turns.of_turn("me", turn)
    if step == "preflight":
        return store.turns.receipt("me", turn) is not None
    if step in {"remember", "capture"}:
        closed = any(one.step == "finalize" for one in entries)
        return id_ in captures and (closed or step == "capture")
    if step == "attach":
        return store.attachments.find("me", id_) is not None
    if step == "record":
        return bool(store.versions("me", id_)) and (id_,) in [one.records for one in entries]
    return step in {one.step for one in entries}


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_steps_that_were_acknowledged_survive_kill_9(
    child: Child, tmp_path: Path, kills: int
) -> None:
    """No acknowledged step is lost, none is torn, and the turns go on."""
    chance = random.Random(kills)
    acknowledged: list[tuple[str, int, str]] = []
    start, home = 1, tmp_path / "home"
    for _ in range(kills):
        acknowledged += kill_while_writing(child, home, tmp_path, start, chance)
        start = check_after_crash(home, acknowledged)

    assert len(acknowledged) > kills
    assert {step for step, _, _ in acknowledged} >= {"preflight", "capture"}
