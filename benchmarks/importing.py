"""Row 7: importing a hundred records at a time against one at a time."""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import shiyi
from benchmarks import corpus
from benchmarks.measure import Row

_BATCH = 100
_BATCHES = 10


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Row]:
    """Measure imports into a home that already holds some thousands; the size does not matter."""
    if 7 not in wanted or not sizes:
        return
    texts = iter(list(corpus.texts(4000)))
    with (
        tempfile.TemporaryDirectory(prefix="shiyi-bench-") as place,
        shiyi.open(Path(place) / "home", model="none", embedded=True) as memory,
    ):
        scope = memory.scope("import")

        def take_in(count: int) -> float:
            """Return the seconds that it takes to import `count` records."""
            lines = [json.dumps(_record(next(texts))) for _ in range(count)]
            file = Path(place) / "part.jsonl"
            file.write_text("\n".join(lines), "utf-8")
            start = time.perf_counter()
            done = scope.import_(str(file))
            taken = time.perf_counter() - start
            assert done.records == count, done
            return taken

        take_in(1000)
        batch, single = [], []
        for _ in range(_BATCHES):
            batch.append(take_in(_BATCH))
            single += [take_in(1) for _ in range(10)]
    per_batch, one = float(np.median(batch)), float(np.median(single))
    yield Row(
        row=7,
        what="import in batches of 100 against one by one, records per second",
        size=2000,
        measured=_BATCH * one / per_batch,
        limit=10,
        at_least=True,
        ours=f"{_BATCH / per_batch:,.0f}/s",
        peer=f"{1 / one:,.0f}/s",
        notes="wall time, from files, durable",
    )


def _record(text: str) -> dict[str, str]:
    return {"kind": "fact", "title": text[:12], "gist": text}
