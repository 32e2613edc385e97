"""A single Han character: found inside the words that it is part of, and nowhere else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer.analyze import term_key, terms
from shiyi.indexer.fold import fold
from shiyi.indexer.lexical import LiveOkapi
from shiyi.indexer.lone import lone_characters, terms_with
from shiyi.indexer.okapi import NonNegativeOkapi
from shiyi.indexer.segment import count_terms
from shiyi.models.encoder import Encoder
from tests.indexer.segments import build_segment

PIECES = st.lists(
    st.sampled_from(
        ["我家的", "猫咪", "貓", "阿猫", "熊貓館", "猫猫头", "小狗", "下雨", "，", "coffee"]
    ),
    min_size=1, max_size=6,
).map("".join)  # fmt: skip


@given(PIECES)
def test_every_text_with_the_character_has_one_of_its_terms(text: str) -> None:
    """However the words around it are cut; a text without it has none."""
    found = {term_key(term) for term in terms(text)}
    (own, others), = terms_with("貓").items()  # fmt: skip

    assert bool(found & {own, *others.tolist()}) == ("猫" in fold(text))


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("猫", ["猫"]), ("貓？", ["猫"]), ("「貓」 狗", ["猫", "狗"]), ("猫 猫", ["猫"]),
        ("猫咪", []), ("我的猫", []), ("猫 coffee", []), ("coffee", []), ("7", []), ("か", []),
        ("…", []), ("一 二 三 四 五", []),
    ],
)  # fmt: skip
def test_only_single_characters_are_asked_so(text: str, characters: list[str]) -> None:
    """A query with a word in it is searched as ever."""
    assert lone_characters(text) == characters


@pytest.mark.parametrize("model", ["hashing", "none"])
def test_it_is_found_in_words(
    model: str, make_memory: Callable[..., Any], hashing: Any, keywords: Any
) -> None:
    """In either script, before and after the index is built, and no longer once it is gone."""
    load: Callable[[], Encoder] = hashing if model == "hashing" else keywords
    memory = make_memory(load)
    simplified, traditional = memory.capture("s", "我家的猫咪"), memory.capture("t", "貓咪餓了")
    memory.capture("other", "小狗在下雨天出去了")
    record = memory.record("r", "熊貓館人很多")
    for _ in range(2):
        for query in ("猫", "貓"):
            found = memory.search(query, channels=frozenset({"lexical"}))
            assert {hit.id for hit in found.hits} == {simplified, traditional, record}
            assert all("猫" in fold(hit.snippet.text) for hit in found.hits)
        assert simplified in {hit.id for hit in memory.search("猫").hits}
        memory.indexes.reindex("me", keywords_only=model == "none")
        memory.reopen()
    memory.edit(record, gist="大象館人很多", title="大象")
    assert record not in {
        hit.id for hit in memory.search("猫", channels=frozenset({"lexical"})).hits
    }


WORDS = st.sampled_from(["猫", "猫咪", "小猫", "雨"])
CORPUS = st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=8)


@given(base=CORPUS, added=CORPUS, dead=st.integers(0, 20))
def test_terms_that_count_as_one_have_the_score_of_one(
    tmp_path_factory: pytest.TempPathFactory, base: list[list[str]], added: list[list[str]],
    dead: int,
) -> None:  # fmt: skip
    """As rank_bm25 scores them when each text has that one term as often as its commonest."""
    live = LiveOkapi(build_segment(map(count_terms, base), tmp_path_factory.mktemp("s")))
    for document in added:
        live.add(*count_terms(document))
    corpus = [*base, *added]
    gone = dead % len(corpus)
    live.delete(gone)
    others = np.array(sorted(map(term_key, ("猫咪", "小猫", "nowhere"))), np.uint64)
    found = live.search(["猫"], {term_key("猫"): others})

    kept = [document for place, document in enumerate(corpus) if place != gone]
    one = [_as_one(document) for document in kept]
    expected = NonNegativeOkapi(one).get_scores(["猫"]) if any(one) else np.zeros(len(kept))
    np.testing.assert_allclose(np.delete(found.bm25, gone), expected, rtol=0, atol=1e-9)
    assert found.bm25[gone] == 0.0
    assert set(found.coverage().tolist()) <= {0.0, 1.0}


def _as_one(document: list[str]) -> list[str]:
    """Return a document of the same length with one term for all that count as one."""
    most = max(document.count(word) for word in ("猫", "猫咪", "小猫"))
    return ["猫"] * most + ["x"] * (len(document) - most)


def test_an_empty_index_has_nothing(tmp_path: Path) -> None:
    """No document, no score."""
    live = LiveOkapi(build_segment([], tmp_path))
    assert live.search(terms("猫"), terms_with("猫")).bm25.tolist() == []
