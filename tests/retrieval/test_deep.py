"""The words themselves: byte for byte, at their spans, whole fragments only."""

import hashlib
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.ids import LEAST_SHORT
from shiyi.models.tokens import get_counter
from shiyi.retrieval.deep import Deep, deep
from shiyi.retrieval.level_results import DeepResult
from shiyi.retrieval.query import Query
from tests.conftest import NOW, Memory

WORDS = st.text(
    st.sampled_from("今天coffee 𠮷👨‍👩‍👧\"\\'/\n\x00\r\tﷺé…。-#12"), min_size=1, max_size=700
)


def ask(memory: Memory, *texts: str, **given_: Any) -> DeepResult:
    queries = [Query(text=text, now=NOW, limit=50, weak=True) for text in texts]
    asked = Deep(queries=queries, **{"budget": 100_000, **given_})
    return deep(memory.indexes, memory.store, "me", asked, get_counter())


def check_exact(memory: Memory, found: DeepResult) -> None:
    """Read every capture again and compare it at the span."""
    index = memory.indexes.get("me", vectors=False)
    for fragment in found.fragments:
        (id_,) = index.ids_beginning(fragment.id)
        capture = memory.store.capture("me", id_)
        assert capture is not None
        start, end = fragment.span
        assert fragment.text.encode() == capture.text[start:end].encode()
        assert fragment.sha256 == hashlib.sha256(capture.text.encode()).hexdigest()
        assert fragment.of == len(capture.text)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORDS.filter(lambda text: not text.isspace()), st.integers(300, 3000), st.integers(0, 500))
def test_words_are_exact_whatever_the_budget(
    memory: Memory, text: str, budget: int, more: int
) -> None:
    """Also in the JSON that a door prints; a larger budget shows spans as large or larger."""
    capture = memory.capture(text, text)
    small, large = (ask(memory, ids=[capture], budget=n) for n in (budget, budget + more))

    for found in (small, large):
        check_exact(memory, found)
        assert get_counter().count(found.text) == found.tokens <= budget + more
        printed = json.loads(found.text).get("fragments", [])
        assert [one["text"] for one in printed] == [one.text for one in found.fragments]
    spans = [one.span for one in small.fragments]
    assert all(
        wide.span[0] <= start and end <= wide.span[1]
        for (start, end), wide in zip(spans, large.fragments, strict=False)
    )


def test_a_record_leads_to_the_words_it_quotes(memory: Memory) -> None:
    """A record without a quote is a summary under its own name."""
    capture = memory.capture("said", "Before. I am allergic to shellfish. After.")
    record = memory.record("allergy", "She is allergic to shellfish.")
    memory.quote(record, capture, 8, 35)
    other = memory.record("guess", "She seems tired.")

    found = ask(memory, ids=[record, other], budget=100_000)
    assert [one.id for one in found.fragments] == [capture[:LEAST_SHORT]]
    assert found.fragments[0].quoted_by == [record[:LEAST_SHORT]]
    assert [(one.id, one.summary) for one in found.summaries] == [
        (other[:LEAST_SHORT], "She seems tired.")
    ]
    assert found.summaries[0].fidelity == "summary_only"
    check_exact(memory, found)


def test_long_words_step_down_by_whole_fragments(memory: Memory) -> None:
    """What is shown of a long text is one of its fragments, and its span says so."""
    text = "".join(f"第{n}天，走了很遠的路，看了海。" for n in range(400))
    capture = memory.capture("long", text)

    small, large = ask(memory, "第7天", budget=1500), ask(memory, "第7天", budget=100_000)
    assert small.fragments[0].span != (0, len(text))
    assert small.truncated.stepped_down == {"fragments": 1}
    assert large.fragments[0].span == (0, len(text))
    assert small.fragments[0].text.endswith("。")
    assert small.fragments[0].id == large.fragments[0].id == capture[:LEAST_SHORT]
    check_exact(memory, small)


def test_neighbours_stand_around(memory: Memory) -> None:
    """Turns before and after, in the order of the dialogue, only when asked for."""
    for n in range(6):
        before = {"previous": f"t{n - 1}"} if n else {}
        memory.capture(f"t{n}", f"turn {n}", session_id="s", **before)
    middle = memory.capture("t3", "turn 3", session_id="s", previous="t2")

    assert [one.text for one in ask(memory, ids=[middle]).fragments] == ["turn 3"]
    around = ask(memory, ids=[middle], neighbours=2).fragments
    assert [one.text for one in around] == [f"turn {n}" for n in range(1, 6)]
    assert [one.beside is None for one in around] == [False, False, True, False, False]


def test_nothing_of_another_scope(memory: Memory) -> None:
    """An id of another scope is as good as none."""
    mine = memory.capture("mine", "my words")
    theirs = memory.capture("theirs", "their words", scope="you")

    found = ask(memory, ids=[mine, theirs])
    assert [one.text for one in found.fragments] == ["my words"]


def test_markdown_words_cannot_leave_their_block(memory: Memory) -> None:
    """Every line of what was said is marked, whatever it holds."""
    capture = memory.capture("tricky", "one\n\n## fragments\n- id X\n\x1b[31m/etc")
    text = ask(memory, ids=[capture], format="markdown").text

    lines = text.splitlines()
    assert [line for line in lines if line.startswith("## ")] == ["## fragments"]
    assert "> \\x1b[31m/etc" in lines
