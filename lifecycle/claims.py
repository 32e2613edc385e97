"""Claims that were corrected, and that are said again."""

from collections.abc import Iterable

from shiyi.core.text import text_sha256
from shiyi.indexer.fold import fold
from shiyi.store import Record, Store

# How things stand and what was done comes back without anybody having been wrong.
_RECURRING = ("state", "entity", "facet", "followup", "checkpoint", "handoff")


def claims_of(records: Iterable[Record]) -> list[tuple[str, str]]:
    """Return (claim, record) of what records say, for the store to know it again."""
    return [
        (_claim(record), record.record_id) for record in records if record.kind not in _RECURRING
    ]


def said_again(store: Store, record: Record) -> list[str]:
    """Return a sentence for each record that said the same, word for word, and was corrected."""
    if record.kind in _RECURRING:
        return []
    ids = [id_ for id_ in store.corrected(record.scope, _claim(record)) if id_ != record.record_id]
    into = store.links_to(record.scope, ids, rels=["supersedes", "contradicts"])
    return [
        f"{id_} said the same and was corrected: {link.src} {link.rel} it"
        f"{f' ({reason})' if (reason := link.attrs.get('reason')) else ''}."
        for id_ in ids
        for link in into.get(id_, [])
    ]


def _claim(record: Record) -> str:
    """Return the SHA-256 of the words of a gist; blanks and marks at its ends do not count."""
    return text_sha256(" ".join(fold(record.gist).split()).strip("。．.！!？?；;，, "))
