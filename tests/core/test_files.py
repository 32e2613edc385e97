"""Private files, written whole or not at all."""

import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shiyi.core.errors import UsageError
from shiyi.core.files import expanded, make_private_directory, owner_only, write_atomically


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022, "the umask is as it was"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_made_inside_are_the_owners_alone(tmp_path: Path) -> None:
    """Inside the block files are 0600 and directories 0700, nested or not; outside as before."""
    with owner_only(), owner_only():
        (tmp_path / "file").touch()
        (tmp_path / "folder").mkdir()
    (tmp_path / "after").touch()

    assert (mode(tmp_path / "file"), mode(tmp_path / "folder")) == (0o600, 0o700)
    assert mode(tmp_path / "after") == 0o644


def test_an_error_inside_restores_the_umask(tmp_path: Path) -> None:
    """The umask comes back whatever happens."""
    with pytest.raises(RuntimeError), owner_only():
        raise RuntimeError

    (tmp_path / "after").touch()
    assert mode(tmp_path / "after") == 0o644


def test_threads_do_not_open_each_others_files(tmp_path: Path) -> None:
    """However blocks of many threads overlap, no file inside one is readable by others."""
    start = threading.Barrier(8)

    def work(thread: int) -> None:
        start.wait()
        for number in range(100):
            with owner_only():
                (tmp_path / f"{thread}-{number}").touch()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))

    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) == 800


def test_a_private_directory_is_made_with_its_parents(tmp_path: Path) -> None:
    """What is made is 0700; what was there keeps its mode."""
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o755)
    path = there / "a" / "b"

    assert make_private_directory(path) == path
    assert make_private_directory(path) == path
    assert [mode(p) for p in (path, path.parent, there)] == [0o700, 0o700, 0o755]


def test_a_private_directory_cannot_replace_a_file(tmp_path: Path) -> None:
    """A file in the way is an error and stays."""
    (tmp_path / "file").write_text("kept")

    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="file"):
            make_private_directory(path)

    assert (tmp_path / "file").read_text() == "kept"


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    """The new content is there, 0600, and nothing else is left beside it."""
    path = tmp_path / "文件"
    path.write_bytes(b"old")
    path.chmod(0o644)

    write_atomically(path, b"new\0" * 100_000)

    assert path.read_bytes() == b"new\0" * 100_000
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_failure_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whichever step fails, the old file is as it was and no other is left."""
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if step == "fsync":
            patch.setattr(os, "fsync", fail)
        elif step == "replace":
            patch.setattr(Path, "replace", fail)
        content = bytearray(b"new") if step != "write" else "not bytes"
        with pytest.raises((OSError, TypeError)):
            write_atomically(path, content)  # type: ignore[arg-type]

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_never_see_a_mixture(tmp_path: Path) -> None:
    """With many writers of one file, each read is the whole of what one of them wrote."""
    path = tmp_path / "file"
    contents = {bytes([65 + n]) * 50_000 for n in range(4)}
    write_atomically(path, min(contents))
    stop = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not stop.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda content: write_atomically(path, content), sorted(contents) * 10))
    stop.set()
    reader.join()

    assert seen <= contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_begins_with_a_home_that_there_is() -> None:
    """A `~` is the home of its user; one of nobody is a sentence, not a fault."""
    assert expanded("~/notes") == Path.home() / "notes"
    assert expanded("a~b") == Path("a~b")
    with pytest.raises(UsageError, match="does not know"):
        expanded("~no-such-user-here/notes")
