"""Two kinds of charts as SVG: lines over a number, and dots in rows.

A chart is drawn for a width of 360 so that its letters keep their size on a phone. Series differ by
colour, mark and dash. Colours are classes (`c0` to `c5`) that the page defines for light and dark.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich.cells import cell_len

from shiyi.eval.figures import clip, fitted

COLOURS = 6
_WIDTH = 360
_LETTER = 6.6  # of an 11 px letter, on average
_NAME = 13  # places of a name beside a line
_LEFT, _RIGHT, _TOP, _HEIGHT, _AXIS = 34, 112, 12, 190, 36
_GAP = 14.0  # between two names
_LANE, _ROW_HEAD, _ROW_FOOT, _MARGIN = 9, 19, 5, 14
_LEGEND = 17
_MARKS = (
    "M4 0A4 4 0 1 1-4 0 4 4 0 1 1 4 0Z",
    "M-3.6-3.6H3.6V3.6H-3.6Z",
    "M0-4.8 4.5 3.6H-4.5Z",
    "M0-5 5 0 0 5-5 0Z",
    "M-3.6-3.6 3.6 3.6M-3.6 3.6 3.6-3.6",
    "M0-5V5M-5 0H5",
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
_CLOSE = 5  # tenths; over fewer, each tenth gets a tick
_FILLED = 4  # the marks from here on are strokes


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line, or the dots of one system; style is its place among all systems of the run."""

    name: str
    style: int
    points: Mapping[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of dots: a label, and a value for each system that has one."""

    label: str
    values: Mapping[str, float]


def line_chart(ident: str, title: str, x_label: str, series: Sequence[Series]) -> Markup:
    """Return lines of values from 0 to 1 over a logarithmic axis, with a name at the end of each.

    `ident` begins with a letter and is the chart's own in its page.
    """
    ticks = sorted({x for one in series for x in one.points})
    low, high, step = _range(y for one in series for y in one.points.values())
    across = _logarithmic(ticks)

    def down(value: float) -> float:
        return _TOP + _HEIGHT * (high - value * 10) / (high - low)

    parts = [
        Markup('<path class="grid" d="M{} {}H{}"/><text class="y" x="{}" y="{}">{}</text>').format(
            _LEFT, _n(down(tenth / 10)), _WIDTH - _RIGHT, _LEFT - 6, _n(down(tenth / 10) + 4),
            f"{tenth / 10:.1f}",
        )
        for tenth in range(low, high + 1, step)
    ]  # fmt: skip
    parts += _ticks([(across[x], f"{x:,.0f}") for x in ticks], _TOP + _HEIGHT)
    parts.append(_x_label(x_label, (_LEFT + _WIDTH - _RIGHT) / 2, _TOP + _HEIGHT + _AXIS - 4))
    ends = []
    for one in series:
        points = [(across[x], down(one.points[x])) for x in sorted(one.points)]
        if points:
            way = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
            line = Markup('<path class="line c{}" stroke-dasharray="{}" d="M{}"/>')
            parts.append(line.format(one.style % COLOURS, _DASHES[one.style % COLOURS], way))
            parts += [_mark(one.style, x, y) for x, y in points]
            ends.append((points[-1][1], one))
    for y, (_, one) in zip(_apart([y for y, _ in ends]), _by_height(ends), strict=True):
        left = _WIDTH - _RIGHT + 14
        parts.append(_mark(one.style, left, y))
        parts.append(_text("name", left + 10, y + 4, fitted(clip(one.name, _NAME), _NAME)))
    told = "; ".join(
        f"{clip(one.name, 40)}: "
        + ", ".join(f"{one.points[x]:.3f} at {x:,.0f}" for x in sorted(one.points))
        for one in series
    )
    return _svg(ident, title, told, _TOP + _HEIGHT + _AXIS, parts)


def dot_plot(
    ident: str, title: str, x_label: str, systems: Mapping[str, int], rows: Sequence[Row]
) -> Markup:
    """Return a row of dots for each label, in it a lane for each system; `systems` gives styles."""
    low, high, step = _range(value for row in rows for value in row.values.values())
    legend, top = _legend(systems)
    height = _ROW_HEAD + _LANE * len(systems) + _ROW_FOOT
    bottom = top + height * len(rows)

    def across(value: float) -> float:
        return _MARGIN + (_WIDTH - 2 * _MARGIN) * (value * 10 - low) / (high - low)

    tenths = range(low, high + 1, step)
    parts = [
        Markup('<path class="grid" d="M{} {}V{}"/>').format(_n(across(one / 10)), top, bottom)
        for one in tenths
    ]
    for place, row in enumerate(rows):
        y = top + height * place
        parts.append(Markup('<path class="grid" d="M{} {}H{}"/>').format(0, y, _WIDTH))
        parts.append(_text("row", 0, y + 13, fitted(clip(row.label, 46), 46)))
        for lane, (name, style) in enumerate(systems.items()):
            if name in row.values:
                middle = y + _ROW_HEAD + _LANE * (lane + 0.5)
                parts.append(_mark(style, across(row.values[name]), middle))
    parts += _ticks([(across(one / 10), f"{one / 10:.1f}") for one in tenths], bottom)
    parts.append(_x_label(x_label, _WIDTH / 2, bottom + _AXIS - 4))
    told = "; ".join(
        f"{clip(row.label, 40)}: "
        + ", ".join(f"{clip(name, 40)} {value:.3f}" for name, value in row.values.items())
        for row in rows
    )
    return _svg(ident, title, told, bottom + _AXIS, [*legend, *parts])


def _svg(ident: str, title: str, told: str, height: float, parts: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg role="img" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
        'aria-labelledby="{i}-t" aria-describedby="{i}-d">'
        '<title id="{i}-t">{title}</title><desc id="{i}-d">{told}</desc>{parts}</svg>'
    ).format(
        w=_WIDTH, h=_n(height), i=ident, title=title, told=told, parts=Markup("").join(parts)
    )  # fmt: skip


def _legend(systems: Mapping[str, int]) -> tuple[list[Markup], int]:
    """Return marks with their names, in as many lines as they need, and where they end."""
    parts, x, y = [], float(_MARGIN), 10
    for name, style in systems.items():
        shown = fitted(clip(name, 2 * _NAME), 2 * _NAME)
        width = 12 + _LETTER * cell_len(shown) + 16
        if x > _MARGIN and x + width > _WIDTH:
            x, y = float(_MARGIN), y + _LEGEND
        parts += [_mark(style, x, y), _text("name", x + 10, y + 4, shown)]
        x += width
    return parts, y + 12


def _range(values: Iterable[float]) -> tuple[int, int, int]:
    """Return lowest and highest tick and the step between, in tenths: no more than is needed."""
    found = list(values)
    low = max(0, math.floor(min(found, default=0) * 10 + 1e-9))
    high = max(1, math.ceil(max(found, default=1) * 10 - 1e-9))
    step = 1 if high - low <= _CLOSE else 2
    low -= low % step
    high += -high % step
    if high - low <= 1:
        low, high = (low - 1, high) if low else (low, high + 1)
    return low, high, step


def _logarithmic(ticks: Sequence[float]) -> dict[float, float]:
    width = _WIDTH - _LEFT - _RIGHT - 16
    if len(ticks) <= 1:
        return dict.fromkeys(ticks, _LEFT + 8 + width / 2)
    first, last = math.log(ticks[0]), math.log(ticks[-1])
    return {x: _LEFT + 8 + width * (math.log(x) - first) / (last - first) for x in ticks}


def _ticks(ticks: Iterable[tuple[float, str]], y: float) -> list[Markup]:
    """Return the numbers under an axis, without those that would touch the one before."""
    parts, free = [], -math.inf
    for x, label in ticks:
        half = _LETTER * len(label) / 2
        if x - half > free:
            parts.append(_text("x", x, y + 15, label))
            free = x + half + 3
    return parts


def _apart(heights: Sequence[float]) -> list[float]:
    """Return the heights in order, moved so that names neither overlap nor leave the chart."""
    placed: list[float] = []
    for y in sorted(heights):
        placed.append(max(y, placed[-1] + _GAP) if placed else max(y, float(_TOP)))
    over = placed[-1] - (_TOP + _HEIGHT) if placed else 0.0
    limit = math.inf
    if over > 0:
        for place in reversed(range(len(placed))):
            placed[place] = min(placed[place], limit, float(_TOP + _HEIGHT))
            limit = placed[place] - _GAP
    return placed


def _by_height(ends: Iterable[tuple[float, Series]]) -> list[tuple[float, Series]]:
    return sorted(ends, key=lambda one: one[0])


def _mark(style: int, x: float, y: float) -> Markup:
    kind = "m" if style % COLOURS < _FILLED else "k"
    return Markup('<path class="{} c{}" transform="translate({} {})" d="{}"/>').format(
        kind, style % COLOURS, _n(x), _n(y), _MARKS[style % COLOURS]
    )


def _text(kind: str, x: float, y: float, text: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{}">{}</text>').format(kind, _n(x), _n(y), text)


def _x_label(text: str, x: float, y: float) -> Markup:
    return _text("x", x, y, text)


def _n(value: float) -> str:
    """Return a coordinate in as few letters as one tenth needs."""
    return f"{value:.1f}".removesuffix(".0")
