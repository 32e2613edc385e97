"""A large scope is searched by candidates, and answers as if everything were scored."""

from typing import Any

import pytest

from shiyi.indexer import reindex as reindex_module
from shiyi.indexer import vectors as vectors_module
from shiyi.indexer.index import Filter

SUBJECTS = [
    "爬山露營看日出",
    "coffee and cake",
    "顯卡和電腦",
    "看病吃藥",
    "rain and storms",
    "練琴上課",
]


@pytest.fixture
def archive(memory: Any) -> Any:
    """Three thousand short texts about a few subjects."""
    memory.captures(
        {f"c{n}": f"{SUBJECTS[n % 6]} {n * 7919 % 3001}號 {chr(0x4E00 + n)}" for n in range(3000)}
    )
    memory.indexes.reindex("me")
    return memory


QUERIES = [f"{subject} {n}" for n, subject in enumerate(SUBJECTS * 4)]


def test_candidates_answer_as_an_exact_search_does(
    archive: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ten best are the same, filtered or not, and what came since is among them."""
    exact = [[hit.id for hit in archive.search(query, limit=10).hits] for query in QUERIES]
    monkeypatch.setattr(vectors_module, "EXACT_LIMIT", 500)
    monkeypatch.setattr(reindex_module, "EXACT_LIMIT", 500)
    archive.indexes.reindex("me")
    index = archive.indexes.get("me")
    assert index.vectors.is_large

    found = [[hit.id for hit in archive.search(query, limit=10).hits] for query in QUERIES]
    same = sum(len({*a} & {*b}) for a, b in zip(exact, found, strict=True))
    assert same / sum(map(len, exact)) >= 0.99

    fresh = archive.capture("fresh", "爬山露營看日出 獨一無二")
    first = archive.search("獨一無二的日出").hits[0]
    assert first.id == fresh
    assert first.why.cosine is not None
    nothing = archive.search("日出", filter=Filter(captures=False))
    assert (nothing.outcome, nothing.basis.searched) == ("empty", 0)
