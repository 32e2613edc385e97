"""What a backup is: files of rows and attachments, and a manifest that names every byte of them.

    manifest.json                       {"manifest": {…}, "sha256": of its canonical JSON}
    tables/captures.000000.jsonl        rows, 5,000 a file, so that old files stay as they are
    attachments/<sha256>                the bytes of an attachment

A backup is whole when the manifest is canonical and fits its own hash, every file has its size and
hash, and there is no other file. Anything else is refused before a byte of it is used.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Protocol, Self

from shiyi.core.errors import HomeDamagedError, HomeForeignError
from shiyi.store import encode_json

FORMAT, VERSION = "shiyi-backup", 1
MANIFEST = "manifest.json"
BLOCK = 1 << 20  # bytes read at once
_MOST_MANIFEST = 256 << 20
_FILE = re.compile(r"tables/[a-z][a-z0-9_]*\.\d{6}\.jsonl|attachments/[0-9a-f]{64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file of a backup."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SavedTable:
    """A table of a backup: its columns in order, and how many rows it has."""

    name: str
    columns: list[str]
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. missing: attachments whose bytes were not there any more."""

    home_id: str
    created_at: str
    program: str
    schema: int
    last_seq: int
    tables: list[SavedTable]
    files: list[SavedFile]
    missing: list[str]

    @property
    def size(self) -> int:
        """How many bytes the files have together."""
        return sum(file.size for file in self.files)

    def encode(self) -> bytes:
        """Return the manifest as it is written: canonical, with its own hash beside it."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        digest = hashlib.sha256(encode_json(content).encode()).hexdigest()
        return encode_json({"manifest": content, "sha256": digest}).encode() + b"\n"

    @classmethod
    def decode(cls, content: bytes, place: Path) -> Self:
        """Read a manifest; raises HomeForeignError, or HomeDamagedError when it was changed."""
        try:
            found = json.loads(content)["manifest"]
            format_, version = found.pop("format"), found.pop("version")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise broken(place, "its manifest cannot be read") from None
        if format_ != FORMAT:
            raise foreign(place)
        if version != VERSION:
            raise HomeForeignError(
                f"{place} is a backup of form {version}, which a newer Shiyi wrote; nothing was "
                "changed. Upgrade Shiyi to read it."
            )
        try:
            tables = [SavedTable(**table) for table in found.pop("tables")]
            files = [SavedFile(**file) for file in found.pop("files")]
            made = cls(**found, tables=tables, files=files)
            whole = made.encode() == content and made.is_sound()
        except (ValueError, TypeError, KeyError, RecursionError):
            whole = False
        if not whole:
            raise broken(place, "its manifest was changed")
        return made

    def is_sound(self) -> bool:
        """Tell whether every name and number may be what it is."""
        names = [file.name for file in self.files]
        return (
            len(set(names)) == len(names)
            and all(_FILE.fullmatch(name) for name in names)
            and all(type(file.size) is int and file.size >= 0 for file in self.files)
            and all(_SHA256.fullmatch(file.sha256) for file in self.files)
            and all(type(one) is int and one >= 0 for one in (self.schema - 1, self.last_seq))
            and all(type(table.rows) is int for table in self.tables)
            and all(type(one) is str for one in (self.home_id, self.created_at, self.program))
            and type(self.missing) is list
            and all(type(one) is str and _SHA256.fullmatch(one) for one in self.missing)
        )


class Source(Protocol):
    """Where a backup is read from."""

    @property
    def manifest(self) -> Manifest:
        """What it holds."""
        ...

    def files(self) -> Iterator[tuple[SavedFile, Iterator[bytes]]]:
        """Yield every file in the order of the manifest, each with its bytes, checked."""
        ...


class PlainSource:
    """A backup in a directory. Raises HomeForeignError or HomeDamagedError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        content = b"".join(self._read(MANIFEST, _MOST_MANIFEST))
        self.manifest = Manifest.decode(content, directory)
        self._refuse_others()

    def files(self) -> Iterator[tuple[SavedFile, Iterator[bytes]]]:
        """Yield every file with its bytes; raises HomeDamagedError when one does not fit."""
        for file in self.manifest.files:
            yield file, checked(file, self._read(file.name, file.size), self.directory)

    def _read(self, name: str, most: int) -> Iterator[bytes]:
        try:
            with _open_regular(self.directory / name) as stream:
                left = most + 1
                while left and (block := stream.read(min(BLOCK, left))):
                    left -= len(block)
                    yield block
        except OSError as error:
            if name == MANIFEST:
                raise foreign(self.directory) from None
            reason = error.strerror or "it is no regular file"
            raise broken(self.directory, f"{name} cannot be read: {reason}") from None

    def _refuse_others(self) -> None:
        expected = {MANIFEST, *(file.name for file in self.manifest.files)}
        found = set()
        for path in self.directory.rglob("*"):
            if path.is_symlink() or not path.is_dir():
                found.add(path.relative_to(self.directory).as_posix())
        if found - expected:
            raise broken(self.directory, "it holds a file that its manifest does not name")
        if expected - found:
            raise broken(self.directory, "a file is missing")


def verify(source: Source) -> int:
    """Read every byte of a backup; return how many. Raises HomeDamagedError at the first fault."""
    return sum(len(block) for _, blocks in source.files() for block in blocks)


def checked(file: SavedFile, blocks: Iterator[bytes], place: Path) -> Iterator[bytes]:
    """Pass the bytes of a file on; raises HomeDamagedError at their end when they do not fit."""
    digest, size = hashlib.sha256(), 0
    for block in blocks:
        digest.update(block)
        size += len(block)
        yield block
    if size != file.size or digest.hexdigest() != file.sha256:
        raise broken(place, f"{file.name} does not fit its size or its SHA-256")


def broken(place: Path, how: str) -> HomeDamagedError:
    """Return the error for a backup that is not whole."""
    return HomeDamagedError(
        f"The backup {place} is damaged ({how}); nothing of it was used and nothing was changed. "
        "Take another backup."
    )


def foreign(place: Path) -> HomeForeignError:
    """Return the error for what is no backup."""
    return HomeForeignError(
        f"{place} is no backup of Shiyi; nothing was changed. Name a directory or file that "
        "`shiyi backup` wrote."
    )


def _open_regular(path: Path) -> IO[bytes]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError
    return os.fdopen(descriptor, "rb")


def described(manifest: Manifest) -> dict[str, Any]:
    """Return how many rows a backup has of what people count."""
    rows = {table.name: table.rows for table in manifest.tables}
    return {name: rows.get(name, 0) for name in ("captures", "records", "links", "attachments")}
