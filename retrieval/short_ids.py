"""Short ids: the beginning of an id that no other id of the scope has, at least 8 characters.

A whole id costs 17 tokens, 8 of its characters cost 6.
"""

import re

import numpy as np

from shiyi.core.errors import UsageError
from shiyi.indexer.index import ScopeIndex

LEAST = 8
_WHOLE = 26
_PREFIX = re.compile(rf"[0-7][0-9A-HJKMNP-TV-Z]{{{LEAST - 1},{_WHOLE - 1}}}")


class ShortIds:
    """Shortens the ids of one scope as it stands, and finds what a short id means."""

    def __init__(self, index: ScopeIndex) -> None:
        self._sorted = index.sorted_ids()

    def of(self, id_: str) -> str:
        """Return the shortest beginning of an id, at least LEAST characters, that is its own."""
        name = id_.encode("ascii")
        shared = 0
        for ids in self._sorted:
            first = int(np.searchsorted(ids, name, side="left"))
            last = int(np.searchsorted(ids, name, side="right"))
            for place in (first - 1, last):
                if 0 <= place < len(ids):
                    shared = max(shared, _shared(id_, ids[place].decode("ascii")))
        return id_[: max(LEAST, shared + 1)]

    def meant_by(self, text: str) -> list[str]:
        """Return the ids that begin with `text`, ascending; nothing when it is no short id."""
        prefix = text.strip().upper()
        if not _PREFIX.fullmatch(prefix):
            return []
        found: set[bytes] = set()
        for ids in self._sorted:
            first = np.searchsorted(ids, prefix.encode("ascii"), side="left")
            last = np.searchsorted(ids, prefix.encode("ascii") + b"~", side="left")
            found.update(bytes(one) for one in ids[first:last])
        return sorted(one.decode("ascii") for one in found)

    def resolve(self, text: str) -> str | None:
        """Return the one id that begins with `text`, or None.

        Raises UsageError when there are several.
        """
        meant = self.meant_by(text)
        if len(meant) > 1:
            raise UsageError(
                f"{len(meant)} ids begin with {text.strip().upper()}; give more of its characters."
            )
        return meant[0] if meant else None


def _shared(one: str, other: str) -> int:
    return next((n for n in range(min(len(one), len(other))) if one[n] != other[n]), len(one))
