"""A retrieval set in BEIR's form: corpus.jsonl; its queries and judgements are not memories."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from shiyi.core.errors import UsageError
from shiyi.core.text import check_text
from shiyi.lifecycle.readers.fields import Fields, written_when, wrong_type
from shiyi.lifecycle.readers.folder import file_size
from shiyi.lifecycle.readers.identity import Seen
from shiyi.lifecycle.readers.items import CaptureItem, Item
from shiyi.lifecycle.readers.lines import items_of_lines
from shiyi.lifecycle.readers.source import (
    SAME_AGAIN,
    Reading,
    file_error,
    open_regular,
    printable,
    read_lines,
)
from shiyi.lifecycle.readers.strictjson import decode_object

_SESSION_FIELDS = (
    "session", "session_id", "conversation", "conversation_id", "dialogue", "dialogue_id",
    "dialog_id", "thread",
)  # fmt: skip
# Everything else in the metadata may give an answer away (answer, entity, key, category, labels
# of any kind), so only what a reader of the document would see beside it is kept.
_KEPT = (*_SESSION_FIELDS, "date", "speaker", "seq", "type", "title", "lang", "script", "url")
_Session = tuple[str | None, str]


def beir_items(path: Path, reading: Reading) -> Iterator[Item]:
    """Yield a capture for each document of a set: a folder, or its corpus.jsonl."""
    file = _corpus(path)
    try:
        opener = partial(open_regular, file)
        yield from BeirReader(reading).read(opener, printable(file), printable(file.name))
    except (OSError, UsageError) as error:
        yield file_error(file, error)


def beir_size(path: Path) -> int:
    """Return the bytes that `beir_items` reads."""
    return file_size(_corpus(path))


def _corpus(path: Path) -> Path:
    return path / "corpus.jsonl" if path.is_dir() else path


class BeirReader:
    """Reads one corpus.jsonl, twice: first to see which sessions are dialogues in order."""

    def __init__(self, reading: Reading) -> None:
        """Read as part of `reading`."""
        self._reading = reading
        self._seen = Seen()
        self._last: dict[_Session, str] = {}

    def read(self, opener: Callable[[], IO[bytes]], source: str, name: str) -> Iterator[Item]:
        """Yield a capture for each document."""
        with opener() as stream:
            dialogues = _dialogues(stream)
        with opener() as stream:
            make = partial(self._document, dialogues=dialogues, name=name)
            yield from items_of_lines(stream, source, self._reading, make)

    def _document(
        self, content: dict[str, Any], dialogues: set[_Session], name: str
    ) -> CaptureItem | None:
        fields = Fields(content)
        external_id, text, title = fields.name("_id"), fields.take("text"), fields.text("title")
        if external_id is None or not isinstance(text, str):
            raise UsageError("A document has an _id and a text.")
        check_text(text)
        metadata = _metadata(content)
        if self._seen.again(f"{metadata.get('scope')}\0{external_id}", text):
            self._reading.skip(SAME_AGAIN)
            return None
        session = _session(metadata)
        previous = None
        if session is not None and session in dialogues and _seq(metadata) is not None:
            previous = self._last.get(session)
            self._last[session] = external_id
        meta = Fields(metadata)
        speaker, scope = meta.name("speaker"), meta.name("scope")
        return CaptureItem(
            key=external_id, external_id=external_id, text=text, scope=scope,
            speaker=speaker or "document", session=session and session[1], previous=previous,
            origin="import", fidelity="verbatim" if speaker else "external_material",
            source_path=name, attrs=_attributes(metadata, title), **self._dates(metadata),
        )  # fmt: skip

    def _dates(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return the date as far as it is understood; the words stand in attrs either way."""
        value = metadata.get("date")
        if value is None:
            return {}
        try:
            return written_when(value)
        except UsageError:
            self._reading.skip("a date that was not understood; the document is kept without it")
            return {}


def _dialogues(stream: IO[bytes]) -> set[_Session]:
    """Return the sessions whose seq grows strictly from document to document."""
    latest: dict[_Session, float] = {}
    for line in read_lines(stream):
        if line.content is None or b'"seq"' not in line.content:
            continue
        try:
            metadata = _metadata(decode_object(line.content))
            session = _session(metadata)
        except UsageError:
            continue
        if session is not None:
            seq, before = _seq(metadata), latest.get(session, -math.inf)
            latest[session] = math.inf if seq is None or seq <= before else seq
    return {session for session, seq in latest.items() if seq < math.inf}


def _seq(metadata: dict[str, Any]) -> int | None:
    seq = metadata.get("seq")
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else None


def _metadata(content: dict[str, Any]) -> dict[str, Any]:
    metadata = content.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise wrong_type("metadata", "an object", metadata)
    return metadata


def _session(metadata: dict[str, Any]) -> _Session | None:
    fields = Fields(metadata)
    scope = fields.name("scope")
    for field in _SESSION_FIELDS:
        if (name := fields.name(field)) is not None:
            return scope, name
    return None


def _attributes(metadata: dict[str, Any], title: str | None) -> dict[str, Any]:
    kept = {
        name: metadata[name]
        for name in _KEPT
        if isinstance(metadata.get(name), (str, int, float, bool))
    }
    return kept if title is None else {**kept, "title": title}
