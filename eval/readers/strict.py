"""JSON without surprises, from a line or from an array of any length, element by element."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shiyi.core.errors import UsageError
from shiyi.core.strictjson import STRICT_DECODER
from shiyi.core.text import encode_text
from shiyi.eval.readers.files import MAX_BYTES, Files, Line, printable, too_long

_SPACE = " \t\r\n\ufeff"


class Object(NamedTuple):
    """A JSON object, and where it stands, as `file:line`."""

    place: str
    content: dict[str, Any]


def parse_object(line: Line) -> Object:
    """Return the object that stands in a line.

    Raises UsageError, naming the place but not the content, for what is not JSON or not an
    object, a key that stands twice, numbers that are not finite, and half a surrogate pair.
    """
    try:
        value = STRICT_DECODER.decode(line.text)
        _check_surrogates(value, line.text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{line.place}: {_reason(error)}") from None
    return _object(value, line.place)


def parse_elements(path: Path, files: Files) -> Iterator[Object]:
    """Yield the objects of an array, holding one at a time.

    Raises UsageError as `parse_object` does, and when the file holds no array.
    """
    text = _Text(path, files.chunks(path))
    if text.next_mark() != "[":
        raise UsageError(f"{text.place()}: This is not a JSON array.")
    number, mark = 0, ","
    if text.peek_mark() == "]":
        mark = text.next_mark()
    while mark == ",":
        number += 1
        text.peek_mark()
        yield _object(text.value(), f"{text.place()}: element {number}")
        mark = text.next_mark()
    if mark != "]":
        raise UsageError(f"{text.place()}: This array has no comma after element {number}.")
    if text.peek_mark():
        raise UsageError(f"{text.place()}: Something stands after the end of the array.")


class _Text:
    """A window on the text of a file, that moves on and knows its line."""

    def __init__(self, path: Path, chunks: Iterator[bytes]) -> None:
        self._path = printable(path)
        self._chunks = chunks
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._buffer = ""
        self._at = 0
        self._line = 1
        self._started = 1

    def place(self) -> str:
        """Return where the last value or mark began."""
        return f"{self._path}:{self._started}"

    def peek_mark(self) -> str:
        """Return the next character that is not white space; nothing at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._move(self._at + 1)
            if self._at < len(self._buffer) or not self._more():
                self._started = self._line
                return self._buffer[self._at : self._at + 1]

    def next_mark(self) -> str:
        """Return that character and go behind it."""
        mark = self.peek_mark()
        self._at += len(mark)
        return mark

    def value(self) -> Any:
        """Return the value that starts here and go behind it."""
        while True:
            try:
                value, end = STRICT_DECODER.raw_decode(self._buffer, self._at)
                _check_surrogates(value, self._buffer[self._at : end])
            except json.JSONDecodeError as error:
                if len(self._buffer) - self._at > MAX_BYTES:
                    raise UsageError(f"{self.place()}: {too_long()}") from None
                if not self._more():
                    self._started += self._buffer.count("\n", self._at, error.pos)
                    reason = f"This is not JSON: {error.msg}."
                    raise UsageError(f"{self.place()}: {reason}") from None
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{self.place()}: {_reason(error)}") from None
            else:
                self._move(end)
                return value

    def _move(self, at: int) -> None:
        self._line += self._buffer.count("\n", self._at, at)
        self._at = at

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            before = self._buffer.count("\n", self._at) + chunk.count(b"\n", 0, error.start)
            place = f"{self._path}:{self._line + before}"
            raise UsageError(f"{place}: This is not UTF-8; convert it to UTF-8 first.") from None
        self._buffer = self._buffer[self._at :] + text
        self._at = 0
        return bool(chunk)


def _object(value: Any, place: str) -> Object:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: This is valid JSON but not an object.")
    return Object(place, value)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"This is not JSON at character {error.pos}: {error.msg}."
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, RecursionError):
        return "This is nested too deeply."
    return "This holds a number with too many digits."  # Python's own limit on an integer


def _check_surrogates(value: Any, source: str) -> None:
    if "\\u" in source:
        encode_text(json.dumps(value, ensure_ascii=False), "line")
