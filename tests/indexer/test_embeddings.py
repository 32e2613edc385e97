"""Vectors that are kept: append-only, whole after any crash, never computed twice."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer.embeddings import (
    KEYS,
    ROWS,
    EmbeddingStore,
    forget_passages,
    open_embeddings,
    passage_key,
)
from shiyi.models.interaction import Embedded

DIMENSION = 4


def key(n: int) -> bytes:
    return hashlib.sha256(b"%d" % n).digest()


def vector(n: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array([n, n + 0.25, -n, 1 / (n + 1)], np.float32)


def fill(directory: Path, numbers: range) -> None:
    with EmbeddingStore(directory, DIMENSION) as store:
        store.add([key(n) for n in numbers], Embedded(np.array([vector(n) for n in numbers])))


def held(store: EmbeddingStore, numbers: range) -> list[int]:
    """Return which numbers the store holds, having checked that they are exact."""
    vectors, found = store.get([key(n) for n in numbers])
    for n, row, there in zip(numbers, vectors, found, strict=True):
        assert row.tolist() == (vector(n).tolist() if there else [0.0] * DIMENSION)
        assert (key(n) in store) == there
    return [n for n, there in zip(numbers, found, strict=True) if there]


def test_what_is_added_is_kept(tmp_path: Path) -> None:
    """Vectors come back bit by bit, at once and after reopening; others are missing."""
    fill(tmp_path / "v", range(5))
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert held(store, range(8)) == [0, 1, 2, 3, 4]
        store.add([key(6)], Embedded(np.array([vector(6)])))
        assert held(store, range(8)) == [0, 1, 2, 3, 4, 6]
        assert store.get([])[0].shape == (0, DIMENSION)
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert held(store, range(8)) == [0, 1, 2, 3, 4, 6]
        assert len(store) == 6


def test_a_known_key_is_passed_over(tmp_path: Path) -> None:
    """The files only grow, and only by what is new; what stands in them never changes."""
    fill(tmp_path / "v", range(3))
    before = [(tmp_path / "v" / name).read_bytes() for name in (ROWS, KEYS)]
    fill(tmp_path / "v", range(3))
    assert [(tmp_path / "v" / name).read_bytes() for name in (ROWS, KEYS)] == before

    fill(tmp_path / "v", range(2, 5))
    for name, old in zip((ROWS, KEYS), before, strict=True):
        new = (tmp_path / "v" / name).read_bytes()
        assert new.startswith(old)
        assert len(new) == len(old) // 3 * 5


@pytest.mark.parametrize("name", [ROWS, KEYS])
def test_a_torn_tail_is_dropped(tmp_path: Path, name: str) -> None:
    """Cut anywhere, either file still gives every vector before the cut, and takes new ones."""
    fill(tmp_path / "v", range(3))
    whole = (tmp_path / "v" / name).read_bytes()
    rest = {p.name: p.read_bytes() for p in (tmp_path / "v").iterdir()}
    for size in range(len(whole) + 1):
        for other, content in rest.items():
            (tmp_path / "v" / other).write_bytes(content)
        (tmp_path / "v" / name).write_bytes(whole[:size])
        with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
            expected = list(range(size * 3 // len(whole)))
            assert held(store, range(3)) == expected
            store.add([key(n) for n in range(4)], Embedded(np.array([vector(n) for n in range(4)])))
            assert held(store, range(4)) == [0, 1, 2, 3]


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7), name=st.sampled_from(["rows", "keys"]))
def test_a_flipped_bit_makes_one_vector_missing(
    tmp_path_factory: pytest.TempPathFactory, place: int, bit: int, name: str
) -> None:
    """A damaged vector is never given out; it is added anew, and stays good after reopening."""
    directory = tmp_path_factory.mktemp("v") / "v"
    fill(directory, range(4))
    path = next(directory.glob(f"{name}.*"))
    content = bytearray(path.read_bytes())
    place %= len(content)
    content[place] ^= 1 << bit
    path.write_bytes(bytes(content))
    damaged = place * 4 // len(content)

    with EmbeddingStore(directory, DIMENSION) as store:
        assert held(store, range(4)) == [n for n in range(4) if n != damaged]
        store.add([key(damaged)], Embedded(np.array([vector(damaged)])))
        assert held(store, range(4)) == [0, 1, 2, 3]
    with EmbeddingStore(directory, DIMENSION) as store:
        assert held(store, range(4)) == [0, 1, 2, 3]


def test_an_addition_that_was_broken_off_spoils_nothing(tmp_path: Path) -> None:
    """Rows without keys, as an interruption leaves them, do not shift the rows that follow."""
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        store.add([key(0)], Embedded(np.array([vector(0)])))
        with (tmp_path / "v" / ROWS).open("ab") as file:
            file.write(vector(9).tobytes() + b"xx")
        store.add([key(1)], Embedded(np.array([vector(1)])))
        assert held(store, range(3)) == [0, 1]
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert held(store, range(3)) == [0, 1]


def tokens(n: int) -> Any:
    """Return the signs of n tokens."""
    return np.full((n, 1), n, np.uint8)


def test_tokens_are_kept_beside_the_vector(tmp_path: Path) -> None:
    """As many as a text has, also none; what is missing has none."""
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        numbers = [3, 0, 5]
        rows = np.array([vector(n) for n in numbers])
        store.add([key(n) for n in numbers], Embedded(rows, [tokens(n) for n in numbers]))
        store.add([key(9)], Embedded(np.array([vector(9)])))
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert held(store, range(10)) == [0, 3, 5, 9]
        found = store.tokens([key(n) for n in (5, 9, 3, 1, 0)])
        assert [one.tolist() for one in found] == [[[5]] * 5, [], [[3]] * 3, [], []]


def test_what_is_forgotten_leaves_no_byte(tmp_path: Path) -> None:
    """Neither vector nor tokens of a text stay, and those of others do."""
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        rows = np.array([vector(n) for n in range(4)])
        store.add([key(n) for n in range(4)], Embedded(rows, [tokens(n + 1) for n in range(4)]))
    assert forget_passages(tmp_path / "v", {key(n) for n in (0, 2, 3, 8)}) == 1
    content = (tmp_path / "v" / ROWS).read_bytes()
    assert vector(1).tobytes() not in content
    assert len(content) == sum(16 + n + 1 for n in (0, 2, 3))
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert held(store, range(4)) == [0, 2, 3]
        assert [len(one) for one in store.tokens([key(n) for n in range(4)])] == [1, 0, 3, 4]


def test_what_no_line_tells_of_is_forgotten_as_well(tmp_path: Path) -> None:
    """Bytes that an interruption left behind the rows may be what was said."""
    fill(tmp_path / "v", range(2))
    for name in (KEYS, ROWS):
        with (tmp_path / "v" / name).open("ab") as file:
            file.write(b"torn")
    assert forget_passages(tmp_path / "v", {key(0), key(1)}) == 0
    assert not any(b"torn" in path.read_bytes() for path in (tmp_path / "v").iterdir())
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert held(store, range(2)) == [0, 1]


@pytest.mark.parametrize("gone", [(KEYS, ROWS), (KEYS,), (ROWS,)])
def test_files_that_are_removed_while_open_are_begun_anew(
    tmp_path: Path, gone: tuple[str, ...]
) -> None:
    """So that what is added afterwards is there when it is opened again."""
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        store.add([key(1)], Embedded(np.array([vector(1)])))
        for name in gone:
            (tmp_path / "v" / name).unlink()
        if len(gone) == 2:
            (tmp_path / "v").rmdir()
        assert held(store, range(3)) == []
        store.add([key(2)], Embedded(np.array([vector(2)])))
        assert held(store, range(3)) == [2]
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert held(store, range(3)) == [2]


def test_what_is_open_goes_on_where_nothing_can_be_begun(tmp_path: Path) -> None:
    """Something else has taken the place of the directory; what was kept is read all the same."""
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        store.add([key(1)], Embedded(np.array([vector(1)])))
        shutil.rmtree(tmp_path / "v")
        (tmp_path / "v").write_text("in the way", "utf-8")
        assert held(store, range(3)) == [1]
        (tmp_path / "v").unlink()
        assert held(store, range(3)) == []


def test_two_who_open_a_directory_share_its_store(tmp_path: Path) -> None:
    """What one adds the other finds, and it stays open until both have closed it."""
    first, second = (
        open_embeddings(place, DIMENSION) for place in (tmp_path / "v", tmp_path / "." / "v")
    )
    first.add([key(1)], Embedded(np.array([vector(1)])))
    second.add([key(2)], Embedded(np.array([vector(2)])))
    first.close()
    assert held(second, range(4)) == [1, 2]
    second.close()
    with open_embeddings(tmp_path / "v", DIMENSION) as again:
        assert held(again, range(4)) == [1, 2]


def test_what_was_kept_before_tokens_were_goes(tmp_path: Path) -> None:
    """Files of the form before are of no use to anybody and may hold what was said."""
    (tmp_path / "v").mkdir()
    for name in ("keys.bin", "rows.f32"):
        (tmp_path / "v" / name).write_bytes(b"old")
    with EmbeddingStore(tmp_path / "v", DIMENSION) as store:
        assert len(store) == 0
    assert sorted(path.name for path in (tmp_path / "v").iterdir()) == sorted((KEYS, ROWS))

    (tmp_path / "of another model").mkdir()
    (tmp_path / "of another model" / "rows.f32").write_bytes(b"old")
    assert forget_passages(tmp_path / "of another model", {key(1)}) == 0
    assert not list((tmp_path / "of another model").iterdir())


def test_the_files_are_private(tmp_path: Path) -> None:
    """Only the owner can read what is derived from memories."""
    fill(tmp_path / "v", range(1))
    assert (tmp_path / "v").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "v").iterdir())


def test_nothing_is_embedded_twice(make_memory: Callable[..., Any], counting: Any) -> None:
    """Searching, reindexing and reopening embed each different text exactly once."""
    memory = make_memory(lambda: counting)
    for n in range(5):
        memory.say(f"第{n}天我们去爬山。", words_only=True)
    memory.search("爬山")
    assert len(counting.embedded) == 5

    memory.search("爬山")
    memory.indexes.reindex("me")
    memory.indexes.reindex("me", full=True)
    memory.reopen()
    memory.search("爬山")
    assert len(counting.embedded) == 5

    memory.say("第1天我们去爬山。", words_only=True)  # the same words again
    memory.say("第6天我们在家。", scope="you", words_only=True)
    for _ in range(2):
        memory.say("同样的话", scope="you", words_only=True)
    memory.search("爬山")
    memory.search("爬山", scope="you")
    memory.indexes.reindex("you")
    assert sorted(counting.embedded) == sorted(set(counting.embedded))
    assert len(counting.embedded) == 7


def test_a_damaged_vector_is_embedded_again(make_memory: Callable[..., Any], counting: Any) -> None:
    """A reindex over a damaged vector ends with the bytes that it has without the damage."""
    memory = make_memory(lambda: counting)
    for n in range(3):
        memory.say(f"第{n}天我们去爬山。", words_only=True)
    first = memory.indexes.reindex("me").directory
    expected = {path.name: path.read_bytes() for path in first.iterdir()}
    rows = next(memory.home.glob(f"vectors/*/{ROWS}"))
    content = bytearray(rows.read_bytes())
    content[700] ^= 4
    rows.write_bytes(bytes(content))
    memory.reopen()

    again = memory.indexes.reindex("me").directory
    assert {path.name: path.read_bytes() for path in again.iterdir()} == expected
    assert len(counting.embedded) == 4


def test_a_key_is_the_hash_of_the_passage() -> None:
    """The name of a vector says exactly which text it is of."""
    assert passage_key("雨") == hashlib.sha256("雨".encode()).digest()
