"""Associations: by ties alone, each with its path, apart from the ranking, in one scope."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import ModelUnavailableError
from shiyi.core.ids import derived_id
from shiyi.indexer.generation import scope_directory
from shiyi.indexer.index import Filter
from shiyi.lifecycle.edit import edit
from shiyi.models.encoder import Encoder
from shiyi.retrieval.associate import MOST, Association, associate
from shiyi.store import Link, Transaction
from tests.examples import few

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ACTIVE = Filter(statuses=frozenset({"active"}))


def no_encoder() -> Encoder:
    raise ModelUnavailableError("No model.")


@pytest.fixture
def by_words(make_memory: Callable[..., Any]) -> Any:
    return make_memory(no_encoder)


def tie(
    memory: Any, source: str, relation: str, *targets: str, scope: str = "me", quoted: bool = False
) -> None:
    """Link a record to others, or to captures, by the names they were made with."""
    span = (0, 1) if quoted else (-1, -1)
    links = [
        Link(
            scope=scope, src=derived_id(scope, source), rel=relation,
            dst=derived_id(scope, target), span_start=span[0], span_end=span[1],
        )
        for target in targets
    ]  # fmt: skip

    def add(transaction: Transaction) -> dict[str, Any]:
        transaction.add_links(links)
        return {}

    memory.store.write(scope, add)


def entity(memory: Any, name: str, title: str, scope: str = "me", **given: Any) -> str:
    """Keep the record of an entity."""
    made: str = memory.record(name, f"{title}。", scope, kind="entity", title=title, **given)
    return made


def recall(
    memory: Any, text: str, scope: str = "me", shown: int = 8, filter_: Filter = ACTIVE
) -> list[Association]:
    """Search, and return what the question brings to mind besides."""
    hits = memory.search(text, scope, filter=filter_, weak=True, limit=20).hits
    index = memory.indexes.get(scope, vectors=False)
    return associate(
        index, memory.store, text, [(hit.id, hit.score) for hit in hits],
        shown={id_ for hit in hits[:shown] for id_ in (hit.id, *hit.also)},
        allowed=index.allowed(filter_, NOW),
    )  # fmt: skip


def titles(found: list[Association]) -> list[str]:
    return [one.title for one in found]


@pytest.mark.parametrize("question", ["又到書荒的時候", "书荒", "BOOK drought!"])
def test_an_alias_is_a_door_in_any_script(by_words: Any, question: str) -> None:
    """What shares no word with the question comes through the concept that it names."""
    entity(by_words, "drought", "書荒", aliases=("book drought",))
    by_words.record("cure", "向阿哲借了三體", title="三體")
    tie(by_words, "cure", "about", "drought")
    (found,) = recall(by_words, question)

    assert (found.id, found.type) == (derived_id("me", "cure"), "record")
    assert [(s.title, s.relation, s.backward) for s in found.path] == [
        ("書荒", None, False),
        ("三體", "about", True),
    ]
    assert 0 < found.score < 1


def test_a_path_goes_on_over_quotes_names_and_turns(by_words: Any) -> None:
    """From a hit to whom it names, to what was said of them, and to the turn after."""
    by_words.capture("bowl", "歪口的青瓷")
    by_words.record("gift", "送給阿嬤的第一件作品。", title="第一件作品")
    entity(by_words, "grandma", "阿嬤")
    by_words.capture("beans", "阿嬤每天數三遍")
    by_words.capture("after", "好多了", previous="beans")
    tie(by_words, "gift", "quotes", "bowl", quoted=True)
    found = {one.title: one for one in recall(by_words, "青瓷")}

    assert [(step.relation, step.backward) for step in found["好多了"].path] == [
        (None, False), ("names", False), ("names", True), ("follows", True),
    ]  # fmt: skip
    assert "阿嬤" not in found


def test_what_is_shown_hit_named_or_replaced_is_no_association(by_words: Any) -> None:
    """Neither the answer itself, nor the entity, nor what does not hold any more."""
    entity(by_words, "tea", "喝茶")
    for name, status in (("old", "superseded"), ("new", "active"), ("gone", "archived")):
        by_words.record(name, f"{name} statement", title=name, status=status)
    by_words.record("hit", "喝茶的習慣", title="hit")
    tie(by_words, "new", "supersedes", "old")
    tie(by_words, "old", "supersedes", "new")
    for name in ("old", "new", "gone", "hit"):
        tie(by_words, name, "about", "tea")

    assert titles(recall(by_words, "喝茶")) == ["new"]
    assert titles(recall(by_words, "喝茶", filter_=Filter())) == ["new", "gone"]


def test_a_memory_has_one_place(by_words: Any) -> None:
    """A record stands for the words it quotes, a turn for its dialogue, if none of it is shown."""
    entity(by_words, "tea", "喝茶")
    by_words.capture("words", "山上", external_id="words")
    by_words.record("drawn", "那年的事。", title="drawn")
    tie(by_words, "drawn", "quotes", "words", quoted=True)
    by_words.captures({"one": "第一句", "two": "第二句"}, session_id="s")
    by_words.captures({"seen": "喝茶嗎", "unseen": "第三句"}, session_id="t")
    for name in ("drawn", "words", "one", "two", "unseen"):
        tie(by_words, "tea", "mentions", name)
    found = {one.title: one for one in recall(by_words, "喝茶")}
    dialogue = next(one for title, one in found.items() if title != "drawn")

    assert len(found) == 2
    assert found["drawn"].also == (derived_id("me", "words"),)
    assert {dialogue.id, *dialogue.also} == {derived_id("me", "one"), derived_id("me", "two")}


def test_equal_associations_go_by_salience_then_date(by_words: Any) -> None:
    """Not by ids, which say nothing."""
    entity(by_words, "tea", "喝茶")
    for name, salience in (("low", 10), ("high", 90), ("middle", 50)):
        by_words.record(name, f"{name} one", title=name, salience=salience)
        tie(by_words, name, "about", "tea")

    assert titles(recall(by_words, "喝茶")) == ["high", "middle", "low"]


def test_a_hub_gives_no_more_than_a_few_and_the_quiet_tie_comes_first(by_words: Any) -> None:
    """Ten thousand ties to one entity do not drown the one tie to another."""
    entity(by_words, "everyone", "大家")
    entity(by_words, "friend", "阿哲")
    by_words.captures({f"c{n}": f"第{n}天" for n in range(10_000)})
    tie(by_words, "everyone", "mentions", *(f"c{n}" for n in range(10_000)))
    by_words.record("quiet", "欠一頓飯。", title="欠飯")
    tie(by_words, "quiet", "mentions", "friend")
    found = recall(by_words, "大家和阿哲")

    assert len(found) == MOST
    assert found[0].title == "欠飯"


def test_nothing_is_brought_to_mind_by_nothing(by_words: Any) -> None:
    """An empty scope, a sign, and a link to what was never kept give no association."""
    assert recall(by_words, "阿嬤") == []
    entity(by_words, "grandma", "阿嬤")
    tie(by_words, "grandma", "about", "never kept")
    by_words.record("beyond", "在那之後。", title="beyond")
    tie(by_words, "beyond", "about", "never kept")

    assert recall(by_words, "🙂") == []
    assert recall(by_words, "阿嬤") == []


@pytest.mark.parametrize("title", ["喝茶小鋪", "阿嬤"])
def test_a_hit_that_is_tied_to_nothing_takes_no_share(by_words: Any, title: str) -> None:
    """Be it that it names only itself, or that nothing else names it any more."""
    by_words.capture("after", "喝茶喝茶", previous="before")
    by_words.capture("before", "阿嬤好多了")
    alone = by_words.record("shop", "喝茶小鋪。", kind="entity", title=title)
    recall(by_words, "喝茶")
    edit(by_words.store, "me", alone, {"title": "喝茶館"})
    live = recall(by_words, "喝茶", shown=2)
    by_words.indexes.reindex("me", keywords_only=True, full=True)

    assert alone in {hit.id for hit in by_words.search("喝茶", filter=ACTIVE).hits[:2]}
    assert titles(live) == ["阿嬤好多了"]
    assert recall(by_words, "喝茶", shown=2) == live


def test_no_association_crosses_scopes(by_words: Any) -> None:
    """The same names and ids in another scope are another graph."""
    entity(by_words, "tea", "喝茶")
    entity(by_words, "tea", "喝茶", scope="other")
    by_words.record("secret", "別人的事。", "other", title="secret")
    tie(by_words, "secret", "about", "tea", scope="other")

    assert recall(by_words, "喝茶") == []
    assert titles(recall(by_words, "喝茶", "other")) == ["secret"]


def test_ties_are_no_part_of_the_ranking(by_words: Any) -> None:
    """A search answers the same with and without links beside the quotes."""
    entity(by_words, "tea", "喝茶")
    by_words.record("far", "山上的事。", title="far")
    before = by_words.search("喝茶").model_dump()
    tie(by_words, "far", "about", "tea")

    assert by_words.search("喝茶").model_dump() == before


NAME = st.integers(0, 5)
WORDS = st.lists(
    st.sampled_from(["阿嬤", "小魚", "小鱼", "Yvonne", "咖啡", "下雨", "AE-1"]), max_size=4
).map(" ".join)
CALLED = st.sampled_from(["阿嬤", "小魚", "yvonne", "AE-1", "雨"])
STEP = st.one_of(
    st.tuples(st.just("capture"), NAME, WORDS, st.none() | NAME),
    st.tuples(st.just("record"), NAME, WORDS, st.booleans()),
    st.tuples(st.just("call"), NAME, st.lists(CALLED, max_size=2), WORDS),
    st.tuples(st.just("tie"), NAME, st.sampled_from(["about", "supports"]), st.integers(0, 11)),
    st.tuples(st.just("recall")),
    st.tuples(st.just("reindex")),
    st.tuples(st.just("reopen")),
)
SCOPES = count()


class Player:
    """Does steps to one scope; steps that make no sense yet do nothing."""

    def __init__(self, memory: Any, scope: str) -> None:
        self.memory, self.scope = memory, scope
        self.made: set[str] = set()

    def play(self, step: tuple[Any, ...]) -> None:
        getattr(self, step[0])(*step[1:])

    def capture(self, name: int, text: str, previous: int | None) -> None:
        if f"c{name}" not in self.made:
            self.made.add(f"c{name}")
            before = {} if previous in {None, name} else {"previous": f"c{previous}"}
            self.memory.capture(f"c{name}", f"{text}。", self.scope, **before)

    def record(self, name: int, text: str, is_entity: bool) -> None:
        if f"r{name}" not in self.made:
            self.made.add(f"r{name}")
            kind = {"kind": "entity"} if is_entity else {}
            self.memory.record(f"r{name}", f"{text}。", self.scope, **kind)

    def call(self, name: int, aliases: list[str], gist: str) -> None:
        if f"r{name}" in self.made:
            fields = {"aliases": aliases, "gist": f"{gist}。"}
            edit(self.memory.store, self.scope, derived_id(self.scope, f"r{name}"), fields)

    def tie(self, source: int, relation: str, target: int) -> None:
        if f"r{source}" in self.made:
            other = f"r{target}" if target < 6 else f"c{target - 6}"
            tie(self.memory, f"r{source}", relation, other, scope=self.scope)

    def recall(self) -> list[list[Association]]:
        return [recall(self.memory, text, self.scope, shown=1) for text in ("阿嬤", "小魚 咖啡")]

    def reindex(self) -> None:
        self.memory.indexes.reindex(self.scope, keywords_only=True, full=True)

    def reopen(self) -> None:
        self.memory.reopen()

    def built(self) -> dict[str, bytes]:
        """Return the files of the graph of a fresh build."""
        self.reindex()
        files = scope_directory(self.memory.home, self.scope).rglob("*")
        return {file.name: file.read_bytes() for file in files if file.name != "CURRENT"
                and (file.name.startswith("graph") or file.name == "nodes.npy")}  # fmt: skip


@settings(
    max_examples=few(12),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEP, min_size=4, max_size=24))
def test_any_history_associates_as_a_rebuild_does(
    by_words: Any, steps: list[tuple[Any, ...]]
) -> None:
    """Links, names given and taken away, late turns: live, reopened and rebuilt answers agree."""
    player = Player(by_words, f"s{next(SCOPES)}")
    for step in steps:
        player.play(step)
    live = player.recall()
    player.reopen()
    assert player.recall() == live
    built = player.built()
    assert player.recall() == live
    player.reopen()
    assert player.recall() == live
    assert player.built() == built
    assert len(built) == 4
