"""A ChatGPT conversation: a tree of nodes, of which one path is what the person last saw.

The other branches are edits and regenerated answers. They were said too, so they are kept, marked
`"branch": "other"`, after the path; each message names the one that it answers.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from shiyi.core.errors import UsageError
from shiyi.core.text import check_text
from shiyi.lifecycle.readers.fields import plain
from shiyi.lifecycle.readers.identity import native_key
from shiyi.lifecycle.readers.items import CaptureItem, Item
from shiyi.lifecycle.readers.place import Place

_SPOKEN_TYPES = ("text", "multimodal_text", "code")
_MACHINE_TYPES = {
    "thoughts": "thinking", "reasoning_recap": "thinking", "execution_output": "tool traffic",
    "tether_browsing_display": "tool traffic", "tether_quote": "tool traffic",
    "system_error": "tool traffic", "user_editable_context": "custom instructions",
    "model_editable_context": "custom instructions",
}  # fmt: skip
_TYPE_NAME = re.compile(r"[a-z_]{1,40}")
_Nodes = dict[str, dict[str, Any]]


class _Speech(NamedTuple):
    text: str
    fidelity: str
    attrs: dict[str, Any]


def chatgpt_conversation(content: dict[str, Any], place: Place) -> Iterator[Item]:
    """Yield the messages of one conversation: the current path in order, then the branches.

    Raises UsageError when it has no mapping.
    """
    mapping = content.get("mapping")
    if not isinstance(mapping, dict):
        raise UsageError("A ChatGPT conversation has a mapping of messages; this one has none.")
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    path = _current_path(nodes, content.get("current_node"))
    on_path = set(path)
    order = path + [name for name in _parents_first(nodes) if name not in on_path]
    session = plain(content.get("conversation_id")) or plain(content.get("id"))
    conversation = _Conversation(nodes, session or (order[0] if order else ""), place)
    title = plain(content.get("title"))
    for name in order:
        yield from conversation.node(name, title, branch=name not in on_path)


class _Conversation:
    def __init__(self, nodes: _Nodes, session: str, place: Place) -> None:
        self._nodes = nodes
        self._session = plain(session) or "conversation"
        self._place = place
        self._said: dict[str, str | None] = {}  # the last key said at or above a node

    def node(self, name: str, title: str | None, *, branch: bool) -> Iterator[Item]:
        node = self._nodes[name]
        parent = _parent(self._nodes, name)
        previous = None if parent is None else self._said.get(parent)
        self._said[name] = previous
        message = node.get("message")
        if message is None:
            return
        if not isinstance(message, dict):
            self._place.skip("a message of unknown form")
            return
        try:
            speech = _speech(message, self._place)
        except UsageError as error:
            yield self._place.error(str(error))
            return
        if speech is None:
            return
        key = native_key(plain(name) or "message", self._session)
        self._said[name] = key
        attrs = {"title": title, "branch": "other" if branch else None, **speech.attrs}
        yield CaptureItem(
            key=key, text=speech.text, speaker=_role(message), session=self._session,
            previous=previous, captured_at=self._place.instant(message.get("create_time")),
            origin="conversation", fidelity=speech.fidelity, source_path=self._place.name,
            external_id=key,
            attrs={name: value for name, value in attrs.items() if value is not None},
        )  # fmt: skip


def _speech(message: dict[str, Any], place: Place) -> _Speech | None:
    """Return what a person or the assistant said; None, counted, for everything else."""
    reason = _machine(message)
    if reason is not None:
        place.skip(reason)
        return None
    content = _dict(message.get("content"))
    kind = content.get("content_type")
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text")]
    texts, others, spoken = _parts(parts)
    if others:
        place.skip("an image or file without words", len(others))
    text = "\n".join(texts)
    if not text.strip():
        place.skip("a message without words")
        return None
    metadata = _dict(message.get("metadata"))
    attrs = {
        "model": plain(metadata.get("model_slug")),
        "language": plain(content.get("language")) if kind == "code" else None,
        "attachments": _attachment_names(metadata) or None,
        "other_parts": [_pointer(part) for part in others] or None,
    }
    return _Speech(check_text(text), "transcription" if spoken else "verbatim", attrs)


def _machine(message: dict[str, Any]) -> str | None:
    """Return why a message is not speech, or None when it is."""
    role, metadata = _role(message), _dict(message.get("metadata"))
    signs = {
        "custom instructions": metadata.get("is_user_system_message"),
        "a system message": role == "system",
        "tool traffic": role == "tool" or message.get("recipient") not in (None, "all"),
        "a message of unknown form": role not in ("user", "assistant"),
        "a hidden message": metadata.get("is_visually_hidden_from_conversation"),
    }
    machine = next((reason for reason, holds in signs.items() if holds), None)
    return machine or _machine_content(_dict(message.get("content")).get("content_type"))


def _machine_content(kind: Any) -> str | None:
    if kind in _SPOKEN_TYPES:
        return None
    if not isinstance(kind, str) or not _TYPE_NAME.fullmatch(kind):
        return "a message of unknown form"
    return _MACHINE_TYPES.get(kind, f"content of the unknown type {kind}")


def _parts(parts: list[Any]) -> tuple[list[str], list[dict[str, Any]], bool]:
    """Return the words, the parts without words, and whether any words were dictated."""
    texts, others, spoken = [], [], False
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            words = part.get("text")
            if part.get("content_type") == "audio_transcription" and isinstance(words, str):
                texts.append(words)
                spoken = True
            else:
                others.append(part)
    return [text for text in texts if text], others, spoken


def _pointer(part: dict[str, Any]) -> dict[str, Any]:
    """Return the kind and the name of an image or file."""
    names = ("content_type", "asset_pointer", "name")
    return {name: value for name in names if (value := plain(part.get(name))) is not None}


def _attachment_names(metadata: dict[str, Any]) -> list[str]:
    attachments = metadata.get("attachments")
    names = [
        plain(one.get("name"))
        for one in (attachments if isinstance(attachments, list) else [])
        if isinstance(one, dict)
    ]
    return [name for name in names if name is not None]


def _role(message: dict[str, Any]) -> str:
    return plain(_dict(message.get("author")).get("role")) or ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _parent(nodes: _Nodes, name: str) -> str | None:
    parent = nodes[name].get("parent")
    return parent if isinstance(parent, str) and parent in nodes else None


def _current_path(nodes: _Nodes, current: Any) -> list[str]:
    """Return the nodes from the root to the current one; without one, to the newest leaf."""
    if not isinstance(current, str) or current not in nodes:
        parents = {_parent(nodes, name) for name in nodes}
        leaves = [name for name in nodes if name not in parents]
        current = max(reversed(leaves), key=lambda name: _time(nodes[name]), default=None)
    path: dict[str, None] = {}
    while isinstance(current, str) and current not in path:
        path[current] = None
        current = _parent(nodes, current)
    return list(reversed(path))


def _time(node: dict[str, Any]) -> float:
    time = _dict(node.get("message")).get("create_time")
    return time if isinstance(time, (int, float)) else float("-inf")


def _parents_first(nodes: _Nodes) -> list[str]:
    """Return every node, each after its parent; those in a circle come last."""
    children: dict[str | None, list[str]] = {}
    for name in nodes:
        children.setdefault(_parent(nodes, name), []).append(name)
    order: dict[str, None] = {}
    waiting = list(reversed(children.get(None, [])))
    while waiting:
        name = waiting.pop()
        order[name] = None
        waiting.extend(reversed(children.get(name, [])))
    return list(order) + [name for name in nodes if name not in order]
