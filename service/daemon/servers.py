"""The servers of a daemon: one for each socket that it listens at."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from shiyi.service.http.connection import KEEP_ALIVE, Connection
from shiyi.service.http.guard import App

DRAIN = 5  # seconds that calls have to end when a server is asked to leave
_LONG_ALIVE = 3600  # seconds that a client of the owner may be quiet
_BACKLOG = 2048
_TCP = (socket.AF_INET, socket.AF_INET6)


class Server(uvicorn.Server):
    """A server that leaves signals to the daemon."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield

    def close(self) -> None:
        """Answer nobody who comes from now on; who is being answered has a few seconds."""
        self.should_exit = True
        for one in self.servers:
            one.close()  # at once, so that the port can be had again


class Servers:
    """Those that run."""

    def __init__(self) -> None:
        self._running: dict[Server, asyncio.Task[None]] = {}

    async def serve(self, app: App, listener: socket.socket, *, owner: bool = False) -> Server:
        """Answer at a socket. `owner`: nobody else comes there, so its clients may be quiet."""
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", ws="none", loop="asyncio",
            http=Connection if listener.family in _TCP else "h11",
            server_header=False, date_header=False, proxy_headers=False,
            timeout_graceful_shutdown=DRAIN, backlog=_BACKLOG,
            timeout_keep_alive=_LONG_ALIVE if owner else KEEP_ALIVE,
        )  # fmt: skip
        server = Server(config)
        self._running[server] = task = asyncio.create_task(server.serve(sockets=[listener]))
        task.add_done_callback(lambda _: self._running.pop(server))
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return server

    async def stop(self) -> None:
        """End them all."""
        for server in self._running:
            server.should_exit = True
        if self._running:
            await asyncio.wait(list(self._running.values()), timeout=DRAIN + 1)
