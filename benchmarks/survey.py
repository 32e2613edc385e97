"""Row 15, maps: a survey of a whole scope against one plain hybrid query in it."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpus, homes
from benchmarks.hybrid import Searcher
from benchmarks.measure import Result, Row, in_turn, milliseconds
from shiyi.core.ids import derived_id
from shiyi.core.iterate import batched
from shiyi.indexer.analyze import analyzer_fingerprint
from shiyi.indexer.generation import FORMAT
from shiyi.indexer.indexes import Indexes
from shiyi.models.tokens import get_counter
from shiyi.retrieval.listing import Page
from shiyi.retrieval.maps import Desk, survey
from shiyi.retrieval.short_ids import ShortIds
from shiyi.retrieval.standings import Standings
from shiyi.store import Record, Store, Transaction
from shiyi.store.kinds import KINDS

_VERSION = 1
_SCOPE = "all"
_BUDGET = 48_000
_JUDGED = 100_000
_ROUNDS = 20
_WRITE = 5000
_PHASES = 12
_START = date(2008, 1, 1)
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Result]:
    """Measure surveys of scopes of up to 100,000 records."""
    for size in (size for size in sizes if size <= _JUDGED and 15 in wanted):
        asked = corpus.queries(2 * _ROUNDS, size)
        with _copy_of(_home_of(size)) as home:
            ours = Searcher(home, asked, corpus.vectors(size)[1])
            try:
                found = _measured(ours, asked, size)
            finally:
                ours.close()
        for name, when in (("again", ""), ("first", ", the first after a write")):
            yield Row(
                row=15,
                what=f"survey within {_BUDGET:,} tokens{when}, against a plain hybrid query",
                size=size,
                measured=found[name] / found["search"],
                limit=5.0 if size == _JUDGED else None,
                ours=milliseconds(found[name]),
                peer=milliseconds(found["search"]),
            )


def _measured(ours: Searcher, asked: Sequence[str], size: int) -> dict[str, float]:
    """Return what a survey takes after a write and again, and a query that is asked again."""
    standings = Standings(ours.store)

    def write(position: int) -> None:
        number = size + position
        _write(ours.store, [_record(number, f"今天下雨，喝咖啡 {number}", size)])

    def survey_(_position: int) -> object:
        return _survey(ours, standings)

    def search_(position: int) -> object:
        return ours.search(_SCOPE, asked[position])

    return in_turn(
        {"write": write, "first": survey_, "again": survey_, "warm": search_, "search": search_},
        rounds=_ROUNDS,
        warm=range(_ROUNDS, 2 * _ROUNDS),
    )


def _survey(ours: Searcher, standings: Standings) -> object:
    desk = Desk(
        store=ours.store, standings=standings, standing=standings.at(_SCOPE, now=_NOW),
        counter=get_counter(), page=Page(budget=_BUDGET, format="markdown"),
        short=ShortIds(ours.indexes.get(_SCOPE, vectors=False)).of,
    )  # fmt: skip
    return survey(desk)


@contextmanager
def _copy_of(home: Path) -> Iterator[Path]:
    """Lend a home to write in."""
    with tempfile.TemporaryDirectory(dir=corpus.cache_directory()) as directory:
        yield shutil.copytree(home, Path(directory) / "home")


def _home_of(count: int) -> Path:
    """Return a home of `count` records of every kind in twelve phases, built once and kept."""
    name = f"records-{_VERSION}-{analyzer_fingerprint()}-{FORMAT}-{count}"
    home = corpus.cache_directory() / name
    if not home.exists():
        building = home.with_suffix(".building")
        shutil.rmtree(building, ignore_errors=True)
        with Store(building, create=True) as store:
            for batch in batched(enumerate(corpus.texts(count)), _WRITE):
                _write(store, [_record(number, text, count) for number, text in batch])
            encoder = homes.StubEncoder()
            indexes = Indexes(store, lambda: encoder)
            indexes.reindex(_SCOPE)
            indexes.close()
            store.checkpoint()
        building.rename(home)
    return home


def _write(store: Store, records: list[Record]) -> None:
    def act(transaction: Transaction) -> dict[str, Any]:
        transaction.add_records(records)
        return {}

    store.write(_SCOPE, act)


def _record(number: int, text: str, count: int) -> Record:
    chance = np.random.default_rng(number)
    day = _START + timedelta(days=number * 6500 // count)
    dated = number % 10 > 0
    return Record(
        scope=_SCOPE, record_id=derived_id(_SCOPE, str(number)), version=1,
        kind=KINDS[int(chance.integers(len(KINDS)))], layer="core", title=text[:16], gist=text,
        topics=(text[:2], text[2:4]), salience=int(chance.integers(101)),
        date_start=day if dated else None, date_end=day if dated else None,
        date_precision="day" if dated else "unknown",
        phase=f"phase {number * _PHASES // count}" if number % 3 else None,
        created_at=_NOW, updated_at=_NOW,
    )  # fmt: skip
