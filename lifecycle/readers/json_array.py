"""A JSON array of any length, cut into its elements without holding more than one.

A general streaming parser stops at the first error and bends some strings on the way (half a
surrogate pair becomes a question mark). Here an element is cut out as bytes, by its brackets, and
parsed on its own, so that one bad element costs only itself.
"""

import re
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

MAX_ELEMENT_BYTES = 64 * 1024 * 1024
_CHUNK = 256 * 1024
_NEXT_AT_TOP = re.compile(rb'["{}\[\],]')
_NEXT_DEEPER = re.compile(rb'["{}\[\]]')
_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BOM = b"\xef\xbb\xbf"
_QUOTE, _COMMA, _BACKSLASH = b'",\\'
_OPENERS = b"[{"


class Element(NamedTuple):
    """One element; content is None when it could not be cut out, and reason says why."""

    position: int
    content: bytes | None
    reason: str | None = None


def split_array(
    stream: IO[bytes], consumed: Callable[[int], None], limit: int | None = None
) -> Iterator[Element]:
    """Yield the elements of the array in `stream`; a lone object counts as the only element."""
    splitter = _Splitter(MAX_ELEMENT_BYTES if limit is None else limit)
    while not splitter.ended and (chunk := stream.read(_CHUNK)):
        consumed(len(chunk))
        yield from splitter.feed(chunk)
    if splitter.ended:
        while chunk := stream.read(_CHUNK):
            consumed(len(chunk))
    yield from splitter.finish()


class _Splitter:
    """A machine that is fed chunks. depth 1 is inside the array itself."""

    def __init__(self, limit: int) -> None:
        self.ended = False
        self._limit = limit
        self._index = 0
        self._depth = 0
        self._base = 1
        self._in_string = False
        self._carry = b""
        self._element = bytearray()
        self._too_long = False
        self._refused = False

    def feed(self, chunk: bytes) -> Iterator[Element]:
        data = self._carry + chunk
        self._carry = b""
        at = 0
        if self._depth == 0:
            data = data.removeprefix(_BOM).lstrip()
            if not data or data in (_BOM[:1], _BOM[:2]):
                self._carry = data
                return
            if data[:1] == b"{":
                self._base = 0  # an object stands alone: its own brackets end it
            elif data[:1] != b"[":
                self._refused = self.ended = True
                return
            else:
                self._depth, at = 1, 1
        yield from self._scan(data, at)

    def _scan(self, data: bytes, at: int) -> Iterator[Element]:
        start = at
        while True:
            if self._in_string:
                at = self._end_of_string(data, at)
                if self._in_string:
                    break
            found = (_NEXT_AT_TOP if self._depth == 1 else _NEXT_DEEPER).search(data, at)
            if found is None:
                at = len(data)
                break
            mark, at = data[found.start()], found.end()
            if mark == _QUOTE:
                self._in_string = True
            elif mark in _OPENERS:
                self._depth += 1
            elif mark == _COMMA:
                if self._base == 1:
                    self._keep(data, start, at - 1)
                    yield self._take()
                    start = at
            else:
                self._depth -= 1
                if self._depth < self._base or self._depth == 0:
                    self._keep(data, start, at - 1 + (self._base == 0))
                    self.ended = True
                    yield from self._last()
                    return
        self._keep(data, start, at)
        self._carry = data[at:]

    def _end_of_string(self, data: bytes, at: int) -> int:
        found = _REST_OF_STRING.match(data, at)
        assert found is not None
        at = found.end()
        if at < len(data) and data[at] == _QUOTE:
            self._in_string = False
            return at + 1
        return at  # at the end, or before a backslash whose partner comes with the next chunk

    def _keep(self, data: bytes, start: int, end: int) -> None:
        if self._too_long:
            return
        if len(self._element) + end - start > self._limit:
            self._too_long = True
            self._element.clear()
        else:
            self._element += memoryview(data)[start:end]

    def _take(self) -> Element:
        content = bytes(self._element)
        index, too_long = self._index, self._too_long
        self._element.clear()
        self._too_long = False
        self._index += 1
        if too_long:
            megabytes = self._limit / 1024 / 1024
            return Element(index, None, f"This is longer than {megabytes:g} MB, too long to read.")
        return Element(index, content)

    def _last(self) -> Iterator[Element]:
        """Yield the element before the closing bracket; an empty array has none."""
        if self._too_long or self._element.strip() or self._index:
            yield self._take()

    def finish(self) -> Iterator[Element]:
        if self._refused or (self._depth == 0 and not self.ended):
            yield Element(0, None, "This is not a JSON array of conversations.")
        elif not self.ended:
            yield Element(self._index, None, "The file ends in the middle of this; copy it again.")
