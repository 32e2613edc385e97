"""Telling a client about this memory: one entry in its own configuration, and nothing else.

A file is read, the entry is put in or taken out, and the result is checked before anything is
written: every other setting means what it meant. What cannot be edited safely (a file with a fault,
or JSON with comments) is refused and left alone.
"""

import difflib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from shiyi.core.errors import HomeUnwritableError, UsageError
from shiyi.core.files import expanded

SERVER = "shiyi"
Entry = dict[str, Any]
_MOST_BYTES = 64 << 20


def _plain_entry(command: list[str]) -> Entry:
    return {"command": command[0], "args": command[1:]}


@dataclass(frozen=True, slots=True)
class Client:
    """One client. place: of its file; within: the keys that lead to its servers."""

    name: str
    title: str
    place: Callable[[], Path]
    within: tuple[str, ...]
    form: Literal["json", "toml"] = "json"
    entry: Callable[[list[str]], Entry] = _plain_entry
    after: str = "Start a new session."


@dataclass(frozen=True, slots=True)
class Change:
    """What an installation would do to a file; `new` is None when it would do nothing."""

    path: Path
    old: str | None
    new: str | None

    def diff(self) -> str:
        """Return the change as a unified diff."""
        if self.new is None:
            return ""
        lines = difflib.unified_diff(
            (self.old or "").splitlines(keepends=True), self.new.splitlines(keepends=True),
            str(self.path) if self.old is not None else "/dev/null", str(self.path),
        )  # fmt: skip
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def command_line(
    scope: str | None, home: str | None, model: str | None, *, read_only: bool = False
) -> list[str]:
    """Return the command that a client starts: an absolute path and arguments, no shell.

    A client does not pass our environment on, so what SHIYI_HOME, SHIYI_SCOPE and SHIYI_MODEL say
    here is said in the arguments.
    """
    scope = scope or os.environ.get("SHIYI_SCOPE")
    home = home or os.environ.get("SHIYI_HOME")
    model = model or os.environ.get("SHIYI_MODEL")
    own = Path(sys.executable).with_name("shiyi.exe" if sys.platform == "win32" else "shiyi")
    begun = Path(sys.argv[0]).absolute()
    program = own if own.exists() else begun if begun.stem == "shiyi" else None
    start = [str(program)] if program else [sys.executable, "-P", "-m", "shiyi"]
    place = str(expanded(home).absolute()) if home else None
    options = [("--home", place), ("--scope", scope), ("--model", model)]
    given = [part for name, value in options if value for part in (name, value)]
    return [*start, "mcp", *given, *(["--read-only"] if read_only else [])]


def snippet(client: Client, command: list[str]) -> str:
    """Return what stands in the client's file for this memory alone."""
    entry = client.entry(command)
    if client.form == "toml":
        return _toml_table(client.within, entry)
    content: Any = {SERVER: entry}
    for key in reversed(client.within):
        content = {key: content}
    return _as_json(content, "  ")


def installed(client: Client, command: list[str]) -> Change:
    """Return the change that enters this memory; raises UsageError for a file with a fault."""
    return _edited(client, client.entry(command))


def uninstalled(client: Client) -> Change:
    """Return the change that takes this memory out; raises UsageError for a file with a fault."""
    return _edited(client, None)


def apply(change: Change) -> Path | None:
    """Write a change and return where the file from before is kept, if there was one.

    A link stays a link, and the file keeps its mode; a new one is for its owner only.

    Raises UsageError when the file changed meanwhile, HomeUnwritableError when it cannot be
    written.
    """
    if change.new is None:
        return None
    path = Path(os.path.realpath(change.path))
    if _read(path) != change.old:
        raise UsageError(f"{change.path} changed meanwhile; nothing was written. Try again.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        mode = 0o600
        if change.old is not None:
            mode = stat.S_IMODE(path.stat().st_mode)
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
            backup = path.with_name(f"{path.name}.before-shiyi-{stamp}")
            shutil.copy2(path, backup)
        _replace(path, change.new, mode)
    except OSError as error:
        raise HomeUnwritableError(
            f"{change.path} cannot be written ({error.strerror}); it is as it was."
        ) from None
    return backup


def _replace(path: Path, text: str, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _edited(client: Client, entry: Entry | None) -> Change:
    path = client.place()
    old = _read(Path(os.path.realpath(path)))
    edit = _edit_toml if client.form == "toml" else _edit_json
    return Change(path, old, edit(client, path, old or "", entry))


def _read(path: Path) -> str | None:
    try:
        if not path.is_file():
            if path.exists():
                raise UsageError(f"{path} is no regular file; nothing was written.")
            return None
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{path} is too large to be a configuration; nothing was written.")
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8; nothing was written.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}).") from None


# JSON


def _edit_json(client: Client, path: Path, old: str, entry: Entry | None) -> str | None:
    """Return the new text, or None when nothing changes."""
    bom = "\ufeff" if old.startswith("\ufeff") else ""
    text = old.removeprefix("\ufeff")
    try:
        content = json.loads(text, object_pairs_hook=_once) if text.strip() else {}
    except (ValueError, RecursionError):
        raise UsageError(
            f"{path} is not plain JSON (it may have comments, trailing commas or a fault), so it "
            "was left alone. Enter by hand what --print shows."
        ) from None
    place = _servers(client, content, path)
    if place.get(SERVER) == entry:
        return None
    if entry is None:
        del place[SERVER]
    else:
        place[SERVER] = entry
    end = "\n" if not text or text.endswith("\n") else ""
    new = _as_json(content, _indent_of(text)).rstrip("\n") + end
    return bom + (new.replace("\n", "\r\n") if "\r\n" in text else new)


def _servers(client: Client, content: Any, path: Path) -> Entry:
    """Return the object that holds the servers, made where it is missing."""
    strange = UsageError(
        f"{path} does not have the form that {client.title} documents, so it was left alone."
    )
    if not isinstance(content, dict):
        raise strange
    for key in _keys(client, content):
        content = content.setdefault(key, {})
        if not isinstance(content, dict):
            raise strange
    found: Entry = content
    return found


def _keys(client: Client, content: Any) -> tuple[str, ...]:
    """Return the way to the servers; opencode 2 has one of its own, and reads the old one too."""
    mcp = content.get("mcp") if isinstance(content, dict) else None
    newer = client.name == "opencode" and isinstance(mcp, dict) and "servers" in mcp
    return (*client.within, "servers") if newer else client.within


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _as_json(content: Any, indent: str) -> str:
    text = json.dumps(content, ensure_ascii=False, indent=indent) + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can only escape
        text = json.dumps(content, indent=indent) + "\n"
    return text


def _indent_of(text: str) -> str:
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return found[1] if found else "  "


# TOML


def _edit_toml(client: Client, path: Path, old: str, entry: Entry | None) -> str | None:
    """Return the new text, or None when nothing changes. Only our own table is ever rewritten."""
    before = _parsed(old, path)
    if _entry_of(client, before) == entry:
        return None
    kept = _without_table(old, (*client.within, SERVER))
    new = kept
    if entry is not None:
        gap = "" if not kept else "\n" if kept.endswith("\n") else "\n\n"
        new = f"{kept}{gap}{_toml_table(client.within, entry)}"
    try:
        after = tomllib.loads(new)
    except tomllib.TOMLDecodeError:
        after = {}
    if _entry_of(client, after) != entry or _others(client, after) != _others(client, before):
        raise UsageError(
            f"{path} holds {SERVER} in a form that cannot be edited safely, so it was left alone. "
            "Enter by hand what --print shows."
        )
    return new


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise UsageError(f"{path} is not valid TOML, so it was left alone.") from None


def _entry_of(client: Client, content: Mapping[str, Any]) -> Any:
    place: Any = content
    for key in client.within:
        place = place.get(key, {}) if isinstance(place, dict) else {}
    return place.get(SERVER) if isinstance(place, dict) else None


def _others(client: Client, content: Mapping[str, Any]) -> Any:
    """Return everything but our own entry; empty tables on the way to it count as none."""
    copy = json.loads(json.dumps(content, default=str))
    key = client.within[0]
    if isinstance(copy.get(key), dict):
        copy[key].pop(SERVER, None)
        if not copy[key]:
            del copy[key]
    return copy


def _without_table(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without the table of that name and those inside it."""
    name = r"\s*\.\s*".join(rf"(?:{re.escape(key)}|\"{re.escape(key)}\")" for key in keys)
    own = re.compile(rf"\s*\[\s*{name}\s*(?:\.[^\]]*)?\]\s*(?:#.*)?")
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if re.match(r"\s*\[", line) and (inside or own.fullmatch(line.rstrip("\r\n"))):
            inside = own.fullmatch(line.rstrip("\r\n")) is not None
        if not inside:
            kept.append(line)
    cut = "".join(kept)
    return (
        cut if len(kept) == len(text.splitlines()) else f"{cut.rstrip()}\n" if cut.strip() else ""
    )


def _toml_table(within: tuple[str, ...], entry: Entry) -> str:
    lines = [f"[{'.'.join((*within, SERVER))}]"]
    lines += [f"{key} = {_toml_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    """Return a text, a number or a list as TOML: a JSON text is a basic string there too."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
