"""Answers that fit: first long texts are cut, then lists from their ends, and both are told.

What has a budget of its own was fitted where it was made; this is for what has none.
"""

import json
from collections.abc import Iterator
from typing import Any

from shiyi.models.tokens import get_counter

Values = dict[str, Any]
MOST = 14_000  # tokens; with the marks of trust an answer stays well under 20,000
_LONGEST = 400  # characters of a text in an answer that is too long


def fitted(content: Values, most: int = MOST) -> Values:
    """Return the content within so many tokens; `truncated` says what was left out.

    The content is changed where it has to be.
    """
    if len(_written(content).encode("utf-8", "replace")) <= most:
        return content  # a token is a byte at the least
    count = get_counter("o200k").count
    excess = count(_written(content)) - most
    if excess <= 0:
        return content
    truncated = dict(content.get("truncated", {}))
    if _shorten(content):
        truncated["shortened"] = True
        excess = count(_written(content)) - most
    omitted = 0
    while excess > 0 and (longest := max(_lists(content), key=_size, default=None)):
        while excess > 0 and longest:
            excess -= count(_written(longest.pop()))
            omitted += 1
        excess = count(_written(content)) - most
    if omitted:
        truncated["omitted"] = omitted
    return {**content, "truncated": truncated}


def _written(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _size(content: Any) -> int:
    return len(_written(content))


def _shorten(content: Any) -> bool:
    """Cut the texts that are long, and tell whether there was one."""
    cut = False
    for name, one in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(one, str) and len(one) > _LONGEST:
            content[name] = f"{one[: _LONGEST - 1]}…"
            cut = True
        elif isinstance(one, dict | list):
            cut = _shorten(one) or cut
    return cut


def _lists(content: Any) -> Iterator[list[Any]]:
    """Yield every list that holds something, at any depth."""
    if isinstance(content, list) and content:
        yield content
    many = content.values() if isinstance(content, dict) else content
    for one in many:
        if isinstance(one, dict | list):
            yield from _lists(one)
