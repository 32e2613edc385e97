"""Bytes in: opening only regular files, and lines of bounded length."""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.items import LineError, Skipped

MAX_UNIT_BYTES = 32 * 1024 * 1024  # one line, one note, one text file
_SKIP_STEP = 1024 * 1024
BOM = b"\xef\xbb\xbf"
SAME_AGAIN = "the same line again"
OnBytes = Callable[[int], None]


class Reading:
    """What the parts of one reading share: progress, and the counts of what was left out."""

    def __init__(self, on_bytes: OnBytes | None = None) -> None:
        """Report consumed bytes to `on_bytes`, as they go by."""
        self._on_bytes = on_bytes
        self._skipped: Counter[str] = Counter()

    def consumed(self, count: int) -> None:
        """Report `count` more bytes."""
        if self._on_bytes is not None and count:
            self._on_bytes(count)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count something that is left out on purpose."""
        self._skipped[reason] += count

    def skips(self) -> Iterator[Skipped]:
        """Yield the counts, by reason."""
        for reason, count in sorted(self._skipped.items()):
            yield Skipped(reason, count)


class Line(NamedTuple):
    """One line without its end; content is None when it was longer than the limit."""

    number: int
    content: bytes | None
    size: int
    ended: bool


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file; a pipe or a device is refused without waiting for it.

    Raises OSError, or UsageError when it is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError("This is not a regular file, so it is not read.")
    return os.fdopen(descriptor, "rb")


def read_lines(stream: IO[bytes], limit: int | None = None) -> Iterator[Line]:
    """Yield the lines that end with LF; one beyond `limit` bytes is passed over, never held."""
    most = MAX_UNIT_BYTES if limit is None else limit
    number = 0
    while content := stream.readline(most + 1):
        number += 1
        size = len(content)
        ended = content.endswith(b"\n")
        if size <= most or ended:
            yield Line(number, _bare(content, number), size, ended)
            continue
        del content
        while more := stream.readline(_SKIP_STEP):
            size += len(more)
            if more.endswith(b"\n"):
                break
        yield Line(number, None, size, more.endswith(b"\n"))


def too_long(limit: int | None = None) -> str:
    """Return the sentence for something beyond the limit."""
    megabytes = (MAX_UNIT_BYTES if limit is None else limit) / 1024 / 1024
    return f"This is longer than {megabytes:g} MB, the most that one item may hold; split it."


def os_reason(error: OSError) -> str:
    """Return the sentence for a file that the system does not give."""
    return f"This cannot be read ({error.strerror or type(error).__name__})."


def printable(path: str | Path) -> str:
    """Return a path as text that has a UTF-8 form, whatever bytes the file name holds."""
    return os.fsencode(path).decode("utf-8", "replace")


def file_error(path: str | Path, error: OSError | UsageError) -> LineError:
    """Return the item for a file that cannot be read at all."""
    reason = os_reason(error) if isinstance(error, OSError) else str(error)
    return LineError(printable(path), None, reason)


def _bare(content: bytes, number: int) -> bytes:
    bare = content.removesuffix(b"\n")
    return bare.removeprefix(BOM) if number == 1 else bare
