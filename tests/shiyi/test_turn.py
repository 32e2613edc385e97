"""The steps of a turn on the command line: sentences, exit codes, and what a pipe brings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
WORDS = "我女儿小禾昨天开始学游泳了。\r\n"


@pytest.fixture
def judged(run: Run) -> str:
    assert run("preflight", "--turn", "t", stdin=WORDS.encode()).code == 0
    return "t"


def test_the_way_of_a_turn(run: Run, judged: str) -> None:
    """Each step says what it did, and the check tells by its exit code whether it is saved."""
    early = run("search", "小禾", "--turn", judged)
    checked = run("session-check")
    kept = run("capture", "--turn", judged, "--json", stdin=WORDS.encode()).json["capture_id"]
    quote = f'{{"capture": "{kept}", "text": "小禾"}}'
    record = run("add-record", "--kind", "event", "--gist", "g", "--quote", quote, "--json").json
    closed = run("finalize", kept, "derived", "--record", record["record_id"])
    saved = run("session-check", judged)

    assert (early.code, checked.code, saved.code) == (2, 1, 0)
    assert "not captured yet" in early.err
    assert "fail: t is not saved:" in checked.out
    assert "not_captured  t" in checked.out
    assert closed.out == f"{kept} is closed, derived: {record['record_id']}.\n"
    assert closed.code == 0
    assert saved.out == "pass: t is kept and closed.\n"
    assert run("pending").out == "Nothing is open.\n"
    assert [line.split()[2] for line in run("timeline", judged).out.splitlines()[1:]] == [
        "preflight", "check", "capture", "record", "finalize", "check",
    ]  # fmt: skip
    assert run("show", kept, "--json").json["capture"]["text"] == WORDS


def test_other_words_and_unknown_turns(run: Run, judged: str) -> None:
    """A conflict is exit code 4, what cannot be is 2, and what is not there is 1."""
    assert run("preflight", "别的", "--turn", judged).code == 4
    assert run("capture", "别的", "--turn", judged).code == 2
    assert run("capture", "别的", "--turn", "unknown").code == 2
    assert run("timeline", "unknown").code == 1
    assert run("session-check", "unknown").code == 1
    assert run("session-check", "--scope", "nowhere").code == 1


def test_an_attachment_is_shown_and_listed(run: Run, judged: str, tmp_path: Path) -> None:
    """A hostile name is shown with its escapes, and the bytes are found."""
    path = tmp_path / "课\u202e表.bin"
    path.write_bytes(b"\xff")

    kept = run("capture-attachment", path, "--turn", judged)
    id_ = run("capture-attachment", path, "--turn", judged, "--json").json["attachment_id"]

    assert "\u202e" not in kept.out
    assert "课\\u202e表.bin (1 byte, application/octet-stream)" in kept.out
    assert "whole          True" in run("show", id_).out
    assert id_ in run("ledger", "--turn", judged).out
    assert "no_text" in run("session-check").out
