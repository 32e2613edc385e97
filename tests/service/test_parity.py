"""Through the daemon or in the process itself: the same answers, the same exit codes."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.cli import call
from shiyi.service.table.operations import OPERATIONS
from tests.service.serving import Served

WORDS = "我對花生過敏，別點宮保雞丁。"
ID = re.compile(r"\b0[0-9A-HJKMNP-TV-Z]{7,25}\b")
_WHOLE = 26  # characters of an id
COMMANDS: list[list[str]] = [
    ["init"],
    ["init"],
    ["remember", WORDS, "--topic", "健康", "--salience", "70"],
    ["remember", "Maeve moved to Lisbon; call +351 000 111", "--date", "2021-03", "--key", "k"],
    ["remember", "Maeve moved to Lisbon; call +351 000 111", "--date", "2021-03", "--key", "k"],
    ["remember", "another", "--key", "k"],
    ["remember", ""],
    ["remember", "x", "--salience", "700"],
    ["remember", "x", "--date", "yesterday-ish"],
    ["remember", "\udcff"],
    ["remember", "--words-only", "x", "--title", "y"],
    ["import", "{place}/notes"],
    ["import", "{place}/nothing"],
    ["import", "{place}/notes"],
    ["search", "花生"],
    ["search", "花生", "--limit", "1", "--budget", "200"],
    ["search", "量子色動力學"],
    ["search", "花生", "--channel", "dense"],
    ["search", "  "],
    ["search", "花生", "--since", "2030", "--until", "2020"],
    ["search", "花生", "--scope", "nosuch"],
    ["search", "花生", "--scope", "no such"],
    ["probe", "花生"],
    ["deep", "花生"],
    ["survey"],
    ["routing", "Maeve"],
    ["catalog"],
    ["recall"],
    ["absence", "腰果"],
    ["list"],
    ["list", "--what", "captures", "--limit", "1"],
    ["list", "--kind", "event"],
    ["show", "{first}"],
    ["show", "nosuch"],
    ["edit", "{first}", "--gist", "我對花生和腰果過敏。", "--reason", "補充"],
    ["edit", "{first}", "--gist", "再改", "--if-match", "0000"],
    ["edit", "{first}"],
    ["add-record", "--kind", "fact", "--gist", "甲", "--summary-only"],
    ["add-record", "--kind", "fact", "--gist", "甲"],
    ["link", "{first}", "about", "{first}"],
    ["reindex"],
    ["reindex", "--scope", "nosuch"],
    ["search", "花生", "--model", "hashing"],
    ["reindex", "--model", "hashing"],
    ["search", "花生", "--model", "hashing"],
    ["search", "花生", "--model", "/no/such/model"],
    ["preflight", "我下週五要去看牙醫。", "--turn", "t1"],
    ["search", "牙醫", "--turn", "t1"],
    ["capture", "我下週五要去看牙醫。", "--turn", "t1"],
    ["capture", "別的話", "--turn", "t1"],
    ["capture-attachment", "{place}/notes/2024-05-01.md", "--turn", "t1"],
    ["capture-attachment", "{place}/nothing", "--turn", "t1"],
    ["session-check", "t1"],
    ["pending"],
    ["finalize", "{ids[4]}", "derived"],
    ["finalize", "{ids[4]}", "derivation_failed", "--reason", "先放著"],
    ["ledger"],
    ["timeline", "t1"],
    ["timeline", "nosuch"],
    ["origins", "{first}", "{ids[0]}"],
    ["add-record", "--kind", "entity", "--title", "Maeve", "--gist", "我的朋友", "--summary-only"],
    ["add-record", "--kind", "entity", "--title", "May", "--gist", "一個朋友", "--summary-only"],
    ["entity", "merge", "{ids[7]}", "{ids[6]}", "--reason", "同一個人"],
    ["entity", "split", "{ids[7]}", "--reason", "兩個人"],
    ["add-record", "--kind", "followup", "--gist", "問牙醫的事", "--summary-only"],
    ["followup", "list"],
    ["followup", "close", "{ids[8]}", "answered", "--note", "好了"],
    ["followup", "close", "{first}", "answered", "--note", "好了"],
    ["contradict", "{first}", "{ids[3]}", "--reason", "不能都對"],
    ["conflicts"],
    ["supersede", "{ids[3]}", "{first}", "--reason", "新的對"],
    ["current"],
    ["footprint", "去看了牙醫"],
    ["feedback", "{first}", "helpful", "--evidence", '{{"capture": "{ids[0]}"}}'],
    ["feedback", "{first}", "helpful", "--evidence", "nonsense"],
    ["review", "--now", "2026-01-01T00:00:00Z"],
    ["starters", "--now", "2026-01-01T00:00:00Z"],
    ["salience", "review", "--now", "2027-01-01T00:00:00Z"],
    ["archive", "{first}"],
    ["undo", "--to", "3", "--reason", "試試"],
    ["purge", "{ids[2]}"],
    ["purge", "{ids[2]}", "--with-records", "--confirm"],
    ["calibrate", "--passages", "{place}/nothing", "--queries", "{place}/nothing"],
    ["status"],
    ["export", "{place}/out"],
    ["export", "{place}/out"],
    ["backup", "{place}/backup"],
    ["backup", "{place}/sealed", "--encrypt"],
    ["restore", "{place}/backup", "--into", "{place}/again"],
    ["restore", "{place}/nothing", "--into", "{place}/none"],
    ["validate"],
    ["doctor"],
    ["trace"],
    ["token", "create", "--role", "read", "--name", "t"],
    ["token", "list"],
    ["eval", "run", "{place}/nothing"],
    ["eval", "compare", "{place}/nothing", "{place}/nothing"],
    ["eval", "gate", "{place}/nothing"],
    ["token", "revoke", "x"],
    ["eval", "datasets"],
    ["version"],
    ["frobnicate"],
]


class Ids(list[str]):
    """The ids that were given, oldest first."""

    def add(self, given: Iterable[str]) -> None:
        self += [one for one in dict.fromkeys(given) if one not in self]

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place) if place < len(self) else "nosuch"


def test_every_operation_is_among_them() -> None:
    """But for the one that needs somebody who judges."""
    told = {one.name for one in OPERATIONS for words in COMMANDS
            if words[: len(one.name.split())] == one.name.split()}  # fmt: skip

    assert {one.name for one in OPERATIONS} - told == {"eval label"}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name in ("here", "there"):
        (tmp_path / name / "notes").mkdir(parents=True)
        (tmp_path / name / "notes" / "2024-05-01.md").write_text("備用鑰匙在鐵罐裡。\n", "utf-8")
        os.utime(tmp_path / name / "notes" / "2024-05-01.md", (1_714_500_000, 1_714_500_000))
    return tmp_path


def told(
    commands: list[list[str]], place: Path, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[list[str], int, Any, str]]:
    """Run every command in the home at `place`; yield what it said, without what is chance."""
    known: dict[str, str] = {}
    first, ids = "none", Ids()
    for words in commands:
        given = [word.format(place=place, first=first, ids=ids) for word in words]
        code = call(["--home", str(place / "home"), *(["--json"] if as_json else []), *given])
        said = capsys.readouterr()
        if first == "none" and words[0] == "remember":
            first = ID.findall(said.out)[1]
        if words[0] in {"remember", "add-record", "capture", "capture-attachment"}:
            ids.add(name for name in ID.findall(said.out) if len(name) == _WHOLE)
        yield words, code, _plain(said.out, place, known), _plain(said.err, place, known)


def _plain(text: str, place: Path, known: dict[str, str]) -> Any:
    """Return the text without times, paths and ids, which are told apart by their order."""
    for name in ID.findall(text):
        if len(name) == _WHOLE:
            known.setdefault(name, f"ID{len(known)}")

    def named(found: re.Match[str]) -> str:
        return next((known[one] for one in known if one.startswith(found[0])), found[0])

    text = ID.sub(named, text.replace(str(place), "PLACE"))
    text = re.sub(r"\b\d{24}\b", "TRACE", text)
    text = re.sub(r"shiyi_[\w-]{43}", "SECRET", text)
    text = re.sub(r'"id": ?"[0-9a-f]{8}"|\b[0-9a-f]{8}\b(?=  \d{4}-)', '"id": "TOKEN"', text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "TIME", text)
    text = re.sub(r"\b[0-9a-f]{16,64}\b", "HASH", text)
    text = re.sub(r" *\d+(\.\d+)? m?s\b", "SECONDS", text)
    text = re.sub(r"\d+ tokens", "TOKENS", text)
    text = re.sub(r"daemon   (none|process \d+)", "daemon", text)
    try:
        return _without_chance(json.loads(text))
    except ValueError:
        return text


def _without_chance(value: Any) -> Any:
    if isinstance(value, dict):
        chance = {"daemon", "milliseconds", "seconds", "bytes", "tokens", "text"}
        return {k: _without_chance(v) for k, v in value.items() if k not in chance}
    return [_without_chance(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("commands", "as_json"),
    [
        pytest.param(COMMANDS[1:24:2], True, id="some"),
        pytest.param(COMMANDS, True, id="json", marks=pytest.mark.slow),
        pytest.param(COMMANDS, False, id="text", marks=pytest.mark.slow),
    ],
)
def test_both_ways_are_the_same(
    commands: list[list[str]],
    as_json: bool,
    notes: Path,
    served: Served,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Command for command: exit code, standard output, standard error."""
    monkeypatch.setenv("SHIYI_CACHE", str(notes / "cache"))
    monkeypatch.setenv("SHIYI_PASSPHRASE", "correct horse")
    served.home = notes / "there" / "home"
    there = list(told(commands, notes / "there", as_json, capsys))
    monkeypatch.setenv("SHIYI_DAEMON", "off")
    here = list(told(commands, notes / "here", as_json, capsys))

    for one, other in zip(there, here, strict=True):
        assert one == other
    print([(" ".join(words), code) for words, code, _, _ in here])  # noqa: T201
    assert {code for _, code, _, _ in here} >= (
        {0, 1, 2, 4, 69} if commands is COMMANDS else {0, 2}
    )
