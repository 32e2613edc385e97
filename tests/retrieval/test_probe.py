"""Cards within a budget: whole, ranked as search ranks, with what stands beside them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.core.ids import LEAST_SHORT
from shiyi.core.text import text_sha256
from shiyi.indexer.index import Filter
from shiyi.models.tokens import get_counter
from shiyi.retrieval.level_results import ProbeResult
from shiyi.retrieval.probe import Probe, probe
from shiyi.retrieval.query import Query
from shiyi.retrieval.relations import successors_first
from shiyi.retrieval.short_ids import ShortIds
from shiyi.store import Capture, Link
from tests.conftest import NOW, Memory
from tests.examples import few

WORDS = ("coffee", "咖啡", "阿嬤", "Lisbon", "birthday")


def tie(memory: Memory, source: str, rel: str, target: str) -> None:
    link = Link(scope="me", src=source, rel=rel, dst=target)
    memory.store.write("me", lambda t: {"made": t.add_links([link])})


def ask(memory: Memory, *texts: str, **given_: Any) -> ProbeResult:
    filter_ = {name: given_.pop(name) for name in ("filter",) if name in given_}
    queries = [Query(text=text, now=NOW, limit=50, weak=True, **filter_) for text in texts]
    asked = Probe(queries=queries, **{"budget": 100_000, **given_})
    return probe(memory.indexes, memory.store, "me", asked, get_counter())


@pytest.fixture
def filled(make_memory: Callable[..., Memory], hashing: Any) -> Memory:
    """Thirty captures and twelve records on a few subjects."""
    memory = make_memory(hashing)
    for n in range(30):
        word = WORDS[n % len(WORDS)]
        memory.capture(
            f"c{n}", f"{word} number {n}, said at length. 第{n}句，{word}的事。" * (1 + n % 4)
        )
    for n in range(12):
        memory.record(f"r{n}", f"She wrote {WORDS[n % len(WORDS)]} down, the {n}th time.")
    return memory


@settings(max_examples=few(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True),
    st.integers(200, 3000), st.integers(0, 2000), st.sampled_from(["json", "markdown"]),
)  # fmt: skip
def test_a_larger_budget_only_adds(
    filled: Memory, texts: list[str], budget: int, more: int, format_: Any
) -> None:
    """Never over budget, deterministic, and monotone, through the level itself."""
    small = ask(filled, *texts, budget=budget, format=format_)
    large = ask(filled, *texts, budget=budget + more, format=format_)

    assert get_counter().count(small.text) == small.tokens <= budget
    assert ask(filled, *texts, budget=budget, format=format_) == small
    for room in ("records", "related", "beside", "associations"):
        before, after = ({card.id: card for card in getattr(one, room)} for one in (small, large))
        for id_, card in before.items():
            shown = card.model_dump(exclude_none=True, exclude={"text"})
            assert shown.items() <= after[id_].model_dump(exclude_none=True).items()
    if format_ == "json":
        parsed = json.loads(small.text)
        assert parsed.get("records", []) == [
            card.model_dump(exclude_none=True) for card in small.records
        ]


def test_pages_show_every_record_once(filled: Memory) -> None:
    """The cursor goes on where the answer before ended."""
    whole = ask(filled, "coffee", "阿嬤")
    pages = [ask(filled, "coffee", "阿嬤", budget=500)]
    while (cursor := pages[-1].truncated.resume) is not None:
        pages.append(ask(filled, "coffee", "阿嬤", budget=500, resume=cursor))

    for room in ("records", "beside", "associations"):
        shown = [card.id for page in pages for card in getattr(page, room)]
        assert sorted(shown) == sorted(card.id for card in getattr(whole, room))
    with pytest.raises(UsageError, match="another request"):
        ask(filled, "Lisbon", budget=500, resume=pages[0].truncated.resume)


def test_no_question_starves(filled: Memory) -> None:
    """Each question's first is among the first shown, and no memory is shown twice."""
    texts = ("coffee", "Lisbon", "birthday")
    firsts = {ask(filled, text).records[0].id for text in texts}
    together = ask(filled, *texts)

    assert firsts <= {card.id for card in together.records[: len(texts)]}
    assert len({card.id for card in together.records}) == len(together.records)


def test_what_was_superseded_is_held_back(memory: Memory) -> None:
    """It is counted, and where it is asked for it stands below its successor, also in a loop."""
    old = memory.record("old", "The birthday is 21 March, the birthday.", status="superseded")
    new = memory.record("new", "Corrected: 12 March it is. A birthday.")
    tie(memory, new, "supersedes", old)
    tie(memory, old, "supersedes", new)  # nonsense that somebody stored

    active = Filter(statuses=frozenset({"active"}))
    found = ask(memory, "The birthday is 21 March", filter=active)
    assert [card.id for card in found.records] == [new[:LEAST_SHORT]]
    assert found.held_back == 1
    both = ask(memory, "The birthday is 21 March")
    assert {card.id: card.status for card in both.records} == {
        new[:LEAST_SHORT]: None, old[:LEAST_SHORT]: "superseded",
    }  # fmt: skip
    assert both.held_back == 0


def test_successors_come_first() -> None:
    """Along a chain, whatever the search ranked higher; a loop ends."""
    before = {"c": ["b"], "b": ["a"]}
    assert successors_first(["a", "x", "b", "c"], before) == ["c", "b", "a", "x"]
    assert sorted(successors_first(["a", "b"], {"a": ["b"], "b": ["a"]})) == ["a", "b"]


def test_what_contradicts_stands_beside(memory: Memory) -> None:
    """Linked records are shown with the relation, and named on the card."""
    price = memory.record("price", "The camera cost 300.")
    other = memory.record("other", "Elsewhere a receipt says 450 for it.", date_start=NOW.date())
    tie(memory, other, "contradicts", price)

    found = ask(memory, ids=[price])
    assert [card.id for card in found.records] == [price[:LEAST_SHORT]]
    assert found.records[0].links == {"contradicts": [other[:LEAST_SHORT]]}
    assert [(card.id, card.rel, card.of) for card in found.related] == [
        (other[:LEAST_SHORT], "contradicts", price[:LEAST_SHORT])
    ]
    assert found.outcome == "found"


def test_a_card_larger_than_the_budget_steps_down(memory: Memory) -> None:
    """A record of 8,000 characters is still shown in 200 tokens, and whole in many."""
    gist = "這個故事很長，" * 1200
    record = memory.record("long", gist)

    small, large = ask(memory, ids=[record], budget=200), ask(memory, ids=[record])
    assert small.records[0].text is not None
    assert len(small.records[0].text) < 200
    assert small.truncated.stepped_down == {"records": 1}
    assert large.records[0].text == gist


def test_unknown_ids_are_named(memory: Memory) -> None:
    """What is here is read; what is not is named."""
    record = memory.record("one", "One thing.")
    found = ask(memory, ids=[record], unknown=["nobody"])

    assert [card.id for card in found.records] == [record[:LEAST_SHORT]]
    assert found.unknown == ["nobody"]


def test_short_ids_are_unique_in_the_scope(memory: Memory) -> None:
    """At least eight characters, more where others begin alike."""
    twins = [f"01ARZ3NDEK{last:016d}" for last in (1, 2)]
    rows = [
        Capture(
            scope="me", capture_id=id_, text="words", recorded_at=NOW,
            utf8_sha256=text_sha256("words"),
        )
        for id_ in twins
    ]  # fmt: skip
    memory.store.write("me", lambda t: {"added": sorted(t.add_captures(rows))})
    alone = memory.capture("alone", "words")
    index = memory.indexes.get("me", vectors=False)
    short = ShortIds(index)

    assert [short.of(id_) for id_ in twins] == twins
    assert short.of(alone) == alone[:LEAST_SHORT]
    assert index.ids_beginning(alone[:LEAST_SHORT].lower()) == [alone]
    assert index.ids_beginning("01ARZ3NDEK") == twins


def test_a_short_id_grows_when_another_begins_like_it(memory: Memory) -> None:
    """What an answer has shortened is still its own after whatever is written next."""
    first, other, second = (f"01ARZ3NDEKTSV4RRFFQ69G5FA{end}" for end in ("A", "B", "C"))
    unlike = f"01ARZ3ND{'Z' * 18}"

    def keep(id_: str) -> None:
        row = Capture(
            scope="me", capture_id=id_, text=id_, utf8_sha256=text_sha256(id_), recorded_at=NOW
        )
        memory.store.write("me", lambda t: {"added": sorted(t.add_captures([row]))})

    def short(id_: str) -> str:
        return ShortIds(memory.indexes.get("me", vectors=False)).of(id_)

    keep(first)
    assert short(first) == first[:LEAST_SHORT]
    keep(unlike)
    assert (short(first), short(unlike)) == (first[: LEAST_SHORT + 1], unlike[: LEAST_SHORT + 1])
    keep(second)
    assert (short(first), short(second)) == (first, second)
    keep(other)
    assert [short(one) for one in (first, other, second)] == [first, other, second]
    assert short(unlike) == unlike[: LEAST_SHORT + 1]


def test_odd_questions(memory: Memory) -> None:
    """One without a word is refused as search refuses it; one of emoji is a question."""
    memory.record("one", "One thing.")
    with pytest.raises(UsageError, match="no word"):
        ask(memory, "？！")
    assert ask(memory, "🍜🍜🍜", budget=200).outcome in {"found", "empty"}
