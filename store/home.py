"""The home directory: made private, or found, or refused with a sentence."""

import stat
from pathlib import Path

from shiyi.core.errors import HomeError, HomeUnwritableError
from shiyi.core.files import make_private_directory
from shiyi.core.settings import SETTINGS_FILE
from shiyi.core.text import visible

FILE_NAME = "shiyi.duckdb"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def prepare_home(home: Path, *, create: bool) -> None:
    """Make `home` when it is missing and `create` is set, and close it to everybody else.

    Raises HomeError or HomeUnwritableError; nothing but the directory and its mode is changed.
    """
    if "?" in str(home) or not _is_utf8(str(home)):
        raise HomeUnwritableError(
            f"The path {visible(str(home))} holds a question mark or is not UTF-8, and DuckDB "
            "keeps no log under such a name. Choose another home with --home."
        )
    if home.exists() and not home.is_dir():
        raise HomeUnwritableError(
            f"The home {home} is a file, not a directory; nothing was changed. "
            "Choose another with --home."
        )
    if not create and not any(home.glob(f"{FILE_NAME}*")):
        raise HomeError(f"There is no memory at {home}; make one with `shiyi init`.")
    make_private_directory(home)
    _close_to_others(home)


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)


def _close_to_others(home: Path) -> None:
    mode = stat.S_IMODE(home.stat().st_mode)
    if not mode & _OTHERS:
        return
    # Only what is ours alone: a mistyped home must not take /tmp or a shared folder from others.
    names = {path.name for path in home.iterdir()}
    if names and FILE_NAME not in names and names != {SETTINGS_FILE}:
        raise HomeUnwritableError(
            f"{home} holds other files and is open to other users (mode {mode:04o}); nothing was "
            "changed. Choose an empty or a new directory with --home."
        )
    try:
        home.chmod(mode & ~_OTHERS)
    except PermissionError:
        raise HomeUnwritableError(
            f"{home} is open to other users (mode {mode:04o}) and is not yours to close; nothing "
            "was changed. Choose another with --home."
        ) from None
