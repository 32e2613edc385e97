"""Our own form: one capture, record or link a line (docs/import.md)."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from shiyi.core.errors import UsageError
from shiyi.core.text import check_text
from shiyi.lifecycle.readers.fields import Fields, midnight, short_form, wrong_type
from shiyi.lifecycle.readers.folder import file_size
from shiyi.lifecycle.readers.identity import Occurrences, Seen, hashed_key
from shiyi.lifecycle.readers.items import CaptureItem, FeedbackItem, Item, LinkItem, RecordItem
from shiyi.lifecycle.readers.lines import items_of_lines
from shiyi.lifecycle.readers.quotes import quote_of
from shiyi.lifecycle.readers.source import (
    SAME_AGAIN,
    Reading,
    file_error,
    open_regular,
    printable,
)
from shiyi.store.kinds import (
    DATE_BASES,
    DATE_PRECISIONS,
    FIDELITIES,
    KINDS,
    LAYERS,
    ORIGINS,
    RELATIONS,
    STATUSES,
    VERDICTS,
)
from shiyi.store.rows import encode_json

ARCHIVE = ("captures.jsonl", "records.jsonl", "structure.jsonl", "feedback.jsonl")
_BESIDE = ("*.jsonl", "*.tsv")
_DEFAULT_LAYER = "core"


def jsonl_items(path: Path, reading: Reading) -> Iterator[Item]:
    """Yield the captures and records of a file, or of the files of a folder."""
    reader = JsonlReader(reading)
    files = _files(path)
    for _ in _left_out(path, files):
        reading.skip("a file beside captures and records, such as labels")
    for file in files:
        try:
            with open_regular(file) as stream:
                yield from reader.read(stream, printable(file), printable(file.name))
        except (OSError, UsageError) as error:
            yield file_error(file, error)


def jsonl_size(path: Path) -> int:
    """Return the bytes that `jsonl_items` reads."""
    return sum(file_size(file) for file in _files(path))


def _files(path: Path) -> list[Path]:
    """Return the files of an archive that are there, else every .jsonl of the folder."""
    if not path.is_dir():
        return [path]
    ours = [path / name for name in ARCHIVE]
    return [file for file in ours if file.is_file()] or sorted(path.glob("*.jsonl"))


def _left_out(path: Path, files: list[Path]) -> list[Path]:
    """Return what lies beside an archive and is no part of it: queries, judgements, history."""
    if not path.is_dir() or files[0].name not in ARCHIVE:
        return []
    return [one for pattern in _BESIDE for one in path.glob(pattern) if one not in files]


class JsonlReader:
    """Reads the lines of one or more files that belong together."""

    def __init__(self, reading: Reading) -> None:
        """Read as part of `reading`."""
        self._reading = reading
        self._last_of_session: dict[tuple[str | None, str], str] = {}
        self._seen = Seen()
        self._occurrences = Occurrences("jsonl")

    def read(self, stream: IO[bytes], source: str, name: str) -> Iterator[Item]:
        """Return the items of one file. `source` is the path as given, `name` its short form."""
        self._occurrences = Occurrences("jsonl")
        make = partial(self._item, name=name)
        return items_of_lines(stream, source, self._reading, make)

    def _item(self, content: dict[str, Any], name: str) -> Item | None:
        fields = Fields(content)
        form = fields.take("type")
        if form is None:
            form = "capture" if "text" in fields else "record" if "kind" in fields else None
        if form == "capture":
            return self._capture(fields, name)
        if form == "record":
            return self._record(fields, content)
        if form == "link":
            return _link(fields)
        if form == "feedback":
            return _feedback(fields)
        raise UsageError(
            'type is "capture", "record", "link" or "feedback"; without it, a line with text is a '
            "capture and one with kind is a record."
        )

    def _capture(self, fields: Fields, name: str) -> CaptureItem | None:
        text = fields.take("text")
        if text is None:
            raise UsageError("A capture has a text.")
        if not isinstance(text, str):
            raise wrong_type("text", "a text", text)
        check_text(text)
        external_id, speaker = fields.name("id"), fields.text("speaker") or "user"
        session, scope = fields.name("session"), fields.name("scope")
        captured_at, days = fields.instant("captured_at"), fields.days("date")
        if captured_at is None and days is not None:
            captured_at = midnight(days.start)
        linked = "previous" in fields
        previous = fields.name("previous")
        key = external_id or self._occurrences.key(
            session=session, speaker=speaker, captured_at=captured_at, text=text
        )
        if session is not None and not linked:
            previous = self._last_of_session.get((scope, session))
        item = CaptureItem(
            key=key, text=text, speaker=speaker, session=session, previous=previous,
            captured_at=captured_at, date=None if days is None else short_form(days),
            origin=fields.choice("origin", ORIGINS, "conversation" if session else "import"),
            fidelity=fields.choice("fidelity", FIDELITIES, "verbatim"),
            source_path=fields.text("source") or name, scope=scope, external_id=external_id,
            attrs=fields.rest(),
        )  # fmt: skip
        if self._seen.again(f"capture\0{scope}\0{key}", text):
            self._reading.skip(SAME_AGAIN)
            return None
        if session is not None:
            self._last_of_session[scope, session] = key
        return item

    def _record(self, fields: Fields, content: dict[str, Any]) -> RecordItem | None:
        external_id, scope = fields.name("id"), fields.name("scope")
        statement = encode_json(content)
        key = external_id or hashed_key("jsonl", "record", statement)
        title, gist = fields.text("title"), fields.text("gist")
        if title is None and gist is None:
            raise UsageError("A record has a title or a gist.")
        item = RecordItem(
            key=key, external_id=external_id, scope=scope,
            kind=fields.choice("kind", KINDS),
            layer=fields.choice("layer", LAYERS, _DEFAULT_LAYER),
            title=title or gist or "", gist=gist or title or "", detail=fields.text("detail"),
            topics=fields.texts("topics"), aliases=fields.texts("aliases"),
            salience=fields.salience("salience"), **_dates(fields),
            phase=fields.text("phase"), status=fields.choice("status", STATUSES, "active"),
            quotes=tuple(quote_of(one) for one in fields.list("quotes")),
            supersedes=fields.names("supersedes"), contradicts=fields.names("contradicts"),
            reason=fields.text("reason"), attrs=fields.rest(),
        )  # fmt: skip
        if self._seen.again(f"record\0{scope}\0{key}", statement, versions=True):
            self._reading.skip(SAME_AGAIN)
            return None
        return item


def _dates(fields: Fields) -> dict[str, Any]:
    days, start, end = (fields.days(name) for name in ("date", "date_start", "date_end"))
    if days is not None and (start or end):
        raise UsageError("Give date, or date_start and date_end, but not both.")
    first = days or start
    last = days or end or start
    if first is None and last is not None:
        raise UsageError("A date_end needs a date_start.")
    precision, basis = "unknown", "unknown"
    if first is not None and last is not None:
        if last.end < first.start:
            raise UsageError("date_end cannot lie before date_start; swap them.")
        precision, basis = first.precision if first == last else "range", "stated"
    return {
        "date_start": first and first.start,
        "date_end": last and last.end,
        "date_precision": fields.choice("date_precision", DATE_PRECISIONS, precision),
        "date_basis": fields.choice("date_basis", DATE_BASES, basis),
    }


def _feedback(fields: Fields) -> FeedbackItem:
    id_, target, capture = fields.name("id"), fields.name("target"), fields.name("capture")
    span, at = fields.span("Feedback"), fields.instant("at")
    if id_ is None or target is None or capture is None or at is None:
        raise UsageError("Feedback has an id, a target, a capture and the time at which it came.")
    if span is None:
        raise UsageError("Feedback quotes its capture from start to end, whole numbers.")
    return FeedbackItem(
        key=id_, verdict=fields.choice("verdict", VERDICTS), target=target, capture=capture,
        start=span[0], end=span[1], trace=fields.name("trace"), note=fields.text("note"), at=at,
        scope=fields.name("scope"),
    )  # fmt: skip


def _link(fields: Fields) -> LinkItem:
    src, dst, scope = fields.name("src"), fields.name("dst"), fields.name("scope")
    rel, span = fields.choice("rel", RELATIONS), fields.span("A link")
    if src is None or dst is None:
        raise UsageError("A link names its two ends, src and dst.")
    if span is not None and rel != "quotes":
        raise UsageError("Only quotes has start and end; leave them out.")
    start, end = span or (-1, -1)
    return LinkItem(
        src=src, rel=rel, dst=dst, start=start, end=end, scope=scope, attrs=fields.rest()
    )
