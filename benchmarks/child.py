"""What is measured in a fresh process: opening a home, and the memory that it takes."""

import json
import sys
import time
from pathlib import Path

START = time.process_time(), time.perf_counter()


def first_answer(home: str, text: str) -> dict[str, float]:
    """Open a home and answer one keyword query."""
    import shiyi  # noqa: PLC0415 - the import is part of what is measured

    with shiyi.open(home, model="none", create=False) as memory:
        found = memory.scope("all").search(text, channel="keyword")
        cpu, wall = time.process_time() - START[0], time.perf_counter() - START[1]
    return {"cpu": cpu, "wall": wall, "hits": len(found.hits)}


def rebuild(home: str, text: str) -> dict[str, float]:
    """Build the keyword index of a home anew, every text analysed again."""
    import shiyi  # noqa: PLC0415

    with shiyi.open(home, model="none", create=False) as memory:
        memory.reindex(scope="all", keywords_only=True, full=True)
        cpu, wall = time.process_time() - START[0], time.perf_counter() - START[1]
    return {"cpu": cpu, "wall": wall, "hits": len(text)}


def memory(home: str, text: str) -> dict[str, float]:
    """Answer a keyword query and one with a vector, and say what memory that took."""
    from benchmarks import corpus, homes  # noqa: PLC0415
    from benchmarks.hybrid import Searcher  # noqa: PLC0415
    from benchmarks.measure import memory_of_this_process  # noqa: PLC0415

    vectors, asked = corpus.vectors(1000)
    del vectors
    searcher = Searcher(Path(home), [text], asked)
    searcher.search(homes.ALL, text, channels=("lexical",))
    searcher.search(homes.ALL, text, channels=("dense",))
    return {name: float(value) for name, value in memory_of_this_process().items()}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from benchmarks.measure import one_thread

    one_thread()
    action = {"first_answer": first_answer, "rebuild": rebuild, "memory": memory}[sys.argv[1]]
    print(json.dumps(action(sys.argv[2], sys.argv[3])))
