"""What the operations that keep a memory safe are asked with."""

from pydantic import Field

from shiyi.service.forms import ARGUMENT, Place, Request


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
