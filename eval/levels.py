"""The retrieval levels as systems: what they really show in each budget, through the door."""

import time
from collections.abc import Iterable, Sequence
from typing import Literal

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import Query
from shiyi.eval.measures import Answer
from shiyi.eval.results import Outcome
from shiyi.eval.shelf import Shelf
from shiyi.retrieval.level_results import DeepResult, ProbeResult
from shiyi.retrieval.search import MAX_QUERY

Level = Literal["probe", "probe-topdown", "deep"]
_MOST = 1_000_000  # tokens; as good as no bound


class LevelSystem:
    """A level asked once for each budget; what it shows with a budget without bound is its list."""

    def __init__(self, level: Level, shelf: Shelf) -> None:
        self._level, self._shelf = level, shelf

    def answer(self, query: Query, depth: int, budgets: Sequence[int]) -> Answer:
        """Ask. Of a text that is too long for a query, its end is asked for."""
        start = time.perf_counter()
        try:
            whole = self._ask(query, depth, _MOST)
        except UsageError:  # nothing in it that could be looked for
            return Answer(query=query, outcome="empty", found=())
        seconds = time.perf_counter() - start
        return Answer(
            query=query,
            outcome=_outcome(whole),
            found=self._names(query, whole),
            shown={
                budget: self._names(query, self._ask(query, depth, budget)) for budget in budgets
            },
            seconds=seconds,
        )

    def _ask(self, query: Query, depth: int, budget: int) -> ProbeResult | DeepResult:
        door, scope, text = self._shelf.door, self._shelf.scope_of(query), query.text[-MAX_QUERY:]
        limit, now = max(depth, 50), self._shelf.now_of(query)
        if self._level == "deep":
            return door.deep(scope, text, budget=budget, limit=limit, now=now)
        order: Literal["value", "top"] = "top" if self._level == "probe-topdown" else "value"
        return door.probe(scope, text, budget=budget, limit=limit, now=now, order=order)

    def _names(self, query: Query, result: ProbeResult | DeepResult) -> list[str]:
        found = self._shelf.named(self._shelf.scope_of(query), _shown(result))
        return list(dict.fromkeys(found))


def _shown(result: ProbeResult | DeepResult) -> Iterable[str]:
    """Yield the ids of which more than the id is shown, in the order shown."""
    if isinstance(result, DeepResult):
        yield from (fragment.id for fragment in result.fragments)
        return
    rooms = (result.records, result.related, result.entities, result.facets, result.beside)
    for card in (card for room in rooms for card in room):
        if card.text is not None:
            yield from (card.id, *(card.also or ()))


def _outcome(result: ProbeResult | DeepResult) -> Outcome:
    if result.outcome != "found":
        return "empty"
    return "weak" if result.weak else "found"
