"""A run as one page that needs nothing else: tables, charts, and the queries worth a look."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from shiyi.core.files import write_atomically
from shiyi.eval import figures
from shiyi.eval.cases import NAME_LENGTH, Case, Missed, make_case, make_missed
from shiyi.eval.dataset import MAIN
from shiyi.eval.figures import Column, Parity, ViewCells, clip, number
from shiyi.eval.plot import Row, Series, dot_plot, line_chart
from shiyi.eval.results import Cell, CellTimings, EvalResult, Timings

_QUERIES = 20  # of a view, on which two systems disagree most
_ALL_QUERIES = 300  # of the whole page, so that many views do not make it heavy
_FEWEST = 5
_GROUPS = 12
_MEASURE = figures.HEADLINE

Texts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    text: str
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chart:
    title: str
    svg: Markup
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What the sections have in common; styles: system → its colour and mark."""

    columns: list[Column]
    styles: Mapping[str, int]
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """All that the page says of one view of one set."""

    anchor: str
    dataset: str
    view: str
    queries: int
    answerable: int
    rows: list[tuple[str, list[_Value]]]
    charts: list[_Chart]
    pair: tuple[str, str] | None
    cases: list[Case]
    answered: list[Missed]
    answered_of: int
    silent: list[Missed]
    silent_of: int


@cache
def _template() -> Template:
    text = files("shiyi.eval").joinpath("templates").joinpath("report.html").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["clip"] = clip
    environment.filters["by_view"] = _by_view
    environment.filters["signed"] = figures.signed
    return environment.from_string(text)


def write_report(
    result: EvalResult, timings: Timings | None, path: Path, *, texts: Texts | None = None
) -> None:
    """Write one HTML file without script and without a request to anywhere.

    The same input gives the same bytes. `texts` has, for each set, the texts of documents by id,
    to be shown beside the ids; without it the page holds none. Raises OSError when the file cannot
    be written.
    """
    views = figures.by_view(result)
    timed, speeds = _speeds(timings)
    columns = figures.columns(name for cell in result.cells for name in cell.overall.measures)
    styles = {system: place for place, system in enumerate(result.conditions.systems)}
    limit = max(_FEWEST, min(_QUERIES, _ALL_QUERIES // max(len(views), 1)))
    shared = _Shared(columns=columns, styles=styles, limit=limit)
    sections = [
        _section(f"v{place}", view, shared, (texts or {}).get(view.dataset, {}))
        for place, view in enumerate(views)
    ]
    page = _template().render(
        result=result,
        conditions=result.conditions,
        timings=timings,
        timed=timed,
        speeds=speeds,
        columns=columns,
        groups=[(name, len(list(group))) for name, group in groupby(one.group for one in columns)],
        starts=_starts(columns),
        sections=sections,
        by_dataset=[
            (name, list(found)) for name, found in groupby(sections, lambda one: one.dataset)
        ],
        parities=figures.parities(result),
        queries=sum(info.views.get(MAIN, 0) for info in result.datasets),
        name_length=NAME_LENGTH,
    )
    write_atomically(path, page.encode("utf-8"))


def _by_view(rows: Iterable[Parity]) -> list[tuple[tuple[str, str], list[Parity]]]:
    found = groupby(rows, lambda one: (one.dataset, one.view))
    return [(view, list(group)) for view, group in found]


def _speeds(
    timings: Timings | None,
) -> tuple[list[str], list[tuple[tuple[str, str], list[CellTimings | None]]]]:
    """Return the systems that were timed, and for each view the times of each of them."""
    cells = timings.cells if timings else []
    systems = list(dict.fromkeys(one.system for one in cells))
    times = {(one.dataset, one.view, one.system): one for one in cells}
    views = dict.fromkeys((one.dataset, one.view) for one in cells)
    return systems, [(view, [times.get((*view, name)) for name in systems]) for view in views]


def _starts(columns: Sequence[Column]) -> list[bool]:
    """Tell of each column whether a group begins there."""
    groups = [one.group for one in columns]
    return [one != before for one, before in zip(groups, [None, *groups], strict=False)]


def _section(anchor: str, view: ViewCells, shared: _Shared, texts: Mapping[str, str]) -> _Section:
    pair = figures.pair_of(view)
    answered, silent = figures.false_answers(view), figures.wrong_silences(view)
    return _Section(
        anchor=anchor,
        dataset=clip(view.dataset, NAME_LENGTH),
        view=clip(view.view, NAME_LENGTH),
        queries=view.overall.queries,
        answerable=view.overall.answerable,
        rows=_rows(view, shared.columns),
        charts=_charts(anchor, view, shared),
        pair=(pair[0].system, pair[1].system) if pair else None,
        cases=[make_case(one, pair, texts) for one in figures.disagreements(*pair, shared.limit)]
        if pair
        else [],
        answered=[make_missed(one) for one in answered[: shared.limit]],
        answered_of=len(answered),
        silent=[make_missed(one) for one in silent[: shared.limit]],
        silent_of=len(silent),
    )


def _rows(view: ViewCells, columns: Sequence[Column]) -> list[tuple[str, list[_Value]]]:
    tops = [figures.best((cell.overall for cell in view.cells), column) for column in columns]
    rows = []
    for cell in view.cells:
        values = [cell.overall.measures.get(column.name) for column in columns]
        row = [
            _Value(
                text=number(value).removeprefix("0"),
                best=value is not None and round(value, 3) == top,
            )
            for value, top in zip(values, tops, strict=True)
        ]
        rows.append((clip(cell.system, NAME_LENGTH), row))
    return rows


def _charts(anchor: str, view: ViewCells, shared: _Shared) -> list[_Chart]:
    charts = []
    for kind, title, x_label in (
        ("recall", "Recall among the first k", "documents (k)"),
        ("tokens", "Recall within a token budget", "tokens of the answer"),
    ):
        chosen = [one for one in shared.columns if one.kind == kind]
        series = [_series(cell, chosen, shared.styles) for cell in view.cells]
        if any(one.points for one in series):
            svg = line_chart(f"{anchor}-{kind}", title, x_label, series)
            charts.append(_Chart(title=title, svg=svg))
    for by in view.cells[0].by:
        chart = _by_chart(f"{anchor}-by-{len(charts)}", by, view, shared.styles)
        charts += [chart] if chart else []
    return charts


def _series(cell: Cell, columns: Sequence[Column], styles: Mapping[str, int]) -> Series:
    given = cell.overall.measures
    points = {float(one.at): given[one.name] for one in columns if one.name in given}
    return Series(name=cell.system, style=styles.get(cell.system, 0), points=points)


def _by_chart(ident: str, by: str, view: ViewCells, styles: Mapping[str, int]) -> _Chart | None:
    groups = {
        value: summary.answerable
        for value, summary in view.cells[0].by[by].items()
        if _MEASURE in summary.measures
    }
    if len(groups) <= 1:
        return None
    shown = sorted(groups, key=lambda one: (-groups[one], one))[:_GROUPS]
    rows = [
        Row(
            label=f"{clip(value, 34)} ({groups[value]})",
            values={
                cell.system: cell.by[by][value].measures[_MEASURE]
                for cell in view.cells
                if value in cell.by.get(by, {}) and _MEASURE in cell.by[by][value].measures
            },
        )
        for value in shown
    ]
    title = f"{_MEASURE} by {clip(by, 20)} (answerable queries)"
    left = len(groups) - len(shown)
    systems = {cell.system: styles.get(cell.system, 0) for cell in view.cells}
    return _Chart(
        title=title,
        svg=dot_plot(ident, title, _MEASURE, systems, rows),
        note=f"The {len(shown)} largest; {left} more are left out." if left else "",
    )
