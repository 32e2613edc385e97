"""A home is private, has one owner, and what is not ours is left as it is."""

import json
import os
import signal
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from shiyi.core.errors import (
    HomeBusyError,
    HomeDamagedError,
    HomeError,
    HomeForeignError,
    HomeUnwritableError,
)
from shiyi.store import Capture, Store

Put = Callable[..., list[str]]

Child = Callable[..., "subprocess.Popen[str]"]
HOLDER = """
import sys
from pathlib import Path
from shiyi.store import Store
sys.argv[0] = "/usr/bin/a-program"
store = Store(Path(sys.argv[1]), create=True)
print("ready", flush=True)
sys.stdin.read()
store.close()
"""


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022, "the umask is as it was"


def modes(home: Path) -> dict[str, int]:
    """Return the permission bits of the home and of all that is in it."""
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in [home, *home.rglob("*")]}


def content(home: Path) -> dict[str, bytes]:
    """Return the database and its log, byte for byte."""
    return {path.name: path.read_bytes() for path in home.glob("shiyi.duckdb*") if path.is_file()}


# Private


def test_everything_in_a_home_is_the_owners_alone(home: Path, rows: Any, put: Put) -> None:
    """The home is 0700 and each file 0600: at first, in writing, after checkpoints, closed."""
    home = home / "with a parent"
    seen: dict[str, int] = {}
    with Store(home, create=True) as store:
        seen |= modes(home)
        captures = [rows.capture(str(i)) for i in range(5000)]
        put(store, captures)
        seen |= modes(home)
        store.checkpoint()
        put(store, [rows.capture()])
        seen |= modes(home)
    with Store(home):
        seen |= modes(home)

    assert {"shiyi.duckdb", "shiyi.duckdb.wal", "lock", "watermark", "owner.json"} <= set(seen)
    assert seen.pop(home.name) == 0o700
    assert set(seen.values()) == {0o600}
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700


def test_files_are_private_from_their_first_byte(home: Path, child: Child) -> None:
    """No file of a home is ever made with wider permissions, not even for a moment."""
    code = """
import os, stat, sys
from pathlib import Path
from shiyi.store import Store
wide = []
def watch(event, arguments):
    if event == "open" or event.startswith("os."):
        for path in Path(sys.argv[1]).glob("*"):
            if stat.S_IMODE(path.lstat().st_mode) & 0o077:
                wide.append((event, path.name))
home = Path(sys.argv[1])
busy = []
def guarded(event, arguments):
    if not busy and event in ("open", "os.rename", "os.chmod", "os.remove"):
        busy.append(1)
        watch(event, arguments)
        busy.clear()
sys.addaudithook(guarded)
with Store(home, create=True) as store:
    store.write("me", lambda t: {})
print(wide)
"""
    process = child(code, home)

    assert process.communicate() == ("[]\n", "")


def test_an_open_home_of_ours_is_closed_to_others(home: Path, keep: Callable[..., Capture]) -> None:
    """A home and files that were left readable by others are tightened when they are opened."""
    with Store(home, create=True) as store:
        keep(store)
    home.chmod(0o755)
    (home / "shiyi.duckdb").chmod(0o644)

    with Store(home):
        assert modes(home)[home.name] == 0o700
        assert modes(home)["shiyi.duckdb"] == 0o600


@pytest.mark.parametrize("files", [[], ["settings.toml"]])
def test_an_empty_directory_becomes_a_private_home(home: Path, files: list[str]) -> None:
    """A directory that holds nothing, or only settings, may be given as a new home."""
    home.mkdir(mode=0o755)
    for name in files:
        (home / name).touch()

    with Store(home, create=True):
        assert modes(home)[home.name] == 0o700


def test_a_directory_of_other_things_is_not_taken(home: Path) -> None:
    """A shared directory with other files in it is refused, with its mode as it was."""
    home.mkdir()
    (home / "letters.txt").touch()
    home.chmod(0o1777)

    with pytest.raises(HomeUnwritableError, match=r"other files.*1777"):
        Store(home, create=True)

    assert modes(home)[home.name] == 0o1777
    assert [path.name for path in home.iterdir()] == ["letters.txt"]


@pytest.mark.parametrize(
    "name", ["a b  c", "记忆 之 家", "corrupt checksum", 'it\'s "50%" {x}', "a;b#c%d=~"]
)
def test_a_home_may_have_any_name(tmp_path: Path, keep: Callable[..., Capture], name: str) -> None:
    """Spaces, Chinese, quotes and words that sound like errors are all fine in a path."""
    for _ in range(2):
        with Store(tmp_path / name, create=True) as store:
            keep(store)
    with pytest.raises(HomeBusyError), Store(tmp_path / name), Store(tmp_path / name):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {name}


@pytest.mark.parametrize("name", ["what?", os.fsdecode(b"not utf-8 \xff")])
def test_a_path_that_duckdb_cannot_keep_is_refused(tmp_path: Path, name: str) -> None:
    """DuckDB would look for its log elsewhere; the home is refused before anything is made."""
    for home in (tmp_path / name, tmp_path / name / "below"):
        with pytest.raises(HomeUnwritableError, match="question mark"):
            Store(home, create=True)

    assert list(tmp_path.iterdir()) == []


def test_a_linked_home_is_the_home_it_points_to(
    home: Path, tmp_path: Path, keep: Callable[..., Capture]
) -> None:
    """A home may be a symbolic link, and both names are one home with one owner."""
    with Store(home, create=True) as store:
        keep(store)
    linked = tmp_path / "linked"
    linked.symlink_to(home, target_is_directory=True)

    with Store(linked) as store:
        assert store.last_seq == 1
        with pytest.raises(HomeBusyError):
            Store(home)
    assert linked.is_symlink()


@pytest.mark.parametrize("name", ["lock", "watermark"])
def test_a_linked_file_in_a_home_is_not_followed(home: Path, tmp_path: Path, name: str) -> None:
    """What a link in the home points to is never written."""
    with Store(home, create=True):
        pass
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (home / name).unlink()
    (home / name).symlink_to(victim)

    with pytest.raises(HomeUnwritableError):
        Store(home)

    assert victim.read_text() == "untouched"


def test_a_relative_home_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: Callable[..., Capture]
) -> None:
    """Changing the working directory later moves nothing."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Store(Path("home"), create=True) as store:
        monkeypatch.chdir("elsewhere")
        keep(store)
        store.checkpoint()

    assert store.home == tmp_path / "home"
    assert list((tmp_path / "elsewhere").iterdir()) == []


# One owner


def test_a_second_process_is_told_who_holds_the_home(home: Path, child: Child) -> None:
    """The second is refused with one sentence that names the first, and changes nothing."""
    holder = child(HOLDER, home)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    before = content(home), modes(home)

    with pytest.raises(HomeBusyError) as refusal:
        Store(home, create=True)

    assert f"process {holder.pid} (a-program)" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert (content(home), modes(home)) == before
    holder.communicate("")
    assert holder.returncode == 0
    with Store(home) as store:
        assert store.lost_tails() == []


@pytest.mark.parametrize("owner", [b"", b"[]", b"{}", b'{"pid": "x", "program": 1}', b"\xff", None])
def test_a_holder_that_left_no_name_is_another_process(
    home: Path, store: Store, owner: bytes | None
) -> None:
    """What the owner file says is only told, never needed."""
    if owner is None:
        (home / "owner.json").unlink()
    else:
        (home / "owner.json").write_bytes(owner)

    with pytest.raises(HomeBusyError, match="another process"):
        Store(home)
    assert store.scopes() == []


def test_a_killed_holder_leaves_no_lock(home: Path, child: Child) -> None:
    """After kill -9 the home is free at once, though its owner file is still there."""
    holder = child(HOLDER, home)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert json.loads((home / "owner.json").read_text())["pid"] == holder.pid

    with Store(home):
        assert json.loads((home / "owner.json").read_text())["pid"] == os.getpid()


def test_a_killed_holder_with_a_child_leaves_no_lock(home: Path, child: Child) -> None:
    """A process that the holder started does not keep the home."""
    code = HOLDER.replace('print("ready"', """
import subprocess
print(subprocess.Popen(["sleep", "60"], close_fds=False).pid, flush=True)
print("ready\"""")  # fmt: skip
    holder = child(code, home)
    assert holder.stdout is not None
    sleeper = int(holder.stdout.readline())
    try:
        assert holder.stdout.readline() == "ready\n"
        holder.kill()
        holder.wait()

        Store(home).close()
    finally:
        os.kill(sleeper, signal.SIGKILL)


def test_the_lock_file_is_never_removed(home: Path) -> None:
    """The lock file is the same file for ever; were it replaced, two could hold it."""
    inodes: set[int] = set()
    for _ in range(3):
        with Store(home, create=True):
            inodes.add((home / "lock").stat().st_ino)
        inodes.add((home / "lock").stat().st_ino)

    assert len(inodes) == 1
    assert not (home / "owner.json").exists()


def test_another_thread_may_close_the_home(home: Path) -> None:
    """Whichever thread closes the store, the home is free."""
    store = Store(home, create=True)
    thread = threading.Thread(target=store.close)
    thread.start()
    thread.join()

    Store(home).close()


def test_a_database_that_another_program_has_open_is_busy(home: Path, child: Child) -> None:
    """A lock of DuckDB's own is named as such, never as damage."""
    with Store(home, create=True):
        pass
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"
    )
    holder = child(code, home / "shiyi.duckdb")
    assert holder.stdout is not None
    holder.stdout.readline()
    before = content(home)

    with pytest.raises(HomeBusyError, match="Another program"):
        Store(home)

    assert content(home) == before


# Not ours, or not whole


def foreign_database(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE meta (name VARCHAR, value VARCHAR)")
        connection.execute("INSERT INTO meta VALUES ('format', 'another')")


FOREIGN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("Dear diary,\n" * 2000, "utf-8"),
    "empty": lambda path: path.touch(),
    "short": lambda path: path.write_bytes(b"\0" * 100),
    "sqlite": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(20_000)),
    "duckdb": foreign_database,
    "blank duckdb": lambda path: duckdb.connect(str(path)).close(),
    "directory": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_not_ours_is_left_untouched(home: Path, kind: str, *, create: bool) -> None:
    """Anything else in the place of the database is refused, byte for byte as it was."""
    home.mkdir(mode=0o700)
    path = home / "shiyi.duckdb"
    FOREIGN[kind](path)
    before = content(home)

    with pytest.raises(HomeForeignError, match=r"not a Shiyi database.*untouched.*--home"):
        Store(home, create=create)

    assert content(home) == before
    assert path.is_dir() == (kind == "directory")


def test_a_foreign_database_with_a_log_is_left_untouched(home: Path, child: Child) -> None:
    """Not even the log of a foreign database is folded into it."""
    home.mkdir(mode=0o700)
    code = """
import duckdb, os, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("CREATE TABLE t AS SELECT 1")
os.kill(os.getpid(), 9)
"""
    child(code, home / "shiyi.duckdb").wait()
    before = content(home)
    assert set(before) == {"shiyi.duckdb", "shiyi.duckdb.wal"}

    with pytest.raises(HomeForeignError):
        Store(home)

    assert content(home) == before


def test_a_cut_file_is_refused_or_tells(home: Path, tmp_path: Path, rows: Any, put: Put) -> None:
    """A file cut anywhere is refused untouched, or says so when the lost part is read."""
    captures = [rows.capture(f"{i} 雨" * 50) for i in range(8000)]
    with Store(home, create=True) as store:
        put(store, captures)
    whole = (home / "shiyi.duckdb").read_bytes()
    opened = 0
    cuts = [*range(1, 13_000, 1117), *(len(whole) * part // 24 for part in range(1, 24))]
    for cut in [*cuts, len(whole) - 4096, len(whole) - 1]:
        copy = tmp_path / str(cut)
        copy.mkdir(mode=0o700)
        (copy / "shiyi.duckdb").write_bytes(whole[:cut])
        try:
            store = Store(copy)
        except (HomeDamagedError, HomeForeignError):
            assert content(copy) == {"shiyi.duckdb": whole[:cut]}
        else:
            opened += 1
            with store, pytest.raises(HomeDamagedError):
                list(store.iterate_captures("me"))
    assert opened <= 2


def test_every_flip_in_the_file_is_refused_or_harmless(
    home: Path, tmp_path: Path, rows: Any, put: Put
) -> None:
    """A flipped bit is an error when the file is opened or read, or lies in unused room."""
    captures = [rows.capture(f"{i} 雨" * 50) for i in range(1000)]
    with Store(home, create=True) as store:
        put(store, captures)
    whole = (home / "shiyi.duckdb").read_bytes()
    wanted = {capture.capture_id: capture for capture in captures}
    refused = 0
    copy = tmp_path / "copy"
    copy.mkdir(mode=0o700)
    for place in [*range(0, 12_288, 800), *range(12_288, len(whole), len(whole) // 20)]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        (copy / "shiyi.duckdb").write_bytes(flipped)
        try:
            with Store(copy) as store:
                assert store.captures("me", list(wanted)) == wanted
        except (HomeDamagedError, HomeForeignError):
            refused += 1
        (copy / "watermark").unlink(missing_ok=True)
    assert refused > 10


def test_a_file_is_no_home(home: Path) -> None:
    """A file in the place of the home is refused and left as it is."""
    home.write_text("a file")

    for create in (True, False):
        with pytest.raises(HomeUnwritableError, match="is a file"):
            Store(home, create=create)
    with pytest.raises(HomeUnwritableError):
        Store(home / "below", create=True)

    assert home.read_text() == "a file"


def test_looking_for_a_home_makes_none(home: Path) -> None:
    """Without `create`, nothing is made, in a missing or in an empty directory."""
    with pytest.raises(HomeError, match="no memory"):
        Store(home)
    assert not home.exists()
    home.mkdir()
    with pytest.raises(HomeError, match="no memory"):
        Store(home)

    assert list(home.iterdir()) == []


def test_a_refused_home_is_free_again(home: Path) -> None:
    """After a refusal nothing is held: the cause can be removed and the home opened."""
    home.mkdir(mode=0o700)
    (home / "shiyi.duckdb").write_text("not a database")
    with pytest.raises(HomeForeignError):
        Store(home, create=True)
    (home / "shiyi.duckdb").unlink()

    Store(home, create=True).close()


def test_what_a_killed_search_spilled_is_cleared(home: Path) -> None:
    """Text that a query had spilled to disk does not outlive the next opening."""
    Store(home, create=True).close()
    (home / "shiyi.duckdb.tmp").mkdir()
    (home / "shiyi.duckdb.tmp" / "block").write_text("words")

    Store(home).close()

    assert not (home / "shiyi.duckdb.tmp").exists()
