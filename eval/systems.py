"""The systems that are compared. A new one is one small class, and a line in SYSTEMS."""

import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import jieba
import numpy as np
from rank_bm25 import BM25Okapi

from shiyi.core.errors import UsageError
from shiyi.core.files import make_private_directory
from shiyi.eval.dataset import Document, Query
from shiyi.eval.door import Channel
from shiyi.eval.levels import LevelSystem
from shiyi.eval.measures import Answer
from shiyi.eval.results import Outcome
from shiyi.eval.shelf import Shelf
from shiyi.eval.writing import writing
from shiyi.models.cache import default_cache
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.pack import pack
from shiyi.retrieval.results import SearchResult
from shiyi.retrieval.search import MAX_QUERY

__all__ = ["SYSTEMS", "System", "make_system"]
_DEPTH = 50  # documents found at the least, so that large budgets have something to show


class System(Protocol):
    """Something that ranks documents for a query. It sees what the shelf holds by then."""

    def answer(self, query: Query, depth: int, budgets: Sequence[int]) -> Answer:
        """Return at least `depth` documents, if it finds so many, and those in each budget."""
        ...


class _Search:
    """Shiyi's search by one or both channels, through the door that everyone uses."""

    def __init__(self, channel: Channel, shelf: Shelf, counter: TokenCounter) -> None:
        self._channel, self._shelf, self._counter = channel, shelf, counter

    def answer(self, query: Query, depth: int, budgets: Sequence[int]) -> Answer:
        """Search. Of a text that is too long for a query, its end is asked for."""
        text = query.text[-MAX_QUERY:]
        scope = self._shelf.scope_of(query)
        start = time.perf_counter()
        try:
            result = self._shelf.door.search(
                scope, text, channel=self._channel, limit=max(depth, _DEPTH),
                now=self._shelf.now_of(query),
            )  # fmt: skip
        except UsageError:  # nothing in it that could be looked for
            return Answer(query=query, outcome="empty", found=())
        seconds = time.perf_counter() - start
        names = self._shelf.names(scope)

        def ids(hits: Sequence[Any]) -> list[str]:
            found = (names.get(id_) for hit in hits for id_ in (hit.id, *hit.also))
            return [name for name in found if name is not None]

        return Answer(
            query=query,
            outcome=_outcome(result),
            found=ids(result.hits),
            # What the door would return for the budget: it packs the same result.
            shown={budget: ids(pack(result, budget, self._counter).hits) for budget in budgets},
            seconds=seconds,
        )


def _outcome(result: SearchResult) -> Outcome:
    """Return how an answer counts; one that a missing model leaves without a hit is empty."""
    if result.outcome != "found":
        return "empty"
    return "weak" if result.weak else "found"


class _Plain(ABC):
    """A system that ranks whole documents and fills a budget with them from the top."""

    def __init__(self, shelf: Shelf, counter: TokenCounter) -> None:
        self._shelf, self._counter = shelf, counter
        self._seen: dict[str, int] = {}
        self._ready: dict[str, Any] = {}

    def answer(self, query: Query, depth: int, budgets: Sequence[int]) -> Answer:
        """Rank what the shelf holds in the query's scope."""
        scope = self._shelf.scope_of(query)
        documents = self._shelf.documents(scope)
        if documents and self._seen.get(scope) != len(documents):
            self._seen[scope] = len(documents)
            self._ready[scope] = self.prepare(documents)
        start = time.perf_counter()
        scores = self.scores(self._ready[scope], query.text) if documents else np.zeros(0)
        order = np.lexsort((np.arange(len(scores)), -scores))[: max(depth, _DEPTH)]
        found = [documents[place] for place in order.tolist() if scores[place] > 0]
        seconds = time.perf_counter() - start
        return _plain_answer(query, found, budgets, self._counter, seconds)

    @abstractmethod
    def prepare(self, documents: Sequence[Document]) -> Any:
        """Return what scoring needs."""

    @abstractmethod
    def scores(self, ready: Any, text: str) -> Any:
        """Return the score of each document, float (n,); 0 where nothing matches."""


class Grep(_Plain):
    """The number of the query's words that stand in a document as they are."""

    def prepare(self, documents: Sequence[Document]) -> Any:
        """Return the texts in lower case."""
        return [document.text.lower() for document in documents]

    def scores(self, ready: Any, text: str) -> Any:
        """Count the words; one character alone is no word to look for."""
        words = {word for word in _cut(text) if len(word) > 1}
        return np.array([sum(word in one for word in words) for one in ready], float)


class Okapi(_Plain):
    """rank_bm25's BM25Okapi as it comes, over jieba's words, with no folding."""

    def prepare(self, documents: Sequence[Document]) -> Any:
        """Return the fitted index."""
        return BM25Okapi([_cut(document.text) or [""] for document in documents])

    def scores(self, ready: Any, text: str) -> Any:
        """Score all documents; the epsilon of Okapi may leave some below zero."""
        return ready.get_scores(_cut(text))


class RunFile:
    """What another engine has found, in the file of a TREC run: query id → document ids."""

    def __init__(
        self, found: Mapping[str, Sequence[str]], shelf: Shelf, counter: TokenCounter
    ) -> None:
        self._found, self._shelf, self._counter = found, shelf, counter

    def answer(self, query: Query, depth: int, budgets: Sequence[int]) -> Answer:
        """Return what the file has for the query, of what the shelf holds in its scope."""
        there = {one.id: one for one in self._shelf.documents(self._shelf.scope_of(query))}
        found = [there[id_] for id_ in self._found.get(query.id, ()) if id_ in there]
        return _plain_answer(query, found[: max(depth, _DEPTH)], budgets, self._counter, 0.0)


def _plain_answer(
    query: Query, found: Sequence[Document], budgets: Sequence[int], counter: TokenCounter,
    seconds: float,
) -> Answer:  # fmt: skip
    """Return the answer of a system that shows whole documents from the top."""
    return Answer(
        query=query,
        outcome="found" if found else "empty",
        found=[document.id for document in found],
        shown={budget: _fitting(found, budget, counter) for budget in budgets},
        seconds=seconds,
    )


def _fitting(documents: Sequence[Document], budget: int, counter: TokenCounter) -> list[str]:
    """Return the longest run of documents whose ids and texts, as JSON, fit the budget."""
    fitting: list[str] = []
    used = 0
    for document in documents:
        line = json.dumps({"id": document.id, "text": document.text}, ensure_ascii=False)
        used += counter.count(f"{line}\n")
        if used > budget:
            break
        fitting.append(document.id)
    return fitting


_Make = Callable[[Shelf, TokenCounter], System]
SYSTEMS: Mapping[str, _Make] = {
    "grep": Grep,
    "okapi": Okapi,
    "bm25": lambda shelf, counter: _Search("keyword", shelf, counter),
    "dense": lambda shelf, counter: _Search("dense", shelf, counter),
    "hybrid": lambda shelf, counter: _Search("hybrid", shelf, counter),
    "probe": lambda shelf, _: LevelSystem("probe", shelf),
    "probe-topdown": lambda shelf, _: LevelSystem("probe-topdown", shelf),
    "deep": lambda shelf, _: LevelSystem("deep", shelf),
}


def make_system(name: str, shelf: Shelf, counter: TokenCounter) -> System:
    """Return a system by its name; raises UsageError when there is none."""
    if name not in SYSTEMS:
        raise UsageError(f"There is no system {name!r}; there are {', '.join(SYSTEMS)}.")
    return SYSTEMS[name](shelf, counter)


def _cut(text: str) -> list[str]:
    return [word for word in _tokenizer().lcut(text.lower()) if any(map(str.isalnum, word))]


@cache
def _tokenizer() -> Any:
    """Return jieba as it comes; only its dictionary is kept where nobody else can put one."""
    directory = Path(default_cache()) / "jieba"
    jieba.setLogLevel(logging.CRITICAL)
    tokenizer = jieba.Tokenizer()
    with writing(directory):
        tokenizer.tmp_dir = str(make_private_directory(directory))
    tokenizer.cache_file = f"dictionary-{version('jieba')}"
    return tokenizer
