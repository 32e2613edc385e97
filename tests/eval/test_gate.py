"""The gate: a run that falls below its baseline does not pass, and says where."""

import pytest

from shiyi.core.errors import UsageError
from shiyi.eval.gate import Baseline, check, make_baseline
from shiyi.eval.measures import summarise
from shiyi.eval.results import Cell, Conditions, DatasetInfo, EvalResult, Outcome, QueryResult


def run(
    values: list[float], *, sha256: str = "1", view: str = "main", name: str = "recall@10",
    outcome: Outcome = "found",
) -> EvalResult:  # fmt: skip
    """Return a run of one cell; the values are those of one measure."""
    queries = [
        QueryResult(id=f"q{number}", text="?", category=None, scope=None, half=None,
                    answerable=True, outcome=outcome, found=[], gold={"d": 1},
                    measures={name: value})
        for number, value in enumerate(values)
    ]  # fmt: skip
    return EvalResult(
        fingerprint="f",
        conditions=Conditions(version="0", code="", model="none", analyzer="", counter="",
                              systems=[], ks=[10], budgets=[], by=[], without=[], seed=0),
        datasets=[DatasetInfo(name="set", sha256=sha256, licence="", documents=1, scopes=1,
                              views={})],
        cells=[Cell(dataset="set", view=view, system="own", overall=summarise(queries), by={},
                    queries=queries)],
    )  # fmt: skip


def baseline(values: list[float], **more: float) -> Baseline:
    return make_baseline(run(values), ["recall@10"], **more)


def test_the_run_it_was_taken_from_passes() -> None:
    """A baseline holds for its own run, also after it went through a file."""
    kept = Baseline.model_validate_json(baseline([1, 0.3333333, 0]).model_dump_json())

    found = check(kept, run([1, 0.3333333, 0]))

    assert found.passed
    assert (found.fell, found.rose, found.failures) == ([], [], [])


def test_a_baseline_is_small() -> None:
    """It keeps means, and values only of the queries that were not perfect."""
    kept = baseline([1, 0.5, 1])

    (cell,) = kept.cells
    assert (kept.fingerprint, cell.sha256, cell.queries) == ("f", "1", 3)
    assert cell.measures["recall@10"].mean == pytest.approx(2.5 / 3, abs=1e-6)
    assert cell.measures["recall@10"].imperfect == {"q1": 0.5}


def test_a_fall_fails_and_names_the_worst_queries() -> None:
    """By how much, from where, and the queries that lost most, the worst first."""
    found = check(baseline([1, 1, 0.5, 1, 1, 1, 1, 1]), run([1, 0.25, 0, 0, 1, 0.5, 0.5, 0.9]))

    (fall,) = found.fell
    assert not found.passed
    assert (fall.dataset, fall.view, fall.system) == ("set", "main", "own")
    assert (fall.before, fall.now) == pytest.approx((7.5 / 8, 4.15 / 8))
    assert fall.difference == pytest.approx((4.15 - 7.5) / 8)
    assert fall.worst == ["q3", "q1", "q2", "q5", "q6"]


def test_a_rise_passes_and_is_told() -> None:
    """What got better is listed and no failure."""
    found = check(baseline([0.5, 0.5]), run([1, 0.5]))

    assert found.passed
    assert [change.difference for change in found.rose] == pytest.approx([0.25])


@pytest.mark.parametrize(("now", "passes"), [(0.595, True), (0.5949, False), (0.6, True)])
def test_a_fall_up_to_the_allowance_passes(now: float, passes: bool) -> None:
    """The allowance is absolute; a fall of just as much is within it."""
    assert check(baseline([0.6]), run([now])).passed is passes


def test_a_file_may_set_its_allowance() -> None:
    """A baseline with a wider allowance lets more pass."""
    assert check(baseline([0.6], allowance=0.2), run([0.41])).passed
    assert not check(baseline([0.6], allowance=0), run([0.59])).passed


def test_silence_falls_when_it_rises() -> None:
    """For measures of abstention, more is worse."""
    kept = make_baseline(run([1, 1]), ["wrong_silence"])

    found = check(kept, run([1, 1], outcome="weak"))

    assert [change.difference for change in found.fell] == [1]
    assert found.fell[0].worst == ["q0", "q1"]


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (run([1], view="hant"), "set / main / own: The result does not have this."),
        (run([1], sha256="2"), "The set has changed since the baseline was made"),
        (run([1, 1]), "There are 2 queries, not 1."),
        (run([1], name="recall@5"), "The result does not measure recall@10 here."),
    ],
)
def test_what_cannot_be_compared_fails(result: EvalResult, sentence: str) -> None:
    """A missing cell, another set, other queries, a missing measure: each fails with a sentence."""
    found = check(baseline([1]), result)

    assert not found.passed
    assert sentence in found.failures[0]


def test_a_measure_that_is_nowhere_is_refused() -> None:
    """A baseline names what was measured."""
    with pytest.raises(UsageError, match=r"does not measure nDCG@10\."):
        make_baseline(run([1]))
