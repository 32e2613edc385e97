"""When a probe looks: at a window of days, and at records as they stood at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from shiyi.indexer.documents import RECORD
from shiyi.indexer.index import ScopeIndex
from shiyi.retrieval.asof import Standing
from shiyi.retrieval.cards import CardDraft, restated
from shiyi.retrieval.window import Window
from shiyi.store import Record, Store


@dataclass(frozen=True, slots=True)
class Moment:
    """A window, and the records as of a time; None where nothing was asked.

    Words that were searched are those of today; what is shown is what stood.
    """

    window: Window | None = None
    standing: Standing | None = None

    def __bool__(self) -> bool:
        """Tell whether anything was asked."""
        return self.window is not None or self.standing is not None

    def seen(
        self, store: Store, index: ScopeIndex, drafts: Mapping[str, CardDraft]
    ) -> dict[str, CardDraft]:
        """Return the cards that were there, as they were, those of records in doubt marked."""
        if not self:
            return dict(drafts)
        as_of = None if self.standing is None else self.standing.as_of
        heads = store.heads(index.scope, [id_ for id_ in drafts if _is_record(index, id_)],
                            as_of=as_of)  # fmt: skip
        found: dict[str, CardDraft] = {}
        for id_, draft in drafts.items():
            if not _is_record(index, id_):
                if as_of is None or _kept_by(index, id_, as_of):
                    found[id_] = draft
            elif id_ in heads and self._fits(heads[id_], draft):
                found[id_] = draft
        return found

    def _fits(self, head: Record, draft: CardDraft) -> bool:
        """Tell whether a record holds at that time, and bring its card to what it said."""
        if self.standing is not None:
            places = self.standing.places([head.record_id])
            if not len(places) or not np.all(self.standing.current()[places]):
                return False
            restated(draft, head)
        fit = self.window.fit(head) if self.window else "certain"
        if fit == "possible":
            draft.fields["fit"] = fit
        return fit is not None


ALWAYS = Moment()


def _is_record(index: ScopeIndex, id_: str) -> bool:
    return bool(index.find(RECORD, id_))


def _kept_by(index: ScopeIndex, id_: str, as_of: datetime) -> bool:
    slots = index.find(1 - RECORD, id_)
    return bool(slots) and datetime.fromisoformat(index.card(slots[0])["recorded_at"]) <= as_of
