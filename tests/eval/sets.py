"""Small sets, written as files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DOCUMENTS = {
    "d1": "我對花生過敏，別點宮保雞丁。",
    "d2": "鑰匙在書架第三層的鐵罐裡。",
    "d3": "Maeve moved to Lisbon in the spring.",
    "d4": "下個月搬到台中，押金兩個月。",
    "d5": "腳踏車的鎖是四位數的密碼鎖。",
}
QUERIES = {
    "q1": ("花生過敏", {"d1": 2}),
    "q2": ("鑰匙在哪裡", {"d2": 2}),
    "q3": ("Lisbon", {"d3": 2}),
    "q4": ("台中 押金", {"d4": 2, "d5": 0}),
    "q5": ("量子色動力學", {}),
}


def write_set(
    directory: Path,
    documents: Mapping[str, str | Mapping[str, Any]] = DOCUMENTS,
    queries: Mapping[str, tuple[str, Mapping[str, int]]] = QUERIES,
    *,
    views: Mapping[str, Sequence[str]] | None = None,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Write a set; a document with more than a text is given as its whole line without `_id`.

    views: for each view the ids of the queries that it has. metadata: of queries, by id.
    """
    directory.mkdir(parents=True)
    lines = [
        {"_id": name, **({"text": one} if isinstance(one, str) else one)}
        for name, one in documents.items()
    ]
    _write(directory / "corpus.jsonl", lines)
    asked = {
        name: {"_id": name, "text": text, "metadata": (metadata or {}).get(name, {})}
        for name, (text, _) in queries.items()
    }
    _write(directory / "queries.jsonl", asked.values())
    for view, names in (views or {}).items():
        _write(directory / f"queries.{view}.jsonl", [asked[name] for name in names])
    rows = [f"{q}\t{d}\t{grade}\n" for q, (_, gold) in queries.items() for d, grade in gold.items()]
    (directory / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), "utf-8")
    return directory


def _write(file: Path, lines: Any) -> None:
    made = (json.dumps(line, ensure_ascii=False) for line in lines)
    file.write_text("".join(f"{line}\n" for line in made), "utf-8")
