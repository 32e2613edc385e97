"""Rows 10, 11 and 12: opening a home, what it takes in memory, and what growth costs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks import corpus, homes
from benchmarks.hybrid import Searcher
from benchmarks.measure import Row, in_turn, milliseconds
from shiyi.indexer.generation import open_current, scope_directory
from shiyi.indexer.segment import Segment

HOME = 100_000  # the size at which these rows are judged
_OPENINGS = 5
_ROUNDS = 60


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Row]:
    """Measure homes of up to 100,000 documents, and one that grows to the largest size."""
    for size in (size for size in sizes if size <= HOME):
        if 10 in wanted:
            yield _opening(size)
        if 11 in wanted:
            yield _memory(size)
    if 12 in wanted and len(sizes) > 1:
        yield _growth(*sorted(sizes)[-2:])


def _opening(size: int) -> Row:
    text = corpus.queries(1, size)[0]
    with homes.copy_of(homes.home_of(size)) as home:
        opened = [_child("first_answer", home, text) for _ in range(_OPENINGS)]
        rebuilt = _child("rebuild", home, text)
    cpu, wall = (float(np.median([one[name] for one in opened])) for name in ("cpu", "wall"))
    return Row(
        row=10,
        what="a fresh process to its first keyword answer, against rebuilding the index",
        size=size,
        measured=cpu / rebuilt["cpu"],
        limit=1 / 20 if size == HOME else None,
        ours=f"{cpu:.2f} s",
        peer=f"{rebuilt['cpu']:.1f} s",
        notes=f"wall {wall:.2f} s against {rebuilt['wall']:.1f} s",
    )


def _memory(size: int) -> Row:
    home = homes.home_of(size)
    measured = _child("memory", home, corpus.queries(1, size)[0])
    generation = open_current(scope_directory(home, homes.ALL))
    assert generation is not None
    names = [*Segment.file_names(), "vectors.npy"]
    size_on_disk = sum(generation.manifest.files[name]["size"] for name in names)
    megabytes = {name: value / 2**20 for name, value in measured.items()}
    return Row(
        row=11,
        what="memory of an opened home, without the model, against its vectors and postings",
        size=size,
        measured=measured["VmRSS"] / size_on_disk,
        limit=2 if size == HOME else None,
        ours=f"{megabytes['VmRSS']:.0f} MiB",
        peer=f"{size_on_disk / 2**20:.0f} MiB",
        notes=f"{megabytes['RssAnon']:.0f} MiB own, {megabytes['RssFile']:.0f} MiB mapped files",
    )


def _growth(small: int, large: int) -> Row:
    small = min(small, HOME)
    asked = corpus.queries(_ROUNDS, small)
    _, given = corpus.vectors(small)
    home = homes.home_of(small)
    with homes.copy_of(home) as grown, ExitStack() as stack:
        homes.add_others(grown, large - small)
        before, after = Searcher(home, asked, given), Searcher(grown, asked, given)
        stack.callback(before.close)
        stack.callback(after.close)
        took = in_turn(
            {
                "before": lambda i: before.search(homes.PART, asked[i]),
                "after": lambda i: after.search(homes.PART, asked[i]),
            },
            rounds=_ROUNDS,
        )
    return Row(
        row=12,
        what=f"the same scope, in a home that grew from {small:,} documents",
        size=large,
        measured=took["after"] / took["before"],
        limit=1.3 if large > HOME else None,
        ours=milliseconds(took["after"]),
        peer=milliseconds(took["before"]),
    )


def _child(action: str, home: Path, text: str) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).with_name("child.py")), action, str(home), text]
    alone = os.environ | {"SHIYI_DAEMON": "off"}  # what another process does is not in the figures
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=alone)
    found: dict[str, float] = json.loads(done.stdout)
    return found
