"""Immutable postings on disk: which documents hold a term, and which terms a document holds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from shiyi.indexer.analyze import term_key

Array = npt.NDArray[Any]
_MAX_FREQUENCY = 65535
_PARTITION_POSTINGS = 1 << 22  # sorted at once: about 100 MB
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of n documents, V terms and P (term, document) pairs; arrays may be mapped files.

    keys uint64 (V,), ascending · pointers int64 (V+1,) into documents int32 (P,) and frequencies
    uint16 (P,) · lengths int32 (n,) · forward_pointers int64 (n+1,) into forward_terms uint32
    (P,), positions in `keys`, and forward_frequencies uint16 (P,).
    """

    keys: Array
    pointers: Array
    documents: Array
    frequencies: Array
    lengths: Array
    forward_pointers: Array
    forward_terms: Array
    forward_frequencies: Array

    def terms_of(self, document: int) -> tuple[Array, Array]:
        """Return the keys of a document's terms, ascending, and how often each occurs."""
        part = self._part_of(document)
        return self.keys[self.forward_terms[part]], self.forward_frequencies[part]

    def term_places(self, document: int) -> Array:
        """Return the positions of a document's terms in `keys`, ascending."""
        return self.forward_terms[self._part_of(document)]

    def places_of(self, keys: Sequence[int]) -> dict[int, int]:
        """Return the position in `keys` of each of the given ones that is there, with the key."""
        places = self.keys.searchsorted(np.array(keys, np.uint64))
        there = self.keys.take(places, mode="clip").tolist() if len(self.keys) else []
        return {
            place: key
            for place, key, found in zip(places.tolist(), keys, there, strict=False)
            if key == found
        }

    def _part_of(self, document: int) -> slice:
        return slice(self.forward_pointers[document], self.forward_pointers[document + 1])

    @classmethod
    def file_names(cls) -> list[str]:
        """Return the names of the files of a segment."""
        return [f"{field.name}.npy" for field in fields(cls)]

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Map the files of a segment that `SegmentBuilder` wrote."""
        return cls(*(map_array(directory / name) for name in cls.file_names()))

    @classmethod
    def empty(cls) -> Self:
        """Return the segment of no documents."""
        none = np.zeros(1, np.int64)
        return cls(
            keys=np.empty(0, np.uint64), pointers=none, documents=np.empty(0, np.int32),
            frequencies=np.empty(0, np.uint16), lengths=np.empty(0, np.int32),
            forward_pointers=none, forward_terms=np.empty(0, np.uint32),
            forward_frequencies=np.empty(0, np.uint16),
        )  # fmt: skip


def count_terms(terms: Iterable[str]) -> tuple[Array, Array]:
    """Return the keys (uint64, ascending) and frequencies (uint16) of a document's terms."""
    counted = Counter(map(term_key, terms))
    keys = np.fromiter(counted.keys(), np.uint64, len(counted))
    capped = (min(frequency, _MAX_FREQUENCY) for frequency in counted.values())
    frequencies = np.fromiter(capped, np.uint16, len(counted))
    order = np.argsort(keys)
    return keys[order], frequencies[order]


class SegmentBuilder:
    """Writes a segment into a directory, in memory that does not grow with the corpus.

    Documents are appended to scratch files in order; `finish` sorts them by term, a share of the
    key space at a time.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._keys_path = directory / "scratch.keys"
        self._frequencies_path = directory / "scratch.frequencies"
        self._keys = self._keys_path.open("wb")
        self._frequencies = self._frequencies_path.open("wb")
        self._sizes: list[int] = []
        self._lengths: list[int] = []

    def add(self, keys: Array, frequencies: Array) -> None:
        """Append a document: keys uint64 ascending, frequencies uint16."""
        self._keys.write(np.ascontiguousarray(keys, np.uint64).tobytes())
        self._frequencies.write(np.ascontiguousarray(frequencies, np.uint16).tobytes())
        self._sizes.append(len(keys))
        self._lengths.append(int(frequencies.sum(dtype=np.int64)))

    def close(self) -> None:
        """Release the scratch files."""
        self._keys.close()
        self._frequencies.close()

    def finish(self) -> None:
        """Write the files and remove the scratch."""
        self.close()
        forward = np.zeros(len(self._sizes) + 1, np.int64)
        np.cumsum(self._sizes, out=forward[1:])
        total = int(forward[-1])
        keys = _map_raw(self._keys_path, np.uint64, total)
        frequencies = _map_raw(self._frequencies_path, np.uint16, total)
        vocabulary, counts = self._sort(keys, frequencies, forward)
        pointers = np.zeros(len(vocabulary) + 1, np.int64)
        np.cumsum(counts, out=pointers[1:])
        terms = self._create("forward_terms", np.uint32, total)
        copied = self._create("forward_frequencies", np.uint16, total)
        for start in range(0, total, _CHUNK):
            part = slice(start, start + _CHUNK)
            terms[part] = np.searchsorted(vocabulary, keys[part])
            copied[part] = frequencies[part]
        for name, array in (
            ("keys", vocabulary),
            ("pointers", pointers),
            ("lengths", np.asarray(self._lengths, np.int32)),
            ("forward_pointers", forward),
        ):
            np.save(self._directory / f"{name}.npy", array, allow_pickle=False)
        self._keys_path.unlink()
        self._frequencies_path.unlink()

    def _sort(self, keys: Array, frequencies: Array, forward: Array) -> tuple[Array, Array]:
        """Write the postings ordered by (key, document); return the vocabulary and its sizes."""
        total = len(keys)
        documents_out = self._create("documents", np.int32, total)
        frequencies_out = self._create("frequencies", np.uint16, total)
        bits = max(0, (total // _PARTITION_POSTINGS).bit_length())
        vocabulary, counts, written = [], [], 0
        for partition in range(1 << bits):
            positions = _positions_in(keys, partition, bits)
            own = keys[positions]
            order = np.argsort(own, kind="stable")
            positions, own = positions[order], own[order]
            part = slice(written, written + len(own))
            documents_out[part] = np.searchsorted(forward, positions, side="right") - 1
            frequencies_out[part] = frequencies[positions]
            written += len(own)
            found, sizes = np.unique(own, return_counts=True)
            vocabulary.append(found)
            counts.append(sizes)
        return np.concatenate(vocabulary), np.concatenate(counts)

    def _create(self, name: str, dtype: Any, size: int) -> Array:
        if not size:  # nothing to map
            np.save(self._directory / f"{name}.npy", np.empty(0, dtype), allow_pickle=False)
            return np.empty(0, dtype)
        created: Array = np.lib.format.open_memmap(
            self._directory / f"{name}.npy", mode="w+", dtype=dtype, shape=(size,)
        )
        return created


def map_array(path: Path, mode: Literal["r", "c"] = "r") -> Array:
    """Map an .npy file; an empty one, which cannot be mapped, is read."""
    try:
        mapped: Array = np.load(path, mmap_mode=mode, allow_pickle=False)
    except ValueError:
        mapped = np.load(path, allow_pickle=False)
    return mapped.view(np.ndarray)  # each slice of a memmap object costs microseconds more


def _map_raw(path: Path, dtype: Any, size: int) -> Array:
    return np.memmap(path, dtype, "r", shape=(size,)) if size else np.empty(0, dtype)


def _positions_in(keys: Array, partition: int, bits: int) -> Array:
    """Return where the keys lie whose highest `bits` bits are `partition`, ascending."""
    if not bits:
        return np.arange(len(keys))
    shift = np.uint64(64 - bits)
    found = [
        start + np.flatnonzero((keys[start : start + _CHUNK] >> shift) == partition)
        for start in range(0, len(keys), _CHUNK)
    ]
    return np.concatenate(found)
