"""Idempotency: what a write with a key answered first is what it answers for good."""

import json
from datetime import UTC, datetime
from typing import Any

from shiyi.core.errors import ConflictError
from shiyi.core.ids import derived_id
from shiyi.store.database import Database, naive
from shiyi.store.rows import encode_json, json_sha256


def first_result(database: Database, scope: str, key: str, request: Any) -> dict[str, Any] | None:
    """Return what the first write with this key answered, or None when there was none.

    Raises ConflictError when it was another request.
    """
    query = "SELECT request_sha256, result FROM idempotency WHERE key_id = ?"
    found = database.rows(query, [derived_id(scope, key)])
    if not found:
        return None
    if found[0][0] != json_sha256(request):
        raise ConflictError(
            "This idempotency key was already used for another request; use a new key. "
            "Nothing was changed."
        )
    first: dict[str, Any] = json.loads(found[0][1])
    return first


def keep_result(
    database: Database, scope: str, key: str, request: Any, result: dict[str, Any]
) -> None:
    """Keep what a write answered, inside its transaction."""
    database.rows(
        "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?)",
        [
            derived_id(scope, key), scope, key, json_sha256(request), encode_json(result),
            naive(datetime.now(UTC)),
        ],
    )  # fmt: skip
