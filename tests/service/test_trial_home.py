"""Homes of trials: gone with their trial, or with the next one, and never under a living one."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shiyi.service.trial_home import remove_dead_homes, temporary_home

HOLD = """
import sys
from shiyi.service.trial_home import temporary_home
with temporary_home() as directory:
    (directory / "home").mkdir()
    print(directory, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary files of a test of its own."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def test_a_trial_leaves_nothing(temporary: Path) -> None:
    """It is private while it lasts, and gone afterwards."""
    with temporary_home() as directory:
        assert directory.stat().st_mode & 0o777 == 0o700
        assert directory.parent == temporary
    assert list(temporary.iterdir()) == []


def test_what_a_killed_trial_left_goes_when_the_next_begins(
    child: Callable[..., "subprocess.Popen[str]"], temporary: Path
) -> None:
    """A living trial keeps its home, whoever begins; a dead one loses it."""
    process = child(HOLD, env={**os.environ, "TMPDIR": str(temporary)})
    assert process.stdout is not None
    theirs = Path(process.stdout.readline().strip())
    with temporary_home() as ours:
        assert (theirs / "home").is_dir()
        assert set(temporary.iterdir()) == {theirs, ours}
        remove_dead_homes(temporary)
        assert ours.is_dir()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert theirs.is_dir()
    with temporary_home() as ours:
        assert set(temporary.iterdir()) == {ours}


def test_what_is_just_being_made_stays(temporary: Path) -> None:
    """A home has no lock for a moment; one that has had none for days is dead."""
    young, old = temporary / "shiyi-trial-young", temporary / "shiyi-trial-old"
    for directory in (young, old, temporary / "shiyi-other"):
        directory.mkdir()
    os.utime(old, (time.time() - 172_800,) * 2)
    remove_dead_homes(temporary)
    assert {path.name for path in temporary.iterdir()} == {"shiyi-trial-young", "shiyi-other"}


def test_a_link_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    """Somebody's own directory is safe behind a link of that name."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "lock").touch()
    (temporary / "shiyi-trial-link").symlink_to(tmp_path / "own")
    remove_dead_homes(temporary)
    assert (tmp_path / "own" / "lock").exists()
