"""Other names of what a question names: found in texts, behind the name itself, in one scope."""

import json
from typing import Any

import pytest

from shiyi.indexer.fold import to_simplified
from shiyi.retrieval.search import Query, find
from shiyi.retrieval.trace import Tracer


def entity(
    memory: Any, title: str, *aliases: str, gist: str = "一個人。", scope: str = "me"
) -> str:
    made: str = memory.record(
        title, gist, scope, kind="entity", title=title, aliases=[title, *aliases]
    )
    return made


def ids(memory: Any, text: str, **given: Any) -> list[str]:
    """Return what is found by words alone."""
    words = frozenset({"lexical"})
    return [hit.id for hit in memory.search(text, channels=words, **given).hits]


@pytest.mark.parametrize(
    "asked", ["Henry 的工作", "henry", "陆子衡现在怎样", "How is Henry these days?"]
)
@pytest.mark.parametrize("reindex", [False, True])
def test_a_text_is_found_under_another_name(memory: Any, asked: str, reindex: bool) -> None:
    """Whatever the question calls somebody, the texts that name them otherwise are found."""
    entity(memory, "陸子衡（建築師）", "小陸", "Henry")
    other = memory.capture("c", "小陸去了鹿特丹。")
    memory.capture("d", "今天下雨。")
    if reindex:
        memory.indexes.reindex("me")

    assert other in ids(memory, asked)
    assert other not in ids(memory, asked, without=frozenset({"names"}))


def test_the_name_that_was_asked_for_comes_first(memory: Any) -> None:
    """Between texts alike, the one with the very name stands before one with another name."""
    entity(memory, "闕柏睿", "睿睿", "弟弟")
    other = memory.capture("a", "睿睿寄來一張明信片。")
    same = memory.capture("b", "弟弟寄來一張明信片。")

    found = ids(memory, "弟弟")
    assert found.index(same) < found.index(other)


def test_a_question_is_asked_by_meaning_with_the_names_that_texts_use(memory: Any) -> None:
    """A text that only shares another name with the question is near to it by meaning."""
    entity(memory, "陸子衡", "Henry", "子衡")
    named = memory.captures({f"c{n}": f"子衡說起第 {n} 座橋。" for n in range(3)})
    memory.capture("other", "今天下雨，路上沒有人。")

    def nearest(**given: Any) -> set[str]:
        meaning = frozenset({"dense"})
        hits = memory.search("Henry", channels=meaning, weak=True, limit=4, **given).hits
        return {hit.id for hit in hits if hit.why.cosine > 0}

    assert nearest() >= set(named)
    assert not nearest(without=frozenset({"names"})) >= set(named)


def test_names_are_followed_as_they_change(memory: Any) -> None:
    """An alias that is taken away, or given, counts from the next question on."""
    one = entity(memory, "闕柏睿", "睿睿", "弟弟")
    other = memory.capture("c", "睿睿寄來一張明信片。")
    assert other in ids(memory, "弟弟")

    memory.edit(one, aliases=["弟弟"])
    assert other not in ids(memory, "弟弟")

    memory.edit(one, aliases=["弟弟", "睿睿"])
    assert other in ids(memory, "弟弟")


def test_names_stay_in_their_scope(memory: Any) -> None:
    """Who is who in one scope says nothing in another."""
    entity(memory, "闕柏睿", "睿睿", "弟弟", scope="them")
    memory.capture("c", "睿睿寄來一張明信片。")

    assert ids(memory, "弟弟") == []


def test_a_trace_holds_no_other_name(memory: Any) -> None:
    """What a question is asked with beside its own words is stored text, and stays out."""
    entity(memory, "陸子衡", "Henry", "子衡")
    memory.capture("c", "子衡去了鹿特丹。")
    trace = Tracer(on=True)
    find(memory.indexes, "me", Query(text="Henry 在哪裡"), trace)

    assert "子衡" not in to_simplified(json.dumps(trace.questions, ensure_ascii=False))
