"""Notes and plain texts: one file is one capture, its words byte for byte."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.core.text import decode_text
from shiyi.lifecycle.readers.fields import written_when
from shiyi.lifecycle.readers.folder import files_of, read_whole, size_of
from shiyi.lifecycle.readers.frontmatter import FrontMatter, split_front_matter
from shiyi.lifecycle.readers.identity import hashed_key
from shiyi.lifecycle.readers.items import CaptureItem, Item, LineError
from shiyi.lifecycle.readers.source import BOM, Reading, file_error, open_regular, printable

MARKDOWN = (".md", ".markdown")
TEXT = (".txt",)
MAX_TITLE = 300
_DATE_IN_NAME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_DATE_FIELDS = ("date", "created", "createdat", "datecreated", "creationdate")
_TOPIC_FIELDS = ("tags", "tag", "topics", "topic", "keywords")


def markdown_items(path: Path, reading: Reading) -> Iterator[Item]:
    """Yield a capture for each Markdown file: its front matter in attrs, its body as text."""
    for found in files_of(path, MARKDOWN, reading):
        if isinstance(found, LineError):
            yield found
        else:
            yield from _file_items(found.path, found.name, "markdown", reading)


def text_items(path: Path, reading: Reading) -> Iterator[Item]:
    """Yield a capture for each .txt file."""
    for found in files_of(path, TEXT, reading):
        if isinstance(found, LineError):
            yield found
        else:
            yield from _file_items(found.path, found.name, "text", reading)


def markdown_size(path: Path) -> int:
    """Return the bytes that `markdown_items` reads."""
    return size_of(path, MARKDOWN)


def text_size(path: Path) -> int:
    """Return the bytes that `text_items` reads."""
    return size_of(path, TEXT)


def _file_items(path: Path, name: str, form: str, reading: Reading) -> Iterator[Item]:
    source = printable(path)
    try:
        with open_regular(path) as stream:
            content = read_whole(stream, reading).removeprefix(BOM)
        front = split_front_matter(content) if form == "markdown" else FrontMatter(content, {})
        body = decode_text(front.body, "file")
    except (OSError, UsageError) as error:
        yield file_error(path, error)
        return
    if front.error is not None:
        yield LineError(source, 1, front.error)
    if not body.strip():
        reading.skip("a file without words")
        return
    stem = printable(Path(name).stem)
    try:
        when = _when_in_front_matter(front.fields)
    except UsageError as error:
        yield LineError(source, 1, f"The date in the front matter is left out. {error}")
        when = {}
    yield CaptureItem(
        key=_key(form, name, path, body), text=body, speaker="user", fidelity="verbatim",
        origin="note" if form == "markdown" else "document", source_path=name,
        attrs=_attributes(front, body if form == "markdown" else "", stem),
        **(when or _when_in_name(stem)),
    )  # fmt: skip


def _key(form: str, name: str, path: Path, body: str) -> str:
    """Return the key for this content at this place in the folder, however the name is encoded."""
    place = unicodedata.normalize("NFC", name)
    if "\ufffd" in name:  # a name without a UTF-8 form: its bytes tell it from its like
        place += path.name
    return hashed_key(form, place, hashlib.sha256(body.encode("utf-8")).hexdigest())


def _attributes(front: FrontMatter, body: str, stem: str) -> dict[str, Any]:
    by_name = _by_plain_name(front.fields)
    title = by_name.get("title")
    if not isinstance(title, str) or not title.strip():
        title = _first_heading(body) or stem
    attrs: dict[str, Any] = {"title": title.strip()[:MAX_TITLE]}
    if topics := _topics(by_name):
        attrs["topics"] = topics
    if front.fields:
        attrs["front_matter"] = front.fields
    elif front.error is not None:
        attrs["front_matter_text"] = front.block
    return attrs


def _by_plain_name(fields: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"[\s_-]", "", name).lower(): value for name, value in fields.items()}


def _topics(by_name: dict[str, Any]) -> list[str]:
    found: dict[str, None] = {}
    for field in _TOPIC_FIELDS:
        value = by_name.get(field, [])
        parts = re.split(r"[,，、]|\s+(?=#)", value) if isinstance(value, str) else value
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, str) and (topic := part.strip().lstrip("#").strip()):
                found[topic] = None
    return list(found)


def _when_in_front_matter(fields: dict[str, Any]) -> dict[str, Any]:
    by_name = _by_plain_name(fields)
    for field in _DATE_FIELDS:
        value = by_name.get(field)
        if isinstance(value, str) and (written := value.strip().strip("[]").strip()):
            return written_when(written)
    return {}


def _when_in_name(stem: str) -> dict[str, Any]:
    found = _DATE_IN_NAME.match(stem)
    try:
        return written_when(found[1]) if found else {}
    except UsageError:
        return {}


def _first_heading(body: str) -> str | None:
    fenced = False
    for line in re.finditer(r"[^\n]+", body):
        text = line[0].strip()
        if text.startswith(("```", "~~~")):
            fenced = not fenced
        elif text.startswith("#") and not fenced:
            marks, _, title = text.partition(" ")
            if marks.strip("#") == "" and len(marks) <= 6 and title.strip("# \t"):  # noqa: PLR2004
                return title.rstrip("# \t").strip()
    return None
