"""What `shiyi eval` answers, for people."""

from collections.abc import Collection, Iterator, Sequence

from shiyi.core.text import visible
from shiyi.eval.findings import CellComparison, Change
from shiyi.service.responses import (
    EvalCompareResult,
    EvalDatasetsResult,
    EvalFiles,
    EvalGateResult,
    EvalLabelResult,
    EvalRunResult,
)
from shiyi.service.responses.wording import counted, one_line

_LICENCE_SHOWN = 40


def render_eval_run(answer: EvalRunResult) -> str:
    """Return the table and where the files are."""
    return "\n".join([answer.table, "", *answer.notes, _written(answer.files)])


def _written(files: EvalFiles) -> str:
    return f"Wrote {files.result}, {files.timings} and {files.report}."


def render_eval_compare(answer: EvalCompareResult) -> str:
    """Return a table of differences for each cell."""
    blocks = [_compared(cell) for cell in answer.cells]
    notes = [
        f"only in {side}: {visible(', '.join(cells))}"
        for side, cells in (("a", answer.only_a), ("b", answer.only_b))
        if cells
    ]
    notes.append(
        "The interval holds 95 % of the resampled differences; p is corrected for the number of "
        "measures of a cell. ↓: lower is better."
    )
    return "\n\n".join([*blocks, "\n".join(notes)])


def _compared(cell: CellComparison) -> str:
    left_out = f", {counted(cell.left_out, 'queries')} left out" if cell.left_out else ""
    head = (
        f"{cell.dataset} · {cell.view}: a = {cell.system_a}, b = {cell.system_b}, "
        f"{cell.queries} queries{left_out}"
    )
    rows = [["measure", "a", "b", "b - a", "interval", "p", "verdict on b"]]
    rows += [
        [
            f"{one.measure}{' ↓' if one.lower_is_better else ''}", f"{one.a:.3f}", f"{one.b:.3f}",
            f"{one.difference:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", f"{one.p_holm:.4f}",
            one.verdict,
        ]
        for one in cell.measures
    ]  # fmt: skip
    return "\n".join([visible(head), *_columns(rows, numbers=range(1, 6))])


def _columns(rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> Iterator[str]:
    """Yield the rows with their cells below one another, those of numbers to the right."""
    from rich.cells import cell_len

    widths = [max(cell_len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blank = " " * (width - cell_len(cell))
            cells.append(f"{blank}{cell}" if place in numbers else f"{cell}{blank}")
        yield "  ".join(cells).rstrip()


def render_eval_gate(answer: EvalGateResult) -> str:
    """Return what fell, rose, is missing or was passed over, and the verdict."""
    lines = [f"{visible(name)}: skipped, this set is not here." for name in answer.skipped]
    lines += [f"not compared: {visible(failure)}" for failure in answer.failures]
    lines += [_change("fell", change) for change in answer.fell]
    lines += [_change("rose", change) for change in answer.rose]
    lines += answer.notes
    if answer.files:
        lines.append(_written(answer.files))
    means, allowance = counted(answer.checked, "means"), f"{answer.allowance:g}"
    if answer.wrote:
        lines.append(f"Wrote {answer.wrote}: {means}, of which none may fall by over {allowance}.")
    elif answer.passed:
        lines.append(f"Held: {means}, none fell by more than {allowance}.")
    else:
        open_ = f" {len(answer.failures)} could not be compared." if answer.failures else ""
        lines.append(
            f"Not held: of {means}, {len(answer.fell)} fell by more than {allowance}.{open_}"
        )
    return "\n".join(lines)


def _change(what: str, change: Change) -> str:
    worst = f"; most in {', '.join(change.worst)}" if change.worst and what == "fell" else ""
    return visible(
        f"{what}: {change.dataset} / {change.view} / {change.system} {change.measure} "
        f"{change.before:.4f} → {change.now:.4f} ({change.difference:+.4f}){worst}"
    )


def render_eval_label(answer: EvalLabelResult) -> str:
    """Return how much is judged, and what was written."""
    lines = [f"Judged {answer.done} of {answer.total}, kept in {answer.directory}."]
    if answer.done < answer.total:
        lines.append("The same command goes on from here.")
    if answer.exported:
        wrote = answer.exported
        lines.append(
            f"Wrote {counted(wrote.judgements, 'judgements')} of {wrote.queries} queries to "
            f"{wrote.path}; left out, since not judged to the end: {wrote.left_out}."
        )
    return "\n".join(lines)  # the notes came before the judging


def render_eval_datasets(answer: EvalDatasetsResult) -> str:
    """Return the sets that are known."""
    rows = [["name", "documents", "queries", "views", "licence", "path"]]
    rows += [
        [
            visible(one.name), str(one.documents), str(one.queries),
            visible(", ".join(one.views)) or "–", one_line(one.licence)[:_LICENCE_SHOWN],
            visible(one.path),
        ]
        for one in answer.datasets
    ]  # fmt: skip
    problems = [visible(one.problem) for one in answer.datasets if one.problem]
    return "\n".join([*_columns(rows, numbers=(1, 2)), *problems])
