"""The last committed change, kept outside the database.

A database whose write-ahead log was cut or removed opens without a word and with its newest
commits gone. The watermark knows how far it had come, so the loss is named instead of hidden.
"""

import os
import zlib
from contextlib import suppress
from pathlib import Path

FILE_NAME = "watermark"
_LINE = "{seq:020d} {check:08x}\n"


class Watermark:
    """A file of one fixed-length line, rewritten in place after each commit.

    The line is shorter than a disk sector, so a crash leaves the old line or the new one; it is
    not flushed by itself, so after a power cut it may lag behind the database, never lead it.
    """

    def __init__(self, home: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor: int | None = os.open(home / FILE_NAME, flags, mode=0o600)

    def read(self) -> int:
        """Return the highest change sequence known to be committed; 0 when none or unreadable."""
        if self._descriptor is None:
            return 0
        line = os.pread(self._descriptor, 64, 0).decode("ascii", "replace")
        number, _, check = line.strip().partition(" ")
        if not number.isdecimal() or check != f"{_check(int(number)):08x}":
            return 0
        return int(number)

    def write(self, seq: int) -> None:
        """Note that everything up to `seq` is committed.

        The commit stands whatever becomes of the note, so a disk that refuses it is no failure.
        """
        line = _LINE.format(seq=seq, check=_check(seq))
        if self._descriptor is not None:
            with suppress(OSError):
                os.pwrite(self._descriptor, line.encode("ascii"), 0)

    def close(self) -> None:
        """Release the file; a second time does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


def _check(seq: int) -> int:
    return zlib.crc32(str(seq).encode("ascii"))
