"""Time and memory against peers: a table on the terminal, and JSON in benchmarks/results/.

    python benchmarks/run.py [--sizes N,…] [--only ROW,…] [--quick] [--output FILE]

One thread, CPU time unless a row says otherwise, medians, peers in turn within one run. Corpora,
homes and the vectors of real texts are made once and kept in Shiyi's cache directory. A million
documents take about an hour the first time and 12 GB of memory; --quick takes two minutes.
"""

import argparse
import json
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Result, Row, Skipped, one_thread

_MODULES = (
    "lexical", "hybrid", "nearest", "importing", "model", "opening", "graph", "levels", "survey",
    "agents",
)  # fmt: skip
_PACKAGES = (
    "numpy", "faiss-cpu", "duckdb", "jieba", "rank-bm25", "bm25s", "numba", "lancedb",
    "onnxruntime", "torch",
)  # fmt: skip
_SIZES = "10000,100000"
_QUICK = "10000"
_ROWS = 16


def main() -> None:
    """Measure what was asked for; exit with 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description="Measure Shiyi beside its peers.")
    parser.add_argument("--sizes", help=f"documents; {_SIZES} by default, {_QUICK} with --quick")
    parser.add_argument("--only", default="", help="rows to measure; all of them by default")
    parser.add_argument("--quick", action="store_true", help="few documents, no model, exit 0")
    parser.add_argument("--output", type=Path, help="the JSON file; results/<time>.json by default")
    options = parser.parse_args()
    given = options.sizes or (_QUICK if options.quick else _SIZES)
    sizes = sorted(map(int, given.split(",")))
    wanted = set(map(int, options.only.split(","))) if options.only else set(range(1, _ROWS + 1))
    if options.quick:
        wanted -= {8, 9}
    one_thread()
    import_module("faiss").omp_set_num_threads(1)
    heads = ("", "documents", "ours", "peer", "measured", "limit", "", "")
    print(f"{machine()}\n{_line(*heads)}")
    results = []
    for result in measure(sizes, wanted):
        results.append(result)
        print(line_of(result), flush=True)
    write(results, options.output)
    judged = [row for row in results if isinstance(row, Row) and row.passed is not None]
    missed = sum(not row.passed for row in judged)
    print(f"{len(judged) - missed} of {len(judged)} limits are kept.")
    sys.exit(1 if missed and not options.quick else 0)


def measure(sizes: list[int], wanted: set[int]) -> Iterator[Result]:
    """Yield every row that was asked for."""
    for name in _MODULES:
        yield from import_module(f"benchmarks.{name}").rows(sizes, wanted)


def line_of(result: Result) -> str:
    """Return a result as a line of the table."""
    if isinstance(result, Skipped):
        return f"{result.row:>2}  skipped: {result.why}"
    verdict = {True: "pass", False: "MISS", None: ""}[result.passed]
    limit = "" if result.limit is None else result.written(result.limit)
    measured = result.written(result.measured)
    text = _line(
        str(result.row), f"{result.size:,}", result.ours, result.peer, measured, limit, verdict,
        result.what,
    )  # fmt: skip
    return f"{text} ({result.notes})" if result.notes else text


def machine() -> str:
    """Say what this was measured on."""
    versions = [f"{name} {_version(name)}" for name in _PACKAGES]
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"{when} · {_processor()} · Python {platform.python_version()} · " + ", ".join(versions)


def write(results: list[Result], output: Path | None) -> None:
    """Write the results as JSON."""
    place = (
        output or Path(__file__).with_name("results") / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    rows = [{**_plain(result), "passed": getattr(result, "passed", None)} for result in results]
    content = {"machine": machine(), "results": rows}
    place.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _plain(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__}


def _line(*cells: str) -> str:
    widths = (">2", ">10", ">10", ">10", ">11", ">10", "4", "")
    return " ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return f"{len(names)} × {names[0]}" if names else platform.processor()


if __name__ == "__main__":
    main()
