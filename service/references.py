"""What is meant when something is named: a whole id, the beginning of one, or a source's name."""

from collections.abc import Sequence
from dataclasses import dataclass

from shiyi.core.ids import is_id
from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.index import ScopeIndex
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.retrieval.short_ids import ShortIds


@dataclass(frozen=True, slots=True)
class Named:
    """The ids that were meant, each once, and the names that stand for nothing here."""

    ids: list[str]
    unknown: list[str]


def named(index: ScopeIndex, references: Sequence[str]) -> Named:
    """Return what each reference means in the scope of the index.

    Raises UsageError for the beginning of several ids.
    """
    short = ShortIds(index)
    found = {text: _meant(index, short, text) for text in references}
    ids = dict.fromkeys(id_ for id_ in found.values() if id_ is not None)
    return Named(list(ids), [text for text, id_ in found.items() if id_ is None])


def _meant(index: ScopeIndex, short: ShortIds, text: str) -> str | None:
    """Return the id of what a text names: by id or name first, then by the beginning of an id."""
    for kind, name in ((RECORD, record_id_of), (FRAGMENT, capture_id_of)):
        id_ = name(index.scope, text)
        if index.find(kind, id_):
            return id_
    return None if is_id(text) else short.resolve(text)
