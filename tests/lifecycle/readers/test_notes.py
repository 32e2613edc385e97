"""Notes and texts: one file, one capture, byte for byte."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shiyi.lifecycle.readers import CaptureItem, Item, LineError, Skipped, read


def note(folder: Path, content: str | bytes, name: str = "note.md") -> list[Item]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return list(read(file))


def captures(items: list[Item]) -> list[CaptureItem]:
    return [item for item in items if isinstance(item, CaptureItem)]


def errors(items: list[Item]) -> list[LineError]:
    return [item for item in items if isinstance(item, LineError)]


def only(items: list[Item]) -> CaptureItem:
    (item,) = items
    assert isinstance(item, CaptureItem)
    return item


def test_a_note_is_its_body_and_its_front_matter(tmp_path: Path) -> None:
    """Title, tags and date are read; every value stays the text it was written as."""
    content = (
        "---\ntitle: 搬家\ntags: [home, '#台中']\ndate: 2021-03-05\nno: yes\nat: 12:30\n"
        "version: 1.10\nnested: {a: [1, 2]}\n---\n\n# Heading\nWe moved, see [[Taichung|台中]].\n"
    )

    read_note = only(note(tmp_path, content))

    assert read_note.text == "\n# Heading\nWe moved, see [[Taichung|台中]].\n"
    assert (read_note.origin, read_note.fidelity, read_note.speaker) == ("note", "verbatim", "user")
    assert (read_note.date, read_note.captured_at) == (
        "2021-03-05",
        datetime(2021, 3, 5, tzinfo=UTC),
    )
    assert read_note.attrs["title"] == "搬家"
    assert read_note.attrs["topics"] == ["home", "台中"]
    assert read_note.attrs["front_matter"] == {
        "title": "搬家", "tags": ["home", "#台中"], "date": "2021-03-05", "no": "yes",
        "at": "12:30", "version": "1.10", "nested": {"a": ["1", "2"]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("no front matter\r\n", "no front matter\r\n"),
        ("\ufeff---\na: b\n---\nbody", "body"),
        ("\ufeffbody", "body"),
        ("---\r\na: b\r\n---\r\nbody\r\n", "body\r\n"),
        ("---\na: b\n...\nbody", "body"),
        ("---  \na: b\n---\t\nbody", "body"),
        ("---\n---\nbody", "body"),
        ("---\n# only a comment\n---\nbody", "body"),
        ("---\na: b\nno end", "---\na: b\nno end"),
        ("---\nA line of prose.\n---\nmore", "---\nA line of prose.\n---\nmore"),
        ("--- \ntext\n", "--- \ntext\n"),
        (" ---\na: b\n---\nbody", " ---\na: b\n---\nbody"),
        ("---\na: b\n---\n\n\n  body \n\n", "\n\n  body \n\n"),
        ("---\na: b\n---\nbody\n---\nmore\n", "body\n---\nmore\n"),
        ("x\0y\x1b[0m", "x\0y\x1b[0m"),
    ],
)
def test_the_body_is_kept_byte_for_byte(tmp_path: Path, content: str, body: str) -> None:
    """Only a real block of `key: value` between fences is taken off, and nothing else changes."""
    assert only(note(tmp_path, content)).text == body


@pytest.mark.parametrize(
    "block",
    [
        "a: &x 1\nb: *x", "a: [", "a: b: c", "a: 1\na: 2", "x: y\n? [a]\n: b", 'a: "\\ud800"',
        'a: "\\U00110000"', "a: " + "[" * 9 + "]" * 9, "a: b\x01", "a: !!python/object:x [*y]",
        "a: |\n  " + "x" * 70_000, "a: 1\n--- x", "key: b\n- c",
    ],
)  # fmt: skip
def test_bad_front_matter_is_an_error_but_the_body_goes_in(tmp_path: Path, block: str) -> None:
    """The block that is not understood is named and kept beside the body, which is whole."""
    error, capture = note(tmp_path, f"---\n{block}\n---\nThe body.\n")

    assert isinstance(error, LineError)
    assert (error.line, error.source) == (1, str(tmp_path / "note.md"))
    assert isinstance(capture, CaptureItem)
    assert capture.text == "The body.\n"
    assert capture.attrs["front_matter_text"] == f"{block}\n"


def test_eight_levels_are_deep_enough(tmp_path: Path) -> None:
    """The limit on nesting is 8, the mapping itself included."""
    deep = only(note(tmp_path, f"---\na: {'[' * 7}x{']' * 7}\n---\nbody"))

    assert "front_matter" in deep.attrs


def test_an_impossible_date_is_an_error_but_the_note_goes_in(tmp_path: Path) -> None:
    """30 February costs the date, not the note; the file name may still give one."""
    error, capture = note(tmp_path, "---\ndate: 2021-02-30\n---\nbody", "2021-03-01-x.md")

    assert "2021-02-30" in str(error)
    assert isinstance(capture, CaptureItem)
    assert capture.date == "2021-03-01"


@pytest.mark.parametrize(
    ("name", "front", "date"),
    [
        ("2024-05-01-foo.md", "", "2024-05-01"),
        ("2024-05-01.md", "", "2024-05-01"),
        ("2024-05-01-foo.md", "created: 2023-01", "2023-01"),
        ("2024-02-30-foo.md", "", None),
        ("2024-05-011.md", "", None),
        ("foo.md", "Created At: '[[2023-01-02]]'", "2023-01-02"),
        ("foo.md", "date: ", None),
    ],
)
def test_the_date_is_in_the_front_matter_or_the_name(
    tmp_path: Path, name: str, front: str, date: str | None
) -> None:
    """The front matter goes first, then a date that begins the file name."""
    assert only(note(tmp_path, f"---\nx: y\n{front}\n---\nbody", name)).date == date


def test_a_time_of_writing_is_an_instant(tmp_path: Path) -> None:
    """A front matter with a time of day gives captured_at and no date."""
    read_note = only(note(tmp_path, "---\ndate: 2021-03-05 14:30:00 +08:00\n---\nbody"))

    assert read_note.date is None
    assert read_note.captured_at == datetime(2021, 3, 5, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("---\ntitle: T\n---\n# H", "T"),
        ("text\n## H two ##\n# H", "H two"),
        ("```\n# no\n```\n# yes", "yes"),
        ("#tag\n####### seven\nbody", "note"),
        ("---\ntitle: [a]\n---\nbody", "note"),
        ("# " + "長" * 400, "長" * 300),
    ],
)
def test_the_title_is_given_or_the_first_heading_or_the_name(
    tmp_path: Path, content: str, title: str
) -> None:
    """In this order; a heading inside a code block is none."""
    assert only(note(tmp_path, content)).attrs["title"] == title


def test_a_folder_is_read_in_order_of_names_and_the_rest_is_counted(tmp_path: Path) -> None:
    """Notes of all folders come in; other files and hidden folders are counted."""
    for name in ("b.md", "a/z.markdown", "a/y.MD", "c/d/e.md", ".git/x.md", "p.png", "empty.md"):
        note(tmp_path, "" if name == "empty.md" else name, name) if name != "p.png" else (
            tmp_path / name
        ).write_bytes(b"x")

    items = list(read(tmp_path))

    names = [one.source_path for one in captures(items)]
    assert names == ["b.md", "a/y.MD", "a/z.markdown", "c/d/e.md"]
    assert [one for one in items if isinstance(one, Skipped)] == [
        Skipped("a file of another kind", 1),
        Skipped("a file without words", 1),
        Skipped("a hidden folder", 1),
    ]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """Whatever a vault links to, nothing outside it is read; loops end."""
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    note(outside, "secret")
    note(vault, "mine", "real.md")
    (vault / "leaves.md").symlink_to(outside / "note.md")
    (vault / "leaves").symlink_to(outside)
    (vault / "up").symlink_to(tmp_path)
    (vault / "nowhere.md").symlink_to(vault / "gone.md")
    (vault / "self").symlink_to(vault)
    (vault / "again.md").symlink_to(vault / "real.md")

    items = list(read(vault))

    assert [one.text for one in captures(items)] == ["mine"]
    reasons = {Path(one.source).name: one.reason for one in errors(items)}
    assert reasons == {
        "leaves.md": "This link leaves the folder: not followed.",
        "leaves": "This link leaves the folder: not followed.",
        "up": "This link leaves the folder: not followed.",
        "nowhere.md": "This link leads nowhere.",
    }
    assert Skipped("a link to what is read in its own place", 2) in items


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    """A file that is no file does not hang the import."""
    os.mkfifo(tmp_path / "pipe.md")
    note(tmp_path, "body", "real.md")

    items = list(read(tmp_path, format="markdown"))

    assert len(captures(items)) == 1
    assert [one.reason for one in errors(items)] == [
        "This is not a regular file, so it is not read."
    ]


def test_a_note_in_another_encoding_is_refused_and_named(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are never guessed."""
    (error,) = errors(note(tmp_path, "中文".encode("gb18030")))

    assert "not UTF-8" in error.reason


def test_moving_the_folder_keeps_the_keys_and_changing_a_note_does_not(tmp_path: Path) -> None:
    """A key is the place inside the folder and the words; tags and dates may change."""
    here, there = tmp_path / "here", tmp_path / "there" / "deep"
    for name in ("a.md", "d/b.md"):
        note(here, "same words", name)
    shutil.copytree(here, there)
    before = [one.key for one in captures(list(read(here)))]
    note(here, "---\ntags: x\n---\nsame words", "a.md")
    tagged = [one.key for one in captures(list(read(here)))]
    note(here, "other words", "a.md")
    changed = [one.key for one in captures(list(read(here)))]

    assert before == [one.key for one in captures(list(read(there)))] == tagged
    assert len(set(before)) == 2
    assert changed[0] != before[0]
    assert changed[1] == before[1]


def test_a_name_without_a_utf_8_form_is_shown_and_read(tmp_path: Path) -> None:
    """An old file name in another encoding does not stop the folder."""
    for name in (b"\xa4.md", b"\xa5.md"):
        with open(os.fsencode(tmp_path) + b"/" + name, "wb") as file:  # noqa: PTH123
            file.write(b"body")

    read_notes = captures(list(read(tmp_path)))

    assert [one.source_path for one in read_notes] == ["\ufffd.md", "\ufffd.md"]
    assert len({one.key for one in read_notes}) == 2


def test_a_text_file_is_one_capture(tmp_path: Path) -> None:
    """A .txt is a document: no front matter, nothing taken off but a BOM."""
    content = "\ufeff---\na: b\n---\r\nbody\n"

    document = only(note(tmp_path, content, "2020-01-02 trip.txt"))

    assert document.text == content.removeprefix("\ufeff")
    assert (document.origin, document.date) == ("document", "2020-01-02")
    assert document.attrs == {"title": "2020-01-02 trip"}


def test_a_folder_of_texts_is_read(tmp_path: Path) -> None:
    """Without a note in it, a folder of .txt files is a folder of texts."""
    note(tmp_path, "one", "a.txt")
    note(tmp_path, "two", "b/c.TXT")

    assert [one.text for one in captures(list(read(tmp_path)))] == ["one", "two"]


@pytest.mark.parametrize(
    ("tags", "topics"),
    [
        ("a, b，c", ["a", "b", "c"]),
        ("'#a #b'", ["a", "b"]),
        ("[a, a, '']", ["a"]),
        ("{a: b}", None),
    ],
)
def test_tags_are_topics(tmp_path: Path, tags: str, topics: Any) -> None:
    """Lists, commas and hashes all name topics, each once."""
    assert only(note(tmp_path, f"---\ntags: {tags}\n---\nbody")).attrs.get("topics") == topics
