"""The bytes of a labelled set: regular files only, lines of bounded length, one digest over all."""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

from shiyi.core.errors import UsageError
from shiyi.core.text import decode_text

MAX_BYTES = 16 * 1024 * 1024  # of one line, or of one element of an array
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
        if error.errno == errno.ELOOP:  # a link
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
