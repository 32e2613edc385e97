"""Bytes of a labelled set: regular files only, lines of bounded length, strict JSON, one digest."""

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

from shiyi.core.errors import UsageError
from shiyi.core.text import decode_text, encode_text

MAX_BYTES = 16 * 1024 * 1024  # one line, one element of an array, one README
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1024 * 1024


class Line(NamedTuple):
    """One line without its end, and where it stands, as `file:line`."""

    place: str
    text: str


class Files:
    """Reads the files of one set. What went through it, names included, makes up the digest."""

    def __init__(self) -> None:
        """Start without a file."""
        self._digests: dict[str, str] = {}

    def lines(self, path: Path) -> Iterator[Line]:
        """Yield the lines of a file that are not blank.

        Raises UsageError when it is no regular file, when a line is too long or is not UTF-8.
        """
        digest = hashlib.sha256()
        with open_regular(path) as stream:
            number = 0
            while content := stream.readline(MAX_BYTES + 1):
                number += 1
                place = f"{printable(path)}:{number}"
                if len(content.removesuffix(b"\n")) > MAX_BYTES:
                    raise UsageError(f"{place}: {too_long()}")
                digest.update(content)
                bare = content.removeprefix(_BOM) if number == 1 else content
                text = decoded(bare.rstrip(b"\r\n"), place)
                if text.strip():
                    yield Line(place, text)
        self._digests[path.name] = digest.hexdigest()

    def chunks(self, path: Path) -> Iterator[bytes]:
        """Yield the bytes of a file, piece by piece.

        Raises UsageError when it is no regular file.
        """
        digest = hashlib.sha256()
        with open_regular(path) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                yield chunk
        self._digests[path.name] = digest.hexdigest()

    def count_in(self, path: Path) -> None:
        """Take a file into the digest, unless it was read already."""
        if path.name not in self._digests:
            for _ in self.chunks(path):
                pass

    def sha256(self) -> str:
        """Return the digest over all files, in whatever order they were read."""
        named = json.dumps(sorted(self._digests.items())).encode()
        return hashlib.sha256(named).hexdigest()


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file; a link, a pipe or a device is refused without waiting for it.

    Raises UsageError.
    """
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags)
    except OSError as error:
        if path.is_symlink():
            _refuse_kind(path)
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{printable(path)}: This cannot be read ({reason}).") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        _refuse_kind(path)
    return os.fdopen(descriptor, "rb")


def _refuse_kind(path: Path) -> NoReturn:
    raise UsageError(f"{printable(path)}: This is not a regular file, so it is not read.")


def too_long() -> str:
    """Return the sentence for something beyond the limit."""
    return f"This is longer than {MAX_BYTES // 1024 // 1024} MB, so it is not read."


def printable(path: Path) -> str:
    """Return a path as text that has a UTF-8 form, whatever bytes the file name holds."""
    return os.fsencode(path).decode("utf-8", "replace")


def decoded(content: bytes, place: str) -> str:
    """Return UTF-8 bytes as text; raises UsageError that names the place."""
    try:
        return decode_text(content, "line")
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None


def parse_json(text: str, place: str) -> Any:
    """Return the value of strict JSON.

    Raises UsageError, naming the place but not the content, for what is not JSON, a key that
    stands twice in an object, numbers that are not finite, and half a surrogate pair.
    """
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:
            encode_text(json.dumps(value, ensure_ascii=False), "line")
    except json.JSONDecodeError as error:
        reason = f"This is not JSON at character {error.pos}: {error.msg}."
    except RecursionError:
        reason = "This is nested too deeply."
    except UsageError as error:
        reason = str(error)
    except ValueError:  # Python's own limit on the digits of an integer
        reason = "This holds a number with too many digits."
    else:
        return value
    raise UsageError(f"{place}: {reason}")


def parse_object(line: Line) -> dict[str, Any]:
    """Return the object that stands in a line; raises UsageError that names the place."""
    value = parse_json(line.text, line.place)
    if not isinstance(value, dict):
        raise UsageError(f"{line.place}: This is valid JSON but not an object.")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UsageError("A key stands twice in one object; keep one of them.")
    return found


def _constant(_name: str) -> float:
    raise UsageError("NaN and infinities are not JSON numbers.")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _constant(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float, strict=False
)
