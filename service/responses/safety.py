"""What the operations that keep a memory safe answer."""

from typing import Literal

from pydantic import BaseModel, Field

from shiyi.service.responses.wording import Sentence


class Check(BaseModel):
    """One thing that was looked at."""

    name: str
    state: str = Field(description="ok, warning or failed")
    detail: Sentence


class ValidateResult(BaseModel):
    """Whether everything fits together."""

    verdict: Literal["clean", "warnings", "failed"]
    passed: bool = Field(description="false when failed, and with strict when there are warnings")
    checks: list[Check]


class BackupResult(BaseModel):
    """A backup that was written, read again and compared."""

    path: str
    encrypted: bool
    last_change: int
    counts: dict[str, int]
    bytes: int
    shared: int = Field(description="bytes that are those of the backup before, kept once")
    missing: list[str] = Field(description="attachments, by SHA-256, whose bytes were not there")
    removed: list[str] = Field(description="older backups of the home's own that went")
    notes: list[str]


class RestoreResult(BaseModel):
    """A home that was made from a backup; it is on disk when this is returned."""

    home: str
    home_id: str
    made_at: str = Field(description="when the backup was made")
    last_change: int
    counts: dict[str, int]
    missing: list[str] = Field(description="attachments, by SHA-256, that the backup had not")
    notes: list[str]


class PurgeResult(BaseModel):
    """What went for good, or would go."""

    scope: str
    done: bool = Field(description="false when it was only asked what would go")
    captures: list[str]
    records: list[str]
    attachments: list[str]
    quoting: list[str] = Field(description="records that stay and lose a quote; they are marked")
    repeating: list[str] = Field(
        description="records, and words that feedback quotes, that stay and repeat its words"
    )
    beside: list[str] = Field(description="what it was read from, or was read from it, and stays")
    gone: list[str] = Field(description="ids that were purged before")
    vectors: int
    files: int = Field(description="files of attachments that were removed")
    traces: int
    backups: list[str] = Field(description="backups of the home's own that were removed")
    left: list[str] = Field(description="what could not be reached")


class UndoResult(BaseModel):
    """How many records and links are again as they stood."""

    scope: str
    to: int = Field(description="the change after which they stood so")
    before: int = Field(description="the change to undo this to, so that all is as it was")
    restored: int
    archived: int = Field(description="records that came since")
    unlinked: int = Field(description="links that came since")
    relinked: int = Field(description="links that were removed since")
    changed: bool
