"""Generations: immutable, checked builds of one scope's index.

    index/<scope>/CURRENT                 the name of the generation that serves
    index/<scope>/<generation>/           arrays, cards, manifest.json

A generation is named by the SHA-256 of its manifest, and the manifest names every file by its
own, so two builds of one state have the same name and the same bytes, and a flipped bit anywhere
is found before anything is answered.
"""

import hashlib
import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from shiyi.core.errors import IndexUnusableError
from shiyi.core.files import make_private_directory, owner_only, sync_directory, write_atomically
from shiyi.indexer.graph import GraphArrays
from shiyi.indexer.segment import Array, Segment, map_array

FORMAT = 3
MANIFEST = "manifest.json"
CURRENT = "CURRENT"
VECTORS = "vectors.npy"
QUANTISED = "vectors.faiss"
EMBEDDED = "embedded.npy"
_BUILDING = "building"
_PLAIN = (
    "columns.npy", "topic_pointers.npy", "topic_keys.npy", "quotes.npy", "cards.bin",
    "card_pointers.npy",
)  # fmt: skip
_DECODER = json.JSONDecoder()  # json.loads would look for the encoding and for blanks
_KEPT_CARDS = 4096  # of those read last
_NAME = re.compile(r"[0-9a-f]{16}")
_writers: dict[Path, threading.Lock] = {}  # one process owns a home, so they are in its memory


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation was built from. encoder and calibration are empty without a model."""

    format: int
    home_id: str
    scope: str
    seq: int
    analyzer: str
    encoder: str
    calibration: str
    documents: int
    embedded: int
    dimension: int
    files: dict[str, dict[str, Any]]

    def encode(self) -> bytes:
        """Return the manifest as canonical JSON."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False).encode("utf-8")

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Read a manifest; raises IndexUnusableError when it is not one of this format."""
        try:
            found = json.loads(content)
            if found["format"] != FORMAT:
                raise IndexUnusableError(
                    f"it has format {found['format']!r}; this version reads {FORMAT}"
                )
            return cls(**found)
        except (ValueError, KeyError, TypeError):
            raise IndexUnusableError("its manifest cannot be read") from None


class Generation:
    """One generation on disk, its arrays mapped. Files are checked when they are first used."""

    def __init__(self, directory: Path) -> None:
        """Open and check what keyword search needs.

        Raises IndexUnusableError when a file is missing, has another length or another hash.
        """
        self.directory = directory
        content = _read(directory / MANIFEST)
        if hashlib.sha256(content).hexdigest()[: len(directory.name)] != directory.name:
            raise IndexUnusableError("its manifest does not fit its name")
        self.manifest = Manifest.decode(content)
        for name in [*Segment.file_names(), *GraphArrays.file_names(), *_PLAIN]:
            self._check(name)
        self.segment = Segment.load(directory)
        self.columns = map_array(directory / "columns.npy")
        self.topic_pointers = map_array(directory / "topic_pointers.npy")
        self.topic_keys = map_array(directory / "topic_keys.npy")
        self.quotes = map_array(directory / "quotes.npy")
        self.graph = GraphArrays.load(directory)
        self._known_cards: dict[int, dict[str, Any]] = {}
        self._card_pointers = map_array(directory / "card_pointers.npy")
        self._cards = _map_bytes(directory / "cards.bin")

    def card(self, document: int) -> dict[str, Any]:
        """Return the card of a document, not to be written to."""
        card = self._known_cards.get(document)
        if card is None:
            if len(self._known_cards) >= _KEPT_CARDS:
                self._known_cards.clear()
            card = self._known_cards[document] = self._read_card(document)
        return card

    def _read_card(self, document: int) -> dict[str, Any]:
        start, end = self._card_pointers[document], self._card_pointers[document + 1]
        card: dict[str, Any] = _DECODER.raw_decode(self._cards[start:end].tobytes().decode())[0]
        return card

    def embedded(self) -> Array:
        """Return which documents have a vector, bool (n,)."""
        self._check(EMBEDDED)
        return map_array(self.directory / EMBEDDED)

    def vectors(self) -> Array:
        """Return the centred vectors, float32 (n, dimension), writable in memory only."""
        self._check(VECTORS)
        return map_array(self.directory / VECTORS, "c")

    def quantised(self) -> bytes | None:
        """Return the serialised quantised index, or None when the generation has none."""
        if QUANTISED not in self.manifest.files:
            return None
        self._check(QUANTISED)
        return (self.directory / QUANTISED).read_bytes()

    def verify(self) -> None:
        """Check every file; raises IndexUnusableError for the first that does not fit."""
        for name in self.manifest.files:
            self._check(name)

    def _check(self, name: str) -> None:
        expected = self.manifest.files.get(name)
        path = self.directory / name
        if expected is None or not path.is_file():
            raise IndexUnusableError(f"the file {name} is missing")
        try:
            whole = path.stat().st_size == expected["size"]
            whole = whole and file_sha256(path) == expected["sha256"]
        except OSError:
            raise IndexUnusableError(f"the file {name} cannot be read") from None
        if not whole:
            raise IndexUnusableError(f"the file {name} is damaged")


def scope_directory(home: Path, scope: str) -> Path:
    """Return where the generations of a scope lie; the name is a hash, so it is always a path."""
    return home / "index" / hashlib.sha256(scope.encode("utf-8")).hexdigest()[:32]


def open_current(directory: Path) -> Generation | None:
    """Open the generation that CURRENT names; None when there is none yet.

    Raises IndexUnusableError when it cannot be used.
    """
    name = _served(directory)
    while name is not None:
        try:
            return Generation(directory / name)
        except IndexUnusableError:
            before, name = name, _served(directory)
            if name == before:
                raise  # and not only made way for a newer one
    return None


def _served(directory: Path) -> str | None:
    """Return the name of the generation that serves, None when there is none yet."""
    try:
        line = (directory / CURRENT).read_bytes().decode("ascii")
    except FileNotFoundError:
        if _generations(directory):
            raise IndexUnusableError(f"the file {CURRENT} is missing") from None
        return None
    except (OSError, ValueError):
        raise IndexUnusableError(f"the file {CURRENT} cannot be read") from None
    name = line.removesuffix("\n")
    if line == name or not _NAME.fullmatch(name):
        raise IndexUnusableError(f"the file {CURRENT} names no generation")
    return name


@contextmanager
def only_writer(directory: Path, *, wait: bool) -> Iterator[bool]:
    """Keep a scope's generations to the block, and tell whether it has them.

    It has not, when somebody else is just writing one and is not to be waited for.
    """
    writer = _writers.setdefault(directory, threading.Lock())
    alone = writer.acquire(blocking=wait)
    try:
        yield alone
    finally:
        if alone:
            writer.release()


def begin(directory: Path) -> Path:
    """Return a fresh private directory to build in; what an interrupted build left is removed."""
    make_private_directory(directory)
    building = directory / _BUILDING
    shutil.rmtree(building, ignore_errors=True)
    return make_private_directory(building)


def publish(building: Path, **facts: Any) -> Generation:
    """Write the manifest of a finished build, make it durable, and let it serve.

    The generation that served before is removed once CURRENT names the new one.
    """
    directory = building.parent
    files = {}
    for path in sorted(building.iterdir()):
        with path.open("rb") as file:
            os.fsync(file.fileno())
        files[path.name] = {"size": path.stat().st_size, "sha256": file_sha256(path)}
    content = Manifest(format=FORMAT, files=files, **facts).encode()
    name = hashlib.sha256(content).hexdigest()[:16]
    write_atomically(building / MANIFEST, content)
    final = directory / name
    if _is_whole(final):  # the same state was built before, and may be serving
        shutil.rmtree(building)
    else:
        shutil.rmtree(final, ignore_errors=True)
        building.rename(final)
        sync_directory(directory)
    write_atomically(directory / CURRENT, f"{name}\n".encode("ascii"))
    for other in directory.iterdir():
        if other.is_dir() and other.name != name:
            shutil.rmtree(other, ignore_errors=True)
    return Generation(final)


def _is_whole(directory: Path) -> bool:
    try:
        Generation(directory).verify()
    except IndexUnusableError:
        return False
    return True


def _generations(directory: Path) -> list[str]:
    return [path.name for path in directory.glob("*/") if _NAME.fullmatch(path.name)]


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class CardWriter:
    """Appends cards to `cards.bin` and remembers where each begins."""

    def __init__(self, building: Path) -> None:
        self._directory = building
        with owner_only():
            self._file = (building / "cards.bin").open("wb")
        self._pointers = [0]

    def add(self, card: dict[str, Any]) -> None:
        """Append the card of the next document."""
        content = json.dumps(card, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        self._pointers.append(self._pointers[-1] + self._file.write(content.encode("utf-8")))

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def finish(self) -> None:
        """Write the pointers and close."""
        self.close()
        pointers = np.asarray(self._pointers, np.int64)
        np.save(self._directory / "card_pointers.npy", pointers, allow_pickle=False)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise IndexUnusableError(f"the file {path.name} is missing") from None


def _map_bytes(path: Path) -> Array:
    if not path.stat().st_size:
        return np.empty(0, np.uint8)
    return np.memmap(path, np.uint8, "r").view(np.ndarray)  # as map_array does
