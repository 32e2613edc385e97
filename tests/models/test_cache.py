"""Prepared directories: whole or absent, and checked before they are trusted."""

import errno
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shiyi.core.errors import ModelUnavailableError
from shiyi.models.cache import damage, default_cache, prepared


def build(directory: Path) -> None:
    (directory / "weights").write_bytes(bytes(1000))
    (directory / "sub").mkdir()
    (directory / "sub" / "settings").write_text("{}")


def flip(directory: Path) -> None:
    content = bytearray((directory / "weights").read_bytes())
    content[500] ^= 1
    (directory / "weights").write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "truncated": lambda directory: (directory / "weights").write_bytes(bytes(999)),
    "emptied": lambda directory: (directory / "weights").write_bytes(b""),
    "lost": lambda directory: (directory / "sub" / "settings").unlink(),
    "added": lambda directory: (directory / "more").touch(),
    "no manifest": lambda directory: (directory / "manifest.json").unlink(),
    "bad manifest": lambda directory: (directory / "manifest.json").write_text('{"format": 1}'),
    "foreign manifest": lambda directory: (directory / "manifest.json").write_text("[]"),
    "gone": shutil.rmtree,
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_directory_is_built_again(tmp_path: Path, kind: str) -> None:
    """Whatever happened to the files, the next use finds them whole."""
    directory = prepared(tmp_path / "model", build)
    DAMAGES[kind](directory)
    assert damage(directory) is not None

    again = prepared(directory, build)

    assert damage(again) is None
    assert (again / "weights").read_bytes() == bytes(1000)


def test_an_intact_directory_is_used_as_it_is(tmp_path: Path) -> None:
    """Building happens once, and needs no write access afterwards."""
    directory = prepared(tmp_path / "model", build)

    def never(_: Path) -> None:
        raise AssertionError

    assert prepared(directory, never) == directory


def test_only_the_owner_can_read_the_cache(tmp_path: Path) -> None:
    """Directories are 0700 and files 0600."""
    directory = prepared(tmp_path / "cache" / "model", build)

    modes = {
        path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert modes.pop("cache") == modes.pop("cache/model") == modes.pop("cache/model/sub") == 0o700
    assert set(modes.values()) == {0o600}
    assert directory.name == "model"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_disk_that_cannot_be_written_is_named(tmp_path: Path, code: int) -> None:
    """One sentence says where it failed and what to do, and nothing half-made stays."""

    def fail(directory: Path) -> None:
        (directory / "weights").touch()
        raise OSError(code, "it failed")

    with pytest.raises(ModelUnavailableError, match=r"Free about 500 MB there.*SHIYI_CACHE"):
        prepared(tmp_path / "model", fail)

    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_cache_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    """A wrong SHIYI_CACHE is an error of the model, not a crash."""
    (tmp_path / "file").touch()

    with pytest.raises(ModelUnavailableError, match="cannot be prepared"):
        prepared(tmp_path / "file" / "model", build)


def test_a_build_that_was_killed_is_never_trusted(tmp_path: Path) -> None:
    """kill -9 in the middle leaves no directory, and its leftovers go with the next build."""
    script = """
import os, pathlib, signal, sys
from shiyi.models.cache import prepared
def build(directory):
    (directory / "weights").write_bytes(bytes(10))
    os.kill(os.getpid(), signal.SIGKILL)
prepared(pathlib.Path(sys.argv[1]), build)
"""
    directory = tmp_path / "model"
    killed = subprocess.run([sys.executable, "-c", script, directory], check=False)
    assert killed.returncode == -9
    assert not directory.exists()
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1

    prepared(directory, build)

    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["model"]


def test_processes_that_come_at_once_build_once(tmp_path: Path) -> None:
    """The second waits for the first and takes its work."""
    script = """
import pathlib, sys, time
from shiyi.models.cache import prepared
def build(directory):
    with (directory.parent / "builds").open("a") as file:
        file.write("x")
    time.sleep(0.5)
    (directory / "weights").write_bytes(bytes(10))
prepared(pathlib.Path(sys.argv[1]), build)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "model")]
    processes = [subprocess.Popen(command) for _ in range(3)]

    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert (tmp_path / "builds").read_text() == "x"


def test_the_cache_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """SHIYI_CACHE wins; else it is the platform's cache directory."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path))
    assert default_cache() == tmp_path

    monkeypatch.delenv("SHIYI_CACHE")
    assert default_cache().name == "shiyi"
