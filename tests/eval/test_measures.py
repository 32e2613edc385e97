"""Measures: each against a plain one written here, by hand, and at every edge."""

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import Query
from shiyi.eval.measures import (
    Answer,
    deepest,
    measure,
    measure_names,
    summarise,
    summarise_by,
    values_of,
)
from shiyi.eval.results import Outcome, QueryResult

KS = (1, 3, 10)
NAMES = [
    *(f"{kind}@{k}" for k in KS for kind in ("recall", "recall_all", "success", "nDCG", "MRR")),
    "recall@500t",
]
IDS = st.sampled_from([f"d{number}" for number in range(14)])
RUNS = st.lists(IDS, max_size=20)
GRADES = st.dictionaries(IDS, st.integers(-1, 3), max_size=8)


def answer(found: Sequence[str], outcome: Outcome = "found", name: str = "q") -> Answer:
    query = Query(id=name, text="?", category="c", half="tune")
    return Answer(query=query, outcome=outcome, found=found, shown={500: found[:2]})


def one(found: Sequence[str], grades: Mapping[str, int], *names: str) -> dict[str, float]:
    (result,) = measure([answer(found)], {"q": grades}, names or NAMES)
    return result.measures


def plain(name: str, found: Sequence[str], grades: Mapping[str, int]) -> float:
    """Work a measure out step by step, without any of the code under test."""
    kind, _, depth = name.partition("@")
    gold = {document for document, grade in grades.items() if grade > 0}
    if depth.endswith("t"):
        return len([document for document in gold if document in found[:2]]) / len(gold)
    unique = []
    for document in found:
        if document not in unique:
            unique.append(document)
    top = unique[: int(depth)]
    hits = [rank for rank, document in enumerate(top, 1) if document in gold]
    if kind == "recall":
        return len(hits) / len(gold)
    if kind == "recall_all":
        return 1.0 if len(hits) == len(gold) else 0.0
    if kind == "success":
        return 1.0 if hits else 0.0
    if kind == "MRR":
        return 1 / hits[0] if hits else 0.0
    gains = sum(grades[top[rank - 1]] / math.log2(rank + 1) for rank in hits)
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[: int(depth)]
    return gains / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))


@given(RUNS, GRADES)
def test_every_measure_is_what_a_plain_one_says(found: list[str], grades: dict[str, int]) -> None:
    """Two ways to work out each measure agree, whatever the run and the judgements."""
    values = one(found, grades)

    if any(grade > 0 for grade in grades.values()):
        assert values == pytest.approx({name: plain(name, found, grades) for name in NAMES})
    else:
        assert values == {}


@given(RUNS, GRADES)
def test_measures_lie_between_0_and_1_and_grow_with_depth(
    found: list[str], grades: dict[str, int]
) -> None:
    """No value leaves its range; looking deeper never finds less."""
    values = one(found, grades)

    assert all(0 <= value <= 1 for value in values.values())
    for kind in ("recall", "recall_all", "success", "MRR"):
        deeper = [values[f"{kind}@{k}"] for k in KS if values]
        assert deeper == sorted(deeper)


@given(RUNS, GRADES, st.permutations([f"d{number}" for number in range(14)]))
def test_the_names_of_documents_do_not_matter(
    found: list[str], grades: dict[str, int], names: list[str]
) -> None:
    """Ids are only told apart: under other names every value stays."""
    other = dict(zip([f"d{number}" for number in range(14)], names, strict=True))

    renamed = one([other[document] for document in found],
                  {other[document]: grade for document, grade in grades.items()})  # fmt: skip

    assert renamed == one(found, grades)


@given(st.lists(st.tuples(RUNS, GRADES), max_size=6))
def test_a_whole_run_at_once_is_every_query_alone(
    queries: list[tuple[list[str], dict[str, int]]],
) -> None:
    """Measuring in one call changes nothing, also where some answers or judgements are empty."""
    answers = [answer(found, name=f"q{row}") for row, (found, _) in enumerate(queries)]
    judgements = {f"q{row}": grades for row, (_, grades) in enumerate(queries)}

    results = measure(answers, judgements, NAMES)

    assert [result.id for result in results] == [f"q{row}" for row in range(len(queries))]
    assert [result.measures for result in results] == [one(*query) for query in queries]


def test_worked_by_hand() -> None:
    """A graded query, with the formula as the expectation."""
    found, grades = ["x", "b", "a", "y", "c"], {"a": 2, "b": 1, "c": 1, "d": 3, "x": 0}

    values = one(found, grades, "recall@3", "recall_all@5", "success@1", "MRR@10", "nDCG@10",
                 "recall@500t")  # fmt: skip

    gained = 1 / math.log2(3) + 2 / math.log2(4) + 1 / math.log2(6)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)
    assert values == pytest.approx({
        "recall@3": 2 / 4, "recall_all@5": 0, "success@1": 0, "MRR@10": 1 / 2,
        "nDCG@10": gained / ideal, "recall@500t": 1 / 4,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("found", "grades", "expected"),
    [
        ([], {}, {}),
        (["a"], {}, {}),
        (["a", "b"], {"a": 0, "b": -1}, {}),
        ([], {"a": 1}, {"recall@10": 0, "recall_all@10": 0, "nDCG@10": 0, "MRR@10": 0}),
        (["x"], {"a": 1}, {"recall@10": 0, "recall_all@10": 0, "nDCG@10": 0, "MRR@10": 0}),
        (["a"], {"a": 1, "b": 1}, {"recall@10": 1 / 2, "recall_all@10": 0, "MRR@10": 1,
                                   "nDCG@10": 1 / (1 + 1 / math.log2(3))}),
        (["a", "b"], {"a": 1, "b": 1},
         {"recall@10": 1, "recall_all@10": 1, "nDCG@10": 1, "MRR@10": 1}),
    ],
)  # fmt: skip
def test_edges(found: list[str], grades: dict[str, int], expected: dict[str, float]) -> None:
    """Empty, partial and full: for the run and for the judgements."""
    names = ("recall@10", "recall_all@10", "nDCG@10", "MRR@10")

    assert one(found, grades, *names) == pytest.approx(expected)


def test_a_document_that_comes_twice_counts_where_it_comes_first() -> None:
    """A repeated id neither scores again nor pushes others down."""
    assert one(["x", "x", "x", "a"], {"a": 1}, "MRR@2") == {"MRR@2": 1 / 2}
    assert one(["a", "a"], {"a": 1, "b": 1}, "recall@10") == {"recall@10": 1 / 2}


def test_the_order_given_is_the_order_measured() -> None:
    """No order of ids breaks the order of ranks: the tenth counts as the tenth."""
    for names in ("abcdefghij", "jihgfedcba"):
        assert one(list(names), {names[9]: 1}, "MRR@10", "nDCG@10") == pytest.approx(
            {"MRR@10": 1 / 10, "nDCG@10": 1 / math.log2(11)}
        )


def test_ids_may_hold_anything() -> None:
    """Blanks, NUL and other scripts in ids are told apart."""
    assert one(["a\0b", "a b", "记 1"], {"a\0c": 1, "记 1": 1}, "recall@10", "MRR@10") == {
        "recall@10": 1 / 2, "MRR@10": 1 / 3,
    }  # fmt: skip


def test_tokens_that_were_not_shown_count_nothing() -> None:
    """An answer without that budget shows no gold."""
    given = Answer(query=Query(id="q", text="?"), outcome="empty", found=[])

    (result,) = measure([given], {"q": {"a": 1}}, ["recall@500t"])

    assert result.measures == {"recall@500t": 0.0}


@pytest.mark.parametrize("name", ["ndcg@10", "recall@0", "recall", "MRR@10t", "recall@-1", "P@5"])
def test_an_unknown_measure_is_refused(name: str) -> None:
    """A name that parses as no measure says which there are."""
    with pytest.raises(UsageError, match="There is no measure"):
        measure([], {}, [name])


def test_usual_names() -> None:
    """The names at some depths and budgets, and how deep one has to look for them."""
    names = measure_names((5, 20), (500,))

    assert names == [
        "recall@5", "recall@20", "recall_all@5", "recall_all@20", "success@5", "success@20",
        "nDCG@10", "MRR@10", "recall@500t",
    ]  # fmt: skip
    assert deepest(names) == 20
    assert deepest(["recall@500t"]) == 10


def results() -> list[QueryResult]:
    """Two that have an answer (one silent, one weak but right), and two that have none."""
    answers = [answer([], "empty", "q1"), answer(["a"], "weak", "q2"), answer(["a"], "found", "q3"),
               answer([], "empty", "q4")]  # fmt: skip
    return measure(answers, {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 0}}, ["recall@10"])


def test_summary_of_answers_and_silences() -> None:
    """Ranking is averaged over what can be answered; abstention has its own two groups."""
    summary = summarise(results())

    assert (summary.queries, summary.answerable) == (4, 2)
    assert summary.measures == {
        "recall@10": (0 + 1) / 2, "wrong_silence": 2 / 2, "silent": 1 / 2, "false_answers": 1 / 2,
    }  # fmt: skip


def test_nothing_is_averaged_over_nothing() -> None:
    """A mean over no queries is not there, rather than 0."""
    assert summarise([]).measures == {}
    assert "false_answers" not in summarise(results()[:2]).measures
    assert set(summarise(results()[2:]).measures) == {"false_answers"}
    assert values_of(results()[2]) == {"false_answers": 1.0}


def test_groups() -> None:
    """Each value of a field has a summary; queries without one are in none."""
    groups = summarise_by(results(), ["category", "scope", "half"])

    assert {field: list(values) for field, values in groups.items()} == {
        "category": ["c"], "scope": [], "half": ["tune"],
    }  # fmt: skip
    assert groups["category"]["c"] == summarise(results())
    with pytest.raises(UsageError, match="grouped by category, scope, half"):
        summarise_by(results(), ["id"])
