"""TOML as clients keep it, edited in place: one table, and in it only the keys that are ours."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_HEADER = re.compile(r"\s*\[")


def table(way: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return a table of its own."""
    return (
        "\n".join([f"[{'.'.join(way)}]", *(f"{k} = {_value(v)}" for k, v in entry.items())]) + "\n"
    )


def with_table(text: str, way: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the text with the keys of the entry in the table of that name; a new one is the last.

    Other keys of the table stay, and so does every comment.
    """
    lines = text.splitlines(keepends=True)
    own = [place for place, line in enumerate(lines) if _names(way).fullmatch(line.strip("\r\n"))]
    if not own:
        end = "\r\n" if "\r\n" in text else "\n"
        gap = "" if not text else end if text.endswith("\n") else 2 * end
        return text + gap + table(way, entry).replace("\n", end)
    begin = own[0] + 1
    end_of_line = "\r\n" if lines[own[0]].endswith("\r\n") else "\n"
    if not lines[own[0]].endswith("\n"):
        lines[own[0]] += end_of_line
    stop = next((n for n in range(begin, len(lines)) if _HEADER.match(lines[n])), len(lines))
    left = dict(entry)
    body: list[str] = []
    for statement in _statements(lines[begin:stop]):
        key = _key(statement)
        if key in left:
            body.append(f"{key} = {_value(left.pop(key))}{end_of_line}")
        else:
            body.append(statement)
    new = [f"{key} = {_value(value)}{end_of_line}" for key, value in left.items()]
    return "".join([*lines[:begin], *new, *body, *lines[stop:]])


def without_table(text: str, way: Sequence[str]) -> str:
    """Return the text without the table of that name and those inside it.

    What is said in comments before the next table stays: it may be about that one.
    """
    own = _names(way, inside=True)
    kept: list[str] = []
    held: list[str] = []  # comments and blank lines at the end of what goes out
    inside = gone = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            inside = own.fullmatch(line.rstrip("\r\n")) is not None
            if not inside:
                kept += held
            held = []
            gone = gone or inside
        elif inside:
            is_remark = not line.strip() or line.lstrip().startswith("#")
            held = [*held, line] if is_remark else []
        if not inside:
            kept.append(line)
    kept += [line for line in held if line.strip()]
    cut = "".join(kept)
    return cut if not gone or not inside else f"{cut.rstrip()}\n" if cut.strip() else ""


def _names(way: Sequence[str], *, inside: bool = False) -> "re.Pattern[str]":
    """Return what a heading looks like that names a table, or also one inside it."""
    name = r"\s*\.\s*".join(rf"(?:{re.escape(key)}|\"{re.escape(key)}\")" for key in way)
    more = r"(?:\.[^\]]*)?" if inside else ""
    return re.compile(rf"\s*\[\s*{name}\s*{more}\]\s*(?:#.*)?")


def _statements(lines: Sequence[str]) -> Iterator[str]:
    """Yield each statement with all its lines, and each comment and blank line."""
    part = ""
    for line in lines:
        part += line
        try:
            tomllib.loads(part)
        except tomllib.TOMLDecodeError:
            continue
        yield part
        part = ""
    if part:
        yield part


def _key(statement: str) -> str | None:
    try:
        return next(iter(tomllib.loads(statement)), None)
    except tomllib.TOMLDecodeError:
        return None


def _value(value: Any) -> str:
    """Return a text, a number or a list as TOML: a JSON text is a basic string there too."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
