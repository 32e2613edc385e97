"""An import costs memory for a batch, not for the file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

IMPORTER = """
import resource, sys
import shiyi

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

with shiyi.open(sys.argv[1], model="none") as memory:
    me = memory.scope("me")
    peaks = []
    for path in sys.argv[2:]:
        report = me.import_(path)
        assert report.failed == 0, report.errors
        peaks.append(peak())
    print(report.captures, *[round(one) for one in peaks])
"""


def write(path: Path, start: int, count: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for number in range(start, start + count):
            text = f"第 {number} 則筆記：今天走了 {number % 90} 里路，買了豆花和地圖。"
            line = {"id": f"c{number}", "session": f"s{number // 50}", "text": text}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


@pytest.mark.slow
def test_a_hundred_thousand_lines_in_bounded_memory(tmp_path: Path) -> None:
    """Ten times as many lines may not need more than 400 MB beyond what the first lines did."""
    small = write(tmp_path / "small.jsonl", 0, 10_000)
    large = write(tmp_path / "large.jsonl", 10_000, 100_000)

    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTER, tmp_path / "home", small, large],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    captures, first, last = map(int, done.stdout.split())

    assert captures == 100_000
    assert last - first < 400, f"{first} MB after 10,000 lines, {last} MB after 110,000"
