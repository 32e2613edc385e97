"""Pages as HTML: every text is escaped and shows all that it holds, whatever a template does."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from shiyi.core.text import visible
from shiyi.service.dashboard.entry import ROOT
from shiyi.service.dashboard.words import Words

STYLE, SCRIPT, SEAL = "style.css", "jobs.js", "seal.svg"
_REFERENCE = re.compile(r"[0-9A-HJKMNP-TV-Z]{4,26}")
Address = Callable[..., str]


def render(name: str, words: Words, values: Mapping[str, Any]) -> str:
    """Return a page. What a template names and nobody gave is an error."""
    page = _environment().get_template(f"{name}.html")
    return page.render(t=words, root=ROOT, style=_static_url(STYLE), **values)


def address(path: str, **query: object) -> str:
    """Return the address of a page of ours, with what was given of a query."""
    given = {name: value for name, value in query.items() if value not in {None, ""}}
    tail = f"?{urlencode(given, errors='replace')}" if given else ""
    return f"{ROOT}{quote(path)}{tail}"


def static(name: str) -> bytes:
    """Return a file that pages use."""
    return files(__package__).joinpath("static").joinpath(name).read_bytes()


@cache
def _static_url(name: str) -> str:
    return f"{ROOT}/static/{name}?v={sha256(static(name)).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_seen,
    )  # fmt: skip
    environment.filters |= {"moment": _moment, "count": _count, "part": _part, "pieces": _pieces,
                            "coded": _coded}  # fmt: skip
    environment.tests["reference"] = is_reference
    environment.globals["script"] = _static_url(SCRIPT)
    return environment


def _template(name: str) -> str:
    return files(__package__).joinpath("templates").joinpath(name).read_text("utf-8")


def _seen(value: Any) -> Any:
    """Write out what cannot be seen: controls, marks of direction, hidden letters."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def is_reference(text: object) -> bool:
    """Tell whether a text is an id, whole or as short as answers show it."""
    return isinstance(text, str) and _REFERENCE.fullmatch(text) is not None


def _moment(text: str | None) -> str:
    """Return a time of day as this machine's clock has it, to the minute."""
    try:
        return datetime.fromisoformat(text or "").astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return text or ""


def _count(number: float) -> str:
    return f"{number:,}"


def _part(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"


def _coded(sentence: str) -> list[tuple[str, bool]]:
    """Return a sentence in pieces, each with whether it is a command in backticks."""
    pieces = sentence.split("`")
    if len(pieces) % 2 == 0:  # one has no partner
        return [(sentence, False)]
    return [(text, place % 2 == 1) for place, text in enumerate(pieces)]


def _pieces(snippet: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return a snippet in pieces, each with whether it matches the question."""
    text, start, pieces, at = snippet["text"], snippet["start"], [], 0
    for first, last in sorted(snippet["matches"]):
        begin, end = max(first - start, at), min(last - start, len(text))
        if begin < end:
            pieces += [(text[at:begin], False), (text[begin:end], True)]
            at = end
    return [*pieces, (text[at:], False)]
