"""The few things that a person may change here, each a form that calls an operation."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from shiyi.core.errors import UsageError
from shiyi.service.dashboard.asking import Asked
from shiyi.service.http.guard import media_type

_FORM = "application/x-www-form-urlencoded"
_MOST_BYTES, _MOST_FIELDS = 1 << 16, 20
Form = Mapping[str, str]
Writer = Callable[[Asked, Form], Awaitable[str]]


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; raises UsageError for what no form of ours sends."""
    if media_type(request.headers) != _FORM:
        raise UsageError("That is no form. Nothing was changed.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise UsageError(f"A form has at most {_MOST_BYTES} bytes. Nothing was changed.")
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body),
            errors="strict", max_num_fields=_MOST_FIELDS,
        )  # fmt: skip
    except ValueError:
        raise UsageError("That is no form. Nothing was changed.") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


async def archive(asked: Asked, form: Form) -> str:
    """Take a record out of ordinary search."""
    await asked.call("archive", reason=_given(form, "reason"), **_which(form))
    return "archived"


async def confirm(asked: Asked, form: Form) -> str:
    """Note that a person found a record right: the day, and its weight as theirs."""
    shown = (await asked.call("show", id=form.get("id", "")))["record"]
    if shown is None:
        raise UsageError("Only a record is confirmed; words are as they are. Nothing was changed.")
    today = datetime.now().astimezone().date().isoformat()
    await asked.call(
        "edit", attrs={"confirmed": today}, salience=shown["salience"], reason="confirmed",
        **_which(form),
    )  # fmt: skip
    return "confirmed"


async def close(asked: Asked, form: Form) -> str:
    """Close a follow-up with what came of it."""
    outcome, note = form.get("outcome", ""), form.get("note", "")
    await asked.call("followup close", outcome=outcome, note=note, **_which(form))
    return "closed"


def _which(form: Form) -> dict[str, Any]:
    """Return the record that is meant, as it was when the form was shown, and the key of that."""
    return {"id": form.get("id", ""), "if_match": _given(form, "etag"), "key": _given(form, "key")}


def _given(form: Form, name: str) -> str | None:
    return form.get(name, "").strip() or None


WRITERS: Mapping[str, Writer] = {"archive": archive, "confirm": confirm, "close": close}
