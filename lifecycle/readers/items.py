"""What every reader yields: captures, records, lines that could not be read, and counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureItem:
    """One message or document, its words exactly as the source holds them.

    key: the identity inside the source, the same whenever the same words are read again.
    previous: the key of the capture before it, in dialogues only.
    captured_at: when it was written, aware; midnight UTC of the first day when the source gives
        only a date.
    date: the date as `2021`, `2021-03`, `2021-03-05` or a range, when the source gives one.
    scope: the scope that the source names, if any.
    external_id: the name the source gave it, made unique by its session where need be; where
        there is one, it is the key.
    source_path: where in the source it stood, never an absolute path of this machine.
    place: `file:line`, where there are lines. attrs: whatever else the source says about it.
    """

    key: str
    text: str
    speaker: str = "user"
    session: str | None = None
    previous: str | None = None
    captured_at: datetime | None = None
    date: str | None = None
    origin: str = "import"
    fidelity: str = "verbatim"
    source_path: str | None = None
    scope: str | None = None
    external_id: str | None = None
    place: str | None = field(default=None, compare=False)
    attrs: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quote:
    """What a record rests on: a capture (by external id or key), whole, by words or by span.

    start and end are code points, end exclusive.
    """

    capture: str
    text: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordItem:
    """One derived statement. Days are inclusive; salience is 0 to 100, None when not given.

    supersedes and contradicts name records by external id or key.
    """

    key: str
    external_id: str | None = None
    kind: str
    layer: str
    title: str
    gist: str
    detail: str | None = None
    topics: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    salience: int | None = None
    date_start: date | None = None
    date_end: date | None = None
    date_precision: str = "unknown"
    date_basis: str = "unknown"
    phase: str | None = None
    status: str = "active"
    quotes: tuple[Quote, ...] = ()
    supersedes: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    reason: str | None = None
    scope: str | None = None
    place: str | None = field(default=None, compare=False)
    attrs: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkItem:
    """A link between records (or, for `quotes`, to a capture) by external id or key.

    start and end are code points where words of a capture are meant, else -1.
    """

    src: str
    rel: str
    dst: str
    start: int = -1
    end: int = -1
    scope: str | None = None
    place: str | None = field(default=None, compare=False)
    attrs: Attributes = field(default_factory=dict)

    @property
    def external_id(self) -> str:
        """The name by which an error can point at it."""
        return self.src


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackItem:
    """What a person said of a record, a capture or an answer, with the span that says so."""

    key: str
    verdict: str
    target: str
    capture: str
    start: int
    end: int
    at: datetime
    trace: str | None = None
    note: str | None = None
    scope: str | None = None
    place: str | None = field(default=None, compare=False)

    @property
    def external_id(self) -> str:
        """The name by which an error can point at it."""
        return self.key


@dataclass(frozen=True, slots=True)
class LineError:
    """Something that could not be read. The reason never repeats the stored text.

    line: 1-based; or a place such as `[12]` (the element of a JSON array, from 0); or None for
    the whole file.
    """

    source: str
    line: int | str | None
    reason: str

    def __str__(self) -> str:
        """Return `file:line: reason`."""
        if self.line is None:
            return f"{self.source}: {self.reason}"
        if isinstance(self.line, str):
            return f"{self.source}{self.line}: {self.reason}"
        return f"{self.source}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many parts of the source were left out on purpose, for one reason."""

    reason: str
    count: int


Kept = CaptureItem | RecordItem | LinkItem | FeedbackItem
Item = Kept | LineError | Skipped
