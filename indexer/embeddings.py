"""What encoders made of texts, by the SHA-256 of the text: nothing is embedded twice.

One directory a model (`vectors/<fingerprint>/`), two append-only files: rows, each a vector of
float32 and the signs of its text's tokens, and for each row its place, the text's hash and a
checksum. They survive a crash at any point: a torn line is dropped, and a row whose checksum does
not fit counts as missing.
"""

import hashlib
import os
import threading
import zlib
from collections.abc import Container, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from shiyi.core.closable import Closable
from shiyi.core.files import make_private_directory, owner_only, replacing, write_atomically
from shiyi.indexer.segment import Array
from shiyi.models.interaction import Embedded, Signs

KEYS, ROWS = "keys.idx", "rows.bin"
_BEFORE = "keys.bin", "rows.f32"  # what was kept before tokens were, which nothing reads any more
_KEY = np.dtype([("sha256", "V32"), ("check", "<u4"), ("length", "<u4"), ("start", "<u8")])
_FRESH = 1 << 16  # keys held in a dictionary before they join the sorted ones
_opening = threading.Lock()
_opened: "dict[Path, EmbeddingStore]" = {}


def open_embeddings(directory: Path, dimension: int) -> "EmbeddingStore":
    """Return the store of a directory, the same to all in this process; each who has it closes it.

    Two ways to name one model are two models to whoever loads them, and have the same vectors.

    Raises OSError when the directory cannot be written.
    """
    place = directory.resolve()
    with _opening:
        store = _opened.get(place)
        if store is None:
            store = _opened[place] = EmbeddingStore(place, dimension)
        store.users += 1
        return store


class EmbeddingStore(Closable):
    """What one model made of texts, raw as the encoder gave it. 64 bytes of memory a text.

    Only one may be open of a directory: ask `open_embeddings` for it.
    """

    def __init__(self, directory: Path, dimension: int) -> None:
        """Open or make the store; a torn tail is cut off.

        Raises OSError when the directory cannot be written.
        """
        self._directory = directory
        self.users = 0
        self._lock = threading.RLock()  # a job adds while a search looks up
        self.dimension = dimension
        self._vector_bytes, self._token_bytes = 4 * dimension, -(-dimension // 8)
        self._open()

    def _open(self) -> None:
        directory = self._directory
        make_private_directory(directory)
        with owner_only():
            keys = (directory / KEYS).open("a+b", buffering=0)
            rows = (directory / ROWS).open("a+b", buffering=0)
        self._keys_file, self._rows_file = keys, rows
        self._size = os.fstat(self._keys_file.fileno()).st_size // _KEY.itemsize
        self._end = self._end_of_rows()  # where the next one begins
        self._drop_tail()
        for name in _BEFORE:
            (directory / name).unlink(missing_ok=True)
        self._fresh: dict[bytes, int] = {}
        self._damaged: set[int] = set()
        self._sort()

    def close(self) -> None:
        """Release the files, unless somebody else has them open, too."""
        with _opening:
            self.users -= 1
            if self.users > 0:
                return
            if _opened.get(self._directory) is self:
                del _opened[self._directory]
        self._keys_file.close()
        self._rows_file.close()

    def __contains__(self, key: bytes) -> bool:
        """Tell whether there is an intact vector for a key."""
        self._look_whether_there()
        return self._row(key) is not None

    def __len__(self) -> int:
        return self._size

    def add(self, keys: Sequence[bytes], made: Embedded[Signs], *, durable: bool = True) -> None:
        """Append what was made of texts; known keys are passed over.

        Unless `durable`, a power cut may take them back: what it leaves fails its checksum.
        """
        with self._lock:
            self._add(keys, made, durable=durable)

    def _add(self, keys: Sequence[bytes], made: Embedded[Signs], *, durable: bool) -> None:
        fresh = {key: i for i, key in enumerate(keys) if key not in self}
        if not fresh:
            return
        rows, lines, end = list[bytes](), list[tuple[bytes, int, int, int]](), self._end
        for key, i in fresh.items():
            vector = np.ascontiguousarray(made.vectors[i], "<f4").tobytes()
            row = vector + (made.tokens[i].tobytes() if made.tokens else b"")
            rows.append(row)
            lines.append((key, zlib.crc32(row), len(row), end))
            end += len(row)
        self._drop_tail()  # of an addition that was interrupted
        content = b"".join(rows), np.array(lines, _KEY).tobytes()
        for file, part in zip((self._rows_file, self._keys_file), content, strict=True):
            left = memoryview(part)
            while left:
                left = left[file.write(left) :]
            if durable:
                os.fsync(file.fileno())
        self._end = end
        for key in fresh:
            self._fresh[key] = self._size
            self._size += 1
        if len(self._fresh) > _FRESH:
            self._sort()

    def get(self, keys: Sequence[bytes]) -> tuple[Array, Array]:
        """Return (vectors float32 (n, dimension), found bool (n,)); what is missing is zero."""
        self._look_whether_there()
        vectors = np.zeros((len(keys), self.dimension), np.float32)
        found = np.zeros(len(keys), bool)
        for i, key in enumerate(keys):
            row = self._row(key)
            if row is not None:
                vectors[i] = np.frombuffer(row, "<f4", self.dimension)
                found[i] = True
        return vectors, found

    def tokens(self, keys: Sequence[bytes]) -> list[Signs]:
        """Return the signs of each text's tokens, (tokens, dimension / 8); none where missing."""
        self._look_whether_there()
        rows = [self._row(key) or b"" for key in keys]
        shape = -1, self._token_bytes
        return [np.frombuffer(row, np.uint8)[self._vector_bytes :].reshape(shape) for row in rows]

    def _row(self, key: bytes) -> bytes | None:
        """Return the newest intact row of a key, or None: a damaged one is embedded again."""
        with self._lock:
            while (position := self._find(key)) is not None:
                named, check, length, start = self._line(position).item()
                if named == key and self._vector_bytes <= length <= self._end - start:
                    row = os.pread(self._rows_file.fileno(), length, start)
                    if zlib.crc32(row) == check:
                        return row
                self._damaged.add(position)
            return None

    def _look_whether_there(self) -> None:
        """Begin anew when somebody has removed a file, so that nothing goes into what is gone.

        Where that cannot be, what is open goes on.
        """
        with self._lock, suppress(OSError):
            files = self._keys_file, self._rows_file
            if not all(os.fstat(file.fileno()).st_nlink for file in files):
                self._open()
                for file in files:
                    file.close()

    def _end_of_rows(self) -> int:
        """Return where the last row ends that a line tells of and the file holds."""
        table = np.frombuffer(self._lines(), _KEY)
        ends = table["start"] + table["length"]
        return int(ends[ends <= os.fstat(self._rows_file.fileno()).st_size].max(initial=0))

    def _drop_tail(self) -> None:
        """Cut both files to what was written whole."""
        self._keys_file.truncate(self._size * _KEY.itemsize)
        self._rows_file.truncate(self._end)

    def _sort(self) -> None:
        """Order all keys by their first eight bytes, so that a look-up is a binary search."""
        content = self._lines()
        self._table = np.frombuffer(content, _KEY)
        prefixes = np.ndarray(self._size, "<u8", content, strides=(_KEY.itemsize,))
        self._order = np.argsort(prefixes, kind="stable")
        self._prefixes = prefixes[self._order]
        self._fresh.clear()

    def _lines(self) -> bytes:
        self._keys_file.seek(0)
        return self._keys_file.readall()[: self._size * _KEY.itemsize]

    def _find(self, key: bytes) -> int | None:
        """Return the newest undamaged row of a key, or None."""
        position = self._fresh.get(key)
        if position is not None and position not in self._damaged:
            return position
        prefix = np.uint64(int.from_bytes(key[:8], "little"))
        end = int(self._prefixes.searchsorted(prefix, side="right"))
        while end > 0 and self._prefixes[end - 1] == prefix:
            end -= 1
            position = int(self._order[end])
            if position not in self._damaged and self._line(position)["sha256"].tobytes() == key:
                return position
        return None

    def _line(self, position: int) -> np.void:
        if position < len(self._table):
            known: np.void = self._table[position]
            return known
        content = os.pread(self._keys_file.fileno(), _KEY.itemsize, position * _KEY.itemsize)
        line: np.void = np.frombuffer(content, _KEY)[0]
        return line


def forget_passages(directory: Path, kept: Container[bytes]) -> int:
    """Rewrite the files of a model's store with only the texts that are kept; count the others.

    The store must not be open. What is torn or damaged goes, too, and is embedded again.

    Raises OSError when there is no room; the files are then as they were.
    """
    for name in _BEFORE:
        (directory / name).unlink(missing_ok=True)
    if not all((directory / name).exists() for name in (KEYS, ROWS)):
        return 0
    content = (directory / KEYS).read_bytes()
    table = np.frombuffer(content, _KEY, len(content) // _KEY.itemsize)
    staying = np.array([key.tobytes() in kept for key in table["sha256"]], bool)
    whole = len(content), int(table["length"].sum())
    if staying.all() and whole == (table.nbytes, (directory / ROWS).stat().st_size):
        return 0
    lines = list[tuple[bytes, int, int, int]]()
    # Rows first: keys without their rows fail their checksums, and only that.
    with (directory / ROWS).open("rb") as old, replacing(directory / ROWS) as new:
        for key, check, length, start in table[staying].tolist():
            row = os.pread(old.fileno(), length, start)
            if zlib.crc32(row) == check:
                lines.append((key, check, length, new.tell()))
                new.write(row)
    write_atomically(directory / KEYS, np.array(lines, _KEY).tobytes())
    return len(table) - int(staying.sum())


def passage_key(passage: str) -> bytes:
    """Return the SHA-256 of the UTF-8 bytes of a passage."""
    return hashlib.sha256(passage.encode("utf-8")).digest()
