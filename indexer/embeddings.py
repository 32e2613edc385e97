"""Vectors already computed, by the SHA-256 of their text: nothing is embedded twice.

One directory a model (`vectors/<fingerprint>/`), two append-only files: rows of float32, and for
each row the text's hash and a checksum of the vector. They survive a crash at any point: a torn
tail is dropped, and a row whose checksum does not fit counts as missing.
"""

import hashlib
import os
import shutil
import threading
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from shiyi.core.closable import Closable
from shiyi.core.files import make_private_directory, owner_only, write_atomically
from shiyi.indexer.segment import Array

_KEY = np.dtype([("sha256", "V32"), ("check", "<u4")])
_MOST_DIMENSIONS = 16_384
_FRESH = 1 << 16  # keys held in a dictionary before they join the sorted ones


class EmbeddingStore(Closable):
    """The vectors of one model, raw as the encoder gave them. 16 bytes of memory a vector."""

    def __init__(self, directory: Path, dimension: int) -> None:
        """Open or make the store; a torn tail is cut off.

        Raises OSError when the directory cannot be written.
        """
        make_private_directory(directory)
        self._lock = threading.RLock()  # a job adds while a search looks up
        self.dimension = dimension
        self._row_bytes = 4 * dimension
        with owner_only():
            self._keys_file = (directory / "keys.bin").open("a+b", buffering=0)
            self._rows_file = (directory / "rows.f32").open("a+b", buffering=0)
        self._size = min(
            os.fstat(self._keys_file.fileno()).st_size // _KEY.itemsize,
            os.fstat(self._rows_file.fileno()).st_size // self._row_bytes,
        )
        self._drop_tail()
        self._fresh: dict[bytes, int] = {}
        self._damaged: set[int] = set()
        self._sort()

    def close(self) -> None:
        """Release the files."""
        self._keys_file.close()
        self._rows_file.close()

    def __contains__(self, key: bytes) -> bool:
        """Tell whether there is an intact vector for a key."""
        return self._row(key) is not None

    def __len__(self) -> int:
        return self._size

    def add(self, keys: Sequence[bytes], vectors: Array, *, durable: bool = True) -> None:
        """Append vectors (n, dimension); known keys are passed over.

        Unless `durable`, a power cut may take them back: what it leaves fails its checksum.
        """
        with self._lock:
            self._add(keys, vectors, durable=durable)

    def _add(self, keys: Sequence[bytes], vectors: Array, *, durable: bool) -> None:
        fresh = {key: i for i, key in enumerate(keys) if key not in self}
        if not fresh:
            return
        rows = np.ascontiguousarray(vectors[list(fresh.values())], "<f4")
        table = np.array(
            [(key, zlib.crc32(row.tobytes())) for key, row in zip(fresh, rows, strict=True)], _KEY
        )
        self._drop_tail()  # of an addition that was interrupted
        for file, content in ((self._rows_file, rows), (self._keys_file, table)):
            left = memoryview(content.tobytes())
            while left:
                left = left[file.write(left) :]
            if durable:
                os.fsync(file.fileno())
        for key in fresh:
            self._fresh[key] = self._size
            self._size += 1
        if len(self._fresh) > _FRESH:
            self._sort()

    def get(self, keys: Sequence[bytes]) -> tuple[Array, Array]:
        """Return (vectors float32 (n, dimension), found bool (n,)); what is missing is zero."""
        vectors = np.zeros((len(keys), self.dimension), np.float32)
        found = np.zeros(len(keys), bool)
        for i, key in enumerate(keys):
            row = self._row(key)
            if row is not None:
                vectors[i] = np.frombuffer(row, "<f4")
                found[i] = True
        return vectors, found

    def _row(self, key: bytes) -> bytes | None:
        """Return the newest intact row of a key, or None: a damaged one is embedded again."""
        with self._lock:
            while (position := self._find(key)) is not None:
                start = position * self._row_bytes
                row = os.pread(self._rows_file.fileno(), self._row_bytes, start)
                if zlib.crc32(row) == self._line(position)["check"]:
                    return row
                self._damaged.add(position)
            return None

    def _drop_tail(self) -> None:
        """Cut both files to what is known to be whole."""
        self._keys_file.truncate(self._size * _KEY.itemsize)
        self._rows_file.truncate(self._size * self._row_bytes)

    def _sort(self) -> None:
        """Order all keys by their first eight bytes, so that a look-up is a binary search."""
        self._keys_file.seek(0)
        content = self._keys_file.readall()[: self._size * _KEY.itemsize]
        prefixes = np.ndarray(self._size, "<u8", content, strides=(_KEY.itemsize,))
        self._order = np.argsort(prefixes, kind="stable")
        self._prefixes = prefixes[self._order]
        self._fresh.clear()

    def _find(self, key: bytes) -> int | None:
        """Return the newest undamaged row of a key, or None."""
        position = self._fresh.get(key)
        if position is not None and position not in self._damaged:
            return position
        prefix = np.frombuffer(key[:8], "<u8")[0]
        end = int(np.searchsorted(self._prefixes, prefix, side="right"))
        while end > 0 and self._prefixes[end - 1] == prefix:
            end -= 1
            position = int(self._order[end])
            if position not in self._damaged and self._line(position)["sha256"].tobytes() == key:
                return position
        return None

    def _line(self, position: int) -> np.void:
        content = os.pread(self._keys_file.fileno(), _KEY.itemsize, position * _KEY.itemsize)
        line: np.void = np.frombuffer(content, _KEY)[0]
        return line


def forget_passages(directory: Path, keys: Collection[bytes]) -> int:
    """Rewrite the files of a model's store without the vectors of some texts; return how many went.

    The store must not be open. Files that cannot be read as they should be are removed whole: what
    was in them is embedded again.
    """
    names = directory / "keys.bin", directory / "rows.f32"
    if not all(name.exists() for name in names):
        return 0
    table = np.fromfile(names[0], _KEY)
    rows = names[1].read_bytes()
    unwanted = np.array([one["sha256"].tobytes() in keys for one in table], bool)
    if not unwanted.any():
        return 0
    size = _row_bytes(table, rows)
    if size is None:
        shutil.rmtree(directory)
        return len(table)
    kept = [i for i in np.flatnonzero(~unwanted).tolist() if (i + 1) * size <= len(rows)]
    # Rows first: keys without their rows fail their checksums, and only that.
    write_atomically(names[1], b"".join(rows[i * size : (i + 1) * size] for i in kept))
    write_atomically(names[0], table[kept].tobytes())
    return int(unwanted.sum())


def _row_bytes(table: Array, rows: bytes) -> int | None:
    """Return the length of a row, which the checksums tell; None when they tell nothing."""
    lengths = (4 * dimension for dimension in range(1, _MOST_DIMENSIONS + 1))
    wanted = int(table[0]["check"])
    return next(
        (n for n in lengths if n * len(table) <= len(rows) and zlib.crc32(rows[:n]) == wanted), None
    )


def passage_key(passage: str) -> bytes:
    """Return the SHA-256 of the UTF-8 bytes of a passage."""
    return hashlib.sha256(passage.encode("utf-8")).digest()
