"""The conversation files of a ChatGPT or Claude export: a .json, a folder, or the .zip as it came.

A zip is never unpacked: the members whose names we know are read as streams, inside limits that
an honest export does not come near.
"""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.chatgpt import chatgpt_conversation
from shiyi.lifecycle.readers.claude import claude_conversation
from shiyi.lifecycle.readers.folder import file_size
from shiyi.lifecycle.readers.items import Item
from shiyi.lifecycle.readers.json_array import split_array
from shiyi.lifecycle.readers.place import Place
from shiyi.lifecycle.readers.source import Reading, file_error, open_regular, printable
from shiyi.lifecycle.readers.strictjson import decode_object

MAX_MEMBERS = 100_000
MAX_MEMBER_BYTES = 16 * 1024**3
MAX_RATIO = 200  # chats shrink to a tenth or so; a bomb shrinks to a thousandth
_RATIO_MATTERS_FROM = 16 * 1024 * 1024
_ENCRYPTED = 0x1
_CONVERSATIONS = re.compile(r"conversations[^/]*\.json", re.IGNORECASE)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_READERS = {"chatgpt": chatgpt_conversation, "claude": claude_conversation}


class Member(NamedTuple):
    """One file of conversations, however it is kept."""

    name: str
    size: int
    source: str
    open: Callable[[], IO[bytes]]


@contextmanager
def members_of(path: Path) -> Iterator[list[Member]]:
    """Give the conversation files of an export, in the order of their names.

    Raises UsageError for a zip that is damaged or not to be trusted.
    """
    if path.is_dir():
        yield _members_of_folder(path)
    elif path.suffix.lower() == ".zip":
        with open_regular(path) as file, _zip(file) as archive:
            yield _members_of_zip(archive, path)
    else:
        name = printable(path.name)
        yield [Member(name, file_size(path), printable(path), partial(open_regular, path))]


def export_items(path: Path, reading: Reading, *, form: str) -> Iterator[Item]:
    """Yield the captures of every conversation; one that is damaged becomes a LineError."""
    try:
        with members_of(path) as members:
            for member in members:
                yield from _member_items(member, reading, form)
    except (OSError, UsageError) as error:
        yield file_error(path, error)


def export_size(path: Path) -> int:
    """Return the bytes that `export_items` reads: of a zip, as they are before packing."""
    try:
        with members_of(path) as members:
            return sum(member.size for member in members)
    except (OSError, UsageError):
        return 0


def _member_items(member: Member, reading: Reading, form: str) -> Iterator[Item]:
    read_conversation = _READERS[form]
    try:
        with damaged_as_usage(), member.open() as stream:
            for element in split_array(stream, reading.consumed):
                place = Place(member.source, f"[{element.position}]", member.name, reading)
                if element.content is None:
                    yield place.error(element.reason or "")
                    continue
                try:
                    conversation = decode_object(element.content, lone_surrogates=True)
                    yield from read_conversation(conversation, place)
                except UsageError as error:
                    yield place.error(str(error))
    except (OSError, UsageError) as error:
        yield file_error(member.source, error)


def _members_of_folder(path: Path) -> list[Member]:
    """Return the files in the folder, or in the one folder that it holds."""
    found = _conversation_files(path)
    inside = [one for one in path.iterdir() if not one.name.startswith((".", "__MACOSX"))]
    if not found and len(inside) == 1 and inside[0].is_dir() and not inside[0].is_symlink():
        found = _conversation_files(inside[0])
    return [
        Member(
            printable(file.relative_to(path).as_posix()), file_size(file), printable(file),
            partial(open_regular, file),
        )
        for file in sorted(found, key=lambda file: _natural(printable(file)))
    ]  # fmt: skip


def _conversation_files(folder: Path) -> list[Path]:
    return [
        file
        for file in folder.iterdir()
        if _CONVERSATIONS.fullmatch(file.name) and file.is_file() and not file.is_symlink()
    ]


@contextmanager
def _zip(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(file)
    except (*_DAMAGED, ValueError, OverflowError, UnicodeError):
        raise UsageError("This is not a zip file, or it is damaged; download it again.") from None
    with archive:
        yield archive


def _members_of_zip(archive: zipfile.ZipFile, path: Path) -> list[Member]:
    if len(archive.filelist) > MAX_MEMBERS:
        raise UsageError(f"This zip holds more than {MAX_MEMBERS} files; it is not an export.")
    found = []
    for info in archive.filelist:
        folder, _, base = info.filename.rpartition("/")
        if _CONVERSATIONS.fullmatch(base) and not folder.startswith("__MACOSX"):
            name = printable(info.filename)
            source = f"{printable(path)}:{name}"
            opener: Callable[[], Any] = partial(_open_member, archive, info)
            found.append(Member(name, info.file_size, source, opener))
    return sorted(found, key=lambda member: _natural(member.name))


def _open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member for reading.

    Only the two methods whose output is bounded step by step are read. zipfile never gives more
    than the declared size, so checking what is declared is enough.
    """
    if info.flag_bits & _ENCRYPTED:
        raise UsageError("This part of the zip is encrypted; unpack it and give the folder.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UsageError("This part of the zip is packed in a way that is not read; unpack it.")
    ratio = info.file_size / max(info.compress_size, 1)
    if info.file_size > MAX_MEMBER_BYTES or (
        info.file_size > _RATIO_MATTERS_FROM and ratio > MAX_RATIO
    ):
        raise UsageError("This part of the zip unpacks to more than an honest export would.")
    return archive.open(info)


@contextmanager
def damaged_as_usage() -> Iterator[None]:
    """Turn what a damaged zip raises into UsageError."""
    try:
        yield
    except _DAMAGED:
        raise UsageError("This part of the zip is damaged; download it again.") from None


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key in which -2 comes before -10."""
    return [
        (int(part), "") if part.isdigit() and part.isascii() else (-1, part)
        for part in re.split(r"([0-9]{1,18})", name)
    ]
