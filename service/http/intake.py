"""How bodies come in: none so slowly that it never ends, and long ones as far as there is room."""

import asyncio
from collections.abc import MutableMapping
from functools import partial
from typing import Any

from starlette.datastructures import Headers

from shiyi.core.errors import HomeBusyError, ShiyiError, UsageError
from shiyi.service.http.guard import MOST_BYTES, App, Receive, Scope, Send
from shiyi.service.http.refusals import failure

LONG = 1 << 20  # bytes; a body above this waits until there is room for all of it
ROOM = 2 * MOST_BYTES  # for all of these together, until they are answered
_ROOM = 10.0  # seconds that it waits
_GRACE = 20.0  # seconds for any body
_PACE = 64 << 10  # bytes a second, beyond that


class SlowBodyError(UsageError):
    """A body comes too slowly."""

    code = "too_slow"


class Intake:
    """Over an app: its bodies have their time, and there is only so much room for long ones."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._room = _Room(ROOM)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        size = int(length) if length.isdecimal() else MOST_BYTES
        body, answer = _Body(receive, self._room, min(size, MOST_BYTES)), _Answer(send)
        try:
            await self._app(scope, body.receive, partial(answer.send, body))
        except ShiyiError:
            if body.refused is None:
                raise
        finally:
            await body.release()
        if body.refused is not None and not answer.begun:
            await failure(body.refused)(scope, receive, send)


class _Answer:
    """What goes out. Once a body is refused, that is what is told, whatever the app makes of it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def send(self, body: "_Body", message: MutableMapping[str, Any]) -> None:
        """Send a part of the answer."""
        if self.begun or body.refused is None:
            self.begun = True
            await self._send(message)


class _Room:
    """So many bytes."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._changed = asyncio.Condition()

    async def take(self, size: int) -> None:
        """Wait until there are as many, and take them."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._left >= size)
            self._left -= size

    async def give(self, size: int) -> None:
        """Give them back."""
        async with self._changed:
            self._left += size
            self._changed.notify_all()


class _Body:
    """The body of one request, which may have as many bytes as `most`."""

    def __init__(self, receive: Receive, room: _Room, most: int) -> None:
        self._receive, self._room, self._most = receive, room, most
        self._until = asyncio.get_running_loop().time() + _GRACE
        self._size = 0
        self._ended = self._has_room = False
        self.refused: ShiyiError | None = None

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the next part; raises SlowBodyError, or HomeBusyError when there is no room."""
        if self._ended:  # what else comes is that nobody is there any more
            return await self._receive()
        try:
            return await self._next()
        except ShiyiError as error:
            self.refused = error
            raise

    async def _next(self) -> MutableMapping[str, Any]:
        if self._size > LONG and not self._has_room:
            await self._take_room()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise SlowBodyError("The body comes too slowly; send it again.") from None
        part = len(message.get("body", b""))
        self._size += part
        self._until += part / _PACE
        self._ended = not message.get("more_body", False)
        return message

    async def _take_room(self) -> None:
        waited = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(_ROOM):
                await self._room.take(self._most)
        except TimeoutError:
            raise HomeBusyError(
                "As many long bodies as there is room for are being taken in; wait a moment."
            ) from None
        self._has_room = True
        self._until += asyncio.get_running_loop().time() - waited

    async def release(self) -> None:
        """Make room for others."""
        if self._has_room:
            await self._room.give(self._most)
