"""What the operations that keep a memory safe answer."""

from typing import Literal

from pydantic import BaseModel, Field


class Check(BaseModel):
    """One thing that was looked at."""

    name: str
    state: str = Field(description="ok, warning or failed")
    detail: str


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
