"""Readers: files in, a stream of typed items out; no database, no network, nothing changed.

One bad line never stops the rest: it comes out as a LineError in its place. The same words read
again, from a folder moved elsewhere or a longer version of the same chat, have the same keys.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from shiyi.lifecycle.readers.beir import beir_items, beir_size
from shiyi.lifecycle.readers.claude_code import transcript_items, transcript_size
from shiyi.lifecycle.readers.detect import FORMATS, check_format, check_there, detect
from shiyi.lifecycle.readers.exports import export_items, export_size
from shiyi.lifecycle.readers.items import (
    CaptureItem,
    FeedbackItem,
    Item,
    Kept,
    LineError,
    LinkItem,
    Quote,
    RecordItem,
    Skipped,
)
from shiyi.lifecycle.readers.jsonl import jsonl_items, jsonl_size
from shiyi.lifecycle.readers.notes import markdown_items, markdown_size, text_items, text_size
from shiyi.lifecycle.readers.source import OnBytes, Reading

__all__ = [
    "FORMATS",
    "CaptureItem",
    "FeedbackItem",
    "Item",
    "Kept",
    "LineError",
    "LinkItem",
    "Quote",
    "RecordItem",
    "Skipped",
    "detect",
    "progress_total",
    "read",
]

_Reader = Callable[[Path, Reading], Iterator[Item]]
_Size = Callable[[Path], int]
_FORMATS: dict[str, tuple[_Reader, _Size]] = {
    "jsonl": (jsonl_items, jsonl_size),
    "markdown": (markdown_items, markdown_size),
    "text": (text_items, text_size),
    "chatgpt": (partial(export_items, form="chatgpt"), export_size),
    "claude": (partial(export_items, form="claude"), export_size),
    "claude-code": (transcript_items, transcript_size),
    "beir": (beir_items, beir_size),
}


def read(
    path: Path,
    *,
    format: str = "auto",  # noqa: A002 - the name users know from --format
    on_bytes: OnBytes | None = None,
) -> Iterator[Item]:
    """Return the items of a file or folder, in order; the counts of what was left out come last.

    `on_bytes` is called with the number of bytes that each step consumed.
    Raises UsageError, before anything is read, when the path or the format is unknown.
    """
    read_items, _ = _FORMATS[_chosen(path, format)]
    return _all_items(path, read_items, Reading(on_bytes))


def progress_total(path: Path, *, format: str = "auto") -> int:  # noqa: A002 - as in read
    """Return the number of bytes that `read` will report for this path."""
    _, size = _FORMATS[_chosen(path, format)]
    return size(path)


def _chosen(path: Path, form: str) -> str:
    check_there(path)
    if form == "auto":
        return detect(path)
    check_format(path, form)
    return form


def _all_items(path: Path, read_items: _Reader, reading: Reading) -> Iterator[Item]:
    yield from read_items(path, reading)
    yield from reading.skips()
