"""An encrypted backup: one file, which says nothing to whoever has no passphrase.

    SHIYI-SEALED-1
    {"bytes": …, "check": …, "chunk": …, "home": …, "kdf": "scrypt", "n": …, "salt": …, …}
    chunk, chunk, …                     AES-256-GCM, 1 MiB each but the last

The key comes from the passphrase by scrypt (n = 2^17) and a fresh salt, so no two backups share
one. Each chunk is bound to the header, to its place and to how many there are: a bit that was
flipped, a cut, an addition, a swap of chunks, or one of another backup fails its tag. Inside, the
length of the manifest, the manifest, and the files in its order.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shiyi.core.errors import HomeForeignError, UsageError
from shiyi.lifecycle.snapshots import Manifest, SavedFile, Source, broken, checked, foreign
from shiyi.store import encode_json

MAGIC = b"SHIYI-SEALED-1\n"
_FAMILY = b"SHIYI-SEALED-"
_KDF: dict[str, Any] = {"kdf": "scrypt", "n": 1 << 17, "r": 8, "p": 1}
_CIPHER = "AES-256-GCM"
_MEMORY = 256 << 20  # bytes; scrypt needs 128 · n · r of them, 128 MiB
_CHUNK = 1 << 20
_TAG = 16
_SALT = re.compile(r"[0-9a-f]{32}")
_MOST_HEADER = 4096
LEAST_PASSPHRASE = 8  # characters


@dataclass(frozen=True, slots=True)
class Key:
    """What a passphrase and a salt make: the key, and a mark that tells a wrong passphrase."""

    secret: bytes
    check: str


def derive(passphrase: str, salt: bytes) -> Key:
    """Return the key; takes about a second and 128 MiB, which is what makes guessing dear."""
    made = hashlib.scrypt(
        passphrase.encode("utf-8", "surrogatepass"), salt=salt, n=_KDF["n"], r=_KDF["r"],
        p=_KDF["p"], maxmem=_MEMORY, dklen=64,
    )  # fmt: skip
    return Key(made[:32], hashlib.sha256(made[32:]).hexdigest()[:32])


def check_passphrase(passphrase: str) -> str:
    """Return it; raises UsageError when it is too short to keep anybody out."""
    if len(passphrase) < LEAST_PASSPHRASE:
        raise UsageError(
            f"A passphrase has at least {LEAST_PASSPHRASE} characters; nothing was written."
        )
    return passphrase


def seal(source: Source, target: IO[bytes], passphrase: str) -> Key:
    """Write a backup, encrypted, and return the key; raises OSError."""
    salt = os.urandom(16)
    key = derive(check_passphrase(passphrase), salt)
    manifest = source.manifest.encode()
    size = 8 + len(manifest) + source.manifest.size
    header = _encoded({
        **_KDF, "cipher": _CIPHER, "salt": salt.hex(), "check": key.check, "chunk": _CHUNK,
        "bytes": size, "home": source.manifest.home_id,
    })  # fmt: skip
    target.write(header)
    chunks = _Chunks(key, header, size)
    for number, chunk in enumerate(_cut(_payload(source, manifest))):
        target.write(chunks.encrypt(number, chunk))
    return key


class SealedSource:
    """An encrypted backup. Raises HomeForeignError, HomeDamagedError or UsageError."""

    def __init__(self, path: Path, *, passphrase: str = "", key: Key | None = None) -> None:
        """Open it with a passphrase, or with the key that `seal` returned."""
        self._path = path
        with path.open("rb") as file:
            self._header, facts = _read_header(file, path)
        self._size: int = facts["bytes"]
        self._key = key or derive(passphrase, bytes.fromhex(facts["salt"]))
        if self._key.check != facts["check"]:
            raise UsageError(
                f"The passphrase is not the one of {path}, or its first lines are damaged; nothing "
                "was changed."
            )
        self._chunks = _Chunks(self._key, self._header, self._size)
        expected = len(self._header) + self._size + _TAG * self._chunks.total
        if path.stat().st_size != expected:
            raise broken(path, "it is shorter or longer than its header says")
        reader = _Reader(self._plain())
        length = int.from_bytes(reader.take(8))
        self._offset = 8 + length
        if self._offset > self._size:
            raise broken(path, "its manifest cannot be read")
        self.manifest = Manifest.decode(reader.take(length), path)
        if self._offset + self.manifest.size != self._size:
            raise broken(path, "it does not hold what its manifest names")

    def files(self) -> Iterator[tuple[SavedFile, Iterator[bytes]]]:
        """Yield every file with its bytes; raises HomeDamagedError when one does not fit."""
        reader = _Reader(self._plain())
        reader.take(self._offset)
        for file in self.manifest.files:
            yield file, checked(file, reader.blocks(file.size), self._path)

    def _plain(self) -> Iterator[bytes]:
        with self._path.open("rb") as stream:
            stream.seek(len(self._header))
            for number in range(self._chunks.total):
                try:
                    yield self._chunks.decrypt(number, stream.read(_CHUNK + _TAG))
                except InvalidTag:
                    raise broken(self._path, f"part {number + 1} does not fit its tag") from None


def is_sealed(path: Path) -> bool:
    """Tell whether a file says that it is an encrypted backup."""
    try:
        with path.open("rb") as file:
            return file.read(len(_FAMILY)) == _FAMILY
    except OSError:
        return False


def home_of(path: Path) -> str | None:
    """Return the id of the home of an encrypted backup as its header has it, or None."""
    try:
        with path.open("rb") as file:
            return str(_read_header(file, path)[1]["home"])
    except OSError:
        return None


class _Chunks:
    """Encrypts and decrypts chunks, each bound to the header, its place and their number."""

    def __init__(self, key: Key, header: bytes, size: int) -> None:
        self.total = -(-size // _CHUNK)
        self._cipher = AESGCM(key.secret)
        self._about = hashlib.sha256(header).digest() + self.total.to_bytes(8)

    def encrypt(self, number: int, chunk: bytes) -> bytes:
        # The key is used for one backup only, so a counter is a nonce that never comes twice.
        return self._cipher.encrypt(number.to_bytes(12), chunk, self._about + number.to_bytes(8))

    def decrypt(self, number: int, chunk: bytes) -> bytes:
        return self._cipher.decrypt(number.to_bytes(12), chunk, self._about + number.to_bytes(8))


class _Reader:
    """Hands out bytes of a stream of blocks."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._left = b""

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes, or fewer when the stream ends."""
        while size:
            if not self._left:
                self._left = next(self._blocks, b"")
                if not self._left:
                    return
            part, self._left = self._left[:size], self._left[size:]
            size -= len(part)
            yield part

    def take(self, size: int) -> bytes:
        return b"".join(self.blocks(size))


def _payload(source: Source, manifest: bytes) -> Iterator[bytes]:
    yield len(manifest).to_bytes(8)
    yield manifest
    for _, blocks in source.files():
        yield from blocks


def _cut(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in chunks of one length, the last one shorter."""
    reader = _Reader(blocks)
    while chunk := reader.take(_CHUNK):
        yield chunk


def _encoded(facts: dict[str, Any]) -> bytes:
    return MAGIC + encode_json(facts).encode("ascii") + b"\n"


def _read_header(file: IO[bytes], path: Path) -> tuple[bytes, dict[str, Any]]:
    first = file.read(len(MAGIC))
    if not first.startswith(_FAMILY):
        raise foreign(path)
    if first != MAGIC:
        raise HomeForeignError(
            f"{path} is a backup of a form that this Shiyi does not know; nothing was changed. "
            "Upgrade Shiyi to read it, or take another backup if it is damaged."
        )
    line = file.readline(_MOST_HEADER)
    try:
        facts: dict[str, Any] = json.loads(line)
        expected = {**_KDF, "cipher": _CIPHER, "chunk": _CHUNK}
        sound = (
            all(facts[name] == value for name, value in expected.items())
            and _SALT.fullmatch(facts["salt"]) is not None
            and type(facts["bytes"]) is int
            and facts["bytes"] > 0
            and {"check", "home"} <= facts.keys()
            and _encoded(facts) == first + line
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise broken(path, "its first lines cannot be read")
    return first + line, facts
