"""A home without a model, and its default scope."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import shiyi


@pytest.fixture
def memory(tmp_path: Path, blank: Path) -> Iterator[shiyi.Memory]:
    shutil.copytree(blank, tmp_path / "home")
    with shiyi.open(tmp_path / "home", model="none") as opened:
        yield opened


@pytest.fixture
def me(memory: shiyi.Memory) -> shiyi.Scope:
    return memory.scope("me")


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of the given lines."""

    def write(*lines: str, name: str = "a.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return path

    return write
