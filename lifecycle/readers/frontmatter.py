"""Front matter: a small YAML block before a note. Every scalar stays the text it was written as.

YAML's own types would turn 12:30 into 750, 1.10 into 1.1 and `no` into False, so none are used.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from shiyi.core.errors import UsageError
from shiyi.core.text import decode_text
from shiyi.store.rows import encode_json

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8
_OPENING = re.compile(rb"---[ \t]*\r?\n")
_CLOSING = re.compile(rb"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(rb"""\s*(?:#[^\n]*\n\s*)*(?:["']?[^\s:#"'][^\n:]{0,99}:(?:\s|\Z)|\Z)""")


class FrontMatter(NamedTuple):
    """What stands before a note. block is the text between the fences, None without any.

    error says why the block could not be understood; fields is then empty.
    """

    body: bytes
    fields: dict[str, Any]
    block: str | None = None
    error: str | None = None


def split_front_matter(content: bytes) -> FrontMatter:
    """Return the front matter of `content` (without BOM) and the body, byte for byte.

    A first block that holds no `key:` is a part of the text between two rules, not front matter.
    """
    opening = _OPENING.match(content)
    closing = _CLOSING.search(content, opening.end()) if opening else None
    if opening is None or closing is None:
        return FrontMatter(content, {})
    block = content[opening.end() : closing.start()]
    if not _KEY.match(block):
        return FrontMatter(content, {})
    body = content[closing.end() :]
    text = block.decode("utf-8", "replace")
    try:
        return FrontMatter(body, _mapping(block), text)
    except UsageError as error:
        return FrontMatter(body, {}, text, str(error))


def _mapping(block: bytes) -> dict[str, Any]:
    if len(block) > MAX_BYTES:
        raise UsageError(f"The front matter is longer than {MAX_BYTES // 1024} kB.")
    text = decode_text(block, "front matter")
    try:
        value = _Builder(text).value()
        encode_json(value).encode("utf-8")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at its line {mark.line + 1}" if mark else ""
        raise UsageError(f"The front matter is not YAML{where}.") from None
    except UsageError:
        raise
    except (ValueError, OverflowError):
        raise UsageError("The front matter holds a character that does not exist.") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError("The front matter is not a list of `key: value`.")
    return value


class _Builder:
    """Builds texts, lists and dicts from YAML's events, and refuses everything cleverer."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.BaseLoader)

    def value(self) -> Any:
        next(self._events)  # the stream starts
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._node(next(self._events), 0)
        next(self._events)  # the document ends
        if not isinstance(next(self._events), yaml.StreamEndEvent):
            raise UsageError("The front matter holds more than one YAML document.")
        return value

    def _node(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise UsageError("The front matter uses YAML anchors or aliases; write values out.")
        if isinstance(event, yaml.ScalarEvent):
            return event.value
        if depth == MAX_DEPTH:
            raise UsageError(f"The front matter is nested more than {MAX_DEPTH} levels deep.")
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._node(one, depth + 1) for one in self._until(yaml.SequenceEndEvent)]
        found: dict[str, Any] = {}
        for one in self._until(yaml.MappingEndEvent):
            key = self._node(one, depth + 1)
            if not isinstance(key, str) or key in found:
                raise UsageError("The front matter has a key twice, or one that is not a text.")
            found[key] = self._node(next(self._events), depth + 1)
        return found

    def _until(self, end: type[Any]) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event
