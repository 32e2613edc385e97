"""The same activity, found again: what a footprint is looked for by before a new one is made."""

from shiyi.indexer.analyze import terms
from shiyi.indexer.fold import fold
from shiyi.indexer.index import Filter
from shiyi.indexer.indexes import Indexes
from shiyi.retrieval.query import Query
from shiyi.retrieval.search import find
from shiyi.store import Store
from shiyi.store.kinds import FOOTPRINT

_SMALL = str.maketrans({"和": "跟", "与": "跟", "同": "跟", "了": None, "着": None, "过": None})
_KINDS = frozenset({"event"})
_MOST = 20
_WITHIN = 0.8  # of the terms of the shorter one stand in the longer one, and
_ALIKE = 0.4  # of the terms of both together are shared


def same_activity(indexes: Indexes, store: Store, scope: str, text: str) -> list[str]:
    """Return the footprints that speak of the same activity, most alike first.

    They are searched by words, and then share most of their terms.
    """
    query = Query(
        text=text, limit=_MOST, weak=True, channels=frozenset({"lexical"}),
        filter=Filter(kinds=_KINDS, statuses=frozenset({"active"}), captures=False),
    )  # fmt: skip
    found = [hit.id for hit in find(indexes, scope, query).hits if hit.type == "record"]
    own = _terms(text)
    alike = {
        id_: _alike(own, _terms(head.gist))
        for id_, head in store.heads(scope, found).items()
        if head.attrs.get(FOOTPRINT)
    }
    near = [id_ for id_, share in alike.items() if share]
    return sorted(near, key=lambda id_: (-alike[id_], id_))


def _terms(text: str) -> set[str]:
    """Return the terms of a text without what says the same one way or the other."""
    return set(terms(fold(text).translate(_SMALL)))


def _alike(one: set[str], other: set[str]) -> float:
    """Return the share of terms that two texts have in common; 0.0 when it is too small."""
    shared, shorter = len(one & other), min(len(one), len(other))
    share = shared / max(1, len(one | other))
    return share if shared >= _WITHIN * shorter and share >= _ALIKE else 0.0
