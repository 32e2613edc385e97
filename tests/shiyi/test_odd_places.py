"""Closed doors: outputs nobody reads, names that are empty, a memory that was closed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shiyi
from shiyi.core.errors import HomeError, UsageError


def run(home: Path, shell: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `shiyi` in a shell with redirections."""
    return subprocess.run(
        ["bash", "-c", shell.replace("shiyi", f"{sys.executable} -m shiyi", 1)],
        env={**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "none", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def is_found(home: Path) -> bool:
    """Tell whether the words of these tests are kept."""
    with shiyi.open(home, model="none") as memory:
        return bool(memory.scope("me").search("甲乙丙").hits)


def test_a_full_output_does_not_hide_that_the_words_are_kept(tmp_path: Path) -> None:
    """The exit code says that the answer is lost, not the deed."""
    done = run(tmp_path / "h", "shiyi remember 甲乙丙 > /dev/full")

    assert done.returncode == 74
    assert "is done" in done.stderr
    assert "Traceback" not in done.stderr
    assert is_found(tmp_path / "h")


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "2>&-"])
def test_closed_streams_are_no_fault(tmp_path: Path, closed: str) -> None:
    """Whoever closes a stream does not want to read it."""
    done = run(tmp_path / "h", f"shiyi remember 甲乙丙 {closed}")

    assert done.returncode == 0
    assert is_found(tmp_path / "h")


def test_without_words_and_input_there_is_one_sentence(tmp_path: Path) -> None:
    """A closed standard input holds no words."""
    done = run(tmp_path / "h", "shiyi remember <&-")

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_cache_that_cannot_be_used_leaves_keywords(tmp_path: Path) -> None:
    """Search goes by keywords, and says why."""
    (tmp_path / "file").write_text("not a directory")
    with shiyi.open(tmp_path / "h", model="none") as memory:
        memory.scope("me").remember("甲乙丙")

    done = run(
        tmp_path / "h", "shiyi --model default search 甲乙丙", SHIYI_CACHE=str(tmp_path / "file")
    )

    assert done.returncode == 0
    assert "甲乙丙" in done.stdout
    assert "Keywords only" in done.stdout
    assert "Traceback" not in done.stderr


def test_an_empty_scope_is_not_the_usual_one(tmp_path: Path) -> None:
    """An agent that passes an empty name must not reach another's memories."""
    with shiyi.open(tmp_path / "h", model="none") as memory:
        memory.scope("me").remember("甲乙丙")

        with pytest.raises(UsageError):
            memory.scope("").search("甲乙丙")


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_paths_that_cannot_be_are_refused(tmp_path: Path, path: str) -> None:
    """One sentence, whatever is wrong with the path."""
    with shiyi.open(tmp_path / "h", model="none") as memory:
        with pytest.raises(UsageError):
            memory.scope("me").import_(path)
        with pytest.raises(UsageError):
            memory.scope("me").export(path)


def test_a_closed_memory_stays_closed(tmp_path: Path) -> None:
    """What is used after its end is refused and takes no lock."""
    memory = shiyi.open(tmp_path / "h", model="none")
    scope = memory.scope("me")
    memory.close()

    with pytest.raises(HomeError):
        scope.remember("甲乙丙")
    shiyi.open(tmp_path / "h", model="none").close()
