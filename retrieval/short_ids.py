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
        self._known = index.lasting("short ids", lambda: _Known(index.slots))
        self._known.follow(index)

    def of(self, id_: str) -> str:
        """Return the shortest beginning of an id, at least 8 characters, that is its own."""
        known = self._known.get(id_)
        return known if known is not None else self._known.put(id_, self._shortened(id_))

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


class _Known:
    """What ids were shortened to, as long as no id came that begins like that."""

    def __init__(self, slots: int) -> None:
        self._short: dict[str, str] = {}
        self._whole: dict[str, list[str]] = {}
        self._slots = slots

    def get(self, id_: str) -> str | None:
        return self._short.get(id_)

    def put(self, id_: str, short: str) -> str:
        if len(self._short) >= _KEPT:
            self._short.clear()
            self._whole.clear()
        self._short[id_] = short
        self._whole.setdefault(short, []).append(id_)
        return short

    def follow(self, index: ScopeIndex) -> None:
        """Forget those whose short form an id has that came since."""
        fresh = index.columns["id"][self._slots : index.slots].tolist()
        self._slots = index.slots
        for name in fresh:
            id_ = name.decode("ascii")
            for length in range(LEAST_SHORT, len(id_) + 1):
                for whole in self._whole.pop(id_[:length], ()):
                    del self._short[whole]


def _shared(one: str, other: str) -> int:
    return next((n for n in range(min(len(one), len(other))) if one[n] != other[n]), len(one))
