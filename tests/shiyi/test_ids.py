"""Ids as people type them, and names that stand for nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from shiyi.core.ids import derived_id

Run = Callable[..., Any]
UNKNOWN = "沒有這個"


def test_small_letters_are_the_same_id(run: Run, kept: Run) -> None:
    """Wherever an id goes in, as with the beginning of one."""
    one, two = kept("花生過敏"), kept("喜歡散步")
    first, second = one["record_id"].lower(), two["record_id"].lower()
    words = one["capture_id"].lower()

    assert run("show", first, "--json").json["record"]["record_id"] == one["record_id"]
    assert run("show", words, "--json").json["capture"]["capture_id"] == one["capture_id"]
    assert run("search", first, "--json").json["hits"][0]["id"] == one["record_id"]
    assert run("probe", "--id", first, "--format", "json").code == 0
    assert "花生過敏" in run("deep", "--id", words).out
    assert run("origins", first, "--json").json["origins"][0]["id"] == first
    assert run("edit", first, "--title", "別的", "--json").json["record_id"] == one["record_id"]
    assert "words never change" in run("edit", words, "--title", "別的").err
    linked = run("link", first, "supports", second, "--json").json
    assert (linked["src"], linked["dst"]) == (one["record_id"], two["record_id"])
    assert run("list", "--after", min(first, second), "--json").json["items"]
    assert run("purge", words, "--confirm").code == 0
    assert run("purge", words, "--json").json["gone"] == [one["capture_id"]]


def test_a_name_from_outside_goes_before_the_id_that_it_looks_like(
    run: Run, kept: Run, tmp_path: Any
) -> None:
    """A source may name its own things so."""
    id_ = kept("花生過敏")["record_id"]
    lines = f'{{"id": "{id_.lower()}", "text": "散步"}}\n'
    (tmp_path / "notes.jsonl").write_text(lines, "utf-8")
    assert run("import", tmp_path / "notes.jsonl").code == 0

    assert run("show", id_, "--json").json["record"]["record_id"] == id_
    shown = run("show", id_.lower(), "--json")
    assert shown.code == 0
    assert id_ not in shown.out


@pytest.mark.parametrize(
    "command",
    [
        ("edit", UNKNOWN, "--title", "x"),
        ("archive", UNKNOWN),
        ("link", UNKNOWN, "supports", "{id}"),
        ("link", "{id}", "supports", UNKNOWN),
        ("supersede", UNKNOWN, "{id}"),
        ("supersede", "{id}", UNKNOWN),
        ("contradict", "{id}", UNKNOWN, "--reason", "x"),
        ("entity", "merge", UNKNOWN, "{id}"),
        ("entity", "split", UNKNOWN),
        ("followup", "close", UNKNOWN, "resolved", "--note", "x"),
        ("current", "--of", UNKNOWN),
        ("purge", UNKNOWN),
        ("probe", "--id", UNKNOWN),
        ("deep", "--id", UNKNOWN),
        ("salience", "review", "--apply", "--id", UNKNOWN),
    ],
    ids=str,
)
def test_what_is_not_there_is_named_as_it_was_typed(
    command: tuple[str, ...], run: Run, kept: Run
) -> None:
    """Nobody has seen the id that a name stands for."""
    id_ = kept("花生過敏")["record_id"]
    answer = run(*(part.format(id=id_) for part in command))

    assert UNKNOWN in answer.out + answer.err
    for key in (UNKNOWN, f"record\0{UNKNOWN}"):
        for scope in ("me", "default"):
            assert derived_id(scope, key) not in answer.out + answer.err
