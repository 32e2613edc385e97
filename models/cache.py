"""Where prepared models live, and how a prepared directory comes to be trusted.

A prepared directory is built whole or not at all: under a lock, in a temporary sibling that is
renamed into place after a manifest of every file was written. The manifest is compared in full,
checksums included, at every load (about 0.1 s for 135 MB with SHA extensions), so a truncated
file, a flipped bit or a build that was killed is never loaded; the directory is built again.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from shiyi.core.errors import ModelUnavailableError
from shiyi.core.files import make_private_directory, owner_only, sync_directory

_MANIFEST = "manifest.json"
_FORMAT = 1
# A build takes seconds; whoever waits longer waits for a process that hangs.
_LOCK_SECONDS = 600.0


def default_cache() -> Path:
    """Return `SHIYI_CACHE`, or else the platform's cache directory for Shiyi."""
    chosen = os.environ.get("SHIYI_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("shiyi")


def file_sha256(path: Path) -> str:
    """Return the hex sha256 of a file. Raises OSError when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def damage(directory: Path) -> str | None:
    """Say in a few words what is wrong with a prepared directory, or None if it is intact."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_bytes())
        expected: dict[str, str] = manifest["files"] if manifest["format"] == _FORMAT else {}
    except FileNotFoundError:
        return "it was never finished"
    except (OSError, ValueError, KeyError, TypeError):
        return f"{_MANIFEST} cannot be read"
    try:
        found = _checksums(directory)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if found == expected:
        return None
    changed = sorted(set(found.items()) ^ set(expected.items()))
    return f"{changed[0][0]} is not as it was written" if changed else "it is empty"


def prepared(directory: Path, build: Callable[[Path], None]) -> Path:
    """Return `directory`, intact; if it is missing or damaged, `build` fills it first.

    `build` gets an empty directory and writes files into it (0600 in 0700). Processes that come
    at once wait for one builder. Raises ModelUnavailableError when the cache cannot be written.
    """
    if damage(directory) is None:
        return directory
    try:
        make_private_directory(directory.parent)
        with FileLock(f"{directory}.lock", timeout=_LOCK_SECONDS, mode=0o600):
            if damage(directory) is not None:
                _replace(directory, build)
    except Timeout as error:
        raise ModelUnavailableError(
            f"Another process has been preparing {directory} for {_LOCK_SECONDS:.0f} seconds; "
            "end it and try again."
        ) from error
    except OSError as error:
        raise ModelUnavailableError(
            f"The model cannot be prepared in {directory.parent}: {error.strerror or error}. Free "
            "about 500 MB there, or choose another place with SHIYI_CACHE."
        ) from error
    return directory


def _replace(directory: Path, build: Callable[[Path], None]) -> None:
    for leftover in directory.parent.glob(f".{directory.name}.*.tmp"):
        shutil.rmtree(leftover)
    temporary = directory.with_name(f".{directory.name}.{os.getpid()}.tmp")
    try:
        with owner_only():
            temporary.mkdir()
            build(temporary)
            manifest = {"format": _FORMAT, "files": _checksums(temporary)}
            (temporary / _MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")
        if directory.exists():
            shutil.rmtree(directory)
        temporary.rename(directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    # The files are not synced one by one: what a power cut tears fails its checksum.
    sync_directory(directory.parent)


def _checksums(directory: Path) -> dict[str, str]:
    """Map each file under `directory`, but the manifest, to its sha256."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    names = {path.relative_to(directory).as_posix(): path for path in files}
    names.pop(_MANIFEST, None)
    return {name: file_sha256(path) for name, path in names.items()}
