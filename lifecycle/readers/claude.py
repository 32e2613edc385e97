"""A conversation of a Claude.ai export: a list of messages, each with blocks and attachments.

Only text blocks are speech. What was pasted as a long text lives in its attachment alone, so it
is kept as a capture of its own. Retries are siblings; those not on the way to the last message
are marked `"branch": "other"`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.core.text import check_text
from shiyi.lifecycle.readers.fields import plain
from shiyi.lifecycle.readers.identity import Occurrences, native_key
from shiyi.lifecycle.readers.items import CaptureItem, Item
from shiyi.lifecycle.readers.place import Place

_SPEAKERS = {"human": "user", "assistant": "assistant"}
_SKIPPED_BLOCKS = {
    "thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "tool traffic",
    "tool_result": "tool traffic", "server_tool_use": "tool traffic",
}  # fmt: skip
_Message = dict[str, Any]


def claude_conversation(content: dict[str, Any], place: Place) -> Iterator[Item]:
    """Yield the messages of one conversation and the texts attached to them, in order.

    Raises UsageError when it has no list of messages.
    """
    listed = content.get("chat_messages")
    if not isinstance(listed, list):
        raise UsageError("A Claude conversation has a list of chat_messages; this one has none.")
    messages = [one for one in listed if isinstance(one, dict)]
    if len(messages) < len(listed):
        place.skip("a message of unknown form", len(listed) - len(messages))
    if plain(content.get("summary")):
        place.skip("a summary that the service wrote")
    parents = _parents(messages)
    on_path = _path(messages, parents, content.get("current_leaf_message_uuid"))
    first = plain(messages[0].get("uuid")) if messages else None
    conversation = _Conversation(
        plain(content.get("uuid")) or first or "conversation", plain(content.get("name")), place
    )
    for index, message in enumerate(messages):
        yield from conversation.message(message, index, parents[index], branch=index not in on_path)


@dataclass
class _Conversation:
    session: str
    title: str | None
    place: Place
    said: dict[int, str | None] = field(default_factory=dict)
    occurrences: Occurrences = field(default_factory=lambda: Occurrences("claude"))

    def message(
        self, message: _Message, index: int, parent: int | None, *, branch: bool
    ) -> Iterator[Item]:
        previous = None if parent is None else self.said.get(parent)
        self.said[index] = previous
        speaker = _SPEAKERS.get(plain(message.get("sender")) or "")
        if speaker is None:
            self.place.skip("a message of unknown form")
            return
        attachments = _attachments(message)
        text = _words(message, self.place, human=speaker == "user")
        if not text.strip() and not attachments:
            self.place.skip("a message without words")
            return
        common: dict[str, Any] = {
            "speaker": speaker, "session": self.session, "previous": previous,
            "captured_at": self.place.instant(message.get("created_at")),
            "source_path": self.place.name,
        }  # fmt: skip
        uuid = plain(message.get("uuid"))
        key = native_key(uuid, self.session) if uuid else self.occurrences.key(
            session=self.session, speaker=speaker, captured_at=common["captured_at"],
            text=text or "\n".join(words for words, _ in attachments),
        )  # fmt: skip
        attrs = {"title": self.title, "branch": "other" if branch else None}
        if text.strip():
            about = {**attrs, "files": _file_names(message)}
            name = key if uuid else None
            yield self._said_in(index, text, key=key, external_id=name, attrs=about, **common)
        for number, (words, about) in enumerate(attachments):
            yield self._said_in(
                index, words, key=f"{key}:attachment:{number}", origin="attachment",
                fidelity="external_material", attrs={**attrs, **about, "message": key}, **common,
            )  # fmt: skip

    def _said_in(
        self, index: int, text: str, *, key: str, attrs: dict[str, Any],
        origin: str = "conversation", **more: Any,
    ) -> Item:  # fmt: skip
        """Return a capture; the first of a message is what the next message follows."""
        try:
            check_text(text)
        except UsageError as error:
            return self.place.error(str(error))
        if self.said[index] == more["previous"]:
            self.said[index] = key
        given = {name: value for name, value in attrs.items() if value is not None}
        return CaptureItem(key=key, text=text, origin=origin, attrs=given, **more)


def _words(message: _Message, place: Place, *, human: bool) -> str:
    """Return the text blocks; the `text` field, which may merge other things, only without any."""
    blocks = message.get("content")
    blocks = [one for one in blocks if isinstance(one, dict)] if isinstance(blocks, list) else []
    texts = []
    for block in blocks:
        kind, words = block.get("type"), block.get("text")
        if kind == "text" and isinstance(words, str):
            texts.append(words)
        else:
            reason = _SKIPPED_BLOCKS.get(kind) if isinstance(kind, str) else None
            place.skip(reason or "a block of unknown type")
    merged = message.get("text")
    if not any(text.strip() for text in texts) and isinstance(merged, str):
        return merged if human or not blocks else ""
    return "\n".join(text for text in texts if text)


def _attachments(message: _Message) -> list[tuple[str, dict[str, Any]]]:
    """Return the words of each attachment that has any, and what is known about it."""
    listed = message.get("attachments")
    found = []
    for one in listed if isinstance(listed, list) else []:
        words = one.get("extracted_content") if isinstance(one, dict) else None
        if isinstance(words, str) and words.strip():
            names = {"file_name": plain(one.get("file_name")),
                     "file_type": plain(one.get("file_type"))}  # fmt: skip
            found.append((words, names))
    return found


def _file_names(message: _Message) -> list[str] | None:
    names = []
    for field_name in ("files", "attachments"):
        listed = message.get(field_name)
        for one in listed if isinstance(listed, list) else []:
            name = plain(one.get("file_name")) if isinstance(one, dict) else None
            if name is not None:
                names.append(name)
    return names or None


def _parents(messages: list[_Message]) -> list[int | None]:
    """Return the index of the message each one answers: by name, else the one before it."""
    index_of = {
        uuid: index
        for index, message in enumerate(messages)
        if isinstance(uuid := message.get("uuid"), str)
    }
    parents: list[int | None] = []
    for index, message in enumerate(messages):
        named = message.get("parent_message_uuid")
        if isinstance(named, str):
            parents.append(index_of.get(named))
        else:
            parents.append(index - 1 if index else None)
    return parents


def _path(messages: list[_Message], parents: list[int | None], leaf: Any) -> set[int]:
    """Return the indexes on the way from the first message to the last, or to `leaf`."""
    current = next(
        (index for index, message in enumerate(messages) if leaf and message.get("uuid") == leaf),
        len(messages) - 1 if messages else None,
    )
    path: set[int] = set()
    while current is not None and current not in path:
        path.add(current)
        current = parents[current]
    return path
