"""A run as text for a terminal."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len, set_cell_size

from shiyi.eval.figures import Column, ViewCells, by_view, clip, columns, fitted, number
from shiyi.eval.results import EvalResult

WIDTH = 100
_SYSTEM = 24
_BETWEEN = "  "
_DOWN = " ↓"


def render_table(result: EvalResult) -> str:
    """Return one block for each view: a line for each system, as many columns as fit beside it.

    What does not fit beside follows below. Lower is better in columns marked ↓. No line is wider
    than 100 places, of which an East Asian letter takes two.
    """
    return "\n\n".join("\n".join(_block(view)) for view in by_view(result))


def _block(view: ViewCells) -> Iterator[str]:
    counts = f"{view.overall.queries} queries, {view.overall.answerable} with an answer"
    room = WIDTH - len(counts) - 2
    yield f"{fitted(f'{clip(view.dataset, WIDTH)} · {clip(view.view, WIDTH)}', room)}: {counts}"
    systems = [fitted(clip(cell.system, WIDTH), _SYSTEM) for cell in view.cells]
    width = max(map(cell_len, [*systems, "system"]))
    names = columns(name for cell in view.cells for name in cell.overall.measures)
    for portion in _portions(names, WIDTH - width):
        heads = [_head(column) for column in portion]
        yield _line("system", width, heads, heads)
        for system, cell in zip(systems, view.cells, strict=True):
            values = [number(cell.overall.measures.get(column.name)) for column in portion]
            yield _line(system, width, heads, values)


def _portions(names: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """Return what fits beside one another, a group not parted unless it is too wide by itself."""
    portion: list[Column] = []
    for _, found in groupby(names, lambda one: one.group):
        group = list(found)
        if portion and _needed([*portion, *group]) > width:
            yield portion
            portion = []
        for column in group:
            if portion and _needed([*portion, column]) > width:
                yield portion
                portion = []
            portion.append(column)
    yield portion


def _needed(portion: Sequence[Column]) -> int:
    return sum(len(_BETWEEN) + len(_head(column)) for column in portion)


def _head(column: Column) -> str:
    return clip(column.name, _SYSTEM) + (_DOWN if column.lower_is_better else "")


def _line(first: str, width: int, heads: Sequence[str], values: Sequence[str]) -> str:
    padded = [value.rjust(len(head)) for head, value in zip(heads, values, strict=True)]
    return _BETWEEN.join([set_cell_size(first, width), *padded]).rstrip()
