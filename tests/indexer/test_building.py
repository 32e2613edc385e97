"""Several may want to write the index of a scope at once: one does, and nothing is mixed up."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.indexer import generation as generation_module
from shiyi.indexer import indexes as indexes_module
from shiyi.indexer.generation import Generation, open_current, scope_directory
from shiyi.indexer.indexes import Indexes
from shiyi.models.encoder import Encoder
from shiyi.models.tokens import get_counter
from shiyi.retrieval.query import Query
from shiyi.retrieval.search import search
from tests.conftest import NOW, Memory


@pytest.fixture(name="memory")
def memory_fixture(
    make_memory: Callable[..., Memory],
    hashing: Callable[[], Encoder],
    monkeypatch: pytest.MonkeyPatch,
) -> Memory:
    """Ten turns, which are enough to write a generation on the way to an answer."""
    monkeypatch.setattr(indexes_module, "_COMPACT", 3)
    memory = make_memory(hashing)
    memory.captures({f"c{n}": f"第{n}天，我們去爬山。" for n in range(10)})
    return memory


@pytest.fixture(name="other")
def other_fixture(memory: Memory, keywords: Callable[[], Encoder]) -> Iterator[Indexes]:
    """The indexes of the same home for somebody with another model."""
    other = Indexes(memory.store, keywords)
    yield other
    other.close()


def served(memory: Memory) -> Generation:
    """Return what serves, checked in full."""
    found = open_current(scope_directory(memory.home, "me"))
    assert found is not None
    found.verify()
    return found


def test_an_answer_does_not_wait_for_who_is_writing(memory: Memory, other: Indexes) -> None:
    """Nor does it write: it is found in memory, and the generation is that of one build alone."""
    alone = memory.indexes.reindex("me").directory.name
    found = list[int]()

    def meanwhile(done: int, total: int) -> None:
        del done, total
        if not found:
            query = Query(text="爬山", now=NOW, budget=100_000, limit=20)
            found.append(len(search(other, "me", query, get_counter()).hits))

    (scope_directory(memory.home, "me") / "CURRENT").unlink()  # so that the other has to build
    built = memory.indexes.reindex("me", progress=meanwhile)

    assert found == [10]
    assert built.directory.name == alone == served(memory).directory.name


def test_who_has_to_write_waits_for_the_other(memory: Memory, other: Indexes) -> None:
    """Two jobs for one scope both end, one after the other."""
    begun, builds = threading.Event(), list[Generation]()

    def second() -> None:
        begun.wait(30)
        builds.append(other.reindex("me", keywords_only=True))

    def progress(done: int, total: int) -> None:
        begun.set()
        thread.join(0.2)  # time enough for the second to spoil the first, if it could
        assert thread.is_alive()
        del done, total

    thread = threading.Thread(target=second)
    thread.start()
    first = memory.indexes.reindex("me", progress=progress)
    thread.join(30)

    assert [first.manifest.documents, first.manifest.embedded] == [10, 10]
    assert [builds[0].manifest.documents, builds[0].manifest.embedded] == [10, 0]
    assert served(memory).directory == builds[0].directory


def test_who_made_way_goes_on_with_what_serves(memory: Memory, other: Indexes) -> None:
    """Vectors that another session's build has removed are no damage, and nothing is rebuilt."""
    memory.indexes.reindex("me")
    memory.reopen()
    memory.search("爬山", channels=frozenset({"lexical"}))  # words only, so no vectors are read yet
    memory.capture("new", "後來下雨了。")
    other.reindex("me", keywords_only=True)

    found = memory.search("爬山")

    assert not any("rebuilt" in note for note in found.notes)
    assert len(found.hits) == 8
    assert served(memory).manifest.embedded == 0
    assert found.mode == "hybrid"


def test_what_makes_way_while_it_is_opened_is_not_missed(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading which one serves and opening it, a newer one may have taken its place."""
    memory.indexes.reindex("me")
    memory.capture("new", "後來下雨了。")
    opened = list[Any]()

    class Slow(Generation):
        def __init__(self, directory: Path) -> None:
            opened.append(directory)
            if len(opened) == 1:
                memory.indexes.reindex("me")
            super().__init__(directory)

    monkeypatch.setattr(generation_module, "Generation", Slow)
    found = open_current(scope_directory(memory.home, "me"))

    assert found is not None
    assert found.manifest.documents == 11


def test_a_build_can_be_stopped_after_each_batch(
    make_memory: Callable[..., Memory], counting: Any
) -> None:
    """Whoever stops it waits for one batch of the encoder, and what it made is kept."""
    memory = make_memory(lambda: counting)
    memory.captures({f"c{n}": f"第{n}次散步。" for n in range(300)})

    def stop(done: int, total: int) -> None:
        del done, total
        if counting.embedded:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.indexes.reindex("me", progress=stop)

    first = len(counting.embedded)
    assert 0 < first <= 64
    assert len(memory.indexes.model().embeddings) == first
    memory.indexes.reindex("me")
    assert len(counting.embedded) == 300
