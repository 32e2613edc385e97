"""Attachments: the bytes of a file, read once, kept under their hash, and found by their text."""

import hashlib
import mimetypes
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from shiyi.core.errors import HomeUnwritableError, UsageError
from shiyi.core.files import expanded
from shiyi.core.ids import check_turn
from shiyi.lifecycle.held import judged
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.turn import take
from shiyi.lifecycle.write import Words
from shiyi.store import Attachment, Entry, Store, Transaction

MOST_TEXT = 1 << 20  # bytes; a longer text is kept as bytes only
_CHUNK = 1 << 20
_MEGABYTE = 1 << 20
# A pipe without a writer would be waited for; a link would lead anywhere.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STATED = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_nlink")


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a file, and its words when it is a text."""

    sha256: str
    bytes: int
    text: str | None


@dataclass(frozen=True, slots=True)
class _Given:
    """A file, where its bytes lie until they are placed, its turn, and who gave it."""

    place: Path
    incoming: Path
    turn: str
    speaker: str


def capture_attachment(
    store: Store,
    scope: str,
    path: str,
    turn: str,
    *,
    most_megabytes: int,
    speaker: str = "user",
    allow_secret: bool = False,
    key: str | None = None,
) -> dict[str, Any]:
    """Keep the bytes of a file in a judged turn; a text in UTF-8 is a capture as well.

    The same bytes are kept once, and each time that they are given is registered; the same file
    again in the same turn is the first. Returns attachment_id, turn_id, sha256, bytes, name,
    media_type, capture_id (of its words, or None), new and warnings.

    Raises UsageError when the turn was not judged, and for what is no regular file, is too large,
    changed while it was read, or is a text with a secret; HomeUnwritableError when there is no
    room. Then nothing stays.
    """
    turn = check_turn(turn)
    judged(store, scope, turn)
    place = expanded(path)
    try:
        with store.attachments.incoming() as (incoming, into):
            read = _copy(place, into, most_megabytes * _MEGABYTE)
            check_secrets(read.text, str(place), allow=allow_secret)
            given = _Given(place, incoming, turn, speaker)
            return _keep(store, scope, given, read, key)
    except OSError as error:
        if isinstance(error, HomeUnwritableError) or not error.errno:
            raise
        raise HomeUnwritableError(
            f"The attachment cannot be kept in the home ({error.strerror}); nothing of it stays. "
            "Free some space and repeat it."
        ) from None


def _keep(store: Store, scope: str, given: _Given, read: _Read, key: str | None) -> dict[str, Any]:
    turn, place = given.turn, given.place

    def act(transaction: Transaction) -> dict[str, Any]:
        judged(store, scope, turn)
        steps = store.turns.of_turn(scope, turn)
        first = _registered(store, scope, steps, read, place.name)
        attachment = first or _row(transaction, place, read, turn)
        capture_id = next((e.capture_id for e in steps if _is_text_of(e, attachment)), None)
        store.attachments.place(given.incoming, read.sha256)
        if first is None:
            transaction.add_attachment(attachment)
            added = [
                Entry(
                    scope=scope, step="attach", outcome="kept", turn_id=turn,
                    attachment_id=attachment.attachment_id, created_at=transaction.now,
                )
            ]  # fmt: skip
            if read.text is not None:
                words = Words(text=read.text, speaker=given.speaker, turn=turn, origin="attachment")
                made, step = take(
                    store, transaction, words, fidelity="exact_attachment",
                    of=attachment.attachment_id, source_path=str(place),
                )  # fmt: skip
                capture_id = made.capture_id
                added.append(step)
            transaction.add_steps(turn, added)
        return _told(attachment, capture_id, new=first is None)

    request = ["capture-attachment", turn, read.sha256, place.name, given.speaker]
    try:
        return store.write(scope, act, key=key, request=request)
    except BaseException:
        store.attachments.discard(read.sha256)
        raise


def _registered(
    store: Store, scope: str, steps: list[Entry], read: _Read, name: str
) -> Attachment | None:
    """Return the attachment of the same bytes and name that the turn has already, or None."""
    for step in steps:
        if step.step == "attach" and step.attachment_id:
            one = store.attachments.find(scope, step.attachment_id)
            if one is not None and (one.sha256, one.name) == (read.sha256, name):
                return one
    return None


def _is_text_of(step: Entry, attachment: Attachment) -> bool:
    wanted = ("capture", "exact_attachment", attachment.attachment_id)
    return (step.step, step.outcome, step.attachment_id) == wanted


def _row(transaction: Transaction, place: Path, read: _Read, turn: str) -> Attachment:
    media_type, _ = mimetypes.guess_type(place.name)
    plain = "application/octet-stream" if read.text is None else "text/plain"
    return Attachment(
        scope=transaction.scope,
        attachment_id=transaction.new_id(),
        sha256=read.sha256,
        bytes=read.bytes,
        name=place.name,
        media_type=media_type or plain,
        turn_id=turn,
        source_path=str(place),
        recorded_at=transaction.now,
    )


def _told(attachment: Attachment, capture_id: str | None, *, new: bool) -> dict[str, Any]:
    warnings = []
    if capture_id is None:
        warnings.append(
            "It is no short text in UTF-8, so nothing of it is searched; capture a transcription "
            "or ocr of it."
        )
    return {
        "attachment_id": attachment.attachment_id, "turn_id": attachment.turn_id,
        "sha256": attachment.sha256, "bytes": attachment.bytes, "name": attachment.name,
        "media_type": attachment.media_type, "capture_id": capture_id, "new": new,
        "warnings": warnings,
    }  # fmt: skip


def _copy(place: Path, into: IO[bytes], most: int) -> _Read:
    """Copy a regular file in pieces, durably; raises UsageError when it is none or changes."""
    with _opened(place) as source:
        before = os.fstat(source)
        if not stat.S_ISREG(before.st_mode):
            raise UsageError("That is no regular file; give the file itself. Nothing was kept.")
        if before.st_size > most:
            raise UsageError(
                f"The file has more than {most // _MEGABYTE} MB, the setting attachment_mb; raise "
                "it, or give a smaller file. Nothing was kept."
            )
        digest, size, head = hashlib.sha256(), 0, bytearray()
        while size <= before.st_size and (chunk := _read(source)):
            digest.update(chunk)
            into.write(chunk)
            size += len(chunk)
            if size <= MOST_TEXT:
                head += chunk
        if size != before.st_size or _state(os.fstat(source)) != _state(before):
            raise UsageError(
                "The file changed or went away while it was read; give it again when it is at "
                "rest. Nothing was kept."
            )
    into.flush()
    os.fsync(into.fileno())
    return _Read(digest.hexdigest(), size, _text(bytes(head)) if size <= MOST_TEXT else None)


@contextmanager
def _opened(place: Path) -> Iterator[int]:
    """Yield a descriptor of a file; raises UsageError for a link and what cannot be opened."""
    try:
        descriptor = os.open(place, _FLAGS)
    except OSError as error:
        link = place.is_symlink()
        how = "is a link; give the file that it leads to" if link else f"{error.strerror}"
        raise UsageError(f"The file cannot be read ({how}). Nothing was kept.") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK)
    except OSError as error:
        raise UsageError(
            f"The file cannot be read to its end ({error.strerror}). Nothing was kept."
        ) from None


def _state(found: os.stat_result) -> list[int]:
    return [getattr(found, name) for name in _STATED]


def _text(content: bytes) -> str | None:
    """Return the words of a text in UTF-8, or None for anything else."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.strip() and "\0" not in text else None
