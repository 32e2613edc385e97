"""A run: every system answers every query of every set, and the answers are measured.

What has been answered is kept as it comes, in `parts/<fingerprint>/` of the output directory, so
a run that was stopped goes on where it was.
"""

import hashlib
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import Dataset, View
from shiyi.eval.door import Door, OpenDoor
from shiyi.eval.kept import KeptAnswers
from shiyi.eval.measures import Answer, deepest, measure, measure_names, summarise, summarise_by
from shiyi.eval.readers.files import Files
from shiyi.eval.readers.trec import read_run
from shiyi.eval.results import (
    BuildTimings,
    Cell,
    CellTimings,
    Conditions,
    DatasetInfo,
    EvalResult,
    Timings,
)
from shiyi.eval.shelf import Shelf, has_scopes, steps
from shiyi.eval.systems import SYSTEMS, RunFile, System, make_system
from shiyi.models.tokens import get_counter
from shiyi.store.rows import json_sha256

_CODE = ("core", "models", "store", "indexer", "retrieval", "lifecycle", "eval")
_SEED = 0
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run. ks and budgets are ascending; without names what an ablation leaves out.

    runs are files of TREC runs, each measured as a system that is called like the file.
    """

    systems: Sequence[str] = ("hybrid", "bm25", "dense", "grep", "okapi")
    runs: Sequence[Path] = ()
    ks: Sequence[int] = (1, 5, 10, 20)
    budgets: Sequence[int] = ()
    by: Sequence[str] = ("category", "half")
    without: Sequence[str] = ()
    counter: str = "o200k"
    most: int | None = None


@dataclass(slots=True)
class _Run:
    plan: Plan
    systems: Sequence[str]
    found: Mapping[str, Mapping[str, Sequence[str]]]  # by the runs of other engines
    kept: KeptAnswers
    progress: Progress
    total: int
    done: int = 0
    builds: list[BuildTimings] = field(default_factory=list)


def run(
    plan: Plan, datasets: Sequence[Dataset], open_door: OpenDoor, output: Path, progress: Progress
) -> tuple[EvalResult, Timings]:
    """Run the plan and return what it found, and how long it took.

    Raises UsageError for an unknown system, a set that stands twice, or a document that the
    memory cannot take.
    """
    _check(plan, datasets)
    datasets = [_shortened(dataset, plan.most) for dataset in datasets]
    found, digests = _read_runs(plan)
    with open_door() as door:
        conditions = _conditions(plan, door, digests)
    systems = conditions.systems
    info = [_info(dataset) for dataset in datasets]
    fingerprint = json_sha256(
        {"conditions": conditions.model_dump(), "datasets": [one.model_dump() for one in info]}
    )
    total = len(systems) * sum(sum(one.views.values()) for one in info)
    with KeptAnswers(output / "parts" / fingerprint[:16]) as kept:
        state = _Run(plan, systems, found, kept, progress, total)
        for dataset in datasets:
            _answer_all(state, dataset, open_door)
        cells, timings = [], []
        for dataset in datasets:
            for view in dataset.views:
                for system in systems:
                    cells.append(_cell(state, dataset, view, system))
                    timings.append(_timing(state, dataset, view, system))
    result = EvalResult(fingerprint=fingerprint, conditions=conditions, datasets=info, cells=cells)
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return result, Timings(
        fingerprint=fingerprint, machine=machine, builds=state.builds, cells=timings
    )


def _check(plan: Plan, datasets: Sequence[Dataset]) -> None:
    for name in plan.systems:
        if name not in SYSTEMS:
            raise UsageError(f"There is no system {name!r}; there are {', '.join(SYSTEMS)}.")
    called = [path.stem for path in plan.runs]
    for name in called:
        if name in SYSTEMS or called.count(name) > 1:
            raise UsageError(f"Two systems are called {name}; rename the file of one run.")
    names = [dataset.name for dataset in datasets]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"Two sets are called {min(twice)}; rename the directory of one.")
    for dataset in datasets:
        _check_ids(dataset)


def _check_ids(dataset: Dataset) -> None:
    """Refuse two documents of one id when a query searches the scopes of both."""
    if all(query.scope for view in dataset.views for query in view.queries):
        return
    scopes: dict[str, str | None] = {}
    for document in dataset.documents:
        if scopes.setdefault(document.id, document.scope) != document.scope:
            raise UsageError(
                f"{dataset.name}: The id {document.id!r} stands in two scopes, but some queries "
                "search all of them; give each document an id of its own."
            )


def _shortened(dataset: Dataset, most: int | None) -> Dataset:
    """Return the set with the first `most` queries of each view."""
    if most is None:
        return dataset
    views = tuple(replace(view, queries=view.queries[:most]) for view in dataset.views)
    return replace(dataset, views=views)


def _read_runs(plan: Plan) -> tuple[dict[str, dict[str, list[str]]], dict[str, str]]:
    """Return what the runs of other engines found, by name, and the digest of each file."""
    found, digests = {}, {}
    for path in plan.runs:
        read = Files()
        found[path.stem] = read_run(path, read)
        digests[path.stem] = read.sha256()
    return found, digests


def _conditions(plan: Plan, door: Door, runs: Mapping[str, str]) -> Conditions:
    return Conditions(
        version=version("shiyi"),
        code=_code_sha256(),
        model=door.model,
        analyzer=door.analyzer,
        counter=get_counter(plan.counter).name,
        systems=[*plan.systems, *runs],
        runs=dict(runs),
        ks=list(plan.ks),
        budgets=list(plan.budgets),
        by=list(plan.by),
        without=sorted(plan.without),
        seed=_SEED,
    )


def _code_sha256() -> str:
    """Return a digest of the code that answers and measures."""
    digest = hashlib.sha256()
    for folder in _CODE:
        for name, content in sorted(_sources(Path(str(files(f"shiyi.{folder}"))))):
            digest.update(f"{folder}/{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _sources(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*.py"):
        yield path.relative_to(folder).as_posix(), path.read_bytes()


def _info(dataset: Dataset) -> DatasetInfo:
    return DatasetInfo(
        name=dataset.name,
        sha256=dataset.sha256,
        licence=dataset.licence,
        documents=len(dataset.documents),
        scopes=len({document.scope for document in dataset.documents}),
        views={view.name: len(view.queries) for view in dataset.views},
    )


def _answer_all(state: _Run, dataset: Dataset, open_door: OpenDoor) -> None:
    """Have every query answered that was not answered before."""
    for together in (False, True):
        views = [_only(view, dataset, together=together) for view in dataset.views]
        missing = sum(_missing(state, dataset, view) for view in views)
        state.done += len(state.systems) * sum(len(v.queries) for v in views) - missing
        if missing:
            with open_door() as door:
                _answer_views(state, dataset, views, Shelf(dataset, door, together=together))
    state.progress(state.done, state.total)


def _only(view: View, dataset: Dataset, *, together: bool) -> View:
    """Return a view with the queries that search all scopes together, or with the others."""
    scoped = has_scopes(dataset)
    wanted = (one for one in view.queries if (scoped and one.scope is None) == together)
    return replace(view, queries=tuple(wanted))


def _missing(state: _Run, dataset: Dataset, view: View) -> int:
    return sum(
        query.id not in state.kept.answered(dataset.name, view.name, system)
        for system in state.systems
        for query in view.queries
    )


def _answer_views(state: _Run, dataset: Dataset, views: Sequence[View], shelf: Shelf) -> None:
    plan, counter = state.plan, get_counter(state.plan.counter)
    systems: dict[str, System] = {name: make_system(name, shelf, counter) for name in plan.systems}
    systems |= {name: RunFile(found, shelf, counter) for name, found in state.found.items()}
    depth = deepest(measure_names(plan.ks, plan.budgets))
    built, embedded = 0.0, 0
    for documents, asked in steps(dataset, views):
        start = time.perf_counter()
        if documents:
            embedded += shelf.add(documents)
        built += time.perf_counter() - start
        for view, query in asked:
            for name, system in systems.items():
                if query.id in state.kept.answered(dataset.name, view.name, name):
                    continue
                answer = system.answer(query, depth, plan.budgets)
                state.kept.add(dataset.name, view.name, name, answer)
                state.done += 1
                state.progress(state.done, state.total)
    state.builds.append(
        BuildTimings(
            dataset=dataset.name, build_seconds=round(built, 3),
            index_bytes=shelf.door.index_bytes(), embedded=embedded,
        )
    )  # fmt: skip


def _cell(state: _Run, dataset: Dataset, view: View, system: str) -> Cell:
    given = state.kept.answered(dataset.name, view.name, system)
    answers = [
        Answer(query=query, outcome=one.outcome, found=one.found, shown=one.shown)
        for query in view.queries
        if (one := given[query.id])
    ]
    names = measure_names(state.plan.ks, state.plan.budgets)
    queries = measure(answers, view.judgements, names)
    return Cell(
        dataset=dataset.name, view=view.name, system=system, overall=summarise(queries),
        by=summarise_by(queries, state.plan.by), queries=queries,
    )  # fmt: skip


def _timing(state: _Run, dataset: Dataset, view: View, system: str) -> CellTimings:
    given = state.kept.answered(dataset.name, view.name, system)
    took = [given[query.id].milliseconds for query in view.queries]
    p50, p95 = np.percentile(took, [50, 95])
    return CellTimings(
        dataset=dataset.name, view=view.name, system=system,
        p50_ms=round(float(p50), 3), p95_ms=round(float(p95), 3),
    )  # fmt: skip
