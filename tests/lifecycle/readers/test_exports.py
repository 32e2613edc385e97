"""Exports as zips: read in place, inside limits, and never unpacked."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers import CaptureItem, Item, LineError, read
from shiyi.lifecycle.readers import exports as exports_module
from shiyi.lifecycle.readers import json_array as json_array_module


def chat(name: str) -> dict[str, Any]:
    said = {"uuid": f"m-{name}", "sender": "human", "text": name}
    return {"uuid": name, "chat_messages": [said]}


def zipped(folder: Path, files: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    file = folder / "export.zip"
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return file


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, CaptureItem)]


def errors(items: list[Item]) -> list[str]:
    return [str(item) for item in items if isinstance(item, LineError)]


def test_the_parts_of_an_export_are_read_in_order(tmp_path: Path) -> None:
    """-2 comes before -10, folders do not matter, other files are left alone."""
    file = zipped(
        tmp_path,
        {
            "data/conversations-10.json": [chat("c")],
            "data/conversations-2.json": [chat("b")],
            "data/conversations-000.json": [chat("a")],
            "data/users.json": [{"uuid": "x"}],
            "data/conversations.json.index": "x",
            "__MACOSX/data/conversations-2.json": "x",
        },
    )

    items = list(read(file))

    assert texts(items) == ["a", "b", "c"]
    assert errors(items) == []
    assert isinstance(items[0], CaptureItem)
    assert items[0].source_path == "data/conversations-000.json"


def test_a_zip_a_folder_and_a_file_give_the_same_items(tmp_path: Path) -> None:
    """However the export is kept, its messages have the same keys."""
    file = zipped(tmp_path, {"conversations.json": [chat("a"), chat("b")]})
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "folder")

    from_zip = list(read(file))

    assert from_zip == list(read(tmp_path / "folder"))
    assert from_zip == list(read(tmp_path / "folder" / "conversations.json"))
    assert [one.name for one in tmp_path.iterdir() if one.is_dir()] == ["folder"]


def test_a_member_that_climbs_out_is_only_a_name(tmp_path: Path) -> None:
    """Nothing is ever written, whatever the members are called."""
    folder = tmp_path / "in"
    folder.mkdir()
    file = zipped(folder, {"../../conversations.json": [chat("a")]})

    assert texts(list(read(file))) == ["a"]
    assert [one.name for one in tmp_path.rglob("*")] == ["in", "export.zip"]


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    """A member that shrinks a thousandfold is no chat."""
    file = zipped(tmp_path, {"conversations.json": "[" + " " * 20_000_000 + "]"})

    with pytest.raises(UsageError, match="honest export"):
        read(file)
    assert "honest export" in errors(list(read(file, format="claude")))[0]


def test_a_member_that_lies_about_its_size_is_damaged(tmp_path: Path) -> None:
    """No more is read than was declared, and the difference is noticed."""
    file = zipped(tmp_path, {"conversations.json": [chat("a"), chat("b")]})
    content = bytearray(file.read_bytes())
    directory = content.rindex(b"PK\x01\x02")
    struct.pack_into("<I", content, directory + 24, 30)
    file.write_bytes(content)

    items = list(read(file, format="claude"))

    assert texts(items) == []
    assert "damaged" in errors(items)[-1]


def test_bytes_that_flipped_are_noticed(tmp_path: Path) -> None:
    """A damaged member is an error; what was read before it stays."""
    file = zipped(
        tmp_path,
        {"conversations-0.json": [chat("a")], "conversations-1.json": [chat("b" * 50)]},
        zipfile.ZIP_STORED,
    )
    file.write_bytes(file.read_bytes().replace(b"b" * 50, b"b" * 49 + b"c"))

    items = list(read(file, format="claude"))

    assert texts(items)[0] == "a"
    assert errors(items) == [
        f"{file}:conversations-1.json: This part of the zip is damaged; download it again."
    ]


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    """A password is not asked for; the message says what to do."""
    file = zipped(tmp_path, {"conversations.json": [chat("a")]})
    content = bytearray(file.read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(content)

    with pytest.raises(UsageError, match="encrypted"):
        read(file)


def test_only_the_two_common_methods_are_read(tmp_path: Path) -> None:
    """Methods whose output has no bound step by step are refused."""
    file = zipped(tmp_path, {"conversations.json": [chat("a")]}, zipfile.ZIP_BZIP2)

    with pytest.raises(UsageError, match="unpack it"):
        read(file)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"not a zip", b"PK\x05\x06" + b"\xff" * 18]
)
def test_what_is_no_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    """A download that broke off says so."""
    (tmp_path / "export.zip").write_bytes(content)

    with pytest.raises(UsageError, match="not a zip file"):
        read(tmp_path / "export.zip")


def test_a_zip_of_other_things_is_refused(tmp_path: Path) -> None:
    """Without conversations it is not an export."""
    with pytest.raises(UsageError, match="any of the formats"):
        read(zipped(tmp_path, {"a.md": "x"}))


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export has a handful of files."""
    monkeypatch.setattr(exports_module, "MAX_MEMBERS", 2)
    file = zipped(tmp_path, {"conversations.json": [chat("a")], "b": "", "c": ""})

    with pytest.raises(UsageError, match="more than 2 files"):
        read(file)


def test_a_file_that_breaks_off_keeps_what_was_whole(tmp_path: Path) -> None:
    """The conversations before the end are read, the last is named."""
    (tmp_path / "conversations.json").write_text(json.dumps([chat("a"), chat("b")])[:-20], "utf-8")

    items = list(read(tmp_path))

    assert texts(items) == ["a"]
    assert errors(items) == [
        f"{tmp_path}/conversations.json[1]: The file ends in the middle of this; copy it again."
    ]


def test_a_conversation_beyond_the_limit_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One endless conversation costs only itself, and is never held whole."""
    monkeypatch.setattr(json_array_module, "MAX_ELEMENT_BYTES", 1024 * 1024)
    told = [chat("a"), chat("x" * 1_100_000), chat("b")]
    (tmp_path / "conversations.json").write_text(json.dumps(told), "utf-8")

    items = list(read(tmp_path))

    assert texts(items) == ["a", "b"]
    assert errors(items) == [
        f"{tmp_path}/conversations.json[1]: This is longer than 1 MB, too long to read."
    ]


def test_a_link_among_the_files_is_not_followed(tmp_path: Path) -> None:
    """An unpacked export that points elsewhere is not an export."""
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps([chat("secret")]), "utf-8")
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "conversations.json").symlink_to(outside)

    with pytest.raises(UsageError, match="any of the formats"):
        read(folder)
