"""What replaced something stands before it, and before its words."""

from shiyi.core.ids import derived_id
from shiyi.indexer.index import Filter
from shiyi.store import Link
from tests.conftest import Memory


def test_words_of_what_was_replaced_do_not_come_before_its_successor(memory: Memory) -> None:
    """Only a superseded record quotes them, and the newer one speaks to the question as well."""
    said = memory.capture("said", "I drink coffee in the morning, always coffee")
    memory.record("old", "Drinks coffee in the morning.", status="superseded")
    memory.quote(derived_id("me", "old"), said, 0, 30)
    new = memory.record("new", "Drinks tea in the morning, no coffee.")
    link = Link(scope="me", src=new, rel="supersedes", dst=derived_id("me", "old"))
    active = Filter(statuses=frozenset({"active"}))

    def found(filter_: Filter) -> list[str]:
        return [hit.id for hit in memory.search("coffee in the morning", filter=filter_).hits]

    before = found(active)
    memory.store.write("me", lambda t: {"made": t.add_links([link])})

    assert before == [said, new]
    assert found(active) == [new, said]
    assert found(Filter())[0] == new
