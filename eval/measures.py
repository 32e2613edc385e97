"""How good an answer is: the measures, each in one stated variant, and their means.

| name          | what it tells, of one query                           | range | source    |
|---------------|-------------------------------------------------------|-------|-----------|
| recall@k      | share of the gold documents in the first k            | 0..1  | trec_eval |
| recall_all@k  | 1 when all gold documents are in the first k          | 0, 1  | [1]       |
| success@k     | 1 when any gold document is in the first k            | 0, 1  | trec_eval |
| nDCG@k        | gain = grade, discount log2(rank + 1), over the ideal | 0..1  | [2]       |
| MRR@k         | 1 / rank of the first gold document, 0 beyond k       | 0..1  | [3]       |
| recall@Bt     | share of the gold shown in an answer of B tokens      | 0..1  | ours      |
| false_answers | 1 when what has no answer was answered as found       | 0, 1  | ours      |
| wrong_silence | 1 when what has an answer came back empty or weak     | 0, 1  | ours      |
| silent        | 1 when what has an answer came back empty             | 0, 1  | ours      |

[1] Wu et al., LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory, ICLR 2025.
[2] Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20, 2002;
    the linear gains of trec_eval, not 2^grade - 1.
[3] Voorhees, The TREC-8 Question Answering Track Report, 1999.

Gold is what has a grade above 0. The last three are better when lower, all others when higher.
false_answers is defined for queries that have no gold, every other measure only for those that
have some; a mean is over the queries for which its measure is defined. An answer with nothing in
it counts 0. In a list with an id twice, the first counts and the later ones are taken out before
ranks are counted. A rank is the place in the list, so there are no ties.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ir_measures import RR, R, Success, iter_calc, nDCG
from ir_measures.measures import Measure

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import Query
from shiyi.eval.results import Outcome, QueryResult, Summary

LOWER_IS_BETTER = frozenset({"false_answers", "wrong_silence", "silent"})
GROUPS = ("category", "scope", "half")
_DEPTH = 10  # nDCG and MRR are published at this one
_NAME = re.compile(r"(recall_all|recall|success|nDCG|MRR)@([1-9][0-9]{0,5})|recall@([1-9][0-9]*)t")
_THEIRS: dict[str, Measure] = {"recall": R, "success": Success, "nDCG": nDCG, "MRR": RR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system gave to one query: ids, best first, and those shown in each token budget.

    seconds is what finding them took, without what measuring costs.
    """

    query: Query
    outcome: Outcome
    found: Sequence[str]
    shown: Mapping[int, Sequence[str]] = field(default_factory=dict)
    seconds: float = 0.0


def measure_names(ks: Iterable[int], budgets: Iterable[int] = ()) -> list[str]:
    """Return the names of the usual measures at these depths and token budgets."""
    by_depth = [f"{name}@{k}" for name in ("recall", "recall_all", "success") for k in ks]
    return [*by_depth, f"nDCG@{_DEPTH}", f"MRR@{_DEPTH}", *(f"recall@{b}t" for b in budgets)]


def deepest(names: Iterable[str]) -> int:
    """Return how many documents a system has to find for these measures."""
    return max((k for _, k, _ in map(_parse, names) if k is not None), default=_DEPTH)


def measure(
    answers: Sequence[Answer], judgements: Mapping[str, Mapping[str, int]], names: Sequence[str]
) -> list[QueryResult]:
    """Return a result for each answer, in their order, with the measures of these names.

    Raises UsageError for a name that no measure has.
    """
    parsed = [(name, *_parse(name)) for name in names]
    golds = [_gold(judgements.get(answer.query.id, {})) for answer in answers]
    ranked = [list(dict.fromkeys(answer.found)) for answer in answers]
    theirs = {
        name: _THEIRS[kind] @ k for name, kind, k, _ in parsed if k is not None and kind in _THEIRS
    }
    values = _calculated(theirs, golds, ranked)
    for answer, gold, found, filled in zip(answers, golds, ranked, values, strict=True):
        for name, _, k, budget in parsed if gold else ():
            if budget is not None:
                filled[name] = len(gold.keys() & set(answer.shown.get(budget, ()))) / len(gold)
            elif name not in theirs:
                filled[name] = float(gold.keys() <= set(found[:k]))
    return [
        QueryResult(
            id=answer.query.id, text=answer.query.text, category=answer.query.category,
            scope=answer.query.scope, half=answer.query.half, answerable=bool(gold),
            outcome=answer.outcome, found=found, gold=gold,
            measures={name: filled[name] for name in names if name in filled},
        )
        for answer, gold, found, filled in zip(answers, golds, ranked, values, strict=True)
    ]  # fmt: skip


def values_of(query: QueryResult) -> dict[str, float]:
    """Return all measures that are defined for a query, those of abstention included."""
    if not query.answerable:
        return {"false_answers": float(query.outcome == "found")}
    silence = {
        "wrong_silence": float(query.outcome != "found"),
        "silent": float(query.outcome == "empty"),
    }
    return {**query.measures, **silence}


def summarise(queries: Sequence[QueryResult]) -> Summary:
    """Return the mean of each measure over the queries for which it is defined."""
    columns: dict[str, list[float]] = {}
    for query in queries:
        for name, value in values_of(query).items():
            columns.setdefault(name, []).append(value)
    return Summary(
        queries=len(queries),
        answerable=sum(query.answerable for query in queries),
        measures={name: math.fsum(values) / len(values) for name, values in columns.items()},
    )


def summarise_by(
    queries: Sequence[QueryResult], by: Iterable[str]
) -> dict[str, dict[str, Summary]]:
    """Return the summary of each category, scope or half; a query without one is in none."""
    return {field: _grouped(queries, field) for field in by}


def _grouped(queries: Sequence[QueryResult], by: str) -> dict[str, Summary]:
    if by not in GROUPS:
        raise UsageError(f"Results are grouped by {', '.join(GROUPS)}, not by {by!r}.")
    groups: dict[str, list[QueryResult]] = {}
    for query in queries:
        value = getattr(query, by)
        if value is not None:
            groups.setdefault(value, []).append(query)
    return {value: summarise(groups[value]) for value in sorted(groups)}


def _parse(name: str) -> tuple[str, int | None, int | None]:
    """Return the kind of a measure, its depth and its budget; one of the two is None."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise UsageError(
            f"There is no measure {name!r}; there are recall@k, recall_all@k, success@k, nDCG@k, "
            "MRR@k and recall@Bt, with k documents or B tokens, such as recall@10 and recall@500t."
        )
    if found[3] is not None:
        return "recall", None, int(found[3])
    return found[1], int(found[2]), None


def _gold(judgements: Mapping[str, int]) -> dict[str, int]:
    return {document: grade for document, grade in judgements.items() if grade > 0}


def _calculated(
    measures: Mapping[str, Measure],
    golds: Sequence[Mapping[str, int]],
    ranked: Sequence[Sequence[str]],
) -> list[dict[str, float]]:
    """Return the values of ir_measures, in one call, since each one costs much the same.

    It is given strict scores, since it breaks ties by id, and not the same way in every measure;
    and numbers for ids, since C strings end where an id has a NUL.
    """
    numbers = [
        {one: str(number) for number, one in enumerate(dict.fromkeys([*gold, *found]))}
        for gold, found in zip(golds, ranked, strict=True)
    ]
    judged = {
        str(row): {numbers[row][one]: grade for one, grade in gold.items()}
        for row, gold in enumerate(golds)
        if gold
    }
    run = {
        str(row): {numbers[row][one]: -float(rank) for rank, one in enumerate(ranked[row])}
        for row in map(int, judged)
        if ranked[row]
    }
    values = [dict.fromkeys(measures, 0.0) if gold else {} for gold in golds]
    names = {str(one): name for name, one in measures.items()}
    if run and measures:
        for metric in iter_calc(list(measures.values()), judged, run):
            values[int(metric.query_id)][names[str(metric.measure)]] = float(metric.value)
    return values
