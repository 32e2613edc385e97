"""How operations are called: in this process, which then owns the home, or through a daemon."""

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from shiyi.core.closable import Closable
from shiyi.core.errors import HomeBusyError
from shiyi.core.settings import home_directory, load_settings
from shiyi.service.answers import unpacked
from shiyi.service.daemon.client import Client, absolute_paths
from shiyi.service.invoke import invoke
from shiyi.service.session import Session
from shiyi.service.table.operations import Operation
from shiyi.store.home import FILE_NAME

if TYPE_CHECKING:
    from shiyi.indexer.reindex import Progress


class Caller(Protocol):
    """Does operations for a door."""

    def call(
        self, operation: Operation, values: Mapping[str, Any], scope: str | None = None
    ) -> BaseModel:
        """Do an operation and return what it answers, or raise what it raises."""

    def close(self) -> None:
        """Release what is held."""


class Here(Closable):
    """Calls in this process: threads take turns, as in a daemon, but for what takes long."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._turns = threading.RLock()

    def call(
        self, operation: Operation, values: Mapping[str, Any], scope: str | None = None
    ) -> BaseModel:
        """Do an operation and return what it answers."""
        given = absolute_paths(operation, values)
        with nullcontext() if operation.job or operation.slow else self._turns:
            return invoke(self.session, operation.name, given, scope=scope)

    def close(self) -> None:
        """Give the home up."""
        self.session.close()


class There(Closable):
    """Calls through the daemon, but for what belongs to the process that asks.

    A home that is not there, and would not be made, is no matter for a daemon either.
    """

    def __init__(self, client: Client, here: Callable[[], Session]) -> None:
        self.client, self._here = client, here

    def call(
        self, operation: Operation, values: Mapping[str, Any], scope: str | None = None
    ) -> BaseModel:
        """Do an operation and return what it answers."""
        there = operation.creates_home or (self.client.home / FILE_NAME).exists()
        if not there and not operation.here:
            with suppress(HomeBusyError), Here(self._here()) as caller:  # a daemon may just make it
                return caller.call(operation, values, scope)
        if operation.here:
            quiet = replace(self.client.settings, traces="off")  # nobody asks but ourselves
            home = There(Client(self.client.home, quiet), self._here)
            with home, Here(self._here()) as caller:
                caller.session.elsewhere = home.call
                return caller.call(operation, values, scope)
        given = absolute_paths(operation, values)
        secret = None
        if given.get("encrypt"):  # a daemon has nobody to ask
            with self._here() as session:
                secret = session.passphrase(new=True)
        told = self.client.call(operation, given, scope, passphrase=secret)
        return unpacked(operation, told)

    def start(self, *, create: bool) -> None:
        """Reach the daemon and have it open the home, so that a refusal comes from here."""
        if not create and not (self.client.home / FILE_NAME).exists():
            with suppress(HomeBusyError), Here(self._here()) as caller:  # a daemon may just make it
                _ = caller.session.store  # it says what is wrong
        self.client.start()
        self.client.control("open", create=create)

    def close(self) -> None:
        """End the connection; the daemon goes on."""
        self.client.close()


def open_caller(
    home: str | None,
    *,
    model: str | None = None,
    embedded: bool = False,
    create: bool = False,
    progress: "Progress | None" = None,
    waiting: Callable[[int], None] = lambda _: None,
    wait: float | None = None,
    **talking: Any,
) -> Here | There:
    """Return what calls operations in a home, as its settings want it; nothing is opened yet.

    embedded: own the home whatever the settings say. talking: `show` and `ask` of a session.
    waiting: told how many jobs of the daemon have to end before one begins.
    wait: seconds that a question waits for a model that the daemon loads.

    Raises UsageError for settings that cannot be read.
    """
    settings = load_settings(home_directory(home), model=model)

    def here() -> Session:
        return Session(home, model=model, create=create, progress=progress, **talking)

    if embedded or settings.daemon == "off":
        return Here(here())
    patience = {} if wait is None else {"wait": wait}
    client = Client(home_directory(home), settings, progress=progress, waiting=waiting, **patience)
    return There(client, here)
