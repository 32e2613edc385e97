"""One connection of a TCP port: nobody keeps one by being slow, and there are only so many.

The server beneath waits for a request as long as it takes, and for an answer to be read. Here the
head of a request, what is left of a body that nobody wants, and an answer have their time. When
there are too many connections, the one that has said nothing for longest makes room; when all are
being answered, whoever comes next is told to come back.
"""

import asyncio
from collections.abc import Sequence

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from shiyi.service.http.guard import Receive, Scope, Send
from shiyi.service.http.refusals import Refused, as_bytes

MOST_CONNECTIONS = 256
KEEP_ALIVE = 60  # seconds without a word between two requests
HEAD = 10.0  # seconds for the head of a request, or to say the first word
REST = 10.0  # seconds to send the rest of a body after the answer
READ = 30.0  # seconds in which a little of an answer has to be read

_SLOW = Refused(408, "too_slow", f"The head of a request comes within {HEAD:.0f} seconds.")
_FULL = Refused(
    503, "busy", f"There are {MOST_CONNECTIONS} connections, all of them at work; wait a moment."
)
_NO_HTTP = Refused(400, "usage", "This is not HTTP/1.1, or its head is too long.")


class Connection(H11Protocol):
    """A connection that has its times, one among so many."""

    _until: asyncio.TimerHandle | None = None  # what is waited for has to be there
    _unread: asyncio.TimerHandle | None = None
    _waits_for = ""
    since = 0.0  # when the last word came

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and make room if need be."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self._watch()
        others = [one for one in self.connections if isinstance(one, Connection) and one.is_open]
        if len(others) > MOST_CONNECTIONS and not _made_room(others, keep=self):
            self.app = _full

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the times."""
        super().connection_lost(exc)
        self._stop_waiting()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        self.since = self.loop.time()
        self._watch()

    def on_response_complete(self) -> None:
        """Go on after an answer."""
        super().on_response_complete()
        self.since = self.loop.time()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        del msg
        self._refuse(_NO_HTTP)

    def pause_writing(self) -> None:
        """Give the other side its time to read."""
        super().pause_writing()
        self._unread = self.loop.call_later(READ, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, since something was read."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def timeout_keep_alive_handler(self) -> None:
        """End a connection at which nothing was said for long."""
        super().timeout_keep_alive_handler()
        self._watch()

    def shutdown(self) -> None:
        """End when what is being answered is."""
        super().shutdown()
        self._watch()

    @property
    def is_open(self) -> bool:
        """Whether it is not about to end."""
        return not self.transport.is_closing()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered, or its body read: those have times of their own."""
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        """Set the time for what is now waited for."""
        waits_for = self._awaited()
        if waits_for == self._waits_for:
            return
        self._stop_waiting()
        self._waits_for = waits_for
        if waits_for == "head":
            self._until = self.loop.call_later(HEAD, self._end)
        elif waits_for:
            after = REST if waits_for == "rest" else READ
            self._until = self.loop.call_later(after, self.transport.abort)

    def _awaited(self) -> str:
        if not self.is_open:
            return "end"
        if self.is_busy:
            return ""
        if self.conn.their_state is h11.SEND_BODY:
            return "rest"
        # Between two requests the server's own time runs, until the first byte.
        quiet = self.timeout_keep_alive_task is not None and not self.conn.trailing_data[0]
        return "" if quiet else "head"

    def _stop_waiting(self) -> None:
        self._waits_for = ""
        if self._until is not None:
            self._until.cancel()
            self._until = None

    def _end(self) -> None:
        """End a connection that does not say what it wants."""
        if self.conn.trailing_data[0]:
            self._refuse(_SLOW)
        else:
            self.transport.abort()

    def _refuse(self, refused: Refused) -> None:
        """Say why, unless an answer has begun, and end the connection."""
        begun = self.cycle is not None and self.cycle.response_started
        if not begun or self.cycle.response_complete:
            self.transport.write(as_bytes(refused.answer(close=True)))
        self.transport.close()
        self._watch()


def _made_room(open_: Sequence[Connection], *, keep: Connection) -> bool:
    """End the connection that has been idle for longest; tell whether there was one."""
    idle = [one for one in open_ if one is not keep and not one.is_busy]
    if idle:
        min(idle, key=lambda one: one.since).transport.abort()
    return bool(idle)


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    await _FULL.answer(close=True)(scope, receive, send)
