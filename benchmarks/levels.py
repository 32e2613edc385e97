"""Row 14, cards: a probe with its usual budget against a plain hybrid query, at the same place."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import corpus, homes
from benchmarks.hybrid import K, Searcher
from benchmarks.measure import Result, Row, in_turn, milliseconds
from shiyi.indexer.indexes import Indexes
from shiyi.models.tokens import get_counter
from shiyi.retrieval.probe import Probe, probe
from shiyi.retrieval.query import Query
from shiyi.retrieval.search import search
from shiyi.service.session import Session
from shiyi.service.trial import Trial
from shiyi.store import Store

_JUDGED = 100_000
_ROUNDS = 60
_LIMIT, _BUDGET = 50, 80_000  # as `shiyi probe` has them
_SAMPLE = Path(__file__).resolve().parents[1] / "eval" / "data" / "sample"
_NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_Ask = Callable[[str], object]


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure probes of up to 100,000 documents, and of the sample archive with its links."""
    if 14 not in wanted:
        return
    for size in (size for size in sizes if size <= _JUDGED):
        asked = corpus.queries(2 * _ROUNDS, size)
        ours = Searcher(homes.home_of(size), asked, corpus.vectors(size)[1])
        try:
            limit = 3.0 if size == _JUDGED else None
            yield _row(_ways(ours.indexes, ours.store, homes.ALL), asked, size, limit)
        finally:
            ours.close()
    if max(sizes) >= _JUDGED:
        yield from _of_sample()


def _of_sample() -> Iterator[Result]:
    lines = (_SAMPLE / "queries.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line)["text"] for line in lines][: 2 * _ROUNDS]
    with (
        tempfile.TemporaryDirectory(prefix="shiyi-bench-") as directory,
        Session(Path(directory) / "home", create=True) as session,
    ):
        trial = Trial(session, words_only=False)
        trial.take_vectors()
        trial.take_in(_SAMPLE, "sample")
        trial.index(["sample"])
        ways = _ways(session.indexes, session.store, "sample")
        size = len(session.indexes.get("sample"))
        yield _row(ways, asked, size, 3.0, notes="the sample archive, the query embedded in both")


def _ways(indexes: Indexes, store: Store, scope: str) -> tuple[_Ask, _Ask]:
    """Return a probe and a plain query; whatever is nearest is an answer to both."""
    counter = get_counter()

    def ask(text: str) -> object:
        query = Query(text=text, limit=_LIMIT, weak=True, now=_NOW)
        return probe(indexes, store, scope, Probe(queries=[query], budget=_BUDGET), counter)

    def find(text: str) -> object:
        return search(indexes, scope, Query(text=text, limit=K, weak=True, now=_NOW), counter)

    return ask, find


def _row(
    ways: tuple[_Ask, _Ask], asked: Sequence[str], size: int, limit: float | None, notes: str = ""
) -> Row:
    ask, find = ways
    found = in_turn(
        {"probe": lambda i: ask(asked[i]), "search": lambda i: find(asked[i])},
        rounds=_ROUNDS,
        warm=range(_ROUNDS, 2 * _ROUNDS),
    )
    return Row(
        row=14,
        what=f"probe within {_BUDGET:,} tokens, against a plain hybrid query",
        size=size,
        measured=found["probe"] / found["search"],
        limit=limit,
        ours=milliseconds(found["probe"]),
        peer=milliseconds(found["search"]),
        notes=notes,
    )
