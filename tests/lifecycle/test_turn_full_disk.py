"""A full disk at each step of a turn: refused in a sentence, and nothing of it stays."""

import random
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.core.errors import HomeUnwritableError
from shiyi.lifecycle.validate import validate

Disk = Callable[..., Path]
WORDS = random.Random(2).randbytes(60_000).hex()  # more than the room that is left


def fill(disk: Path, leave: int) -> None:
    """Write a file that leaves so many bytes."""
    with (disk / "ballast").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave))


@pytest.mark.parametrize("step", ["preflight", "capture", "attach", "record", "remember"])
@pytest.mark.parametrize("leave", [0, 40_000])
def test_a_full_disk_refuses_a_step_and_keeps_the_others(
    disk: Path, tmp_path: Path, step: str, leave: int
) -> None:
    """The step is refused, the turn stands as it stood, and the step works when there is room."""
    home = disk / "home"
    (tmp_path / "a.bin").write_bytes(random.Random(3).randbytes(200_000))
    memory: Any
    with shiyi.open(home, model="none") as memory:
        me = memory.scope("me")
        me.preflight(WORDS, turn="a", tier="full")
        kept = me.capture("b", turn=me.preflight("b", turn="b", tier="full").turn_id)
        steps: dict[str, Callable[[], Any]] = {
            "preflight": lambda: me.preflight("c", turn="c" * 200, tier="full", key="x" * 200),
            "capture": lambda: me.capture(WORDS, turn="a"),
            "attach": lambda: me.capture_attachment(tmp_path / "a.bin", turn="a"),
            "record": lambda: me.add_record(
                kind="fact", gist="g" * 8000, attrs={"x": WORDS[:60_000]},
                quotes=[{"capture": kept.capture_id}],
            ),
            "remember": lambda: me.remember(WORDS, turn="d"),
        }  # fmt: skip
        before = _state(memory)
        fill(disk, leave)

        refused, said = False, ""
        try:
            steps[step]()
        except HomeUnwritableError as error:
            refused = True
            said = str(error)
        if refused:
            assert _state(memory) == before
            assert WORDS[:20] not in said
        assert refused or leave or step == "preflight"
        (disk / "ballast").unlink()
        steps[step]()
        assert me.show(kept.capture_id).capture.text == "b"
        assert [
            one for one in validate(memory._caller.session.store) if one.state == "failed"
        ] == []


def _state(memory: Any) -> Any:
    """Return all that a turn leaves: rows, and the files of attachments."""
    store = memory._caller.session.store
    files = sorted(path.name for path in (store.home / "attachments").rglob("*") if path.is_file())
    return (
        [c.capture_id for c in store.iterate_captures("me")],
        [r.record_id for r in store.iterate_heads("me")],
        [(one.step, one.seq) for one in store.turns.last("me", 100)],
        [store.turns.receipts("me", turn) for turn in ("a", "b", "c" * 200, "d")],
        store.counts("me"), store.last_seq, files,
    )  # fmt: skip


def test_a_file_limit_is_a_full_disk_for_attachments(
    tmp_path: Path, child: Callable[..., Any]
) -> None:
    """Bytes that find no room are refused, and no piece of them stays."""
    (tmp_path / "a.bin").write_bytes(b"\xff" * 3_000_000)
    code = """
import resource, signal, sys
import shiyi
from shiyi.core.errors import HomeUnwritableError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with shiyi.open(sys.argv[1], model="none") as memory:
    me = memory.scope("me")
    me.preflight("a", turn="a", tier="full")
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
    try:
        me.capture_attachment(sys.argv[2], turn="a")
    except HomeUnwritableError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(me.capture_attachment(sys.argv[2], turn="a").bytes)
"""
    output, errors = child(code, tmp_path / "home", tmp_path / "a.bin").communicate()

    assert errors == ""
    assert "nothing of it stays" in output.splitlines()[0]
    assert output.splitlines()[1] == "3000000"
    files = [path for path in (tmp_path / "home" / "attachments").rglob("*") if path.is_file()]
    assert len(files) == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
