"""Where the daemon of a home listens: its socket, and the file that tells of it.

    HOME/lock           held by whoever owns the home; never removed
    HOME/spawn.lock     held by the client that starts a daemon, so that only one does
    HOME/endpoint.json  written once the daemon listens, removed when it leaves
    HOME/daemon.sock    0600; a long path has its socket in the runtime directory instead

What the file says is never acted upon before the daemon itself has said the same.
"""

import hashlib
import json
import os
import re
import socket
import stat
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from shiyi.core.errors import DaemonError, UsageError
from shiyi.core.files import make_private_directory, write_atomically

API = 1  # of what the daemon and its clients say to each other
ENDPOINT_FILE = "endpoint.json"
SPAWN_LOCK = "spawn.lock"
LOG_FILE = "daemon.log"
_SOCKET_FILE = "daemon.sock"
_MOST_PORT = 65_535
_HERE = re.compile(r"127\.0\.0\.1:[0-9]{1,5}")
_LONGEST = 100  # bytes of a socket's path; the kernel's limit is 103 or 107
HAS_SOCKETS = hasattr(socket, "AF_UNIX")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A daemon that listens. address: the path of its socket, or `127.0.0.1:port`.

    instance: made anew by each daemon. secret: what a client says where there are no sockets that
    belong to a user; empty otherwise.
    """

    pid: int
    address: str
    instance: str
    version: str
    api: int
    secret: str = ""


def socket_path(home: Path) -> Path:
    """Return where the socket of a home lies; its directory is made when need be.

    Raises DaemonError when the runtime directory belongs to somebody else.
    """
    path = home / _SOCKET_FILE
    if len(os.fsencode(path)) <= _LONGEST:
        return path
    digest = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:32]
    return _runtime_directory() / f"{digest}.sock"


def _runtime_directory() -> Path:
    given = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(given) / "shiyi" if given else Path(tempfile.gettempdir()) / f"shiyi-{os.getuid()}"
    if len(os.fsencode(path)) > _LONGEST - 40:
        path = Path("/tmp") / f"shiyi-{os.getuid()}"  # noqa: S108 - checked below
    make_private_directory(path)
    found = path.lstat()
    mine = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
    if not mine or stat.S_IMODE(found.st_mode) & 0o077:
        raise DaemonError(
            f"{path} must be a directory of yours that nobody else can enter, since the daemon's "
            "socket goes there; remove it, or set XDG_RUNTIME_DIR."
        )
    return path


def write_endpoint(home: Path, endpoint: Endpoint) -> None:
    """Tell where the daemon listens."""
    write_atomically(home / ENDPOINT_FILE, json.dumps(asdict(endpoint)).encode("utf-8"))


def read_endpoint(home: Path) -> Endpoint | None:
    """Return what the file says, or None when there is none that can be read.

    A home may come from elsewhere, so an address of another machine is none.
    """
    try:
        found = Endpoint(**json.loads((home / ENDPOINT_FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return None if found.secret and not _HERE.fullmatch(str(found.address)) else found


def remove_endpoint(home: Path, instance: str) -> None:
    """Remove the file, if it still tells of this daemon."""
    found = read_endpoint(home)
    if found is not None and found.instance == instance:
        (home / ENDPOINT_FILE).unlink(missing_ok=True)


def check_port(given: object) -> int:
    """Return the number of a TCP port, 0 for any free one; raises UsageError."""
    if not isinstance(given, int) or not 0 <= given <= _MOST_PORT:
        raise UsageError(f"A port is a number from 0 to {_MOST_PORT}.")
    return given
