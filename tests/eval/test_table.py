"""The table for a terminal: aligned, narrow enough, and harmless."""

import re

import pytest
from rich.cells import cell_len

from shiyi.eval.results import EvalResult
from shiyi.eval.table import WIDTH, render_table
from tests.eval.results_builder import SYSTEMS, build_result


@pytest.fixture(scope="module")
def result() -> EvalResult:
    return build_result({"日記": ["main", "hant"], "sessions-en": ["main"]}, [*SYSTEMS, "詞語"])


def test_a_block_for_each_view_with_every_figure(result: EvalResult) -> None:
    """Every measure of every system stands under its name."""
    blocks = render_table(result).split("\n\n")

    assert [block.split(":")[0] for block in blocks] == [
        "日記 · main", "日記 · hant", "sessions-en · main",
    ]  # fmt: skip
    for number, block in enumerate(blocks):
        for cell in result.cells[6 * number : 6 * number + 6]:
            found = read(block, cell.system)
            assert found == {name: f"{value:.3f}" for name, value in cell.overall.measures.items()}


def read(block: str, system: str) -> dict[str, str]:
    """Return what stands under each name in the lines of a system."""
    found: dict[str, str] = {}
    heads: list[str] = []
    for line in block.split("\n")[1:]:
        first, *rest = line.replace(" ↓", "").split()
        if first == "system":
            heads = rest
        elif first == system:
            found |= dict(zip(heads, rest, strict=True))
    return found


def test_columns_end_at_the_same_place(result: EvalResult) -> None:
    """Figures end where their names end, also beside names in wide letters."""
    ends: set[tuple[int, ...]] = set()
    for line in render_table(result).split("\n"):
        places = tuple(
            cell_len(line[: one.end()]) for one in re.finditer(r"\S+( ↓)?(?=  |$)", line)
        )[1:]
        if line.startswith("system"):
            ends = {places}
        elif places and ":" not in line:
            assert {places} == ends


def test_lines_are_narrow_and_harmless() -> None:
    """Names of any length, with escapes and wide letters, keep to 100 places a line."""
    names = ["長" * 80, "\x1b[31mred\u202e", "a" * 300, "two\nlines"]
    text = render_table(build_result({name: ["main", name] for name in names}, names, queries=9))

    assert max(map(cell_len, text.split("\n"))) <= WIDTH
    assert re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text) is None
    assert all(line == line.rstrip() for line in text.split("\n"))


def test_what_was_not_measured_is_a_dash() -> None:
    """A system without a measure that others have shows a dash; no cells show nothing."""
    result = build_result({"s": ["main"]}, ["a", "b"], queries=9)
    del result.cells[1].overall.measures["nDCG@10"]

    assert read(render_table(result), "b")["nDCG@10"] == "–"
    assert render_table(build_result({}, [])) == ""
