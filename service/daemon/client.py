"""The client of a daemon: finds it, starts it when there is none, asks, and asks again.

It stands on the standard library, so that a small command stays small.
"""

import http.client
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from shiyi.core.closable import Closable
from shiyi.core.errors import (
    DaemonError,
    OutcomeUnknownError,
    ShiyiError,
    StoppedError,
    VersionSkewError,
)
from shiyi.core.files import expanded
from shiyi.core.settings import Settings
from shiyi.service.daemon.endpoint import API, LOG_FILE, Endpoint, read_endpoint
from shiyi.service.daemon.starting import Starter
from shiyi.service.invoke import path_fields, request_model
from shiyi.service.refusal import error_from
from shiyi.service.table.operations import Operation
from shiyi.store.lease import busy

if TYPE_CHECKING:
    from shiyi.indexer.reindex import Progress

_CONNECT = 5.0  # seconds for a daemon to say hello
_START = 10.0  # seconds for one to start
_QUIET = 60.0  # seconds without a sign of life during a call
_MODEL = 30.0  # seconds that a question waits for a model that is being loaded
_TRY_AGAIN = 30.0  # seconds during which a lost call is repeated
_POLL = 0.02
GONE = (ConnectionError, http.client.HTTPException, FileNotFoundError, EOFError)
_LINES = "application/x-ndjson"


class Client(Closable):
    """Talks to the daemon of a home. Threads may share it; each has a connection of its own."""

    def __init__(
        self,
        home: Path,
        settings: Settings,
        *,
        progress: "Progress | None" = None,
        waiting: Callable[[int], None] = lambda _: None,
        wait: float = _MODEL,
    ) -> None:
        """Name the home, and the settings with which it is to be asked; nothing is done yet.

        progress: told how far a job is; waiting: how many jobs have to end before it begins.
        wait: seconds that a question waits for a model that is being loaded.
        """
        self.home = home
        self.settings = settings
        self._progress, self._waiting = progress, waiting
        self._wait = wait
        self._here = threading.local()
        self._open: set[http.client.HTTPConnection] = set()

    def close(self) -> None:
        """End the connections; the daemon goes on."""
        while self._open:
            self._open.pop().close()

    def _drop(self) -> None:
        """End the connection of this thread."""
        connection = getattr(self._here, "connection", None)
        if connection is not None:
            self._open.discard(connection)
            connection.close()
        self._here.connection = None

    def running(self) -> dict[str, Any] | None:
        """Return what the daemon says of itself, or None when there is none.

        Raises DaemonError when there is one that does not answer.
        """
        return self._reached()

    def start(self) -> dict[str, Any]:
        """Reach the daemon, starting it when there is none, and return what it says of itself.

        Raises HomeBusyError when another program owns the home, VersionSkewError, DaemonError, or
        whatever the home is refused for.
        """
        deadline = time.monotonic() + _START
        starter = Starter(self.home)
        try:
            while True:
                hello = self._reached()
                if hello is not None:
                    return self._of_my_kind(hello)
                starter.step()
                if time.monotonic() > deadline:
                    if starter.refused:
                        raise busy(self.home)
                    raise DaemonError(
                        f"The daemon of {self.home} did not start within {_START:.0f} s. Nothing "
                        f"was sent. Its log: {self.home / LOG_FILE}. Try `shiyi doctor`, or own "
                        "the home without one: SHIYI_DAEMON=off."
                    )
                time.sleep(_POLL)
        finally:
            starter.release()

    def call(
        self,
        operation: Operation,
        values: Mapping[str, Any],
        scope: str | None,
        *,
        passphrase: str | None = None,
    ) -> Any:
        """Do an operation through the daemon and return its answer, packed.

        What may be repeated is repeated when the daemon goes away meanwhile.

        Raises OutcomeUnknownError when a write that cannot be repeated got no answer, and
        whatever the operation or `start` raises.
        """
        values = dict(values)
        if operation.permission != "read" and "key" in request_model(operation).model_fields:
            values.setdefault("key", f"auto-{secrets.token_hex(16)}")
        again = operation.permission == "read" or operation.repeatable or "key" in values
        deadline = time.monotonic() + _TRY_AGAIN
        while True:
            self.start()
            sent = False
            try:
                body = _encoded(values)
                path = f"/v1/{quote(operation.name.replace(' ', '/'))}"
                query = "" if scope is None else f"?scope={quote(scope, safe='', errors='replace')}"
                sent = True
                return self._answer(path + query, body, _is_long(operation), passphrase)
            except StoppedError:
                raise
            except TimeoutError:
                self._drop()
                raise self._silent(operation) from None
            except GONE:
                self._drop()
                if not again and sent:
                    raise OutcomeUnknownError(
                        f"The connection was lost before `{operation.name}` was answered, so its "
                        "outcome is unknown. Look before doing it again."
                    ) from None
                if time.monotonic() > deadline:
                    raise self._silent(operation) from None

    def control(self, what: str, **values: Any) -> Any:
        """Tell a daemon that runs to do something about itself; see `service/http/app.py`."""
        return self._answer(f"/v1/daemon/{what}", _encoded(values))

    def held(self, what: str, **values: Any) -> Generator[Any, None, None]:
        """Have the daemon do something for as long as this is read.

        Yields what it answers, then None now and then; ends when the daemon leaves.
        """
        connection = self._here.connection
        response = self._asked(f"/v1/daemon/{what}", _encoded(values), lines=True)
        self._here.connection = None  # what else this thread asks has one of its own
        try:
            if response.headers.get_content_type() != _LINES:
                raise error_from(json.loads(response.read())["error"])
            for line in response:
                yield json.loads(line)["answer"]
        finally:
            self._open.discard(connection)
            connection.close()

    # What goes over the wire

    def _reached(self) -> dict[str, Any] | None:
        """Return the hello of the daemon that the endpoint file tells of, if it is there."""
        endpoint = read_endpoint(self.home)
        if endpoint is None:
            self._drop()
            return None
        connection = getattr(self._here, "connection", None)
        if connection is not None and self._here.endpoint == endpoint and connection.sock:
            hello: dict[str, Any] = self._here.hello
            return hello
        self._drop()
        connection = _connection(endpoint)
        try:
            hello = _hello(connection, endpoint)
        except TimeoutError:
            connection.close()
            raise DaemonError(
                f"The daemon of {self.home} (process {endpoint.pid}) does not answer within "
                f"{_CONNECT:.0f} s; nothing was sent. Let it go on, or end it, and try again."
            ) from None
        except (*GONE, OSError, ValueError):
            connection.close()
            return None
        if hello.get("instance") != endpoint.instance:
            connection.close()
            return None
        connection.timeout = _QUIET
        connection.sock.settimeout(_QUIET)
        self._here.connection, self._here.endpoint, self._here.hello = connection, endpoint, hello
        self._open.add(connection)
        return hello

    def _of_my_kind(self, hello: Mapping[str, Any]) -> dict[str, Any]:
        if hello.get("api") != API:
            own = metadata.version("shiyi")
            raise VersionSkewError(
                f"The daemon is version {hello.get('version')}, this is version {own}, and they "
                "cannot talk. Run `shiyi daemon restart`. Nothing was sent."
            )
        return dict(hello)

    def _asked(
        self, path: str, body: bytes, lines: bool = False, passphrase: str | None = None
    ) -> http.client.HTTPResponse:
        """Send a request to the daemon that was reached."""
        connection: http.client.HTTPConnection = self._here.connection
        asked = {"settings": asdict(self.settings), "wait": self._wait, "passphrase": passphrase}
        headers = {
            "Content-Type": "application/json",
            "Accept": _LINES if lines else "application/json",
            "Shiyi-Client": json.dumps(asked),
            **_secret(self._here.endpoint),
        }
        connection.request("POST", path, body, headers)
        return connection.getresponse()

    def _answer(
        self, path: str, body: bytes, lines: bool = False, passphrase: str | None = None
    ) -> Any:
        response = self._asked(path, body, lines, passphrase)
        if response.headers.get_content_type() == _LINES:
            told = self._told(response)
        else:
            told = json.loads(response.read())
        if "error" in told:
            raise error_from(told["error"])
        return told["answer"]

    def _told(self, response: http.client.HTTPResponse) -> dict[str, Any]:
        """Read the lines of a job: progress, then the answer or an error."""
        try:
            for line in response:
                told: dict[str, Any] = json.loads(line)
                if "progress" not in told:
                    response.read()
                    return told
                if told.get("before"):
                    self._waiting(told["before"])
                if self._progress is not None and told["progress"] is not None:
                    self._progress(*told["progress"])
        except BaseException:
            self._drop()  # the daemon ends a job that nobody waits for
            raise
        raise EOFError

    def _silent(self, operation: Operation) -> ShiyiError:
        if operation.permission == "read":
            return DaemonError(
                f"The daemon of {self.home} does not answer; nothing was changed. Let it go on, or "
                "end it, and try again."
            )
        return OutcomeUnknownError(
            f"The daemon of {self.home} does not answer, so the outcome of `{operation.name}` is "
            "unknown. Look before doing it again."
        )


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket that has a path."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_CONNECT)
        self._path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(endpoint: Endpoint) -> http.client.HTTPConnection:
    if not endpoint.secret:
        return _UnixConnection(endpoint.address)
    return http.client.HTTPConnection(endpoint.address, timeout=_CONNECT)


def _hello(connection: http.client.HTTPConnection, endpoint: Endpoint) -> dict[str, Any]:
    connection.request("GET", "/v1/hello", headers=_secret(endpoint))
    response = connection.getresponse()
    hello: dict[str, Any] = json.loads(response.read())
    return hello


def _secret(endpoint: Endpoint) -> dict[str, str]:
    return {"Authorization": f"Bearer {endpoint.secret}"} if endpoint.secret else {}


def _encoded(values: Mapping[str, Any]) -> bytes:
    """Return JSON in ASCII: half a surrogate pair passes, and is refused where it is read."""
    return json.dumps(values, default=os.fspath).encode("ascii")


def _is_long(operation: Operation) -> bool:
    return operation.job is not None or operation.slow


def absolute_paths(operation: Operation, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with paths that mean the same in every process."""
    names = [] if operation.here else path_fields(operation)
    return {name: _absolute(value) if name in names else value for name, value in values.items()}


def _absolute(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_absolute(one) for one in value]
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        return value
    with suppress(ValueError, OSError):  # whoever reads it says what is wrong
        return os.fspath(expanded(value).absolute())
    return value
