"""Comparing two runs: what is shown, what is not, and what is not comparable."""

import itertools
import time
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.eval.compare import (
    bootstrap_interval,
    compare,
    randomisation_p,
)
from shiyi.eval.findings import Comparison, MeasureComparison
from shiyi.eval.measures import summarise
from shiyi.eval.results import Cell, Conditions, DatasetInfo, EvalResult, Outcome, QueryResult

CONDITIONS = Conditions(
    version="0", code="", model="none", analyzer="", counter="", systems=[], ks=[10], budgets=[],
    by=[], without=[], seed=0,
)  # fmt: skip


def query(number: int, value: float, outcome: Outcome = "found", gold: int = 1) -> QueryResult:
    return QueryResult(
        id=f"q{number}", text="?", category=None, scope=None, half=None, answerable=gold > 0,
        outcome=outcome, found=[], gold={"d": gold} if gold else {},
        measures={"recall@10": value} if gold else {},
    )  # fmt: skip


def cell(
    queries: list[QueryResult], system: str = "own", dataset: str = "set", view: str = "main"
) -> Cell:
    return Cell(dataset=dataset, view=view, system=system, overall=summarise(queries), by={},
                queries=queries)  # fmt: skip


def run(*cells: Cell, sha256: str = "1") -> EvalResult:
    infos = [
        DatasetInfo(name=name, sha256=sha256, licence="", documents=1, scopes=1, views={})
        for name in dict.fromkeys(one.dataset for one in cells)
    ]
    return EvalResult(fingerprint="", conditions=CONDITIONS, datasets=infos, cells=list(cells))


def valued(values: Iterable[float], **more: str) -> Cell:
    return cell([query(number, value) for number, value in enumerate(values)], **more)


def recall(comparison: Comparison) -> MeasureComparison:
    (found,) = comparison.cells
    return next(one for one in found.measures if one.measure == "recall@10")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=20)
def test_a_run_is_no_different_from_itself(values: list[float]) -> None:
    """Identical runs show no difference, with an interval of no width."""
    found = recall(compare(run(valued(values)), run(valued(values)), resamples=500))

    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert found.verdict == "no difference shown"


def test_a_clear_difference_is_shown_both_ways() -> None:
    """What is better on every query is better, and the other way round it is worse."""
    low, high = run(valued([0.2] * 30)), run(valued([0.7] * 30))

    found = recall(compare(low, high))

    assert found.verdict == "better"
    assert (found.a, found.b) == pytest.approx((0.2, 0.7))
    assert (found.difference, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert found.p == pytest.approx(1 / 10_001)
    assert recall(compare(high, low)).verdict == "worse"


def test_more_wrong_silence_is_worse() -> None:
    """For measures of abstention, lower is better."""
    answered = run(cell([query(number, 1) for number in range(20)]))
    silent = run(cell([query(number, 1, "empty") for number in range(20)]))

    verdicts = {one.measure: one.verdict for one in compare(answered, silent).cells[0].measures}

    assert verdicts == {
        "recall@10": "no difference shown", "wrong_silence": "worse", "silent": "worse",
    }  # fmt: skip


def test_the_test_of_all_sign_flips_is_met() -> None:
    """The p-value by chance is close to the exact one, from every flip there is."""
    differences = np.array([[0.4], [0.1], [-0.2], [0.5], [0.3], [0.0], [-0.1], [0.2]])
    flips = np.array(list(itertools.product((-1, 1), repeat=8)))
    exact = np.mean(np.abs(flips @ differences) >= abs(differences.sum()) - 1e-12)

    assert randomisation_p(differences)[0] == pytest.approx(exact, abs=0.015)


def test_the_interval_is_that_of_plain_resampling() -> None:
    """The bootstrap by counts is close to one that draws and averages, query by query."""
    random = np.random.default_rng(5)
    differences = random.normal(0.1, 0.3, (60, 1))
    means = [random.choice(differences[:, 0], 60).mean() for _ in range(10_000)]

    low, high = bootstrap_interval(differences)

    assert (low[0], high[0]) == pytest.approx(np.quantile(means, (0.025, 0.975)), abs=0.005)


def test_several_measures_are_corrected_by_holm() -> None:
    """The smallest p is taken times all, the next times one fewer, and never falls."""
    random = np.random.default_rng(3)
    before, after = [], []
    for number in range(40):
        a, b = query(number, 0.5), query(number, 0.5)
        for name, gain in (("recall@1", 0.0), ("recall@3", 0.08), ("recall@5", 0.1)):
            a.measures[name], b.measures[name] = 0.5, 0.5 + gain + random.normal(0, 0.25)
        before.append(a)
        after.append(b)

    (found,) = compare(run(cell(before)), run(cell(after))).cells

    expected, highest = {}, 0.0
    for place, one in enumerate(sorted(found.measures, key=lambda one: one.p)):
        highest = max(highest, min(1, one.p * (len(found.measures) - place)))
        expected[one.measure] = highest
    assert len(found.measures) == 6
    assert {one.measure: one.p_holm for one in found.measures} == expected


def test_the_same_seed_gives_the_same_words() -> None:
    """A comparison is a function of its two runs, whatever else they hold."""
    random = np.random.default_rng(1)
    a, b = random.random(50), random.random(50)
    alone = compare(run(valued(a)), run(valued(b)))

    again = compare(run(valued(b, dataset="x"), valued(a)), run(valued(a, dataset="x"), valued(b)))

    assert compare(run(valued(a)), run(valued(b))) == alone
    assert again.cells[1] == alone.cells[0]


def test_a_thousand_queries_take_no_time() -> None:
    """20 measures of 1,000 queries: the whole comparison stays in seconds on a busy machine."""
    differences = np.random.default_rng(2).normal(0, 1, (1000, 20))
    start = time.process_time()

    randomisation_p(differences)
    bootstrap_interval(differences)

    assert time.process_time() - start < 10


def test_system_against_system() -> None:
    """Two systems of one run are compared with each other."""
    both = run(valued([0.2] * 20, system="bm25"), valued([0.9] * 20, system="hybrid"))

    comparison = compare(both, both, systems=("bm25", "hybrid"))

    assert (comparison.cells[0].system_a, comparison.cells[0].system_b) == ("bm25", "hybrid")
    assert recall(comparison).verdict == "better"


def test_an_unknown_system_is_refused() -> None:
    """The message lists those that were measured."""
    with pytest.raises(UsageError, match="no system 'bm52', only own"):
        compare(run(valued([1])), run(valued([1])), systems=("own", "bm52"))


def test_cells_that_only_one_side_has_are_named() -> None:
    """What could not be compared is said, not dropped."""
    comparison = compare(
        run(valued([1]), valued([1], view="hant")), run(valued([1]), valued([1], system="grep"))
    )

    assert comparison.only_a == ["set / hant / own"]
    assert comparison.only_b == ["set / main / grep"]


def test_other_sets_are_refused() -> None:
    """A set that changed is not compared unless only common queries are asked for."""
    a, b = run(valued([1])), run(valued([1]), sha256="2")

    with pytest.raises(UsageError, match=r"contents of 1 of the sets differ \(set\)"):
        compare(a, b)
    assert compare(a, b, common=True).cells[0].queries == 1


def test_other_queries_are_refused() -> None:
    """Queries that differ are counted and named; common ones can be asked for."""
    a, b = run(valued([1, 1, 1])), run(valued([1]))

    with pytest.raises(UsageError, match=r"^2 queries of set / main are not the same .*q1, q2"):
        compare(a, b)
    found = compare(a, b, common=True).cells[0]
    assert (found.queries, found.left_out) == (1, 2)


def test_other_gold_is_another_query() -> None:
    """The same id with another gold does not pair."""
    a, b = run(cell([query(0, 1), query(1, 1)])), run(cell([query(0, 1, gold=2), query(1, 1)]))

    with pytest.raises(UsageError, match="1 queries"):
        compare(a, b)
    assert compare(a, b, common=True).cells[0].queries == 1


def test_nothing_in_common_is_refused() -> None:
    """Two runs that share no cell, or no query, have nothing to say."""
    with pytest.raises(UsageError, match="no set, view and system"):
        compare(run(valued([1])), run(valued([1], system="grep")))
    with pytest.raises(UsageError, match="no query in common"):
        compare(run(cell([query(1, 1)])), run(cell([query(2, 1)])), common=True)
