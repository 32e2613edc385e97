"""The index is a function of the store: any history answers as a fresh build does."""

import shutil
from collections.abc import Callable, Sequence
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import ModelUnavailableError
from shiyi.indexer.generation import scope_directory
from shiyi.indexer.index import Filter
from shiyi.lifecycle.edit import edit
from shiyi.models.calibration import fit_calibration
from shiyi.models.encoder import Encoder
from shiyi.models.hashing import HashingEncoder
from shiyi.models.interaction import Embedded, Vectors, directions, signs
from shiyi.retrieval import fuse as fuse_module
from shiyi.retrieval.results import PARTS
from tests.examples import few

WORDS = [
    "今天",
    "下雨",
    "咖啡",
    "計程車",
    "王小明",
    "RTX4090",
    "0912-345-678",
    "coffee",
    "walks",
    "。",
    "電話",
]
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
LONG = st.builds(lambda text: f"{text}。" * 60, TEXT)
NAME = st.integers(0, 7)
STEP = st.one_of(
    st.tuples(st.just("capture"), NAME, st.one_of(TEXT, LONG), st.none() | NAME),
    st.tuples(st.just("record"), NAME, TEXT, st.sampled_from(["core", "self", "note"])),
    st.tuples(st.just("edit"), NAME, TEXT, st.sampled_from(["active", "archived"])),
    st.tuples(st.just("quote"), NAME, NAME),
    st.tuples(st.just("say"), TEXT, st.sampled_from(["a", "b", None])),
    st.tuples(st.just("search"), TEXT),
    st.tuples(st.just("reindex"), st.booleans()),
    st.tuples(st.just("reopen")),
)
FILTERS = [
    Filter(),
    Filter(statuses=frozenset({"active"}), topics=frozenset({"咖啡"})),
    Filter(layers=frozenset({"self"}), since=date(2026, 1, 2), until=date(2026, 1, 5)),
]
QUERIES = [
    "咖啡 coffee",
    "0912 345 678",
    "今天王小明坐出租車",
    "walking",
    "RTX4090 電話",
    "海底撈月",
]
ONE_STORE = settings(
    max_examples=few(6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SCOPES = count()


class Telling(HashingEncoder):
    """The encoder for tests, which tells words as tokens."""

    def embed_passages(self, texts: Sequence[str], *, quickly: bool = False) -> Embedded[Any]:
        del quickly  # there is one way
        rows = [self.encode_passages(text.split()) for text in texts]
        return Embedded(self.encode_passages(texts), [signs(row, self.centre) for row in rows])

    def embed_queries(self, texts: Sequence[str]) -> Embedded[Any]:
        rows = [self.encode_queries(text.split()) for text in texts]
        return Embedded(self.encode_queries(texts), [directions(row, self.centre) for row in rows])

    @property
    def centre(self) -> Vectors:
        return np.zeros(self.dimension, np.float32)


def calibrated() -> Encoder:
    """The encoder for tests with constants of its own, so that it can find nothing, too."""
    encoder = Telling()
    texts = [" ".join(WORDS[n:]) for n in range(len(WORDS))]
    encoder.calibration = fit_calibration(encoder, texts, WORDS, sources="tests")
    return encoder


def no_encoder() -> Encoder:
    raise ModelUnavailableError("No model.")


class Player:
    """Does steps to one scope; steps that make no sense yet do nothing."""

    def __init__(self, memory: Any, scope: str) -> None:
        self.memory, self.scope = memory, scope
        self.captures: dict[int, str] = {}
        self.records: dict[int, str] = {}

    def play(self, step: tuple[Any, ...]) -> None:
        getattr(self, step[0])(*step[1:])

    def capture(self, name: int, text: str, previous: int | None) -> None:
        if name not in self.captures:
            before = {} if previous in {None, name} else {"previous": f"c{previous}"}
            self.captures[name] = self.memory.capture(f"c{name}", text, self.scope, **before)

    def record(self, name: int, text: str, layer: str) -> None:
        if name not in self.records:
            self.records[name] = self.memory.record(
                f"r{name}", text, self.scope, layer=layer, topics=("咖啡",) if name % 2 else (),
                date_start=date(2026, 1, name + 1) if name % 3 else None,
            )  # fmt: skip

    def edit(self, name: int, text: str, status: str) -> None:
        if name in self.records:
            fields = {"gist": text, "status": status}
            edit(self.memory.store, self.scope, self.records[name], fields)

    def quote(self, record: int, capture: int) -> None:
        if record in self.records and capture in self.captures:
            ids = self.records[record], self.captures[capture]
            self.memory.quote(*ids, 0, 5, self.scope)

    def say(self, text: str, session: str | None) -> None:
        self.memory.say(text, self.scope, session=session)

    def search(self, text: str) -> None:
        self.memory.search(f"{text} 雨", self.scope)

    def reindex(self, full: bool) -> None:
        keywords_only = self.memory.load is no_encoder
        self.memory.indexes.reindex(self.scope, full=full, keywords_only=keywords_only)

    def reopen(self) -> None:
        self.memory.reopen()

    def answers(self) -> list[dict[str, Any]]:
        found = [
            self.memory.search(query, self.scope, filter=filter_, limit=limit)
            for query in QUERIES
            for filter_, limit in zip(FILTERS, (20, 20, 5), strict=True)
        ]
        return [one.model_dump() for one in found]


def test_the_best_are_met_token_by_token(by_meaning: Any) -> None:
    """The part says so and belongs to the score; by meaning alone there is none."""
    for n, text in enumerate(("咖啡 coffee 今天", "下雨 walks", "今天 下雨 咖啡 電話", "王小明")):
        by_meaning.capture(f"c{n}", text)

    hits = by_meaning.search("咖啡 今天", weak=True).hits

    assert max(hit.parts.interaction for hit in hits) > 0
    for hit in hits:
        assert hit.score == pytest.approx(sum(getattr(hit.parts, name) for name in PARTS), abs=1e-5)
    alone = by_meaning.search("咖啡 今天", weak=True, channels=frozenset({"dense"})).hits
    assert alone
    assert not any(hit.parts.interaction for hit in alone)
    nothing = Filter(topics=frozenset({"none"}))
    assert by_meaning.search("咖啡 今天", weak=True, filter=nothing).hits == []


@pytest.mark.parametrize("lost", ["the directory", "a row"])
def test_what_was_lost_of_the_kept_vectors_is_made_again(by_meaning: Any, lost: str) -> None:
    """Tokens are compared all the same, and the answer is what it was; so it is after a rebuild."""
    texts = ("咖啡 coffee 今天", "下雨 walks", "今天 下雨 咖啡 電話", "王小明")
    for n, text in enumerate(texts):
        by_meaning.capture(f"c{n}", text)
    by_meaning.indexes.reindex("me")
    before = by_meaning.search("咖啡 今天", weak=True)
    assert max(hit.parts.interaction for hit in before.hits) > 0

    by_meaning.indexes.close()
    rows = next(by_meaning.home.glob("vectors/*/rows.bin"))
    if lost == "a row":
        rows.write_bytes(bytes(1) + rows.read_bytes()[1:])
    else:
        shutil.rmtree(by_meaning.home / "vectors")
    by_meaning.reopen()

    assert by_meaning.search("咖啡 今天", weak=True) == before
    assert by_meaning.search("咖啡 今天", weak=True) == before
    by_meaning.indexes.reindex("me")
    assert by_meaning.search("咖啡 今天", weak=True) == before


@pytest.fixture
def by_meaning(make_memory: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(fuse_module, "_INTERACTING", 4)  # of the few documents here
    return make_memory(calibrated)


@pytest.fixture
def by_words(make_memory: Callable[..., Any]) -> Any:
    return make_memory(no_encoder)


def same_from_any_history(memory: Any, steps: list[tuple[Any, ...]]) -> None:
    player = Player(memory, f"s{next(SCOPES)}")
    for step in steps:
        player.play(step)
    live = player.answers()
    memory.reopen()
    assert player.answers() == live
    player.reindex(full=False)
    assert player.answers() == live
    player.reindex(full=True)
    memory.reopen()
    assert player.answers() == live


@ONE_STORE
@given(steps=st.lists(STEP, min_size=3, max_size=20))
def test_any_history_answers_as_a_rebuild_does(
    by_meaning: Any, steps: list[tuple[Any, ...]]
) -> None:
    """Words, edits, quotes, late turns and reopening: live, reopened and rebuilt answers agree."""
    same_from_any_history(by_meaning, steps)


@ONE_STORE
@given(steps=st.lists(STEP, min_size=3, max_size=20))
def test_any_history_answers_as_a_rebuild_does_without_a_model(
    by_words: Any, steps: list[tuple[Any, ...]]
) -> None:
    """With keywords alone, too, the history of an index leaves no trace in its answers."""
    same_from_any_history(by_words, steps)


@ONE_STORE
@given(steps=st.lists(STEP, min_size=3, max_size=20))
def test_any_history_builds_the_same_bytes_twice(
    by_meaning: Any, steps: list[tuple[Any, ...]]
) -> None:
    """What a generation holds depends on the store alone, not on the build before it."""
    player = Player(by_meaning, f"s{next(SCOPES)}")
    for step in steps:
        player.play(step)
    builds = []
    for _ in range(2):
        player.reindex(full=True)
        builds.append(files_of_index(by_meaning.home, player.scope))

    assert builds[0] == builds[1]


def files_of_index(home: Path, scope: str) -> dict[Path, bytes]:
    """Return every file of the scope's index; none where nothing was ever kept."""
    return {
        file: file.read_bytes()
        for file in scope_directory(home, scope).rglob("*")
        if file.is_file()
    }


def test_a_turn_that_came_before_the_one_it_answers(make_memory: Callable[..., Any]) -> None:
    """A reply that is kept before what it replies to is embedded with it once that is there."""
    memory = make_memory(calibrated)
    memory.capture("filler", "今天下雨")
    memory.indexes.reindex("me")
    memory.capture("later", "好的，明天見。", previous="earlier")
    memory.search("咖啡")
    memory.indexes.reindex("me")
    memory.capture("last", "再見。", previous="later")
    memory.search("咖啡")
    memory.capture("earlier", "我們去喝咖啡吧。")
    live = memory.search("咖啡").hits
    memory.indexes.reindex("me", full=True)

    assert memory.search("咖啡").hits == live
    assert live[0].snippet.text == "我們去喝咖啡吧。"
    replies = [hit for hit in live if hit.snippet.text == "好的，明天見。"]
    assert replies[0].parts.neighbour > 0


def test_the_store_alone_decides(make_memory: Callable[..., Any]) -> None:
    """Another process that only reads the same home answers the same."""
    memory = make_memory(calibrated)
    for n in range(10):
        memory.say(f"{WORDS[n]} {WORDS[n - 1]}", session="s")
    memory.indexes.reindex("me")
    memory.say("後來又喝了咖啡", session="s")
    before = [memory.search(query).model_dump() for query in QUERIES]
    memory.close()
    other = make_memory(calibrated, memory.home)

    assert [other.search(query).model_dump() for query in QUERIES] == before
