"""An answer fits its budget, and a larger budget only adds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.models.tokens import get_counter
from shiyi.retrieval.pack import ANY_TRACE, MIN_BUDGET, pack
from shiyi.retrieval.results import Basis, Hit, Parts, Passage, SearchResult, Truncated, Why

TEXT = st.text(st.sampled_from('今天coffee 𠮷👨‍👩‍👧"\\\n\x00ﷺé'), max_size=120)
HIT = st.builds(
    lambda text, topics, name, day, score: Hit(
        rank=1, id="0" * 26, path=f"me/records/{'0' * 26}", type="record", kind="fact",
        layer="core",
        version=1, title=text, date_start=day, date_end=day, modified=None, speaker=None,
        fidelity="verbatim", topics=topics, external_id=name, score=score, also=[],
        snippet=Passage(text=text, of="gist", start=0, end=len(text), matches=[(0, 1)]),
        parts=Parts(
            dense=score, lexical=0.25, exact=0, neighbour=0, time=0, source=0, interaction=0
        ),
        why=Why(cosine=0.5, bm25=1.0, coverage=1.0, terms=[], other_script=False),
    ),
    TEXT, st.lists(TEXT, max_size=3), st.sampled_from([None, "4", "r0010", "a-", "七"]),
    st.sampled_from([None, "2019-09-03"]), st.sampled_from([1.25, 0.0, -0.75, 123.456789]),
)  # fmt: skip
RESULT = st.builds(
    lambda hits, terms, notes: SearchResult(
        outcome="found" if hits else "empty", mode="hybrid", weak=False, terms=terms, hits=hits,
        notes=notes, times=[],
        basis=Basis(searched=123_456, spread=0.1234, gate=0.9876, best_bm25=123.4567,
                    best_cosine=-0.1234),
        truncated=Truncated(omitted=0), tokens=0, counter="o200k",
    ),
    st.lists(HIT, max_size=12), st.lists(TEXT.map(lambda t: t[:64]), max_size=16),
    st.lists(st.one_of(TEXT, st.just("note " * 200)), max_size=3),
)  # fmt: skip
BUDGET = st.one_of(st.integers(MIN_BUDGET, 600), st.integers(MIN_BUDGET, 12_000))


@given(result=RESULT, budget=BUDGET, counter=st.sampled_from(["o200k", "cl100k", "bytes"]))
def test_what_an_answer_says_it_costs_is_counted_exactly(
    result: SearchResult, budget: int, counter: str
) -> None:
    """The tokens are those of the whole JSON, with the longest number and id that it can hold."""
    try:
        packed = pack(result, budget, get_counter(counter))
    except UsageError:
        return
    longest = {"tokens": 10 ** len(str(budget)) - 1, "trace": ANY_TRACE}
    whole = packed.model_copy(update=longest).model_dump_json()

    assert packed.tokens == get_counter(counter).count(whole)


@given(result=RESULT, budget=BUDGET, counter=st.sampled_from(["o200k", "cl100k"]))
def test_no_answer_exceeds_its_budget(result: SearchResult, budget: int, counter: str) -> None:
    """What is returned costs at most what it says, and that is at most the budget."""
    count = get_counter(counter).count
    packed = pack(result, budget, get_counter(counter))

    assert count(packed.model_dump_json()) <= packed.tokens <= budget
    assert packed.truncated.omitted == len(result.hits) - len(packed.hits)
    assert packed.hits == result.hits[: len(packed.hits)]
    assert packed.outcome == result.outcome
    assert pack(result, budget, get_counter(counter)) == packed


@given(result=RESULT, budget=BUDGET, more=st.integers(0, 3000))
def test_a_larger_budget_only_adds(result: SearchResult, budget: int, more: int) -> None:
    """The hits of a smaller budget are the first hits of a larger one."""
    small = pack(result, budget, get_counter())
    large = pack(result, budget + more, get_counter())

    assert large.hits[: len(small.hits)] == small.hits


@given(result=RESULT)
def test_what_fits_is_left_as_it_is(result: SearchResult) -> None:
    """With room enough nothing is dropped or cut."""
    packed = pack(result, 1_000_000, get_counter())

    assert packed.model_copy(update={"tokens": 0}) == result


@given(result=RESULT.filter(lambda result: not result.hits))
def test_an_answer_without_hits_fits_the_smallest_budget(result: SearchResult) -> None:
    """Terms go first, then notes are cut, and what is left still says what it is."""
    packed = pack(result, MIN_BUDGET, get_counter())

    assert packed.outcome == "empty"
    assert packed.terms == result.terms[: len(packed.terms)]
    whole, shown = "\n".join(result.notes), "\n".join(packed.notes)
    assert shown == whole or (not packed.terms and whole.startswith(shown.removesuffix("…")))


def example(**given: Any) -> SearchResult:
    values: dict[str, Any] = {
        "outcome": "empty", "mode": "keyword", "weak": False, "terms": [], "hits": [], "notes": [],
        "times": [],
        "basis": Basis(searched=0, spread=None, gate=1.0, best_bm25=0.0, best_cosine=None),
        "truncated": Truncated(omitted=0), "tokens": 0, "counter": "o200k",
    }  # fmt: skip
    return SearchResult(**{**values, **given})


@pytest.mark.parametrize("budget", [-1, 0, MIN_BUDGET - 1])
def test_a_budget_has_a_smallest(budget: int) -> None:
    """Less than the least is refused with a sentence that names it."""
    with pytest.raises(UsageError, match=f"give at least {MIN_BUDGET}"):
        pack(example(), budget, get_counter())


def test_a_counter_may_need_more() -> None:
    """Where bytes are counted, a budget that fits no answer is refused, never exceeded."""
    with pytest.raises(UsageError, match=r"costs \d+ bytes; give at least that"):
        pack(example(counter="bytes"), MIN_BUDGET, get_counter("bytes"))
    packed = pack(example(counter="bytes"), 300, get_counter("bytes"))
    assert len(packed.model_dump_json().encode()) <= packed.tokens <= 300
