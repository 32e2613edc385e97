"""What a table or a report shows of a run: columns in order, parity, and where systems differ."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from shiyi.core.text import visible
from shiyi.eval.measures import LOWER_IS_BETTER
from shiyi.eval.results import Cell, EvalResult, QueryResult, Summary

HEADLINE = "nDCG@10"
NONE = "–"
_PAIR = ("hybrid", "bm25")
_BLANKS = re.compile(r"\s+")
_ORDER = ("nDCG", "MRR", "", "recall", "recall_all", "success", "tokens")
_GROUPS = {
    "nDCG": "rank",
    "MRR": "rank",
    "recall": "recall, first k",
    "recall_all": "all gold in first k",
    "success": "any gold in first k",
    "tokens": "recall within tokens",
    "": "abstention",
}
_OTHER_SCRIPT = re.compile(r"(hant|hans)(_.*)?")
_PARITY = ("nDCG@10", "MRR@10", "recall@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A measure as a column: kind (tokens for recall within tokens), what k or B is, a heading."""

    name: str
    kind: str
    at: int
    head: str
    group: str
    lower_is_better: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCells:
    """All systems on one view of one set."""

    dataset: str
    view: str
    cells: tuple[Cell, ...]

    @property
    def overall(self) -> Summary:
        """The counts, which are the same for every system."""
        return self.cells[0].overall


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """What a system loses when the queries of a view come in the other script.

    Over the queries that main and the view both have; above 0: main is better.
    """

    dataset: str
    view: str
    system: str
    queries: int
    differences: dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One query as two systems answered it."""

    one: QueryResult
    other: QueryResult
    values: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A query that was answered though it has no answer, or not answered though it has one."""

    query: QueryResult
    systems: tuple[str, ...]


def columns(measures: Iterable[str]) -> list[Column]:
    """Return the measures in the order of a table: ranks, abstention, depths, budgets."""
    made = [_column(name) for name in dict.fromkeys(measures)]
    return sorted(made, key=lambda one: (_ORDER.index(one.kind), one.at))


def _column(name: str) -> Column:
    kind, _, tail = name.partition("@")
    at = int(tail.removesuffix("t")) if tail.removesuffix("t").isdigit() else 0
    if not at:
        kind, head = "", kind.replace("_", " ")
    elif tail.endswith("t"):
        kind, head = "tokens", f"{at:,}"
    elif kind in {"nDCG", "MRR"}:
        head = f"{kind} @{at}"
    else:
        head = f"@{at}"
    if kind not in _GROUPS:
        kind, head = "", name
    return Column(
        name=name, kind=kind, at=at, head=head, group=_GROUPS[kind],
        lower_is_better=name in LOWER_IS_BETTER,
    )  # fmt: skip


def by_view(result: EvalResult) -> list[ViewCells]:
    """Return the cells of each view together, in the order of the run."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in result.cells:
        found.setdefault((cell.dataset, cell.view), []).append(cell)
    return [
        ViewCells(dataset=dataset, view=view, cells=tuple(cells))
        for (dataset, view), cells in found.items()
    ]


def best(summaries: Iterable[Summary], column: Column) -> float | None:
    """Return the best value in a column, or None when all are the same."""
    given = (one.measures.get(column.name) for one in summaries)
    values = {round(value, 3) for value in given if value is not None}
    if len(values) <= 1:
        return None
    return min(values) if column.lower_is_better else max(values)


def number(value: float | None) -> str:
    """Return a value of a measure as it is printed."""
    return NONE if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """Return a difference as it is printed."""
    if value is None:
        return NONE
    shown = f"{value:+.3f}"
    return "0.000" if shown[1:] == "0.000" else shown.replace("-", "\N{MINUS SIGN}")


def clip(text: str, limit: int) -> str:
    """Return `text` on one line, harmless to show, cut after `limit` characters."""
    line = _BLANKS.sub(" ", text[: 4 * limit]).strip()
    shown = visible(line[:limit])
    is_cut = len(line) > limit or len(text) > 4 * limit or len(shown) > 2 * limit
    return f"{shown[: 2 * limit]}…" if is_cut else shown


def fitted(text: str, width: int) -> str:
    """Return the text in at most so many places, of which an East Asian letter takes two."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…"


def parities(result: EvalResult) -> list[Parity]:
    """Return what each view in the other script loses against main, for each system."""
    main = {(cell.dataset, cell.system): cell for cell in result.cells if cell.view == "main"}
    found = []
    for cell in result.cells:
        reference = main.get((cell.dataset, cell.system))
        if reference is None or not _OTHER_SCRIPT.fullmatch(cell.view):
            continue
        before = {query.id: query.measures for query in reference.queries if query.answerable}
        pairs = [
            (before[query.id], query.measures)
            for query in cell.queries
            if query.answerable and query.id in before
        ]
        found.append(
            Parity(
                dataset=cell.dataset, view=cell.view, system=cell.system, queries=len(pairs),
                differences={name: _mean_difference(pairs, name) for name in _PARITY},
            )
        )  # fmt: skip
    return found


def _mean_difference(
    pairs: Sequence[tuple[dict[str, float], dict[str, float]]], name: str
) -> float | None:
    values = [one[name] - other[name] for one, other in pairs if name in one and name in other]
    return sum(values) / len(values) if values else None


def pair_of(view: ViewCells) -> tuple[Cell, Cell] | None:
    """Return the two systems to set side by side: hybrid and bm25, or the first two."""
    cells = {cell.system: cell for cell in view.cells}
    if all(name in cells for name in _PAIR):
        return cells[_PAIR[0]], cells[_PAIR[1]]
    return (view.cells[0], view.cells[1]) if len(view.cells) > 1 else None


def disagreements(one: Cell, other: Cell, limit: int) -> list[Disagreement]:
    """Return the queries on which nDCG@10 differs most, largest first, then by id."""
    answers = {query.id: query for query in other.queries}
    found = [
        Disagreement(
            one=query, other=answers[query.id],
            values=(query.measures[HEADLINE], answers[query.id].measures[HEADLINE]),
        )
        for query in one.queries
        if query.id in answers
        and HEADLINE in query.measures
        and HEADLINE in answers[query.id].measures
    ]  # fmt: skip
    found = [one for one in found if one.values[0] != one.values[1]]
    return sorted(found, key=lambda one: (-abs(one.values[0] - one.values[1]), one.one.id))[:limit]


def false_answers(view: ViewCells) -> list[Failure]:
    """Return the queries without an answer that some system answered as found."""
    return _failures(view, lambda query: not query.answerable and query.outcome == "found")


def wrong_silences(view: ViewCells) -> list[Failure]:
    """Return the queries with an answer to which some system gave none, or a weak one."""
    return _failures(view, lambda query: query.answerable and query.outcome != "found")


def _failures(view: ViewCells, failed: Callable[[QueryResult], bool]) -> list[Failure]:
    """Return what failed in any system: the most common first, then in the order of the set."""
    systems: dict[str, list[str]] = {}
    queries: dict[str, QueryResult] = {}
    for cell in view.cells:
        for query in cell.queries:
            if failed(query):
                queries.setdefault(query.id, query)
                systems.setdefault(query.id, []).append(cell.system)
    found = [Failure(query=queries[one], systems=tuple(names)) for one, names in systems.items()]
    return sorted(found, key=lambda one: -len(one.systems))
