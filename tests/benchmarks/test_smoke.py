"""The benchmarks run and print their rows; how fast anything is is not asked here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(cache: Path, *options: str) -> tuple[str, list[dict[str, Any]]]:
    """Run the command with few documents; return what it printed and wrote."""
    written = cache / "out.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--sizes", "1000"]
    done = subprocess.run(
        [*command, *options, "--output", str(written)],
        check=False, capture_output=True, text=True, timeout=600,
        env={**os.environ, "SHIYI_CACHE": str(cache)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(written.read_text("utf-8"))["results"]


def test_a_row_is_printed_and_written(tmp_path: Path) -> None:
    """Row 5 needs no peer: a line with its figures, and the same in JSON."""
    printed, rows = run(tmp_path, "--only", "5")
    assert [row["row"] for row in rows] == [5, 5]
    assert "add one document in the keyword index" in printed
    assert all(row["measured"] > 0 for row in rows)


@pytest.mark.slow
def test_every_row_of_the_quick_run_is_there(tmp_path: Path) -> None:
    """Each row is measured, or skipped with a reason where a peer is not installed."""
    _, rows = run(tmp_path)
    assert {row["row"] for row in rows} >= {1, 2, 3, 5, 7, 10, 11}
    assert all("measured" in row or row["why"] for row in rows)
