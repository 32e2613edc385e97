"""Which of the formats a path holds, by its names first and then by the first lines of a file."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.exports import Member, damaged_as_usage, members_of
from shiyi.lifecycle.readers.folder import files_of
from shiyi.lifecycle.readers.items import LineError
from shiyi.lifecycle.readers.json_array import split_array
from shiyi.lifecycle.readers.notes import MARKDOWN, TEXT
from shiyi.lifecycle.readers.source import Reading, open_regular, os_reason, printable, read_lines
from shiyi.lifecycle.readers.strictjson import decode_object

FORMATS = ("jsonl", "markdown", "text", "chatgpt", "claude", "claude-code", "beir")
CORPUS = "corpus.jsonl"
OURS = ("captures.jsonl", "records.jsonl", "structure.jsonl")
JSON_LINES = (".jsonl", ".ndjson")
_LINES_TO_LOOK_AT = 50
_CONVERSATIONS_TO_LOOK_AT = 20
_LINE_TO_LOOK_AT = 1024 * 1024
_TRANSCRIPT_TYPES = ("user", "assistant", "system", "summary", "file-history-snapshot")
_MANIFEST_MARK = b".zip"


def detect(path: Path) -> str:
    """Return the format of a file or folder.

    Raises UsageError when there is nothing there or it is none of FORMATS.
    """
    check_there(path)
    try:
        found = _of_folder(path) if path.is_dir() else _of_file(path)
    except OSError as error:
        raise UsageError(f"{printable(path)}: {os_reason(error)}") from None
    if found is None:
        raise _unknown(path)
    return found


def check_there(path: Path) -> None:
    """Raise UsageError when there is no such file or folder."""
    try:
        there = path.exists()
    except OSError as error:
        raise UsageError(f"{printable(path)}: {os_reason(error)}") from None
    if not there:
        raise UsageError(
            f"{printable(path)} does not exist; give a file or folder in one of the formats "
            f"{', '.join(FORMATS)}."
        )


def check_format(path: Path, form: str) -> None:
    """Raise UsageError when the path cannot hold the format that was named."""
    if form not in FORMATS:
        raise UsageError(f"There is no format of this name; choose among {', '.join(FORMATS)}.")
    fits = True
    if form == "beir" and path.is_dir():
        fits = (path / CORPUS).is_file()
    elif form == "jsonl" and path.is_dir():
        fits = any(path.glob("*.jsonl"))
    elif form in ("chatgpt", "claude"):
        try:
            with members_of(path) as members:
                fits = bool(members)
        except OSError as error:
            raise UsageError(f"{printable(path)}: {os_reason(error)}") from None
    if not fits:
        raise _unknown(path)


def _unknown(path: Path) -> UsageError:
    return UsageError(
        f"{printable(path)} does not look like any of the formats {', '.join(FORMATS)}; "
        "give the file or folder itself, and name its format if it is one of them."
    )


def _of_file(path: Path) -> str | None:
    suffix = path.suffix.lower()
    if suffix in MARKDOWN:
        return "markdown"
    if suffix in TEXT:
        return "text"
    if suffix in JSON_LINES:
        return _of_lines(path) or "jsonl"
    return _of_export(path) if suffix in (".json", ".zip") else None


def _of_folder(path: Path) -> str | None:
    if (path / CORPUS).is_file():
        return "beir"
    if any((path / name).is_file() for name in OURS):
        return "jsonl"
    found = _of_export(path)
    if found is not None:
        return found
    # Notes beside each other may lie above anything; transcripts lie in folders of their own.
    notes = any(one.suffix.lower() in MARKDOWN for one in path.iterdir())
    patterns = ("*.jsonl",) if notes else ("*.jsonl", "*/*.jsonl")
    lines = sorted(one for pattern in patterns for one in path.glob(pattern))
    if any(_of_lines(one) == "claude-code" for one in lines if not one.is_symlink()):
        return "claude-code"
    for suffixes, form in ((MARKDOWN, "markdown"), (TEXT, "text")):
        files = files_of(path, suffixes, Reading())
        if any(not isinstance(one, LineError) for one in files):
            return form
    return "jsonl" if any(one.parent == path for one in lines) else None


def _of_lines(path: Path) -> str | None:
    """Return the format of a file of JSON lines by the first line that tells."""
    try:
        with open_regular(path) as stream:
            for line in islice(read_lines(stream, _LINE_TO_LOOK_AT), _LINES_TO_LOOK_AT):
                found = None if line.content is None else _of_line(line.content)
                if found is not None:
                    return found
    except OSError as error:
        raise UsageError(f"{printable(path)}: {os_reason(error)}") from None
    return None


def _of_line(content: bytes) -> str | None:
    try:
        value = decode_object(content, lone_surrogates=True)
    except UsageError:
        return None
    if "_id" in value:
        return "beir"
    if value.get("type") in ("capture", "record"):
        return "jsonl"
    names = {"uuid", "sessionId", "leafUuid", "messageId"}
    if value.get("type") in _TRANSCRIPT_TYPES and names & value.keys():
        return "claude-code"
    return "jsonl" if {"text", "kind"} & value.keys() else None


def _of_export(path: Path) -> str | None:
    with members_of(path) as members:
        for member in members:
            for conversation in islice(_conversations(member), _CONVERSATIONS_TO_LOOK_AT):
                if "mapping" in conversation:
                    return "chatgpt"
                if "chat_messages" in conversation:
                    return "claude"
        return _of_neighbours(path) if members else None


def _conversations(member: Member) -> Iterator[dict[str, Any]]:
    with damaged_as_usage(), member.open() as stream:
        for element in split_array(stream, lambda _: None):
            content = element.content or b""
            try:
                yield decode_object(content, lone_surrogates=True)
            except UsageError:
                continue
            if element.position == 0 and _MANIFEST_MARK in content:
                raise UsageError(
                    f"{member.source} seems to be the list of downloads, not the export itself; "
                    "download the zip files that it names and give those."
                )


def _of_neighbours(path: Path) -> str | None:
    """Return the format of an export without conversations by the other files in it."""
    if not path.is_dir():
        return None
    names = {one.name for one in path.iterdir()}
    if names & {"chat.html", "user_settings.json", "export_manifest.json"}:
        return "chatgpt"
    return "claude" if names & {"users.json", "projects.json", "memories.json"} else None
