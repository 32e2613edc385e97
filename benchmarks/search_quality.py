"""Recall@10 and nDCG@10 of keyword, dense and hybrid search on labelled sets, through the store.

    python benchmarks/search_quality.py [--datasets DIR] [--sets NAME,…] [--json FILE]

The sets are read from SHIYI_DATASETS or ../shared/datasets. Every set is imported into a temporary
home, each of its scopes into a scope of its own, and searched through the same door as users'.
"""

import argparse
import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shiyi

CHANNELS = ("keyword", "dense", "hybrid")
DEPTH = 10


def main() -> None:
    """Run the sets and print one row a set, view and channel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=Path, default=datasets_directory())
    parser.add_argument("--sets", default="")
    parser.add_argument("--views", default="", help="comma-separated; empty for main only")
    parser.add_argument("--model", default="default")
    parser.add_argument("--most", type=int, default=1000, help="queries a set")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = options.sets.split(",") if options.sets else sorted(
        path.name for path in options.datasets.iterdir() if path.is_dir()
    )  # fmt: skip
    rows = []
    for name in wanted:
        for row in run_set(options.datasets / name, options):
            rows.append(row)
            print_row(row)
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), "utf-8")


def datasets_directory() -> Path:
    """Return where the labelled sets lie."""
    default = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    return Path(os.environ.get("SHIYI_DATASETS", default))


def run_set(directory: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each view and channel of one set."""
    with tempfile.TemporaryDirectory() as home, shiyi.open(home, model=options.model) as memory:
        base = "set"
        start = time.perf_counter()
        memory.scope(base).import_(str(directory))
        memory.reindex()
        built = time.perf_counter() - start
        orders = _orders(directory)
        for view in ["", *filter(None, options.views.split(","))]:
            suffix = f".{view}" if view else ""
            if not (directory / f"queries{suffix}.jsonl").exists():
                continue
            queries = _lines(directory / f"queries{suffix}.jsonl")
            judged = _judgements(directory, suffix)
            queries = [q for q in queries if judged.get(q["_id"])][: options.most]
            for channel in CHANNELS:
                row = _measure(memory, base, queries, judged, channel, orders)
                yield {"set": directory.name, "view": view or "main", **row, "built_s": built}


def _measure(
    memory: Any,
    base: str,
    queries: list[dict[str, Any]],
    judged: dict[str, dict[str, int]],
    channel: str,
    orders: dict[str, int],
) -> dict[str, Any]:
    recalls, gains, silent = [], [], 0
    for query in queries:
        meta = query.get("metadata", {})
        sub = meta.get("scope")
        scope = memory.scope(f"{base}.{sub}" if sub else base)
        limited = "seq" in meta and bool(orders)
        answer = scope.search(
            query["text"][-4000:], limit=100 if limited else DEPTH, budget=1_000_000,
            channel=channel, weak=True,
        )  # fmt: skip
        if channel == "hybrid":
            silent += scope.search(query["text"][-4000:], limit=1).outcome == "empty"
        found = [hit.external_id for hit in answer.hits]
        if limited:
            found = [one for one in found if orders.get(one, -1) < meta["seq"]]
        recalls.append(_recall(found[:DEPTH], judged[query["_id"]]))
        gains.append(_ndcg(found[:DEPTH], judged[query["_id"]]))
    return {
        "channel": channel, "queries": len(queries),
        "recall@10": float(np.mean(recalls)), "ndcg@10": float(np.mean(gains)),
        "silent": silent / max(1, len(queries)),
    }  # fmt: skip


def _recall(found: list[str], gold: dict[str, int]) -> float:
    return len(set(found) & set(gold)) / len(gold)


def _ndcg(found: list[str], gold: dict[str, int]) -> float:
    """Return nDCG: linear gains, discount log2(rank + 1), as Järvelin and Kekäläinen (2002)."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    got = sum(gold.get(one, 0) * d for one, d in zip(found, discounts, strict=False))
    best = sum(g * d for g, d in zip(sorted(gold.values(), reverse=True), discounts, strict=False))
    return float(got / best)


def _judgements(directory: Path, suffix: str) -> dict[str, dict[str, int]]:
    path = directory / f"qrels{suffix}.tsv"
    if not path.exists():
        path = directory / "qrels.tsv"
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            judged[query][document] = int(grade)
    return judged


def _orders(directory: Path) -> dict[str, int]:
    """Return the order of each document, in sets that say what was known when."""
    lines = _lines(directory / "corpus.jsonl")
    return {
        line["_id"]: line["metadata"]["seq"] for line in lines if "seq" in line.get("metadata", {})
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def print_row(row: dict[str, Any]) -> None:
    """Print one row."""
    print(
        f"{row['set']:24} {row['view']:8} {row['channel']:8} n={row['queries']:4} "
        f"R@10 {100 * row['recall@10']:5.1f}  nDCG@10 {100 * row['ndcg@10']:5.1f}  "
        f"silent {100 * row['silent']:4.1f} %",
        flush=True,
    )


if __name__ == "__main__":
    main()
