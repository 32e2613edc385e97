"""A bit that flips in the database or its log is never silent."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import HomeError
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.write import Words
from shiyi.store import Store

FEW, MANY = 12, 400


def rows(store: Store) -> dict[str, list[bytes]]:
    snapshots = store.snapshots
    return {t.name: list(snapshots.lines(t)) for t in snapshots.tables() if t.name != "meta"}


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[bytes]]]:
    """Copy a home while it is open, so that it has a log, and return all of its rows."""
    place = tmp_path_factory.mktemp("living")
    with Store(place / "home", create=True) as store:
        for number in range(20):
            remember(store, "me", Words(text=f"第{number}句 some words " * 5), {})
        store.checkpoint()
        for number in range(5):
            remember(store, "me", Words(text=f"later {number} 之後 " * 5), {})
        shutil.copytree(store.home, place / "copy")
        return place / "copy", rows(store)


def look(home: Path) -> tuple[dict[str, list[bytes]], Any] | None:
    """Return what a home holds and the loss that it names, or None when it is refused."""
    try:
        with Store(home) as store:
            return rows(store), store.lost_tails()
    except HomeError as error:
        assert str(error).endswith(".")  # noqa: PT017 - a sentence
        return None


def flip(living: tuple[Path, dict[str, list[bytes]]], place: Path, name: str, seed: int) -> None:
    """Flip one bit, and check that it is refused, harmless, or named as a loss."""
    source, whole = living
    chance, home = random.Random(seed), place / f"{seed}"
    shutil.copytree(source, home)
    content = bytearray((home / name).read_bytes())
    where = chance.randrange(len(content))
    content[where] ^= 1 << chance.randrange(8)
    (home / name).write_bytes(content)

    found = look(home)

    if found is None:
        assert (home / name).read_bytes() == content, "what is refused is left as it was"
    else:
        held, lost = found
        assert held == whole or lost, f"byte {where}"
        for table, kept in held.items():
            assert kept == whole[table][: len(kept)], f"byte {where}: rows are lost, never changed"
    shutil.rmtree(home)


@pytest.mark.parametrize("name", ["shiyi.duckdb", "shiyi.duckdb.wal"])
def test_a_flip_is_never_silent(
    living: tuple[Path, dict[str, list[bytes]]], tmp_path: Path, name: str
) -> None:
    """Opening refuses with a sentence, or everything reads right, or the lost tail is named."""
    for seed in range(FEW):
        flip(living, tmp_path, name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shiyi.duckdb", "shiyi.duckdb.wal"])
def test_many_flips_are_never_silent(
    living: tuple[Path, dict[str, list[bytes]]], tmp_path: Path, name: str
) -> None:
    for seed in range(FEW, MANY):
        flip(living, tmp_path, name, seed)


def test_a_cut_of_the_log_is_named(
    living: tuple[Path, dict[str, list[bytes]]], tmp_path: Path
) -> None:
    """Wherever the log ends, what is lost is named, and what is left is as it was."""
    source, whole = living
    size = (source / "shiyi.duckdb.wal").stat().st_size
    for number, left in enumerate((size - 1, size // 2, 200, 1, 0)):
        home = tmp_path / str(number)
        shutil.copytree(source, home)
        with (home / "shiyi.duckdb.wal").open("r+b") as file:
            file.truncate(left)
        found = look(home)
        assert found is None or found[0] == whole or found[1], left
