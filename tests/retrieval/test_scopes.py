"""No query crosses scopes: what is in another one leaves no trace in an answer."""

from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import few

WORDS = ["今天", "下雨", "咖啡", "RTX4090", "0912-345-678", "coffee", "walks", "祕密"]
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join), min_size=1, max_size=6
)
NUMBERS = count()


def put(memory: Any, scope: str, texts: list[str]) -> list[str]:
    ids = []
    for n, text in enumerate(texts):
        ids.append(memory.capture(f"c{n}", text, scope, session_id="s"))
        ids.append(memory.record(f"r{n}", text, scope, topics=("topic",)))
        memory.quote(ids[-1], ids[-2], 0, len(text), scope)
    return ids


@settings(max_examples=few(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mine=TEXTS, theirs=TEXTS, reindex=st.booleans())
def test_another_scope_changes_nothing(
    memory: Any, mine: list[str], theirs: list[str], reindex: bool
) -> None:
    """An answer is the same to the last digit whatever another scope holds, or whether it is."""
    here, there = f"here{next(NUMBERS)}", f"there{next(NUMBERS)}"
    put(memory, here, mine)
    before = [memory.search(query, here).model_dump() for query in WORDS]
    ids = put(memory, there, theirs)
    for query in WORDS:
        memory.search(query, there)
    if reindex:
        memory.indexes.reindex(there)
        memory.indexes.reindex(here)
    assert [memory.search(query, here).model_dump() for query in WORDS] == before

    told = str(before)
    assert there not in told
    assert not any(id_ in told for id_ in ids)
    for id_ in ids:
        found = memory.search(id_, here, weak=True)
        assert id_ not in str(found.hits)


def test_an_unknown_scope_holds_nothing(memory: Any) -> None:
    """A scope that was never written to is empty, and says so."""
    memory.capture("c", "咖啡", "me")
    found = memory.search("咖啡", "nobody", weak=True)

    assert (found.outcome, found.basis.searched) == ("empty", 0)
    assert "holds nothing yet" in found.notes[-1]
