"""Vectors already computed, by the SHA-256 of their text: nothing is embedded twice.

One directory a model (`vectors/<fingerprint>/`), two append-only files: rows of float32, and for
each row the text's hash and a checksum of the vector. They survive a crash at any point: a torn
tail is dropped, and a row whose checksum does not fit counts as missing.
"""

import hashlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from shiyi.core.files import make_private_directory, owner_only
from shiyi.indexer.segment import Array

_KEY = np.dtype([("sha256", "u1", 32), ("check", "<u4")])


class EmbeddingStore:
    """The vectors of one model, raw as the encoder gave them."""

    def __init__(self, directory: Path, dimension: int) -> None:
        """Open or make the store; a torn tail is cut off.

        Raises OSError when the directory cannot be written.
        """
        make_private_directory(directory)
        self.dimension = dimension
        with owner_only():
            self._keys_file = (directory / "keys.bin").open("a+b")
            self._rows_file = (directory / "rows.f32").open("a+b")
        self._row_bytes = 4 * dimension
        size = min(
            os.fstat(self._keys_file.fileno()).st_size // _KEY.itemsize,
            os.fstat(self._rows_file.fileno()).st_size // self._row_bytes,
        )
        self._keys_file.truncate(size * _KEY.itemsize)
        self._rows_file.truncate(size * self._row_bytes)
        self._keys_file.seek(0)
        keys = np.frombuffer(self._keys_file.read(), _KEY)
        self._checks: list[int] = keys["check"].tolist()
        digests = keys["sha256"].tobytes()
        self._positions = {digests[32 * i : 32 * i + 32]: i for i in range(size)}

    def close(self) -> None:
        """Release the files."""
        self._keys_file.close()
        self._rows_file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __contains__(self, key: bytes) -> bool:
        return key in self._positions

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, keys: Sequence[bytes], vectors: Array) -> None:
        """Append vectors (n, dimension), durable when this returns; known keys are passed over."""
        fresh = [i for i, key in enumerate(keys) if key not in self._positions]
        if not fresh:
            return
        rows = np.ascontiguousarray(vectors[fresh], "<f4")
        table = np.zeros(len(fresh), _KEY)
        for line, i in enumerate(fresh):
            table["sha256"][line] = np.frombuffer(keys[i], np.uint8)
            table["check"][line] = zlib.crc32(rows[line].tobytes())
        for file, content in (
            (self._rows_file, rows.tobytes()),
            (self._keys_file, table.tobytes()),
        ):
            file.seek(0, os.SEEK_END)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        for line, i in enumerate(fresh):
            self._positions[keys[i]] = len(self._checks)
            self._checks.append(int(table["check"][line]))

    def get(self, keys: Sequence[bytes]) -> tuple[Array, Array]:
        """Return (vectors float32 (n, dimension), found bool (n,)); what is missing is zero."""
        vectors = np.zeros((len(keys), self.dimension), np.float32)
        found = np.zeros(len(keys), bool)
        for i, key in enumerate(keys):
            position = self._positions.get(key)
            if position is None:
                continue
            row = os.pread(self._rows_file.fileno(), self._row_bytes, position * self._row_bytes)
            if zlib.crc32(row) != self._checks[position]:
                del self._positions[key]  # damaged: it is embedded again
                continue
            vectors[i] = np.frombuffer(row, "<f4")
            found[i] = True
        return vectors, found


def passage_key(passage: str) -> bytes:
    """Return the SHA-256 of the UTF-8 bytes of a passage."""
    return hashlib.sha256(passage.encode("utf-8")).digest()
