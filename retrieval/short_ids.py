"""Short ids: the beginning of an id that no other id of the scope has, at least 8 characters.

A whole id costs 17 tokens, 8 of its characters cost 6.
"""

from shiyi.core.ids import LEAST_SHORT
from shiyi.indexer.index import ScopeIndex

_KEPT = 1 << 14  # of those asked for last


class ShortIds:
    """Shortens the ids of one scope as it stands."""

    def __init__(self, index: ScopeIndex) -> None:
        self._sorted = index.once("sorted ids", index.sorted_ids)
        self._known = index.once("short ids", dict[str, str])

    def of(self, id_: str) -> str:
        """Return the shortest beginning of an id, at least 8 characters, that is its own."""
        known = self._known.get(id_)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[id_] = self._shortened(id_)
        return known

    def _shortened(self, id_: str) -> str:
        name = id_.encode("ascii")
        begin = name[:LEAST_SHORT]
        shared = 0
        for ids in self._sorted:
            first = int(ids.searchsorted(name))
            last = int(ids.searchsorted(name, side="right"))
            for place in (first - 1, last):
                if 0 <= place < len(ids) and ids[place].startswith(begin):
                    shared = max(shared, _shared(id_, ids[place].decode("ascii")))
        return id_[: max(LEAST_SHORT, shared + 1)]


def _shared(one: str, other: str) -> int:
    return next((n for n in range(min(len(one), len(other))) if one[n] != other[n]), len(one))
