"""Every command: what it says, in words and as JSON, and with which exit code it ends."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.ids import is_id
from shiyi.service.table.operations import OPERATIONS

Run = Callable[..., Any]
ALLERGY = "我對花生過敏，別點宮保雞丁。"


def test_init_makes_a_private_home(run: Run, home: Path) -> None:
    """The first time says that it is ready, the second that it was there."""
    first, second = run("init"), run("init", "--json")

    assert first.code == 0
    assert "is ready; search goes by keywords only" in first.out
    assert second.json["created"] is False
    assert second.json["mode"] == "keyword"
    assert home.stat().st_mode & 0o777 == 0o700


def test_remember_search_show(run: Run) -> None:
    """The first three commands of anybody: keep, find, read."""
    kept = run("remember", ALLERGY, "--topic", "健康", "--topic", "飲食")
    found = run("search", "花生 过敏")

    assert kept.code == 0
    assert kept.out.startswith(f"Kept {len(ALLERGY.encode())} bytes as ")
    assert found.code == 0
    assert ALLERGY in found.out
    assert "words (花生過敏)" in found.out

    hit = run("search", "花生", "--json").json["hits"][0]
    shown = run("show", hit["id"])
    assert shown.code == 0
    assert "健康, 飲食" in shown.out
    assert "quotes → " in shown.out


def test_show_of_words_names_what_quotes_them(run: Run, kept: Run) -> None:
    """From the words one comes to the records that rest on them."""
    one = kept(ALLERGY)

    shown = run("show", one["capture_id"])

    assert ALLERGY in shown.out
    assert f"quotes ← {one['record_id']} [0, {len(ALLERGY)})" in shown.out


PAGES = """
import json, sys
from shiyi.cli import call
for words in json.loads(sys.argv[1]):
    call(words)
    print(end="\\0")
"""


def test_a_cursor_goes_on_in_another_process(
    run: Run, home: Path, tmp_path: Path, child: Run
) -> None:
    """What one command left out, the next one shows, however its process orders sets."""
    said = tmp_path / "said.jsonl"
    lines = (f"第{n}次去爬山，山上的雲很低，走了很久才下來。" for n in range(40))
    said.write_text("".join(f"{json.dumps({'text': line})}\n" for line in lines), "utf-8")
    assert run("import", said).code == 0
    asked = [[command, "爬山", "--only", "captures", "--budget", "300", "--json"]
             for command in ("probe", "deep")]  # fmt: skip

    def pages(seed: str) -> list[Any]:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        out, err = child(PAGES, json.dumps(asked), env=environment).communicate()
        assert err == ""
        return [json.loads(page) for page in out.split("\0")[:-1]]

    first = pages("1")
    for words, page in zip(asked, first, strict=True):
        words += ["--resume", page["truncated"]["resume"]]
    for seed in ("1", "2"):
        for room, before, after in zip(("records", "fragments"), first, pages(seed), strict=True):
            shown, more = ({one["id"] for one in page[room]} for page in (before, after))
            assert more
            assert not shown & more


def test_the_beginning_of_an_id_stands_for_it_in_what_relates(run: Run, tmp_path: Path) -> None:
    """link, supersede and the quotes of add-record take what the maps and cards print."""
    source = tmp_path / "a.jsonl"
    source.write_text(
        "".join(
            f'{{"type": "capture", "id": "{n}", "text": "句{n}"}}\n'
            f'{{"type": "record", "id": "{n}", "kind": "fact", "title": "事{n}", '
            f'"quotes": [{{"capture": "{n}"}}]}}\n'
            for n in (1, 2)
        ),
        "utf-8",
    )
    assert run("import", source).code == 0
    old, new = (run("show", n, "--json").json["record"]["record_id"] for n in (1, 2))
    quoted = run("show", old, "--json").json["links"][0]["dst"]
    assert len({old[:8], new[:8], quoted[:8]}) == 3

    tied = run("link", old[:8], "contradicts", new[:8].lower(), "--json").json
    assert (tied["src"], tied["dst"]) == (old, new)
    for name in (quoted[:8], "1"):  # a name means the capture where words are quoted
        assert run("link", new[:8], "quotes", name, "--json").json["dst"] == quoted
    made = run("add-record", "--kind", "fact", "--title", "三",
               "--quote", f'{{"capture": "{quoted[:8]}"}}')  # fmt: skip
    assert made.code == 0, made.err
    held = run("supersede", old[:8], new[:8], "--json").json
    assert (held["old"], held["new"]) == (old, new)
    assert run("supersede", old[:8], "7ZZZZZZZ").code == 1


def test_names_of_the_source_stand_for_ids(run: Run, tmp_path: Path) -> None:
    """What a source calls c1 and r1 is shown, edited and archived under that name."""
    source = tmp_path / "a.jsonl"
    source.write_text(
        '{"type": "capture", "id": "1", "text": "我搬到台中了"}\n'
        '{"type": "record", "id": "1", "kind": "event", "title": "搬家", "quotes": '
        '[{"capture": "1"}]}\n',
        "utf-8",
    )
    run("import", source)

    assert run("show", "1", "--json").json["record"]["title"] == "搬家"
    assert run("edit", "1", "--title", "搬到台中").code == 0
    assert run("archive", "1").code == 0
    assert run("show", "2").code == 1


def test_list_pages_through_everything_once(run: Run, kept: Run) -> None:
    """Pages follow one another by their cursor, without gap or repetition."""
    made = [kept(f"第{number}件事")["record_id"] for number in range(5)]

    seen, after = [], None
    while True:
        page = run("list", "--limit", 2, "--json", *(["--after", after] if after else [])).json
        seen += [item["id"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break

    assert sorted(seen) == sorted(made)
    assert "More: --after" in run("list", "--limit", 2).out
    assert len(run("list", "--what", "captures", "--json").json["items"]) == 5


def test_list_filters(run: Run, kept: Run) -> None:
    """Kind, layer, status and topic narrow a list."""
    one = kept("甲", "--kind", "rule", "--layer", "self", "--topic", "T")["record_id"]
    kept("乙")
    run("archive", one)

    for options in (["--kind", "rule"], ["--layer", "self"], ["--status", "archived"],
                    ["--topic", "T"]):  # fmt: skip
        items = run("list", *options, "--json").json["items"]
        assert [item["id"] for item in items] == [one]


def test_nothing_found_ends_with_one(run: Run, kept: Run) -> None:
    """Nothing found is no error and no success; a home without any memory says what to do."""
    run("init")
    empty = run("search", "花生")
    kept(ALLERGY)
    missing = run("search", "量子色動力學")

    assert (empty.code, missing.code) == (1, 1)
    assert "shiyi remember" in empty.out
    assert "Nothing found." in missing.out
    assert run("list", "--kind", "rule").code == 1


def test_a_scope_that_is_not_there_is_named(run: Run, kept: Run) -> None:
    """A mistyped scope finds nothing and says which scopes there are."""
    kept(ALLERGY, "--scope", "工作")

    for command in (["search", "花生"], ["list"]):
        answer = run(*command, "--scope", "工昨")
        assert answer.code == 1
        assert "There is no scope 工昨 in this home; there are: 工作." in answer.out
        assert len(run(*command, "--scope", "工昨", "--json").json["notes"]) == 1
    assert run("export", "out", "--scope", "工昨").code == 1
    assert run("reindex", "--scope", "工昨").code == 1


def test_edit_appends_and_clears(run: Run, kept: Run) -> None:
    """A field that is given an empty value is cleared; the version before it stays."""
    id_ = kept("甲", "--detail", "細節", "--date", "2021-03", "--phase", "台北", "--topic", "T",
               "--alias", "A")["record_id"]  # fmt: skip

    edited = run("edit", id_, "--detail", "", "--date", "", "--phase", "", "--topic", "",
                 "--alias", "", "--reason", "更正", "--json")  # fmt: skip

    assert edited.json["version"] == 2
    shown = run("show", id_, "--versions", "--json").json
    newest, oldest = shown["record"], shown["versions"][0]
    assert (newest["detail"], newest["phase"], newest["date_start"]) == (None, None, None)
    assert (newest["topics"], newest["aliases"]) == ([], [])
    assert newest["date_precision"] == newest["date_basis"] == "unknown"
    assert (oldest["detail"], oldest["date_start"], oldest["topics"]) == (
        "細節",
        "2021-03-01",
        ["T"],
    )
    for field in ("--title", "--gist"):
        assert run("edit", id_, field, "").code == 2


def test_edit_says_when_nothing_changes(run: Run, kept: Run) -> None:
    """The same value again makes no version; no field at all is a mistake."""
    id_ = kept("甲")["record_id"]

    assert "already says that" in run("edit", id_, "--gist", "甲").out
    assert run("edit", id_).code == 2


def test_a_capture_is_not_edited(run: Run, kept: Run) -> None:
    """Who gives the id of the words is told which record quotes them, or that none does."""
    quoted, alone = kept("甲"), kept("乙", "--words-only")

    for command in (["edit", "--title", "丙"], ["archive"]):
        first = run(*command, quoted["capture_id"])
        second = run(*command, alone["capture_id"])
        assert (first.code, second.code) == (2, 2)
        assert f"{quoted['capture_id']} is a capture; words never change." in first.err
        assert f"Edit the record that quotes it ({quoted['record_id']})." in first.err
        assert "No record quotes it." in second.err


def test_what_does_not_apply_is_refused(run: Run, kept: Run) -> None:
    """An option that could have no effect is refused instead of passed over."""
    one = kept("甲")

    for command in (
        ["list", "--what", "captures", "--kind", "fact"],
        ["list", "--what", "captures", "--layer", "core"],
        ["list", "--what", "captures", "--status", "active"],
        ["list", "--what", "captures", "--topic", "T"],
        ["remember", "乙", "--words-only", "--title", "丙"],
        ["show", one["capture_id"], "--versions"],
    ):
        assert run(*command).code == 2, command
    assert run("status", "--json").json["scopes"][0]["captures"] == 1


def test_a_budget_for_no_hit(run: Run, kept: Run) -> None:
    """What was found and did not fit was found: the exit code and the words say so."""
    kept("花生" * 300)

    answer = run("search", "花生", "--budget", "200")

    assert answer.code == 0
    assert "Nothing found." not in answer.out
    assert "hits did not fit the budget; raise --budget." in answer.out


def test_archive_twice_changes_once(run: Run, kept: Run) -> None:
    """An archived record is out of search and readable; once more changes nothing."""
    id_ = kept(ALLERGY)["record_id"]

    first, second = run("archive", id_, "--reason", "不再"), run("archive", id_)

    assert "is at version 2" in first.out
    assert second.code == 0
    assert "stays at version 2" in second.out
    assert run("show", id_, "--json").json["record"]["status"] == "archived"
    ids = [hit["id"] for hit in run("search", "花生", "--only", "records", "--json").json["hits"]]
    assert ids == []
    back = run("edit", id_, "--status", "active")
    assert back.code == 0


def test_conflict_and_key(run: Run, kept: Run) -> None:
    """An old etag is refused with exit code 4; the same key gives the first answer again."""
    id_ = kept("甲")["record_id"]

    refused = run("edit", id_, "--title", "乙", "--if-match", "0" * 16, "--json")
    assert refused.code == 4
    assert refused.json["error"]["code"] == "conflict"

    first = run("remember", "丙", "--key", "k", "--json").json
    assert run("remember", "丙", "--key", "k", "--json").json == first
    assert run("remember", "丁", "--key", "k").code == 4


def test_reindex_status_doctor(run: Run, kept: Run) -> None:
    """What is built is said, what stands is said, and all of it is examined."""
    kept(ALLERGY)

    before = run("status", "--json").json["scopes"][0]
    built = run("reindex")
    after = run("status", "--json").json["scopes"][0]
    doctor = run("doctor")

    assert (before["generation"], before["behind"]) == (None, 3)
    assert "me: 2 documents" in built.out
    assert after["behind"] == 0
    assert after["documents"] == 2
    assert doctor.code == 0
    assert "✓ words: 1 capture compared with the SHA-256, all as kept." in doctor.out
    assert "! model: Keywords only" in doctor.out


def test_reindex_of_one_scope(run: Run, kept: Run) -> None:
    """`--scope` before or after the command names the only scope; without it, all are built."""
    kept("甲")
    kept("乙", "--scope", "work")

    def scopes(*arguments: str) -> list[str]:
        return [one["scope"] for one in run(*arguments, "--json").json["indexes"]]

    assert scopes("reindex", "--scope", "work") == ["work"]
    assert scopes("--scope", "work", "reindex") == ["work"]
    assert scopes("reindex") == ["me", "work"]


def test_doctor_finds_a_fault(run: Run, kept: Run, home: Path) -> None:
    """A damaged index is a warning, since it is rebuilt; open permissions are one too."""
    kept(ALLERGY)
    run("reindex")
    damaged = next(home.glob("index/**/columns.npy"))
    damaged.write_bytes(damaged.read_bytes()[:-1])

    answer = run("doctor", "--json").json

    states = {check["name"]: check["state"] for check in answer["checks"]}
    assert states["index of me"] == "warning"
    assert run("search", "花生").code == 0


def test_export_and_import(run: Run, kept: Run, tmp_path: Path) -> None:
    """Plain files out and in again, and a directory with files is left alone."""
    kept(ALLERGY)
    out = tmp_path / "out"

    assert "Wrote 1 capture, 1 record" in run("export", out).out
    again = run("export", out)
    assert again.code == 2
    assert "is not empty" in again.err
    assert run("--home", tmp_path / "other", "import", out).code == 0
    assert run("export", tmp_path / "md", "--format", "markdown").code == 0
    assert len(list((tmp_path / "md").rglob("*.md"))) == 2


def test_calibrate(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The constants of a model are measured from own texts and kept beside it."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    for name, count in (("passages", 60), ("queries", 50)):
        lines = [f"第{n}段{name}的文字 and some words {n}" for n in range(count)]
        (tmp_path / name).write_text("\n".join(lines), "utf-8")
    (tmp_path / "few").write_text("一句\n" * 49, "utf-8")

    command = ["calibrate", "--passages", tmp_path / "passages", "--queries", tmp_path / "queries"]
    answer = run("--model", "hashing", *command)

    assert answer.code == 0, answer
    assert "60 passages and 50 queries" in answer.out
    bad = ["calibrate", "--passages", tmp_path / "few", "--queries", tmp_path / "queries"]
    refused = run("--model", "hashing", *bad)
    assert refused.code == 2
    assert "holds 49 texts; give at least 50" in refused.err
    assert run(*command).code == 69  # no model, nothing to measure


def test_version(run: Run) -> None:
    """The version is said in each form that people try."""
    assert run("version").out.startswith("shiyi 0.1.0 (schema ")
    assert run("--version").out == "shiyi 0.1.0\n"


def test_help_shows_every_command(run: Run) -> None:
    """Help of the whole and of each command ends with 0; no command at all shows it too."""
    whole = run("--help")

    assert whole.code == 0
    assert all(one.name.partition(" ")[0] in whole.out for one in OPERATIONS)
    assert run().code == 2
    for one in OPERATIONS:
        answer = run(*one.name.split(" "), "--help")
        assert (answer.code, answer.err) == (0, "")
        assert one.purpose.split()[0] in answer.out


def test_options_stand_before_or_after(run: Run, tmp_path: Path) -> None:
    """--home, --scope, --model and --json may stand on either side of the command."""
    elsewhere = str(tmp_path / "elsewhere")

    after = run("remember", "甲", "--home", elsewhere, "--scope", "s", "--model", "none", "--json")
    before = run("--home", elsewhere, "--scope", "s", "--model", "none", "--json", "list")

    assert after.json["scope"] == "s"
    assert before.json["items"][0]["title"] == "甲"
    assert is_id(after.json["capture_id"])


def test_doctor_sees_what_is_lost_of_the_vectors(run: Run, home: Path) -> None:
    """Gone, damaged or blocked, each is told from the others; reindex makes them whole."""

    def vectors() -> str:
        lines: list[str] = run("doctor", "--model", "hashing").out.splitlines()
        return next(line for line in lines if " vectors: " in line)

    for text in ("昨天下雨。", "買了三把傘。"):
        assert run("remember", text, "--words-only", "--model", "hashing").code == 0
    assert run("reindex", "--model", "hashing").code == 0
    assert vectors() == "✓ vectors: 2 are kept, each of them whole."

    rows = next(home.glob("vectors/*/rows.bin"))
    rows.write_bytes(bytes(8) + rows.read_bytes()[8:])
    assert "! vectors: 1 of 2 are gone or damaged" in vectors()
    shutil.rmtree(home / "vectors")
    assert "! vectors: 2 of 2 are gone or damaged" in vectors()
    assert run("reindex", "--model", "hashing").code == 0
    assert vectors() == "✓ vectors: 2 are kept, each of them whole."
    shutil.rmtree(home / "vectors")
    (home / "vectors").write_text("in the way", "utf-8")
    assert "✗ vectors: Keywords only" in vectors()
    assert run("doctor", "--model", "hashing").code == 5


def test_doctor_names_the_constants(
    run: Run, kept: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the model's constants were measured is said."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    kept(ALLERGY)

    assert "constants: None were measured" in run("doctor", "--model", "hashing").out
