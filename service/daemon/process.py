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
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import uvicorn
from starlette.routing import BaseRoute

from shiyi.core.closable import Closable
from shiyi.core.errors import HomeDamagedError, NotFoundError, UsageError
from shiyi.core.files import owner_only
from shiyi.core.settings import load_settings
from shiyi.service.daemon.endpoint import (
    API,
    HAS_SOCKETS,
    LOG_FILE,
    Endpoint,
    check_port,
    read_endpoint,
    remove_endpoint,
    socket_path,
    write_endpoint,
)
from shiyi.service.daemon.host import Host
from shiyi.service.http.app import Identity, make_app
from shiyi.service.http.guard import App, Guard, bearer, for_owner
from shiyi.service.permit import OWNER, Permit
from shiyi.service.session import Session
from shiyi.service.tokens import first_token, permit_of
from shiyi.store.home import prepare_home
from shiyi.store.lease import DAEMON, Lease

_DRAIN = 5  # seconds that calls have to end when the daemon is asked to leave
_GRACE = 3  # seconds after which jobs are interrupted then
_LOOK = 0.5  # seconds between two looks at whether to stay
_LOG_BYTES, _LOGS = 1 << 20, 3
_SWITCH = 0.001  # seconds: a job gives the interpreter to a question as soon as that
_BACKLOG = 2048
LOOPBACK = "127.0.0.1"
Extension = Callable[["Daemon"], Sequence[BaseRoute]]
log = logging.getLogger("shiyi.daemon")


class _Server(uvicorn.Server):
    """A server that leaves signals to the daemon."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


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
        self.host = Host(Session(home, lease=self._lease), rate=self.settings.token_rate)
        self._leaving = asyncio.Event()
        self._servers: list[tuple[_Server, asyncio.Task[None]]] = []
        self._port: tuple[_Server, str] | None = None  # the TCP port and its address
        self._opening = asyncio.Lock()  # that port
        self._socket: Path | None = None
        self._inode = 0
        self.stays: list[Callable[[], bool]] = []  # what keeps it from leaving when idle
        routes = [route for extension in extensions for route in extension(self)]
        self.app: App = make_app(self.host, self.identity, self._control, routes=routes)

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
            await self._stop_listening()
            interrupting.cancel()
            self._remove_socket()

    async def listen(
        self, port: int = 0, bind: str = LOOPBACK, names: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Also answer at a TCP port, for holders of a token; return its address.

        A second time it stays where it is. Raises UsageError when the port is taken.
        """
        async with self._opening:
            if self._port is None:
                self._port = await self._listen(port, bind, names)
                log.info("also listening at a TCP port")
        return {"url": self._port[1], "token_file": str(first_token(self.home))}

    async def _listen(self, port: int, bind: str, names: Sequence[str]) -> tuple[_Server, str]:
        with _taken(bind, port):
            listener = _tcp_socket(bind, port)
        port = listener.getsockname()[1]
        own = [bind, LOOPBACK, *(["::1"] if ":" in bind else []), "localhost", *names]
        hosts = [f"{_in_url(name)}:{port}" for name in own]
        guarded = Guard(self.app, hosts=hosts, keys=[bearer(self._permit_of)])
        server = self._serve(guarded, listener)
        await self._started()
        return server, f"http://{_in_url(bind)}:{port}"

    async def listen_beside(self, app: App, port: int, root: str) -> str:
        """Also answer with another app at a loopback port of its own; return its address.

        The app looks for its own keys, and its bodies may be forms, everywhere below `root`.
        Raises UsageError when the port is taken.
        """
        with _taken(LOOPBACK, port):
            listener = _tcp_socket(LOOPBACK, port)
        port = listener.getsockname()[1]
        hosts = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
        self._serve(Guard(app, hosts=hosts, keys=[], forms=[root], free=[root]), listener)
        await self._started()
        return f"http://{LOOPBACK}:{port}"

    def is_leaving(self) -> bool:
        """Tell whether it was asked to leave."""
        return self._leaving.is_set()

    async def leave_port(self) -> dict[str, Any]:
        """Answer at the TCP port no more."""
        if self._port is not None:
            self._port[0].should_exit = True
            self._port = None
            log.info("not at the TCP port any more")
        return {}

    async def _control(self, what: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a client of the owner wants done about the daemon."""
        if what == "stop":
            self._leaving.set()
            return {"pid": os.getpid()}
        if what == "open":
            create = bool(values.get("create"))
            await asyncio.wrap_future(self.host.open(create=create))
            return {}
        if what == "leave":
            return await self.leave_port()
        if what == "listen":
            names = values.get("names", [])
            if not isinstance(names, list):
                raise UsageError("The names of a host are a list.")
            return await self.listen(
                check_port(values.get("port", 0)), str(values.get("bind", LOOPBACK)),
                [str(name) for name in names],
            )  # fmt: skip
        if what == "state":
            url = None if self._port is None else self._port[1]
            jobs = [asdict(job) for job in self.host.jobs.all() if job.is_open]
            return {"url": url, "idle": round(self.host.idle_for(), 1), "jobs": jobs}
        raise NotFoundError("A daemon can stop, listen, leave its port, or tell its state.")

    def _permit_of(self, secret: str) -> Permit | None:
        try:
            return permit_of(self.home, secret)
        except (HomeDamagedError, OSError):
            log.warning("the file of tokens cannot be read, so no token holds")
            return None

    async def _listen_for_owner(self) -> None:
        if HAS_SOCKETS and self.settings.daemon_socket == "on":
            self._socket = socket_path(self.home)
            self._socket.unlink(missing_ok=True)
            listener = _unix_socket(self._socket)
            self._inode = self._socket.stat().st_ino
            self._serve(for_owner(self.app), listener)
            address, secret = str(self._socket), ""
        else:
            listener, secret = _tcp_socket(LOOPBACK, 0), secrets.token_urlsafe(32)
            address = f"{LOOPBACK}:{listener.getsockname()[1]}"
            owner = bearer(lambda given: OWNER if _same(given, secret) else None)
            self._serve(Guard(self.app, hosts=[address], keys=[owner]), listener)
        await self._started()
        one = self.identity
        write_endpoint(
            self.home, Endpoint(one.pid, address, one.instance, one.version, one.api, secret)
        )

    async def _started(self) -> None:
        """Wait until everything that is to listen does."""
        while not all(server.started for server, _ in self._servers):  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    def _serve(self, app: App, listener: socket.socket) -> _Server:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", http="h11", ws="none",
            loop="asyncio", server_header=False, date_header=False, proxy_headers=False,
            timeout_graceful_shutdown=_DRAIN, backlog=_BACKLOG, timeout_keep_alive=3600,
        )  # fmt: skip
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        self._servers.append((server, task))
        return server

    async def _stop_listening(self) -> None:
        for server, _ in self._servers:
            server.should_exit = True
        await asyncio.wait([task for _, task in self._servers], timeout=_DRAIN + 1)

    def _remove_socket(self) -> None:
        with contextlib.suppress(OSError):
            if self._socket is not None and self._socket.stat().st_ino == self._inode:
                self._socket.unlink()

    def _is_idle(self) -> bool:
        most = self.settings.daemon_idle
        if not most or self._port is not None or self.host.idle_for() < most:
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


def _in_url(name: str) -> str:
    """Return a host's name or address as it stands in an address."""
    return f"[{name}]" if ":" in name else name


def _unix_socket(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with owner_only():
        listener.bind(str(path))
    path.chmod(0o600)
    return listener


def _tcp_socket(bind: str, port: int) -> socket.socket:
    """Return a bound socket; the protocol is named, else asyncio leaves Nagle's delay on."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except BaseException:
        listener.close()
        raise
    return listener


@contextlib.contextmanager
def _taken(bind: str, port: int) -> Iterator[None]:
    try:
        yield
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise UsageError(
            f"{bind}:{port} cannot be listened at ({reason}); choose another --port."
        ) from None
