"""One score from its parts: numbers worked by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.models.calibration import Calibration
from shiyi.retrieval import fuse as fuse_module
from shiyi.retrieval.fuse import DOUBT, Evidence, fuse, margin
from shiyi.retrieval.succession import NOTHING_REPLACED, Succession

NONE = np.zeros(1, np.float32)
E5 = Calibration(
    NONE, NONE, NONE, sources="hand", model="hand", prior_sd=0.085, divisor=4.0,
    gate_coverage=0.5, gate_bm25=30.0, floor=0.22, floor_slope=0.03,
)  # fmt: skip


def evidence(count: int, **given: Any) -> Evidence:
    """Return evidence of `count` embedded documents in which nothing was found."""
    values: dict[str, Any] = {
        "cosine": np.zeros(count), "embedded": np.ones(count, bool), "bm25": np.zeros(count),
        "coverage": np.zeros(count), "exact": np.zeros(count), "han": np.zeros(count),
        "previous": np.full(count, -1), "sample": np.arange(count), "searched": count,
        "query_han": 0.0, "time": np.zeros(count), "sources": np.empty((0, 2), int),
        "succession": NOTHING_REPLACED, "remark": False, "timed": False,
    }  # fmt: skip
    given = {k: np.array(v) if isinstance(v, list) else v for k, v in given.items()}
    return Evidence(**{**values, **given})


def knows_something(evidence: Evidence, calibration: Calibration) -> bool:
    return margin(evidence, calibration) >= 0


def test_dense_counts_in_standard_deviations() -> None:
    """The cosine is divided by four times the spread, which leans on the usual one."""
    found = fuse(evidence(3, cosine=[0.3, 0.1, -0.1]), E5)

    variance = (0.2**2 + 0.0**2 + 0.2**2) / 3
    spread = ((3 * variance + 10 * 0.085**2) / (3 + 10)) ** 0.5
    assert found.spread == pytest.approx(spread, abs=1e-9)
    assert found.dense == pytest.approx(
        [0.3 / (4 * spread), 0.1 / (4 * spread), -0.1 / (4 * spread)]
    )


def test_the_spread_is_that_of_the_embedded_ones() -> None:
    """A document without a vector says nothing of how the others are spread."""
    found = fuse(evidence(3, cosine=[0.3, 0.1, 0.0], embedded=[True, True, False]), E5)

    assert found.spread == pytest.approx(((3 * 0.01 + 10 * 0.085**2) / 13) ** 0.5, abs=1e-9)


def test_words_count_as_far_as_their_best_hit_carries() -> None:
    """Half the query covered, or thirty points of BM25, is full trust; less is less."""
    half = fuse(evidence(2, bm25=[6.0, 3.0], coverage=[0.5, 0.2]), E5)
    assert (half.gate, half.best_bm25) == (1.0, 6.0)
    assert half.lexical == pytest.approx([1.0, 0.5])

    little = fuse(evidence(2, bm25=[6.0, 3.0], coverage=[0.15, 0.1]), E5)
    assert little.gate == pytest.approx(max(0.15 / 0.5, 6.0 / 30.0))
    assert little.lexical == pytest.approx([0.3, 0.15])

    long = fuse(evidence(1, bm25=[24.0], coverage=[0.1]), E5)
    assert long.gate == pytest.approx(24.0 / 30.0)
    assert fuse(evidence(1, bm25=[45.0]), E5).gate == 1.0


def test_another_script_is_lent_what_its_vector_earns() -> None:
    """A document that could share no word gets the level of the nearest five that could."""
    found = fuse(
        evidence(
            7, cosine=[0.4, 0.2, 0.1, 0.1, 0.0, -0.1, 0.3], bm25=[10.0, 5.0, 0, 0, 0, 10.0, 0],
            coverage=[0.5, 0, 0, 0, 0, 0, 0], han=[1, 1, 1, 1, 1, 1, 0.2], query_han=1.0,
        ),
        E5,
    )  # fmt: skip

    level = (1.0 + 0.5 + 0 + 0 + 0) / 5  # the sixth of the same script is not among the five
    assert found.other_script.tolist() == [False] * 6 + [True]
    assert found.lexical == pytest.approx([1.0, 0.5, 0, 0, 0, 1.0, level * 0.3 / 0.4])


def test_another_script_never_loses_what_its_words_earn() -> None:
    """The loan is a floor, and there is none without a document of the query's own script."""
    found = fuse(evidence(2, cosine=[0.4, 0.1], bm25=[1.0, 8.0], han=[1, 0], query_han=1.0), E5)
    assert found.lexical[1] == pytest.approx(8.0 / 30.0)
    alone = fuse(evidence(1, cosine=[0.4], han=[0], query_han=1.0), E5)
    assert alone.lexical.tolist() == [0.0]


def test_words_are_believed_less_where_another_script_is_nearer() -> None:
    """From one spread on, what shares words in the query's own script counts by meaning alone."""
    near = evidence(2, cosine=[0.1, 0.12], bm25=[30.0, 0], coverage=[1.0, 0], han=[1, 0],
                    query_han=1.0)  # fmt: skip
    found = fuse(near, E5)
    assert found.lexical[0] == pytest.approx(1 - 0.02 / found.spread)

    far = evidence(2, cosine=[0.1, 0.5], bm25=[30.0, 0], coverage=[1.0, 0], han=[1, 0],
                   query_han=1.0)  # fmt: skip
    assert fuse(far, E5).lexical[0] == 0.0
    assert fuse(far, E5, {"other-script"}).lexical[0] == 1.0


def test_turns_lend_to_their_neighbours() -> None:
    """A quarter of what the turn before earns over the median, a tenth of what the next does."""
    found = fuse(evidence(4, exact=[0.0, 1.0, 0.0, 0.0], previous=[-1, 0, 1, -1]), E5)

    assert found.neighbour.tolist() == pytest.approx([0.1, 0.0, 0.25, 0.0])
    assert found.score.tolist() == pytest.approx([0.1, 1.0, 0.25, 0.0])


def test_of_two_replies_the_better_one_lends() -> None:
    """Where a dialogue branches, the best of the next turns counts, once."""
    found = fuse(evidence(3, exact=[0.0, 1.0, 0.5], previous=[-1, 0, 0]), E5)

    assert found.neighbour[0] == pytest.approx(0.1 * (1.0 - 0.5))


def test_an_identifier_counts_beside_the_rest() -> None:
    """The share of the query's identifiers is added as it is."""
    found = fuse(evidence(2, exact=[0.5, 0.0], bm25=[1.0, 2.0], coverage=[0.5, 0.5]), E5)

    assert found.score == pytest.approx([0.5 + 0.5, 1.0])


@given(st.integers(0, 30), st.integers(0, 100))
def test_the_parts_add_up(count: int, seed: int) -> None:
    """The score is the sum of its parts, finite, for any evidence at all."""
    random = np.random.default_rng(seed)
    some = evidence(
        count, cosine=random.normal(0, 0.2, count), embedded=random.random(count) < 0.8,
        bm25=random.random(count) * 20, coverage=random.random(count),
        exact=random.random(count).round(), han=random.random(count), query_han=random.random(),
        previous=random.integers(-1, max(count, 1), count) if count else np.zeros(0, int),
    )  # fmt: skip
    found = fuse(some, E5)

    assert np.isfinite(found.score).all()
    assert found.score == pytest.approx(found.dense + found.lexical + found.exact + found.neighbour)


def test_tiny_scopes_are_no_trouble() -> None:
    """One document, or none, has a spread; without vectors the words are believed in full."""
    one = fuse(evidence(1, cosine=[0.5]), E5)
    assert one.spread == pytest.approx((10 * 0.085**2 / 11) ** 0.5, abs=1e-9)
    none = fuse(evidence(0), E5)
    assert none.spread == pytest.approx(0.085)
    assert (none.best_bm25, len(none.score)) == (0.0, 0)
    words = fuse(evidence(2, embedded=[False, False], bm25=[1.0, 2.0], coverage=[0.01, 0.02]), E5)
    assert (words.gate, words.lexical.tolist()) == (1.0, [0.5, 1.0])


def test_the_floor_grows_with_the_scope() -> None:
    """The best of many unrelated texts is nearer than the best of few, so more is asked of it."""
    assert knows_something(evidence(1, cosine=[0.23], searched=100), E5)
    assert not knows_something(evidence(1, cosine=[0.21], searched=100), E5)
    assert not knows_something(evidence(1, cosine=[0.23], searched=200), E5)
    assert knows_something(evidence(1, cosine=[0.26], searched=200), E5)
    assert not knows_something(evidence(0), E5)


def test_what_is_named_outright_is_known() -> None:
    """An identifier, or a document that holds most of the query, needs no vector."""
    assert knows_something(evidence(1, exact=[0.5]), E5)
    assert knows_something(evidence(1, coverage=[fuse_module._SURE_COVERAGE]), E5)
    assert not knows_something(evidence(1, coverage=[fuse_module._SURE_COVERAGE - 0.01]), E5)
    words = {"embedded": [False], "coverage": [fuse_module._KEYWORD_FLOOR]}
    assert knows_something(evidence(1, **words), E5)
    assert not knows_something(evidence(1, **words | {"coverage": [0.0]}), E5)


def test_the_floor_is_lower_across_languages() -> None:
    """Where the nearest text is in another script than the query, less is asked of it."""
    assert knows_something(evidence(1, cosine=[0.19], searched=100, query_han=1.0), E5)
    assert not knows_something(evidence(1, cosine=[0.17], searched=100, query_han=1.0), E5)
    both = evidence(2, cosine=[0.19, 0.20], searched=100, han=[0.0, 1.0], query_han=1.0)
    assert not knows_something(both, E5)


def test_support_makes_up_for_a_low_cosine() -> None:
    """Words held, a time that fits and being a remark count beside the cosine."""
    low = {"cosine": [0.1], "searched": 100}
    assert not knows_something(evidence(1, **low), E5)
    assert knows_something(evidence(1, **low, coverage=[0.5]), E5)  # 0.1 + 0.25 / 2 > 0.22
    assert knows_something(evidence(1, **low, time=[1.0]), E5)
    assert not knows_something(evidence(1, **low, remark=True), E5)
    assert knows_something(evidence(1, cosine=[0.17], searched=100, remark=True), E5)


def test_the_time_asked_for_counts() -> None:
    """A document of the days that a question names gains more than one that may be of them."""
    found = fuse(evidence(3, time=[1.0, 0.5, 0.0]), E5)
    assert found.time.tolist() == [1.5, 0.75, 0.0]
    assert found.speaks.tolist() == [True, True, False]

    remark = fuse(evidence(1, time=[1.0], remark=True), E5)
    assert remark.time.tolist() == [0.375]
    assert fuse(evidence(1, time=[1.0]), E5, {"time"}).time.tolist() == [0.0]


def test_records_and_their_words_lend_each_other() -> None:
    """Half of what one has above the median goes to the other; the best of several counts."""
    found = fuse(evidence(4, exact=[1.0, 0.5, 0.0, 0.0], sources=[[0, 2], [1, 2], [1, 3]]), E5)

    own = found.dense + found.exact
    earned = np.maximum(0, own - np.median(own))
    assert found.source.tolist() == pytest.approx([0, 0, earned[0] / 2, earned[1] / 2])
    assert found.speaks.tolist() == [True, True, True, True]
    assert fuse(evidence(2, exact=[1.0, 0.0], sources=[[0, 1]]), E5, {"sources"}).source.sum() == 0


def test_what_says_nothing_lends_nothing() -> None:
    """A record without a word, name, date or nearness of its own does not lift its source."""
    found = fuse(evidence(3, cosine=[0.01, -0.2, 0.0], sources=[[0, 1]]), E5)

    assert found.source.tolist() == [0, 0, 0]
    assert not found.speaks.any()


def test_a_little_below_the_floor_is_doubtful() -> None:
    """What is nearest is then shown, marked as nothing that stands out; further below it is not."""
    assert -DOUBT < margin(evidence(1, cosine=[0.19], searched=100), E5) < 0
    assert margin(evidence(1, cosine=[0.17], searched=100), E5) < -DOUBT
    assert margin(evidence(1, exact=[1.0]), E5) == float("inf")


def test_what_replaced_words_comes_before_them_along_a_chain() -> None:
    chain = Succession.of([(0, 1, 0, False), (0, 2, 1, False), (1, 2, 2, True)])
    found = fuse(evidence(4, exact=[1.0, 0.6, 0.55, 0.9], succession=chain), E5)

    assert np.argsort(-found.score).tolist() == [2, 1, 0, 3]
    assert found.score[0] == pytest.approx(1.0)
    assert found.score[2] == pytest.approx(1.0, abs=1e-5)
    plain = fuse(evidence(4, exact=[1.0, 0.6, 0.55, 0.9], succession=chain), E5, {"successors"})
    assert np.argsort(-plain.score).tolist() == [0, 3, 1, 2]


def test_words_stay_before_a_successor_that_hardly_speaks_to_the_question() -> None:
    apart = Succession.of([(0, 1, 0, False)])
    found = fuse(evidence(2, exact=[1.0, 0.4], succession=apart), E5)
    assert found.score.tolist() == [1.0, 0.4]

    whole = Succession.of([(0, 1, 0, True)])
    found = fuse(evidence(2, exact=[1.0, 0.4], succession=whole), E5)
    assert found.score[1] > found.score[0]


def meeting(values: dict[int, float]) -> Any:
    """Return what tells of positions how well they are met: the values given, NaN for others."""
    return lambda positions: np.array([values.get(place, np.nan) for place in positions.tolist()])


def noting(asked: list[int]) -> Any:
    """Return what meets all positions alike, and notes which were asked about."""

    def met(positions: Any) -> Any:
        asked.extend(positions.tolist())
        return np.full(len(positions), 0.2)

    return met


def test_tokens_count_above_the_least_of_the_best() -> None:
    """Five times what a document is met by beyond the least; the unknown gets the mean."""
    given = evidence(4, bm25=[9.0, 8.0, 7.0, 6.0], coverage=[0.5] * 4)
    met = meeting({0: 0.1, 1: 0.3, 2: 0.2})

    found = fuse(given, E5, met=met)

    assert found.interaction == pytest.approx([0.0, 1.0, 0.5, 0.5])
    assert found.score - fuse(given, E5).score == pytest.approx(found.interaction)
    assert not fuse(given, E5, {"interaction"}, met=met).interaction.any()
    assert not fuse(given, E5, met=meeting({})).interaction.any()


def test_only_the_best_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not among the best is not looked at, and stays behind those that are."""
    monkeypatch.setattr(fuse_module, "_INTERACTING", 2)
    asked: list[int] = []

    fuse(evidence(4, bm25=[1.0, 9.0, 8.0, 2.0]), E5, met=noting(asked))
    assert sorted(asked) == [1, 2]


@pytest.mark.parametrize(("alike", "looked_at"), [(2, 3), (6, 1)])
def test_of_many_alike_all_are_met_or_none(
    monkeypatch: pytest.MonkeyPatch, alike: int, looked_at: int
) -> None:
    """Where the last place is shared, the order of documents does not decide who gets it."""
    monkeypatch.setattr(fuse_module, "_INTERACTING", 2)
    asked: list[int] = []

    fuse(evidence(1 + alike, bm25=[9.0, *[3.0] * alike]), E5, met=noting(asked))
    assert len(asked) == looked_at


def test_what_is_not_embedded_has_its_words_for_its_meaning() -> None:
    """It is lent as much of the best one's meaning as it has of the best words."""
    given = evidence(
        3, cosine=[0.4, 0.0, 0.0], bm25=[0.0, 8.0, 4.0], coverage=[0.0, 0.5, 0.5],
        embedded=[True, False, False],
    )  # fmt: skip

    found = fuse(given, E5)

    assert found.lexical == pytest.approx([0.0, 1 + found.dense[0], 0.5 * (1 + found.dense[0])])
    assert found.dense[1:].tolist() == [0.0, 0.0]
    alone = evidence(2, bm25=[8.0, 4.0], coverage=[0.5, 0.5], embedded=[False, False])
    assert fuse(alone, E5).lexical.tolist() == [1.0, 0.5]


def test_where_a_time_is_asked_for_tokens_count_half() -> None:
    """Texts seldom name their own time; a remark names its own, so there they count in full."""
    met = meeting({0: 0.1, 1: 0.3})

    def most(**asked: bool) -> float:
        given = evidence(2, bm25=[9.0, 8.0], time=[0.5, 0.0], **asked)
        return float(fuse(given, E5, met=met).interaction.max())

    assert most() == pytest.approx(1.0)
    assert most(timed=True) == pytest.approx(0.5)
    assert most(timed=True, remark=True) == pytest.approx(1.0)


def test_what_the_best_quote_is_met_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what quotes them: so many of them as there are best ones, those with the best scores."""
    monkeypatch.setattr(fuse_module, "_INTERACTING", 2)
    asked: list[int] = []

    words = [9.0, 8.0, *[3.0 + place / 100 for place in range(60)], 2.0]
    sources = np.array([*((record, 0) for record in range(2, 62)), (1, 62)])
    fuse(evidence(63, bm25=words, sources=sources), E5, {"sources"}, met=noting(asked))
    assert sorted(asked) == [0, 1, 60, 61]


def test_what_replaced_stays_ahead_of_what_is_met_better() -> None:
    """Tokens do not bring back what is no longer so."""
    first = np.array([0])
    one = Succession(old=first, new=np.array([1]), case=first, whole=np.array([True]))
    given = evidence(2, bm25=[9.0, 8.0], coverage=[0.5, 0.5], succession=one)

    found = fuse(given, E5, met=meeting({0: 0.9, 1: 0.1}))

    assert found.score[1] > found.score[0]
