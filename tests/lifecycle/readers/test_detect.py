"""Which format a path holds, and what is said when it holds none."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers import FORMATS, LineError, detect, progress_total, read

CHATGPT = json.dumps([{"id": "c", "mapping": {}}])
CLAUDE = json.dumps([{"uuid": "u", "chat_messages": []}])
TRANSCRIPT = '{"type":"user","uuid":"a","sessionId":"s","message":{"role":"user","content":"x"}}'


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.jsonl", '{"text": "x"}', "jsonl"),
        ("a.jsonl", '{"kind": "fact", "title": "x"}', "jsonl"),
        ("a.jsonl", "broken", "jsonl"),
        ("a.ndjson", '{"type": "record", "_x": 1}', "jsonl"),
        ("a.jsonl", '\n{"_id": "1", "text": "x"}', "beir"),
        ("a.jsonl", '{"type":"summary","summary":"x","leafUuid":"a"}', "claude-code"),
        ("a.jsonl", f"broken\n{TRANSCRIPT}", "claude-code"),
        ("a.md", "", "markdown"),
        ("a.MARKDOWN", "", "markdown"),
        ("a.txt", "", "text"),
        ("a.json", CHATGPT, "chatgpt"),
        ("a.json", f"[5, {CLAUDE[1:]}", "claude"),
        ("a.json", CLAUDE[1:-1], "claude"),
    ],
)
def test_a_file_is_known_by_its_name_and_first_lines(
    tmp_path: Path, name: str, content: str, form: str
) -> None:
    """The ending says most; inside JSON the fields say the rest."""
    put(tmp_path, {name: content})

    assert detect(tmp_path / name) == form


@pytest.mark.parametrize(
    ("files", "form"),
    [
        ({"corpus.jsonl": "", "queries.jsonl": "", "README.md": ""}, "beir"),
        ({"captures.jsonl": "", "README.md": ""}, "jsonl"),
        ({"records.jsonl": ""}, "jsonl"),
        ({"more.jsonl": "{}"}, "jsonl"),
        ({"conversations.json": CHATGPT, "notes.md": ""}, "chatgpt"),
        ({"export/conversations-000.json": CLAUDE}, "claude"),
        ({"conversations.json": "[]", "chat.html": ""}, "chatgpt"),
        ({"conversations.json": "[]", "users.json": ""}, "claude"),
        ({"-home-x/a.jsonl": TRANSCRIPT, "-home-x/memory/note.md": ""}, "claude-code"),
        ({"a/b/c.md": "", "data.jsonl": "{}"}, "markdown"),
        ({"a.md": "", "b/s.jsonl": TRANSCRIPT, "b/conversations.json": CHATGPT}, "markdown"),
        ({"a/b.txt": "", "p.png": ""}, "text"),
    ],
)
def test_a_folder_is_known_by_what_lies_in_it(
    tmp_path: Path, files: dict[str, str], form: str
) -> None:
    """The most particular name decides, then the first file that tells."""
    assert detect(put(tmp_path, files)) == form


@pytest.mark.parametrize("files", [{}, {"p.png": ""}, {"a/x.jsonl": "{}"}, {".hidden/a.md": ""}])
def test_a_folder_of_other_things_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    """One sentence names the formats."""
    with pytest.raises(UsageError, match=r"any of the formats jsonl, markdown, .*beir"):
        detect(put(tmp_path, files))


@pytest.mark.parametrize(("name", "content"), [("a.png", "x"), ("a.json", "5"), ("a", "")])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, name: str, content: str) -> None:
    """Nothing is imported from what is not understood."""
    put(tmp_path, {name: content})

    with pytest.raises(UsageError, match="any of the formats"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["gone", "x\0y"])
def test_a_missing_path_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """The error comes from the call, not from the first item."""
    with pytest.raises(UsageError, match=r"does not exist; give .* jsonl"):
        read(tmp_path / name)


def test_an_unknown_format_is_refused_at_once(tmp_path: Path) -> None:
    """The message lists the formats that there are."""
    with pytest.raises(UsageError, match=", ".join(FORMATS)):
        read(tmp_path, format="docx")


@pytest.mark.parametrize("form", ["beir", "jsonl", "chatgpt", "claude"])
def test_a_named_format_has_to_fit_the_folder(tmp_path: Path, form: str) -> None:
    """Naming a format does not turn an empty folder into an empty import."""
    with pytest.raises(UsageError, match="any of the formats"):
        read(tmp_path, format=form)


def test_the_list_of_downloads_is_told_from_an_export(tmp_path: Path) -> None:
    """Claude's newer download is a list of zips; the message says to fetch those."""
    put(tmp_path, {"export.json": '{"files": ["https://example.com/projects-000.zip"]}'})

    with pytest.raises(UsageError, match="list of downloads"):
        detect(tmp_path / "export.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    """Permission is said in one sentence."""
    put(tmp_path, {"a.jsonl": "{}"})
    (tmp_path / "a.jsonl").chmod(0)

    with pytest.raises(UsageError, match="cannot be read"):
        detect(tmp_path / "a.jsonl")


def test_a_file_that_vanishes_is_an_error_item(tmp_path: Path) -> None:
    """Between the look and the reading a file may go; the stream says so and ends."""
    put(tmp_path, {"a.jsonl": '{"text": "x"}'})
    items = read(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").unlink()

    (error,) = items

    assert isinstance(error, LineError)
    assert str(error) == f"{tmp_path}/a.jsonl: This cannot be read (No such file or directory)."


@pytest.mark.parametrize(
    "files",
    [
        {"corpus.jsonl": '{"_id": "1", "text": "x"}\nbroken\n', "queries.jsonl": "x"},
        {"captures.jsonl": '{"text": "x"}\n\n', "records.jsonl": "[]", "other.jsonl": "x"},
        {"a.md": "---\na: b\n---\nbody", "b/c.md": "x", "p.png": "xxx"},
        {"a.txt": "body"},
        {"conversations.json": CHATGPT},
        {"conversations-1.json": CLAUDE, "conversations-2.json": "[", "users.json": "xx"},
        {"p/a.jsonl": TRANSCRIPT + "\n{", "p/a/subagents/b.jsonl": TRANSCRIPT},
    ],
)
def test_progress_reaches_its_total(tmp_path: Path, files: dict[str, str]) -> None:
    """The bytes reported on the way add up to what was announced."""
    put(tmp_path, files)
    steps: list[int] = []

    list(read(tmp_path, on_bytes=steps.append))

    assert sum(steps) == progress_total(tmp_path) > 0
    assert all(step > 0 for step in steps)


def test_progress_in_a_zip_counts_what_is_unpacked(tmp_path: Path) -> None:
    """A zip is as long as its conversations, not as its packing."""
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", CHATGPT + " " * 1000)
        archive.writestr("chat.html", "x" * 5000)
    steps: list[int] = []

    list(read(file, on_bytes=steps.append))

    assert sum(steps) == progress_total(file) == len(CHATGPT) + 1000
