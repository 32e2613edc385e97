"""What was purged never comes back: an import leaves it out, and says how much."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.readers import CaptureItem, FeedbackItem, Kept, LinkItem, RecordItem
from shiyi.store import Store

PURGED = "was purged, and stays away"
PURGED_QUOTES = "a quote of words that were purged"


def without_purged(
    store: Store, scope: str, items: Sequence[Kept], skipped: Counter[str]
) -> list[Kept]:
    """Return the items that were not purged, without quotes of words that were; count the rest."""
    named = {id_ for item in items for id_ in _ids_of(scope, item)}
    gone = store.purged.among(scope, sorted(named))
    if not gone:
        return list(items)
    kept: list[Kept] = []
    for item in items:
        own, *others = _ids_of(scope, item)
        touched = not gone.isdisjoint(others)
        if own in gone or (touched and isinstance(item, LinkItem | FeedbackItem)):
            skipped[PURGED] += 1
        elif touched and isinstance(item, RecordItem):
            stay = [q for q in item.quotes if capture_id_of(scope, q.capture) not in gone]
            skipped[PURGED_QUOTES] += len(item.quotes) - len(stay)
            kept.append(replace(item, quotes=tuple(stay)))
        else:
            kept.append(item)
    return kept


def _ids_of(scope: str, item: Kept) -> list[str]:
    """Return the id of an item, and those of what it quotes, leads to or is about."""
    if isinstance(item, CaptureItem):
        return [capture_id_of(scope, item.external_id or item.key)]
    if isinstance(item, RecordItem):
        own = record_id_of(scope, item.external_id or item.key)
        return [own, *(capture_id_of(scope, quote.capture) for quote in item.quotes)]
    if isinstance(item, FeedbackItem):
        about = [capture_id_of(scope, item.target), record_id_of(scope, item.target)]
        return ["", capture_id_of(scope, item.capture), *about]
    end_of = capture_id_of if item.rel == "quotes" else record_id_of
    return [record_id_of(scope, item.src), end_of(scope, item.dst)]
