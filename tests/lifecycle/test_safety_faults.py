"""What keeps a memory safe, on a full disk and under kill -9: refused or ended, never half done."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.core.errors import HomeUnwritableError
from shiyi.lifecycle.backup import back_up
from shiyi.lifecycle.purge import plan_purge, purge
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.restore import open_backup, restore
from shiyi.lifecycle.snapshots import verify
from shiyi.lifecycle.validate import validate, verdict
from shiyi.lifecycle.write import Words
from shiyi.store import Store
from shiyi.store.traces import Traces
from tests.lifecycle.test_backup import PHRASE, dumped, filled

MARKER = "ZEBRAQUARTZ"
TEXT = "甲乙丙丁 words " * 200


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", str(path)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("this user may not mount a disk")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def leave(disk: Path, left: int) -> Path:
    """Fill a disk so that so many bytes are left."""
    free = shutil.disk_usage(disk).free
    (disk / "ballast").write_bytes(bytes(max(0, free - left)))
    return disk / "ballast"


@pytest.mark.parametrize(
    ("left", "passphrase"),
    [
        (0, None),
        (65_536, None),
        (65_536, PHRASE),
        pytest.param(0, PHRASE, marks=pytest.mark.slow),  # the key takes a second, three times
    ],
)
def test_a_backup_onto_a_full_disk_leaves_nothing(
    disk: Path, tmp_path: Path, left: int, passphrase: str | None
) -> None:
    """It is refused with a sentence, nothing of it stays, and with room it works."""
    with filled(tmp_path / "home") as store:
        for number in range(40):
            remember(store, "me", Words(text=f"{number} {TEXT}"), {}, words_only=True)
        ballast = leave(disk, left)
        with pytest.raises(HomeUnwritableError, match="nothing of it stayed"):
            back_up(store, disk / "backup", passphrase=passphrase)
        assert [path.name for path in disk.iterdir()] == ["ballast"]
        assert verdict(validate(store)) == "clean"
        ballast.unlink()
        back_up(store, disk / "backup", passphrase=passphrase)
    verify(open_backup(disk / "backup", passphrase))


def test_a_restore_onto_a_full_disk_leaves_nothing(disk: Path, tmp_path: Path) -> None:
    with filled(tmp_path / "home") as store:
        rows = dumped(store)
        back_up(store, tmp_path / "backup")
    ballast = leave(disk, 100_000)

    with pytest.raises(HomeUnwritableError):
        restore(open_backup(tmp_path / "backup"), disk / "home", tmp_path / "backup")
    assert [path.name for path in disk.iterdir()] == ["ballast"]
    ballast.unlink()
    restore(open_backup(tmp_path / "backup"), disk / "home", tmp_path / "backup")

    with Store(disk / "home") as store:
        assert dumped(store)["captures"] == rows["captures"]


def test_a_purge_on_a_full_disk_is_ended_when_there_is_room(disk: Path) -> None:
    """It says that it is not done, validate says so too, and a repeat ends it."""
    home = disk / "home"
    with Store(home, create=True) as store, Traces(home, days=30, most=100) as traces:
        said = remember(store, "me", Words(text=f"{MARKER} {TEXT}"), {"gist": "x"})
        store.checkpoint()
        ballast = leave(disk, 120_000)
        plan = plan_purge(store, "me", [said["capture_id"]])
        with pytest.raises(HomeUnwritableError, match="not done yet"):
            purge(store, "me", plan, traces, home / "backups")
        ballast.unlink()
        subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
        again = plan_purge(store, "me", [said["capture_id"]])
        purge(store, "me", again, traces, home / "backups")
        assert verdict(validate(store)) == "clean"
        assert store.captures("me", [said["capture_id"]]) == {}
    assert not any(MARKER.encode() in p.read_bytes() for p in home.rglob("*") if p.is_file())


WORK = """
import sys
from pathlib import Path
from shiyi.lifecycle.backup import back_up
from shiyi.lifecycle.restore import open_backup, restore
from shiyi.store import Store

what, home, backup = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
print("ready", flush=True)
if what == "restore":
    restore(open_backup(backup), home, backup)
else:
    with Store(home) as store:
        back_up(store, backup, passphrase="correct horse" if what == "seal" else None)
print("done", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["backup", "seal", "restore"])
def test_killed_anywhere_nothing_is_half_done(tmp_path: Path, what: str) -> None:
    """10 kills each: there is a whole one or none, and doing it again works."""
    with filled(tmp_path / "home") as store:
        for number in range(60):
            remember(store, "me", Words(text=f"{number} {TEXT}"), {}, words_only=True)
        rows = dumped(store)["captures"]
        back_up(store, tmp_path / "whole")
    for round_ in range(10):
        place = tmp_path / f"round{round_}"
        place.mkdir()
        home = place / "home" if what == "restore" else tmp_path / "home"
        backup = tmp_path / "whole" if what == "restore" else place / "backup"
        command = [sys.executable, "-c", WORK, what, str(home), str(backup)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(round_ * 0.09)
            process.kill()
        target = home if what == "restore" else backup
        if not target.exists():
            assert subprocess.check_output(command, text=True).endswith("done\n")
        if what == "restore":
            with Store(home) as store:
                assert dumped(store)["captures"] == rows
        else:
            verify(open_backup(backup, "correct horse" if what == "seal" else None))
        shutil.rmtree(place)
    with Store(tmp_path / "home") as store:
        assert verdict(validate(store)) == "clean"
