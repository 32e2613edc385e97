"""Claude Code transcripts: what the person and the assistant said, without the machine's traffic.

The vendor calls the form internal, so every line that is not understood is counted and passed
over. A line is a capture of its own, even when one answer spans several lines: a transcript grows
while it is read, and a capture never changes.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from shiyi.core.errors import UsageError
from shiyi.core.text import check_text
from shiyi.lifecycle.readers.fields import plain
from shiyi.lifecycle.readers.folder import files_of, size_of
from shiyi.lifecycle.readers.identity import Occurrences, native_key
from shiyi.lifecycle.readers.items import CaptureItem, Item, LineError
from shiyi.lifecycle.readers.lines import items_of_lines
from shiyi.lifecycle.readers.place import Place
from shiyi.lifecycle.readers.source import Reading, file_error, open_regular, printable

SUFFIXES = (".jsonl",)
WITHOUT = ("subagents", "tool-results")
_MACHINE_FLAGS = {
    "isSidechain": "a side chain", "isMeta": "a note of the program",
    "isCompactSummary": "a summary that the program wrote",
    "isApiErrorMessage": "a note of the program",
}  # fmt: skip
_SKIPPED_BLOCKS = {
    "thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "tool traffic",
    "tool_result": "tool traffic", "server_tool_use": "tool traffic",
    "image": "an image or file without words", "document": "an image or file without words",
}  # fmt: skip
# What the program puts into the person's mouth. A slash command is kept when it has arguments.
_MACHINE_TEXT = re.compile(
    r"""\s*+(?:
        <(local-command-std(?:out|err)|bash-std(?:out|err)|system-reminder)>.*</\1>
        |\[Request\ interrupted\ by\ user[^\]\n]*\]
        |<command-(?:name|message)>(?!.*<command-args>\s*+[^<\s]).*</command-name>.*
    )\s*+""",
    re.VERBOSE | re.DOTALL,
)


def transcript_items(path: Path, reading: Reading) -> Iterator[Item]:
    """Yield the captures of a transcript, or of every transcript in a folder."""
    for found in files_of(path, SUFFIXES, reading, without=WITHOUT):
        if isinstance(found, LineError):
            yield found
            continue
        try:
            with open_regular(found.path) as stream:
                yield from _Transcript(found.name, reading).read(stream, printable(found.path))
        except (OSError, UsageError) as error:
            yield file_error(found.path, error)


def transcript_size(path: Path) -> int:
    """Return the bytes that `transcript_items` reads."""
    return size_of(path, SUFFIXES, without=WITHOUT)


class _Transcript:
    def __init__(self, name: str, reading: Reading) -> None:
        self._name = name
        self._reading = reading
        self._said: dict[str, str | None] = {}  # the last key said at or above a line
        self._occurrences = Occurrences("claude-code")

    def read(self, stream: IO[bytes], source: str) -> Iterator[Item]:
        make = partial(self._item, place=Place(source, "", self._name, self._reading))
        return items_of_lines(stream, source, self._reading, make, grows=True, lone_surrogates=True)

    def _item(self, content: dict[str, Any], place: Place) -> Item | None:
        uuid, parent = plain(content.get("uuid")), _parent(content)
        previous = self._said.get(parent) if parent else None
        if uuid:
            self._said[uuid] = previous
        text = _words(content, place)
        if text is None:
            return None
        check_text(text)
        message = content["message"]
        session = plain(content.get("sessionId")) or Path(self._name).stem
        speaker = str(content["type"])
        captured_at = place.instant(content.get("timestamp"))
        key = native_key(uuid, session) if uuid else self._occurrences.key(
            session=session, speaker=speaker, captured_at=captured_at, text=text
        )  # fmt: skip
        if uuid:
            self._said[uuid] = key
        attrs = {
            "cwd": plain(content.get("cwd")), "git_branch": plain(content.get("gitBranch")),
            "model": plain(message.get("model")), "message_id": plain(message.get("id")),
        }  # fmt: skip
        return CaptureItem(
            key=key, text=text, speaker=speaker, session=session, previous=previous,
            captured_at=captured_at, origin="conversation", source_path=self._name,
            external_id=key if uuid else None,
            attrs={name: value for name, value in attrs.items() if value},
        )  # fmt: skip


def _parent(content: dict[str, Any]) -> str | None:
    return plain(content.get("parentUuid")) or plain(content.get("logicalParentUuid"))


def _words(content: dict[str, Any], place: Place) -> str | None:
    """Return what was said; None, counted, for everything else."""
    message = content.get("message")
    if content.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        place.skip("a line that holds no message")
        return None
    for flag, reason in _MACHINE_FLAGS.items():
        if content.get(flag):
            place.skip(reason)
            return None
    said = message.get("content")
    if isinstance(said, str):
        texts = [said]
    elif isinstance(said, list):
        texts = [text for block in said if (text := _block(block, place)) is not None]
        if not texts:
            return None
    else:
        texts = []
    spoken = [text for text in texts if not _MACHINE_TEXT.fullmatch(text)]
    if len(spoken) < len(texts):
        place.skip("a note of the program", len(texts) - len(spoken))
        if not spoken:
            return None
    text = "\n".join(text for text in spoken if text)
    if not text.strip():
        place.skip("a message without words")
        return None
    return text


def _block(block: Any, place: Place) -> str | None:
    if isinstance(block, dict) and block.get("type") == "text":
        words = block.get("text")
        if isinstance(words, str):
            return words
    kind = block.get("type") if isinstance(block, dict) else None
    reason = _SKIPPED_BLOCKS.get(kind) if isinstance(kind, str) else None
    place.skip(reason or "a block of unknown type")
    return None
