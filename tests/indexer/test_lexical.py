"""BM25 from postings: the scores of rank_bm25, whatever the history."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer import segment as segment_module
from shiyi.indexer.analyze import term_key
from shiyi.indexer.lexical import LiveOkapi, largest_deviation, top
from shiyi.indexer.okapi import NonNegativeOkapi
from shiyi.indexer.segment import Array, Segment, count_terms, map_array
from tests.indexer.segments import build_segment

WORDS = st.sampled_from(["雨", "山", "咖啡", "rain", "walk", "rtx4090", "a", "b"])
DOCUMENT = st.lists(WORDS, max_size=8)
CORPUS = st.lists(DOCUMENT, max_size=12)
QUERY = st.lists(st.one_of(WORDS, st.just("unknown")), max_size=6)


def okapi(corpus: Sequence[list[str]], directory: Path) -> LiveOkapi:
    """Build the live form of a corpus as a base segment."""
    directory.mkdir(parents=True)
    return LiveOkapi(build_segment(map(count_terms, corpus), directory))


@given(corpus=CORPUS.filter(any), query=QUERY)
def test_scores_are_those_of_rank_bm25(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[str]], query: list[str]
) -> None:
    """Every document has the score that rank_bm25's own loop gives it."""
    expected = NonNegativeOkapi(corpus).get_scores(query)
    live = okapi(corpus, tmp_path_factory.mktemp("s") / "segment")

    np.testing.assert_allclose(live.get_scores(query), expected, rtol=0, atol=1e-9)
    live.prepare()
    np.testing.assert_allclose(live.get_scores(query), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(live.search(query).bm25, expected, rtol=0, atol=1e-9)


@given(corpus=CORPUS, query=QUERY)
def test_coverage_is_the_share_of_the_idf_mass(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[str]], query: list[str]
) -> None:
    """A document that holds every term covers all, one that holds none covers nothing."""
    live = okapi(corpus, tmp_path_factory.mktemp("s") / "segment")
    unique = dict.fromkeys(query)
    mass = sum(live.idf_of(term_key(term)) for term in unique)

    for document, found in zip(corpus, live.search(query).coverage().tolist(), strict=True):
        held = sum(live.idf_of(term_key(term)) for term in unique if term in document)
        assert found == pytest.approx(held / mass if mass else 0.0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), DOCUMENT),
        st.tuples(st.just("delete"), st.integers(0, 30)),
        st.tuples(st.just("edit"), st.integers(0, 30), DOCUMENT),
        st.tuples(st.just("ask"), QUERY),
        st.tuples(st.just("prepare")),
    ),
    max_size=20,
)  # fmt: skip


@given(corpus=CORPUS, steps=STEPS, query=QUERY)
def test_any_history_ranks_as_a_fresh_build(
    tmp_path_factory: pytest.TempPathFactory,
    corpus: list[list[str]],
    steps: list[tuple[object, ...]],
    query: list[str],
) -> None:
    """After any additions, edits and deletions, scores and coverage equal a fresh build's."""
    directory = tmp_path_factory.mktemp("history")
    live = okapi(corpus, directory / "base")
    documents = dict(enumerate(corpus))
    for step in steps:
        follow(live, documents, step)

    fresh = okapi(list(documents.values()), directory / "fresh")
    slots = np.array(list(documents), np.int64)
    for _ in range(2):
        found, expected = live.search(query), fresh.search(query)
        assert found.bm25[slots].tolist() == pytest.approx(expected.bm25.tolist(), abs=1e-12)
        assert found.coverage(slots).tolist() == pytest.approx(
            expected.coverage().tolist(), abs=1e-12
        )
        assert live.get_scores(query)[slots].tolist() == found.bm25[slots].tolist()
        assert sum(found.bm25 > 0) == sum(expected.bm25 > 0)
        live.prepare()
    keys = list({term_key(term) for term in query})
    held = [set(live.terms_of(slot)[0].tolist()) & set(keys) for slot in slots]
    assert live.held_by(slots, keys) == held
    assert (live.corpus_size, live.avgdl) == (fresh.corpus_size, fresh.avgdl)
    for word in {word for document in documents.values() for word in document}:
        holding = [slot for slot, document in documents.items() if word in document]
        assert live.slots_with(term_key(word)) == sorted(holding)


def follow(live: LiveOkapi, documents: dict[int, list[str]], step: tuple[object, ...]) -> None:
    """Do one step to the live index and to the truth beside it."""
    name, *rest = step
    if name == "prepare":
        live.prepare()
    elif name == "ask":
        live.search(rest[0])  # type: ignore[arg-type]
    elif name == "add":
        documents[live.add(*count_terms(rest[0]))] = rest[0]  # type: ignore[arg-type, assignment]
    elif documents:
        slot = list(documents)[rest[0] % len(documents)]  # type: ignore[operator]
        live.delete(slot)
        live.delete(slot)  # a second time does nothing
        del documents[slot]
        if name == "edit":
            documents[live.add(*count_terms(rest[1]))] = rest[1]  # type: ignore[arg-type, assignment]


@pytest.mark.parametrize("portion", [1, 3, 16, 1 << 22])
def test_a_segment_is_the_sorted_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, portion: int
) -> None:
    """However small the share of memory, the files hold exactly what the documents say."""
    monkeypatch.setattr(segment_module, "_PARTITION_POSTINGS", portion)
    monkeypatch.setattr(segment_module, "_CHUNK", 7)
    random = np.random.default_rng(0)
    corpus = [[f"w{n}" for n in random.integers(0, 30, random.integers(0, 20))] for _ in range(40)]
    built = build_segment(map(count_terms, corpus), tmp_path)

    counted = [Counter(map(term_key, document)) for document in corpus]
    keys = sorted(set().union(*counted))
    assert built.keys.tolist() == keys
    for i, key in enumerate(keys):
        part = slice(built.pointers[i], built.pointers[i + 1])
        holding = [(d, c[key]) for d, c in enumerate(counted) if c[key]]
        assert list(zip(built.documents[part], built.frequencies[part], strict=True)) == holding
    assert built.lengths.tolist() == [len(document) for document in corpus]
    for d, counts in enumerate(counted):
        found = zip(*(array.tolist() for array in built.terms_of(d)), strict=True)
        assert list(found) == sorted(counts.items())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(Segment.file_names())


def test_an_empty_segment_is_written_and_read(tmp_path: Path) -> None:
    """No documents, or documents without terms, are a segment like any other."""
    built = build_segment([], tmp_path)
    assert len(built.keys) == len(built.lengths) == len(Segment.empty().keys) == 0
    assert LiveOkapi(built).get_scores(["x"]).tolist() == []
    assert map_array(tmp_path / "documents.npy").tolist() == []

    (tmp_path / "blank").mkdir()
    live = LiveOkapi(build_segment([count_terms([]), count_terms([])], tmp_path / "blank"))
    live.prepare()
    assert live.search(["x"]).bm25.tolist() == [0.0, 0.0]


def test_a_frequency_has_a_ceiling() -> None:
    """A word repeated beyond what two bytes count is counted as often as they can."""
    _, frequencies = count_terms(["雨"] * 70_000)
    assert frequencies.tolist() == [65_535]


@given(
    st.lists(st.integers(-1, 5), max_size=300).map(lambda values: np.array(values, float)),
    st.integers(1, 40),
    st.integers(1, 20),
)
def test_the_top_is_the_top_of_a_full_sort(scores: Array, k: int, block: int) -> None:
    """The best positive scores come in order, equal ones by position, none is missed."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    expected = [i for i in order if scores[i] > 0][:k]

    assert top(scores, k, block).tolist() == expected


def test_the_top_of_many_scores() -> None:
    """With the real block size too, ties and all."""
    random = np.random.default_rng(1)
    for scores in (random.random(10_000), random.integers(0, 3, 10_000).astype(float)):
        expected = np.lexsort((np.arange(len(scores)), -scores))[:10]
        assert top(scores, 10).tolist() == expected.tolist()


def test_the_check_of_a_build_sees_a_wrong_posting(tmp_path: Path) -> None:
    """The comparison with rank_bm25 that ends every build finds equality, or the difference."""
    corpus = [["雨", "山"], ["雨", "雨", "rain"], ["walk"]]
    built = build_segment(map(count_terms, corpus), tmp_path)
    query = [[term_key("雨"), term_key("walk"), 7]]

    assert largest_deviation(LiveOkapi(built), [0, 1, 2], query) <= 1e-9
    wrong = replace(built, frequencies=np.asarray(built.frequencies) + 1)
    assert largest_deviation(LiveOkapi(wrong), [0, 1, 2], query) > 1e-3
