"""Results and baselines as files: what a run writes, and what is read back."""

import os
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from shiyi.core.errors import HomeUnwritableError, UsageError
from shiyi.core.files import make_private_directory, write_atomically
from shiyi.eval.dataset import Dataset
from shiyi.eval.gate import Baseline
from shiyi.eval.readers.files import open_regular, printable
from shiyi.eval.report import Texts, write_report
from shiyi.eval.results import EvalResult, Timings
from shiyi.eval.writing import writing
from shiyi.store.home import FILE_NAME

RESULT, TIMINGS, REPORT = "result.json", "timings.json", "report.html"
_FORMAT = 1
_START = b'{"format":1,"fingerprint":"'  # of a result
_Model = TypeVar("_Model", bound=BaseModel)


class _Formatted(BaseModel):
    format: Any = None


def make_output(directory: Path) -> Path:
    """Make the directory that a run writes to, 0700, and return it.

    Raises HomeUnwritableError when files cannot be made in it, UsageError when it holds memories
    or files of these names that no run wrote.
    """
    with writing(directory):
        make_private_directory(directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise HomeUnwritableError(
            f"{printable(directory)} cannot be written; name another directory."
        )
    if (directory / FILE_NAME).exists():
        raise UsageError(f"{printable(directory)} is a home of memories; name another directory.")
    there = [name for name in (RESULT, TIMINGS, REPORT) if (directory / name).exists()]
    if there and not _is_ours(directory / RESULT):
        raise UsageError(
            f"{printable(directory)} has a {there[0]} that is not of `shiyi eval run`; name "
            "another directory."
        )
    return directory


def _is_ours(file: Path) -> bool:
    try:
        with open_regular(file) as stream:
            return stream.read(len(_START)) == _START
    except UsageError:
        return False


def write_run(
    result: EvalResult, timings: Timings, directory: Path, texts: Texts | None = None
) -> None:
    """Write what a run found, each file whole or not at all.

    Raises HomeUnwritableError when one cannot be written.
    """
    with writing(directory):
        write_atomically(directory / RESULT, f"{result.model_dump_json()}\n".encode())
        write_atomically(directory / TIMINGS, f"{timings.model_dump_json(indent=1)}\n".encode())
        write_report(result, timings, directory / REPORT, texts=texts)


def write_baseline(baseline: Baseline, file: Path) -> None:
    """Write a baseline. Raises HomeUnwritableError when it cannot be written."""
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, f"{baseline.model_dump_json(indent=1)}\n".encode())


def read_result(path: Path) -> EvalResult:
    """Return a result that `write_run` wrote; its directory stands for it.

    Raises UsageError for anything else.
    """
    file = path / RESULT if _is_directory(path) else path
    result = _read(file, EvalResult, "a result of `shiyi eval run`")
    named = {info.name for info in result.datasets}
    strange = next((cell.dataset for cell in result.cells if cell.dataset not in named), None)
    if strange is not None:
        raise UsageError(f"{printable(file)} measures {strange!r} but does not say what that is.")
    if not all(map(isfinite, _numbers(result))):
        raise UsageError(f"{printable(file)} has a measure that is no number.")
    return result


def read_baseline(file: Path) -> Baseline:
    """Return a baseline that `write_baseline` wrote. Raises UsageError for anything else."""
    baseline = _read(file, Baseline, "a baseline of `shiyi eval gate --write`")
    if not any(cell.measures for cell in baseline.cells):
        raise UsageError(f"{printable(file)} holds no figure, so nothing could fall below it.")
    return baseline


def texts_of(datasets: Sequence[Dataset]) -> dict[str, dict[str, str]]:
    """Return the texts of documents by set and id."""
    return {
        one.name: {document.id: document.text for document in one.documents} for one in datasets
    }


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # said again, in a sentence, by whoever opens it
        return False


def _numbers(result: EvalResult) -> Iterator[float]:
    for cell in result.cells:
        yield from cell.overall.measures.values()
        for query in cell.queries:
            yield from query.measures.values()


def _read(file: Path, model: type[_Model], what: str) -> _Model:
    with open_regular(Path(os.path.realpath(file))) as stream:
        content = stream.read()
    try:
        given = _Formatted.model_validate_json(content).format
        if isinstance(given, int) and given != _FORMAT:
            raise UsageError(
                f"{printable(file)} has format {given}; this version reads format {_FORMAT}."
            )
        return model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place}: {first['msg']}" if place else first["msg"]
        raise UsageError(f"{printable(file)} is not {what} ({reason}).") from None
