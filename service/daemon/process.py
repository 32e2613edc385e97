"""The daemon: the process that owns a home, and answers for it until nobody asks any more.

It takes the lease before anything else, opens the home when it is first needed, listens on a socket
that only its owner can reach, and only then says where.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from shiyi.core.closable import Closable
from shiyi.core.errors import NotFoundError
from shiyi.core.files import owner_only
from shiyi.core.settings import load_settings
from shiyi.service.daemon.endpoint import (
    API,
    HAS_SOCKETS,
    LOG_FILE,
    Endpoint,
    read_endpoint,
    remove_endpoint,
    socket_path,
    write_endpoint,
)
from shiyi.service.daemon.host import Host
from shiyi.service.daemon.listening import LOOPBACK, tcp_socket, unix_socket
from shiyi.service.daemon.ports import Ports
from shiyi.service.daemon.servers import Servers
from shiyi.service.http.app import Identity, make_app
from shiyi.service.http.guard import App, Guard, bearer, for_owner
from shiyi.service.http.intake import Intake
from shiyi.service.permit import OWNER
from shiyi.service.session import Session
from shiyi.store.home import prepare_home
from shiyi.store.lease import DAEMON, Lease

_GRACE = 3  # seconds after which jobs are interrupted then
_LOOK = 0.5  # seconds between two looks at whether to stay
_LOG_BYTES, _LOGS = 1 << 20, 3
_SWITCH = 0.001  # seconds: a job gives the interpreter to a question as soon as that
Extension = Callable[["Daemon"], Sequence[BaseRoute]]
log = logging.getLogger("shiyi.daemon")


class Daemon(Closable):
    """One home, one lease, one host, and the sockets at which it answers."""

    def __init__(self, home: Path, *, extensions: Sequence[Extension] = ()) -> None:
        """Take the home. `extensions` bring the routes of other doors.

        Raises HomeBusyError when somebody else has it, or what the home is refused for.
        """
        self.home = home
        self.settings = load_settings(home)
        prepare_home(home, create=True)
        self._lease = Lease(home, DAEMON)
        self.instance = secrets.token_hex(16)
        self.identity = Identity(os.getpid(), self.instance, metadata.version("shiyi"), API)
        self.host = Host(Session(home, lease=self._lease))
        self._leaving = asyncio.Event()
        self._servers = Servers()
        self._ports = Ports(home, self.host, self._servers, self._leaving)
        self._socket: Path | None = None
        self._inode = 0
        self.stays: list[Callable[[], bool]] = []  # what keeps it from leaving when idle
        routes = [route for extension in extensions for route in extension(self)]
        routes.append(Route("/v1/daemon/serve", self._hold_port, methods=["POST"]))
        self.app: App = Intake(make_app(self.host, self.identity, self._control, routes=routes))

    def close(self) -> None:
        """Give the home up."""
        self.host.close()
        self._lease.release()

    async def run(self) -> None:
        """Answer until it is time to leave."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leaving.set)
        await self._listen_for_owner()
        log.info("listening, process %d", os.getpid())
        try:
            while not self._leaving.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), _LOOK)
                if self._is_idle() or not self._is_reachable():
                    break
        finally:
            log.info("leaving")
            remove_endpoint(self.home, self.instance)
            interrupting = loop.call_later(_GRACE, self.host.interrupt)
            await self._servers.stop()
            interrupting.cancel()
            self._remove_socket()

    async def listen_beside(self, app: App, port: int, root: str) -> str:
        """Also answer with another app at a loopback port of its own; return its address.

        The app looks for its own keys, and its bodies may be forms, everywhere below `root`.
        Raises UsageError when the port is taken.
        """
        listener = tcp_socket(LOOPBACK, port)
        port = listener.getsockname()[1]
        hosts = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
        guard = Guard(Intake(app), hosts=hosts, keys=[], forms=[root], free=[root])
        await self._servers.serve(guard, listener)
        return f"http://{LOOPBACK}:{port}"

    def is_leaving(self) -> bool:
        """Tell whether it was asked to leave."""
        return self._leaving.is_set()

    async def _hold_port(self, request: Request) -> Response:
        """Answer at a TCP port for as long as the owner wants it."""
        return await self._ports.hold(self.app, request)

    async def _control(self, what: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a client of the owner wants done about the daemon."""
        if what == "stop":
            self._leaving.set()
            return {"pid": os.getpid()}
        if what == "open":
            create = bool(values.get("create"))
            await asyncio.wrap_future(self.host.open(create=create))
            return {}
        if what == "state":
            jobs = [asdict(job) for job in self.host.jobs.all() if job.is_open]
            return {"urls": self._ports.urls, "idle": round(self.host.idle_for(), 1), "jobs": jobs}
        raise NotFoundError("A daemon can open its home, stop, serve, or tell its state.")

    async def _listen_for_owner(self) -> None:
        if HAS_SOCKETS and self.settings.daemon_socket == "on":
            self._socket = socket_path(self.home)
            self._socket.unlink(missing_ok=True)
            listener = unix_socket(self._socket)
            self._inode = self._socket.stat().st_ino
            app: App = for_owner(self.app)
            address, secret = str(self._socket), ""
        else:
            listener, secret = tcp_socket(LOOPBACK, 0), secrets.token_urlsafe(32)
            address = f"{LOOPBACK}:{listener.getsockname()[1]}"
            owner = bearer(lambda given: OWNER if _same(given, secret) else None)
            app = Guard(self.app, hosts=[address], keys=[owner])
        await self._servers.serve(app, listener, owner=True)
        one = self.identity
        write_endpoint(
            self.home, Endpoint(one.pid, address, one.instance, one.version, one.api, secret)
        )

    def _remove_socket(self) -> None:
        with contextlib.suppress(OSError):
            if self._socket is not None and self._socket.stat().st_ino == self._inode:
                self._socket.unlink()

    def _is_idle(self) -> bool:
        most = self.settings.daemon_idle
        if not most or self._ports.urls or self.host.idle_for() < most:
            return False
        return not any(stays() for stays in self.stays)

    def _is_reachable(self) -> bool:
        """Tell whether clients can still find the way: nobody removed the socket or the home."""
        try:
            if self._socket is not None and self._socket.stat().st_ino != self._inode:
                return False
        except OSError:
            return False
        endpoint = read_endpoint(self.home)
        return endpoint is not None and endpoint.instance == self.instance


def run(home: Path, *, extensions: Sequence[Extension] = ()) -> None:
    """Be the daemon of a home until it is time to leave; raises what `Daemon` raises."""
    os.umask(0o077)
    sys.setswitchinterval(_SWITCH)

    async def live() -> None:
        with Daemon(home, extensions=extensions) as daemon:
            _keep_log(home)
            await daemon.run()

    asyncio.run(live())


def _keep_log(home: Path) -> None:
    """Write our own sentences to the log of the home, and those of nobody else.

    What libraries and exceptions say may hold what somebody said.
    """
    with owner_only():
        handler = RotatingFileHandler(
            home / LOG_FILE, maxBytes=_LOG_BYTES, backupCount=_LOGS, encoding="utf-8"
        )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    logging.getLogger("uvicorn").propagate = False
    sys.excepthook = lambda kind, _, trace: _note(kind, trace)
    threading.excepthook = lambda told: _note(told.exc_type, told.exc_traceback)


def _note(kind: type[BaseException], trace: Any) -> None:
    """Log where an exception came from, without its words."""
    places = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(trace)]
    log.error("%s at %s", kind.__name__, " ".join(places[-8:]))


def _same(a: str, b: str) -> bool:
    return secrets.compare_digest(a.encode("utf-8", "surrogatepass"), b.encode("ascii"))
