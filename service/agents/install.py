"""Telling a client about this memory: one entry in its own configuration, and nothing else.

A file is read, the entry is put in or taken out where it stands, and the result is read again and
compared with what was meant before anything is written: every other setting means what it meant,
every comment is there. What cannot be edited safely, such as a file with a fault, is refused and
left alone.
"""

import copy
import difflib
import errno
import os
import shutil
import stat
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from shiyi.core.errors import HomeUnwritableError, UsageError
from shiyi.core.files import expanded
from shiyi.service.agents.jsonc import Text
from shiyi.service.agents.tomltext import table, with_table, without_table

SERVER = "shiyi"
Entry = dict[str, Any]
_MOST_BYTES = 64 << 20
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


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
        return table((*client.within, SERVER), entry)
    return Text("").put(client.within, SERVER, entry)


def installed(client: Client, command: list[str]) -> Change:
    """Return the change that enters this memory; raises UsageError for a file with a fault."""
    return _edited(client, client.entry(command))


def uninstalled(client: Client) -> Change:
    """Return the change that takes this memory out; raises UsageError for a file with a fault."""
    return _edited(client, None)


def written(path: Path, text: str) -> Change:
    """Return the change that makes a file of ours say a text."""
    old = _read(Path(os.path.realpath(path)))
    return Change(path, old, None if old == text else text)


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
    backup = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if change.old is not None else 0o600
        _refuse_read_only(path.parent, *([path] if change.old is not None else []))
        if change.old is not None:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
            backup = path.with_name(f"{path.name}.before-shiyi-{stamp}")
            shutil.copy2(path, backup)
        _replace(path, change.new, mode)
    except OSError as error:
        if backup is not None:
            backup.unlink(missing_ok=True)
        raise HomeUnwritableError(
            f"{change.path} cannot be written ({error.strerror}); it is as it was."
        ) from None
    return backup


def _refuse_read_only(*places: Path) -> None:
    """Raise PermissionError for what nobody may write, though it could be replaced."""
    for place in places:
        if not place.stat().st_mode & _WRITABLE:
            raise PermissionError(errno.EACCES, "it is read-only", str(place))


def _replace(path: Path, text: str, mode: int) -> None:
    """Write a file whole, read it again, and put it in the place of the old one at once."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _check_written(Path(name), text)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _check_written(path: Path, text: str) -> None:
    """Raise OSError unless a file reads back as what was meant, which was parsed and compared."""
    if path.read_bytes() != text.encode():
        raise OSError(errno.EIO, "it reads back otherwise than it was written", str(path))


def _edited(client: Client, entry: Entry | None) -> Change:
    path = client.place()
    old = _read(Path(os.path.realpath(path)))
    edit = _edit_toml if client.form == "toml" else _edit_json
    new = edit(client, path, old or "", entry)
    if new is not None:
        before = _content(client, old or "", path)
        try:
            after = _content(client, new, path)
        except UsageError:
            after = None
        if after != _meant(before, _way(client, before), entry):
            raise _left_alone(path, f"holds {SERVER} in a form that cannot be edited safely")
    return Change(path, old, new)


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


def _edit_json(client: Client, path: Path, old: str, entry: Entry | None) -> str | None:
    """Return the new text, or None when nothing changes."""
    try:
        text = Text(old)
    except (ValueError, RecursionError):
        raise _left_alone(path, "is not valid JSON, with or without comments") from None
    way = _way(client, text.content)
    if _stands(text.content, way, entry):
        return None
    try:
        if entry is None:
            return text.without(way, SERVER)
        for keys, name, value in _parts(text.content, way, entry):
            text = Text(text.put(keys, name, value))
    except (ValueError, RecursionError):
        raise _left_alone(path, "has a key twice where its servers are") from None
    except TypeError:
        told = f"does not have the form that {client.title} documents"
        raise _left_alone(path, told) from None
    return text.text


def _edit_toml(client: Client, path: Path, old: str, entry: Entry | None) -> str | None:
    """Return the new text, or None when nothing changes. Only our own table is ever rewritten."""
    content = _content(client, old, path)
    if _stands(content, client.within, entry):
        return None
    if entry is None:
        return without_table(old, (*client.within, SERVER))
    return with_table(old, (*client.within, SERVER), entry)


def _content(client: Client, text: str, path: Path) -> Any:
    """Return what a file says; raises UsageError when it cannot be read."""
    try:
        return tomllib.loads(text) if client.form == "toml" else Text(text).content
    except (ValueError, RecursionError):
        raise _left_alone(path, f"is not valid {client.form.upper()}") from None


def _meant(content: Any, way: Sequence[str], entry: Entry | None) -> Any:
    """Return what a file is to say: all that it said, and our entry, or no entry of ours."""
    meant = copy.deepcopy(content)
    place = meant
    for key in way:
        place = place.setdefault(key, {})
    if entry is None:
        del place[SERVER]
    else:
        place[SERVER] = {**_own(content, way), **entry}
    return meant


def _parts(
    content: Any, way: Sequence[str], entry: Entry
) -> Iterator[tuple[Sequence[str], str, Any]]:
    """Yield the members to write: what changes in our entry, or the whole of a new one."""
    own = _own(content, way)
    if not own:
        yield way, SERVER, entry
        return
    for name, value in entry.items():
        if own.get(name) != value:
            yield (*way, SERVER), name, value


def _own(content: Any, way: Sequence[str]) -> Entry:
    """Return the entry that a command has already; what is of another form counts as none."""
    found = _at(content, (*way, SERVER))
    return found if isinstance(found, dict) and "command" in found else {}


def _stands(content: Any, way: Sequence[str], entry: Entry | None) -> bool:
    found = _at(content, (*way, SERVER))
    if entry is None:
        return found is None
    return isinstance(found, dict) and all(found.get(key) == one for key, one in entry.items())


def _at(content: Any, way: Sequence[str]) -> Any:
    for key in way:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _way(client: Client, content: Any) -> tuple[str, ...]:
    """Return the way to the servers; opencode 2 has one of its own, and reads the old one too."""
    servers = _at(content, (*client.within, "servers"))
    newer = isinstance(servers, dict) and all(isinstance(one, dict) for one in servers.values())
    return (*client.within, "servers") if client.name == "opencode" and newer else client.within


def _left_alone(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} {why}, so it was left alone. Enter by hand what --print shows.")
