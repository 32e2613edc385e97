"""Where a home lies and what can be set: command line, then environment, then settings.toml."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import platformdirs

from shiyi.core.errors import UsageError
from shiyi.core.files import expanded

SETTINGS_FILE = "settings.toml"
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person may set in `settings.toml`, or as SHIYI_<NAME> in the environment.

    model: `default` (embedded), `none` (keywords only), a directory, or the name of a
        sentence-transformers model that is already on this machine.
    query_prompt, passage_prompt: put before the text; empty means the model's own.
    scope: used when a command names none.
    tokens: the counter behind budgets: `o200k`, `cl100k` or `bytes`.
    traces: `on` or `off`: whether it is kept what each question was answered from.
    trace_days, trace_most: how old a trace may become, and how many a scope keeps.
    backup_days: how old what was kept may become before a backup is due.
    backup_directory: where backups go that are kept by themselves; empty means in the home.
    stale_days: how old a turn of before must be, when it is left open, to be warned of.
    attachment_mb: the most megabytes (2^20 bytes) that one attachment may have.
    daemon: `on` or `off`: whether commands and the Python client ask a daemon, started on demand,
        or own the home themselves for as long as they run.
    daemon_idle: after how many seconds without a call the daemon leaves; 0 for never.
    daemon_socket: `on` or `off`: whether the daemon listens at a socket file, or, where the file
        system of the home takes none, at a loopback port with a secret.
    token_rate: how many calls a minute one token may make; 0 for any number.
    eval_directory: where `shiyi eval run` writes and the dashboard looks; empty means `eval` in
        the home.
    """

    model: str = "default"
    query_prompt: str = ""
    passage_prompt: str = ""
    scope: str = "me"
    tokens: str = "o200k"
    traces: str = "on"
    trace_days: int = 30
    trace_most: int = 5_000
    backup_days: int = 7
    backup_directory: str = ""
    stale_days: int = 7
    attachment_mb: int = 4_096
    daemon: str = "on"
    daemon_idle: int = 900
    daemon_socket: str = "on"
    token_rate: int = 6_000
    eval_directory: str = ""


def home_directory(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the home: the given path, else SHIYI_HOME, else the platform's data directory.

    Raises UsageError for a path with a NUL character or with the `~` of an unknown user.
    """
    chosen = given or os.environ.get("SHIYI_HOME") or platformdirs.user_data_path("shiyi")
    if "\0" in os.fspath(chosen):
        raise UsageError("A home path cannot hold a NUL character.")
    try:
        os.fsencode(chosen)
    except UnicodeEncodeError:
        raise UsageError("A home path cannot hold half a surrogate pair.") from None
    try:
        return expanded(chosen).absolute()
    except RuntimeError:
        raise UsageError(f"No user is known by the name in {str(chosen)!r}.") from None


def load_settings(home: Path, **given: str | None) -> Settings:
    """Return the settings of `home`; what is `given` and not None wins.

    An empty variable in the environment counts as not set.

    Raises UsageError for a settings file that cannot be read or is not TOML, an unknown name or a
    wrong type.
    """
    kinds = {field.name: type(field.default) for field in fields(Settings)}
    from_file = _read_settings_file(home / SETTINGS_FILE, kinds)
    from_environment = {
        name: _typed(f"SHIYI_{name.upper()}", value, kind)
        for name, kind in kinds.items()
        if (value := os.environ.get(f"SHIYI_{name.upper()}"))
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    return _checked(replace(Settings(), **{**from_file, **from_environment, **chosen}))


def _typed(name: str, value: str, kind: type) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise UsageError(f"{name} is a whole number.") from None


def _checked(settings: Settings) -> Settings:
    for name in ("traces", "daemon", "daemon_socket"):
        if getattr(settings, name) not in {"on", "off"}:
            raise UsageError(f'The setting {name} is "on" or "off".')
    for name in ("trace_days", "trace_most", "backup_days", "stale_days", "attachment_mb"):
        if not 1 <= getattr(settings, name) <= _MOST:
            raise UsageError(f"The setting {name} is a number from 1 to {_MOST}.")
    for name in ("daemon_idle", "token_rate"):
        if not 0 <= getattr(settings, name) <= _MOST:
            raise UsageError(f"The setting {name} is a number from 0 to {_MOST}.")
    return settings


def _read_settings_file(path: Path, kinds: Mapping[str, type]) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}  # what is wrong with such a home, the store says
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}. Correct it or remove it."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}. Correct it or remove it.") from None
    for name, value in content.items():
        if name not in kinds:
            raise UsageError(
                f"{path}: unknown setting {name!r}; known: {', '.join(sorted(kinds))}."
            )
        if type(value) is not kinds[name]:
            wanted = "a text in quotes" if kinds[name] is str else "a whole number"
            raise UsageError(f"{path}: {name} is {wanted}, not {type(value).__name__}.")
    return content
