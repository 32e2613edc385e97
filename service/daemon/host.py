"""The home that a daemon serves: every door in its process does operations through it."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel

from shiyi.core.closable import Closable
from shiyi.core.errors import NotFoundError, StoppedError
from shiyi.core.settings import Settings
from shiyi.service.daemon.jobs import Jobs
from shiyi.service.daemon.lanes import Lanes
from shiyi.service.daemon.loading import Loader, patience
from shiyi.service.daemon.sessions import Sessions
from shiyi.service.http.metrics import Metrics
from shiyi.service.invoke import check_permit, invoke
from shiyi.service.permit import OWNER, Permit
from shiyi.service.places import error_without_places, without_places
from shiyi.service.session import Session, sent_passphrase
from shiyi.service.table.operations import Operation, find_operation

_TELL = 0.1  # seconds between two reports of progress
_GIVE_WAY = 0.02  # seconds that a job works before it lets others pass
Progress = Callable[[int, int], None]


@dataclass(slots=True, kw_only=True)
class Call:
    """One operation that somebody wants.

    settings: with which it is to be done; None for those of the daemon.
    wait: seconds that a question waits for a model that is being loaded.
    passphrase: of a backup.
    progress: told how far a job is; stopped: set when nobody waits for it any more.
    job: its number, once it has one.
    """

    operation: str
    values: Mapping[str, Any]
    scope: str | None = None
    permit: Permit = OWNER
    settings: Settings | None = None
    wait: float = 0.0
    passphrase: str | None = None
    progress: Progress | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    job: int | None = None


class Host(Closable):
    """One session and what works on it. Its methods may be called from any thread."""

    def __init__(self, session: Session) -> None:
        self.session = session
        session.served = True
        session.loader = Loader(session.load_encoder)
        self.metrics = Metrics()
        self.jobs = Jobs()
        self._lanes = Lanes()
        self._sessions = Sessions(session)
        self._leaving = threading.Event()

    def check(self, call: Call) -> None:
        """Look whether a call may be done, before its values are there.

        Raises NotFoundError for what is no operation of a home, UsageError for what can be no
        scope, and ForbiddenError.
        """
        check_permit(_operation(call.operation), self._scope_of(call), call.permit)

    async def do(self, call: Call) -> BaseModel:
        """Do an operation and return what it answers.

        Raises what `check` does, and whatever the operation raises. A call that is cancelled may
        have been done all the same; a job ends.
        """
        operation = _operation(call.operation)
        with self.metrics.call(operation.name):
            try:
                return await asyncio.wrap_future(self._begin(operation, call))
            except asyncio.CancelledError:
                call.stopped.set()
                raise

    def do_now(self, call: Call) -> BaseModel:
        """Do as `do`, for a thread that is none of the event loop's."""
        operation = _operation(call.operation)
        with self.metrics.call(operation.name):
            return self._begin(operation, call).result()

    def open(self, *, create: bool) -> "Future[None]":
        """Open the home, and make it if it is not there and `create` is set."""

        def work() -> None:
            self.session.create = self.session.create or create
            _ = self.session.store

        return self._lanes.quick(work)

    def look(self) -> "Future[None]":
        """Read a little of the home; raises what it cannot be read for."""

        def work() -> None:
            self.session.store.scopes()

        return self._lanes.quick(work)

    def idle_for(self) -> float:
        """Return for how many seconds nothing was asked."""
        return self._lanes.idle_for()

    def interrupt(self) -> None:
        """Have jobs end between two of their batches; what they did is kept."""
        self._leaving.set()

    def close(self) -> None:
        """Wait for what is being done, and give the home up."""
        self.interrupt()
        self._lanes.close()
        self.session.close()

    def _begin(self, operation: Operation, call: Call) -> "Future[BaseModel]":
        if operation.job or operation.slow:
            call.job = number = self.jobs.add(operation.name, self._scope_of(call))
            work = partial(self._job, operation, call, number)
            future = self._lanes.job(partial(self.jobs.run, number, work))
            future.add_done_callback(lambda _: self.jobs.end(number, "failed"))  # if it never ran
            return future
        if not call.wait:
            return self._lanes.quick(partial(self._quick, operation, call))
        return self._waiting(operation, call)

    def _quick(self, operation: Operation, call: Call) -> BaseModel:
        with self._sessions.using(call.settings) as session:
            return _invoked(session, operation, call)

    def _waiting(self, operation: Operation, call: Call) -> "Future[BaseModel]":
        """Do a call that asks again when it could not have the model, beside the lanes."""
        told: Future[BaseModel] = Future()
        told.set_running_or_notify_cancel()  # who asked may go; the work is told of all the same

        def tell(work: Callable[[], BaseModel]) -> None:
            try:
                told.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                told.set_exception(error)

        def first() -> BaseModel | None:
            """Return the answer, or None when the model was refused for a question."""
            loader = self._loader(call)
            before = loader.refused if loader else 0
            try:
                answer = self._quick(operation, call)
            except Exception:
                if not self._refused(operation, loader, before):
                    raise
                return None
            return None if self._refused(operation, loader, before) else answer

        def again() -> BaseModel:
            loader = self._loader(call)
            assert loader is not None
            loader.wait(call.wait)
            return self._lanes.quick(partial(self._quick, operation, call)).result()

        def done(future: "Future[BaseModel | None]") -> None:
            error = CancelledError() if future.cancelled() else future.exception()
            if error is not None:
                told.set_exception(error)
                return
            answer = future.result()
            if answer is not None:
                told.set_result(answer)
            else:
                threading.Thread(target=tell, args=(again,), name="waits", daemon=True).start()

        self._lanes.quick(first).add_done_callback(done)
        return told

    @staticmethod
    def _refused(operation: Operation, loader: Loader | None, before: int) -> bool:
        return operation.permission == "read" and loader is not None and loader.refused > before

    def _loader(self, call: Call) -> Loader | None:
        with self._sessions.using(call.settings) as session:
            return session.loader

    def _job(self, operation: Operation, call: Call, number: int) -> BaseModel:
        with self._sessions.using(call.settings) as session:
            return self._done_long(session, operation, call, number)

    def _done_long(
        self, session: Session, operation: Operation, call: Call, number: int
    ) -> BaseModel:
        last = gave_way = 0.0
        marked, during = False, ExitStack()

        def progress(done: int, total: int) -> None:
            nonlocal last, gave_way, marked
            if session.is_open and not marked:  # a job may be the first that opens the home
                marked = True
                during.enter_context(session.indexes.building())
            if call.stopped.is_set():
                raise StoppedError("Nobody waits for this any more; what was done is kept.")
            if self._leaving.is_set():
                raise StoppedError(
                    "The daemon was asked to leave; what was done is kept. Run this again to go on."
                )
            if time.monotonic() - gave_way > _GIVE_WAY:
                self._follow(session, self._scope_of(call))
                self._lanes.give_way()
                gave_way = time.monotonic()
            self.jobs.follow(number, done, total)
            if call.progress is not None and (time.monotonic() - last > _TELL or done >= total):
                last = time.monotonic()
                call.progress(done, total)

        session.progress = progress
        sent_passphrase.set(call.passphrase)  # of this job's own context
        with patience(), during:
            return _invoked(session, operation, call)

    def _scope_of(self, call: Call) -> str:
        settings = call.settings or self.session.settings
        return call.permit.scope_of(call.scope, settings.scope)

    def _follow(self, session: Session, scope: str) -> None:
        """Keep the live index up with what a job writes, so that no search has to."""
        if session.is_open:
            self._lanes.quick(partial(session.indexes.follow, scope)).result()


def _invoked(session: Session, operation: Operation, call: Call) -> BaseModel:
    """Do an operation; a token is told nothing of the machine."""
    do = partial(invoke, session, operation.name, call.values, scope=call.scope, permit=call.permit)
    if call.permit.role is None:
        return do()
    try:
        return without_places(do(), session.home)
    except Exception as error:  # noqa: BLE001 - raised again, but for what a token is not told
        raise error_without_places(error, session.home) from None


def _operation(name: str) -> Operation:
    try:
        operation = find_operation(name)
    except KeyError:
        raise NotFoundError("There is no such operation.") from None
    if operation.here:
        raise NotFoundError(f"{name} is done by the command itself, not by a daemon.")
    return operation
