"""What the operations that keep a memory safe are asked with."""

from pydantic import Field

from shiyi.service.requests.forms import ARGUMENT, PERSON, Place, Request, optional_name


class ValidateRequest(Request):
    """Look whether everything fits together."""

    strict: bool = Field(False, description="let warnings count as faults")
    require_closed: bool = Field(
        False, description="let captures that no turn has closed count as faults"
    )


class BackupRequest(Request):
    """Write a backup."""

    path: Place | None = Field(
        None,
        description="a new path, or a directory to put it into; the home's own backups by default",
        json_schema_extra=ARGUMENT,
    )
    encrypt: bool = Field(
        False, description="encrypt it with a passphrase, asked for or in SHIYI_PASSPHRASE"
    )


class RestoreRequest(Request):
    """Make a home from a backup."""

    path: Place = Field(description="the directory or file of a backup", json_schema_extra=ARGUMENT)
    into: Place | None = Field(
        None, description="the new home, an empty or missing directory; else the one of --home"
    )


class PurgeRequest(Request):
    """Remove memories for good."""

    ids: list[str] = Field(
        [],
        max_length=1000,
        description="the ids of captures, records or attachments; none ends an interrupted purge",
        json_schema_extra=ARGUMENT,
    )
    with_records: bool = Field(
        False, description="also the records that quote the captures, with all their versions"
    )
    confirm: bool = Field(
        False,
        description="do it; without this, only say what would go. A person's word",
        json_schema_extra=PERSON,
    )


class UndoRequest(Request):
    """Return records to how they stood."""

    to: str = Field(
        description="a time, ISO 8601, or the number of a change; what came after it is undone"
    )
    reason: str | None = Field(None, max_length=2000, description="why")
    key: str | None = optional_name("idempotency key: a repeat returns the first result")
