"""Readers: files in, a stream of typed items out; no database, no network, nothing changed.

One bad line never stops the rest: it comes out as a LineError in its place.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.beir import BeirReader
from shiyi.lifecycle.readers.detect import FORMATS, check_there, detect
from shiyi.lifecycle.readers.items import (
    CaptureItem,
    Item,
    LineError,
    Quote,
    RecordItem,
    Skipped,
)
from shiyi.lifecycle.readers.jsonl import JsonlReader
from shiyi.lifecycle.readers.source import OnBytes, Reading, file_error, open_regular, printable

__all__ = [
    "FORMATS", "CaptureItem", "Item", "LineError", "Quote", "RecordItem", "Skipped", "detect",
    "progress_total", "read",
]  # fmt: skip


def read(
    path: Path,
    *,
    format: str = "auto",  # noqa: A002 - the name users know from --format
    on_bytes: OnBytes | None = None,
) -> Iterator[Item]:
    """Return the items of a file or folder, in order; the counts of what was left out come last.

    `on_bytes` is called with the number of bytes each step consumed.
    Raises UsageError, before anything is read, when the path or the format is unknown.
    """
    chosen = _chosen(path, format)
    return _read(path, chosen, Reading(on_bytes))


def progress_total(path: Path, *, format: str = "auto") -> int:  # noqa: A002 - as in read
    """Return the number of bytes that reading `path` will consume."""
    return sum(file.stat().st_size for file in _files(path, _chosen(path, format)))


def _chosen(path: Path, form: str) -> str:
    check_there(path)
    if form == "auto":
        return detect(path)
    if form not in FORMATS:
        raise UsageError(f"There is no format of this name; choose among {', '.join(FORMATS)}.")
    return form


def _files(path: Path, form: str) -> list[Path]:
    if not path.is_dir():
        return [path]
    if form == "beir":
        return [path / "corpus.jsonl"]
    ours = [path / name for name in ("captures.jsonl", "records.jsonl")]
    return [file for file in ours if file.is_file()] or sorted(path.glob("*.jsonl"))


def _read(path: Path, form: str, reading: Reading) -> Iterator[Item]:
    jsonl = JsonlReader(reading)
    for file in _files(path, form):
        try:
            if form == "beir":
                yield from BeirReader(reading).read(
                    partial(open_regular, file), printable(file), file.name
                )
            else:
                with open_regular(file) as stream:
                    yield from jsonl.read(stream, printable(file), printable(file.name))
        except (OSError, UsageError) as error:
            yield file_error(file, error)
    yield from reading.skips()
