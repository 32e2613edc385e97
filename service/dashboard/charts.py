"""The last measurement as charts: recall within a token budget, a chart for each view of a set."""

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from shiyi.core.errors import UsageError
from shiyi.eval.figures import ViewCells, by_view, clip, columns, number
from shiyi.eval.files import RESULT, read_result
from shiyi.eval.plot import Series, line_chart
from shiyi.service.dashboard.words import Words

_NAME = 40
_MOST = 8  # views


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One view of a set. rows: for each system, its recall at each budget as printed."""

    name: str
    svg: Markup
    queries: int
    budgets: list[int]
    rows: list[tuple[str, list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement, or the reason why it cannot be read."""

    charts: list[Chart]
    fault: str | None = None


def recall_charts(directory: Path, words: Words) -> Measured | None:
    """Return the charts of the measurement in a directory; None when there is none."""
    if not (directory / RESULT).exists():
        return None
    try:
        result = read_result(directory)
    except UsageError as error:
        return Measured(charts=[], fault=str(error))
    styles = {system: place for place, system in enumerate(result.conditions.systems)}
    charts = [
        _chart(f"v{n}", view, styles, words) for n, view in enumerate(by_view(result)[:_MOST])
    ]
    return Measured(charts=[one for one in charts if one is not None])


def _chart(ident: str, view: ViewCells, styles: dict[str, int], words: Words) -> Chart | None:
    measures = (name for cell in view.cells for name in cell.overall.measures)
    budgets = [one for one in columns(measures) if one.kind == "tokens"]
    if not budgets:
        return None
    name = f"{clip(view.dataset, _NAME)} · {clip(view.view, _NAME)}"
    series = [
        Series(
            name=cell.system,
            style=styles.get(cell.system, 0),
            points={
                float(one.at): cell.overall.measures[one.name]
                for one in budgets
                if one.name in cell.overall.measures
            },
        )
        for cell in view.cells
    ]
    rows = [
        (clip(cell.system, _NAME), [number(cell.overall.measures.get(one.name)) for one in budgets])
        for cell in view.cells
    ]
    title = f"{words('recall.chart')}: {name}"
    return Chart(
        name=name,
        svg=line_chart(ident, title, words("recall.x"), series),
        queries=view.overall.answerable,
        budgets=[one.at for one in budgets],
        rows=rows,
    )
