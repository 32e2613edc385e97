"""What waits to be embedded is found all the same, and does not wait for ever."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from shiyi.core.errors import ModelUnavailableError
from shiyi.core.ids import derived_id
from shiyi.indexer import indexes as indexes_module
from shiyi.models.hashing import HashingEncoder
from tests.retrieval.test_rebuild import calibrated

NOTE = "祖傳的鳶尾花種子放在閣樓的藍色鐵盒裡，鑰匙由隔壁的宋先生保管。"


@pytest.fixture
def memory(make_memory: Callable[..., Any]) -> Any:
    """Forty notes that are embedded, each with some of the words that will be asked for."""
    memory = make_memory(calibrated)
    memory.captures({f"old{n}": f"藍色 的 瓷磚 {n} 箱，放在 閣樓。" for n in range(40)})
    memory.indexes.reindex("me")
    return memory


def add(memory: Any, count: int) -> None:
    """Add so many notes at once, one of them the one that will be asked for."""
    memory.captures({f"new{n}": f"第 {n} 天 下雨，買了 {n} 把傘。" for n in range(count - 1)})
    memory.capture("wanted", NOTE)
    memory.captures({f"later{n}": f"第 {n} 週 晴天，收了 {n} 把傘。" for n in range(70)})


@pytest.mark.parametrize("soon", [0, 1024])
@pytest.mark.parametrize("asked", ["藍色鐵盒", "鳶尾花種子", "隔壁的宋先生", NOTE])
def test_words_find_what_waits(
    memory: Any, monkeypatch: pytest.MonkeyPatch, soon: int, asked: str
) -> None:
    """It stands first, however many wait, and what is said of them is true."""
    monkeypatch.setattr(indexes_module, "_SOON", soon)
    add(memory, 100)

    found = memory.search(asked)

    assert found.hits[0].id == derived_id("me", "wanted")
    assert found.hits[0].why.cosine is not None
    assert any("found by keywords only until" in note for note in found.notes)


def test_a_few_answers_embed_what_waits(memory: Any) -> None:
    """Also where nobody can run `shiyi reindex`; then nothing is said any more."""
    add(memory, 100)
    said = [memory.search("今天天氣如何").notes for _ in range(4)]

    waiting = [sum("found by keywords only" in note for note in notes) for notes in said]
    assert waiting == [1, 1, 0, 0]
    assert len(memory.indexes.model().embeddings) == 40 + 170


def test_a_model_that_breaks_meanwhile_costs_no_answer(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words find what waits, as they do without a model."""
    add(memory, 100)

    def broken(*_: Any, **__: Any) -> Any:
        raise ModelUnavailableError("The weights are broken.")

    monkeypatch.setattr(HashingEncoder, "encode_passages", broken)
    found = memory.search("鳶尾花種子")

    assert derived_id("me", "wanted") in {hit.id for hit in found.hits}


def test_vectors_that_cannot_be_kept_leave_the_words(memory: Any) -> None:
    """What blocks them is named, and whoever asks by meaning alone is told as well."""
    memory.indexes.close()
    shutil.rmtree(memory.home / "vectors")
    (memory.home / "vectors").write_text("in the way", "utf-8")
    memory.reopen()

    found = memory.search("藍色 閣樓")

    assert (found.mode, found.outcome) == ("keyword", "found")
    assert any("vectors" in note and "cannot be written" in note for note in found.notes)
    by_meaning = memory.search("藍色 閣樓", channels=frozenset({"dense"}))
    assert by_meaning.outcome == "unavailable"
    with pytest.raises(OSError, match="vectors"):
        memory.indexes.reindex("me")
