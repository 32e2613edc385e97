"""A home with a daemon of its own, for tests, which stop what they start."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiyi.core.errors import DaemonError
from shiyi.core.settings import load_settings
from shiyi.daemon_commands import stop_daemon
from shiyi.service.daemon.client import Client
from shiyi.service.daemon.endpoint import read_endpoint

PATIENCE = 120.0  # seconds that something which must come is waited for: a machine may be busy


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """One home; what is asked of it starts a daemon."""

    def __init__(self, home: Path, model: str = "none") -> None:
        self.home, self.model = home, model
        self.url = ""
        self.token = ""
        self._serving: Client | None = None
        self._held: Iterator[Any] | None = None

    def client(self) -> Client:
        return Client(self.home, load_settings(self.home, model=self.model))

    def pid(self) -> int:
        endpoint = read_endpoint(self.home)
        assert endpoint is not None
        return endpoint.pid

    def kill(self) -> None:
        """Kill the daemon that we started, at once, and wait until it is gone."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid))

    def stop(self) -> None:
        with self.client() as client, suppress(DaemonError):
            stop_daemon(client)
        wait_until(lambda: not (self.home / "owner.json").exists())
        if self._serving is not None:
            self._serving.close()

    def listen(self, **wanted: Any) -> None:
        """Have it served over TCP until it is stopped."""
        self._serving = self.client()
        self._serving.start()
        self._held = self._serving.held("serve", **wanted)
        told = next(self._held)
        self.url = told["url"].removeprefix("http://")
        self.token = Path(told["token_file"]).read_text("utf-8").strip()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> Reply:
        """Ask over TCP, with the first token unless another one is given; "" sends none."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if body is not None else {}
        chosen = self.token if token is None else token
        if chosen:
            sent["Authorization"] = f"Bearer {chosen}"
        sent |= headers or {}
        connection = http.client.HTTPConnection(self.url, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host="Host" in sent)
            for name, value in sent.items():
                connection.putheader(name, value)
            if content is not None and "Content-Length" not in sent:
                connection.putheader("Content-Length", str(len(content)))
            connection.endheaders()
            if content is not None:
                connection.send(content)
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()


def command(home: Path, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
    """Start the command line in a process of its own, with a daemon that leaves soon."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "shiyi", *arguments],
        env={**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "none", "SHIYI_DAEMON": "on",
             "SHIYI_DAEMON_IDLE": "120", **environment},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def daemons_of(home: Path) -> list[int]:
    """Return the daemons of a home that run."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"daemon" in words and os.fsencode(home) in words and is_alive(int(entry.name)):
                found.append(int(entry.name))
    return found


def wait_until(true: Any, seconds: float = PATIENCE) -> None:
    """Wait for something that must come."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)
