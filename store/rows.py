"""The rows of the store as immutable values. Times are aware UTC; texts are exactly as given."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from shiyi.core.errors import UsageError

Attributes = Mapping[str, Any]
SEARCHED = frozenset({"capture", "record", "link", "unlink"})  # the changes that the index follows


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One message or document, byte for byte; never changed.

    captured_at is when it was said, if known, with the offset of its place; recorded_at when it
    was kept. previous_id is the capture before it in the same dialogue. external_id is the name
    its source gave it.
    """

    scope: str
    capture_id: str
    text: str
    utf8_sha256: str
    recorded_at: datetime
    captured_at: datetime | None = None
    speaker: str = "user"
    session_id: str | None = None
    turn_id: str | None = None
    previous_id: str | None = None
    origin: str = "conversation"
    fidelity: str = "verbatim"
    source_path: str | None = None
    external_id: str | None = None
    attrs: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One version of a derived statement.

    salience is 0 to 100. date_start and date_end are inclusive days. etag names the content:
    two versions with the same statement have the same etag.
    """

    scope: str
    record_id: str
    version: int
    kind: str
    layer: str
    status: str = "active"
    title: str
    gist: str
    detail: str | None = None
    topics: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    salience: int = 30
    salience_source: str = "default"
    date_start: date | None = None
    date_end: date | None = None
    date_precision: str = "unknown"
    date_basis: str = "unknown"
    phase: str | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    confidence: float | None = None
    sensitivity: str | None = None
    reason: str | None = None
    external_id: str | None = None
    attrs: Attributes = field(default_factory=dict)

    @property
    def etag(self) -> str:
        """Sixteen hex digits of the SHA-256 of the statement; times and reasons do not count."""
        statement = [
            self.kind, self.layer, self.status, self.title, self.gist, self.detail,
            list(self.topics), list(self.aliases), self.salience,
            _iso(self.date_start), _iso(self.date_end), self.date_precision, self.date_basis,
            self.phase, self.expires_at and self.expires_at.astimezone(UTC).isoformat(),
            self.confidence if self.confidence is None else float(self.confidence),
            self.sensitivity, self.attrs,
        ]  # fmt: skip
        return json_sha256(statement)[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed edge. For `quotes`, span_start and span_end are code points of the capture."""

    scope: str
    src: str
    rel: str
    dst: str
    span_start: int = -1
    span_end: int = -1
    attrs: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What a person said about a record, a capture or an answer; never changed.

    verdict: one of `kinds.VERDICTS`. The evidence is a span of a capture, in code points.
    trace_id is the answer in which it was shown, if that is known.
    """

    scope: str
    feedback_id: str
    verdict: str
    target_id: str
    capture_id: str
    span_start: int
    span_end: int
    trace_id: str | None = None
    note: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the feed.

    what: one of SEARCHED, `turn` (its steps), `attachment`, `feedback` or `purge`.
    """

    seq: int
    scope: str
    what: str
    id: str
    version: int


def encode_json(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, Unicode as it is.

    Raises UsageError for what JSON has no form for, such as NaN.
    """
    try:
        return json.dumps(
            value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise UsageError("A value has no form in JSON; nothing was changed.") from error


def json_sha256(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, in hex."""
    return hashlib.sha256(encode_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _iso(value: date | None) -> str | None:
    return None if value is None else value.isoformat()
