"""Nothing leaves the machine, and a daemon that is slow to start is waited for by all.

Every process of a run, whichever starts it, loads a `sitecustomize` of ours.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.service.serving import Served, command, daemons_of

WATCH = """
import os, sys
OUT = {out!r}
def hook(event, given):
    where = None
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = given[1]
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            where = address[0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        if given[0] not in (None, "127.0.0.1", "::1", "localhost", b"127.0.0.1", b"localhost"):
            where = given[0]
    if where is not None or event == "socket.connect":
        line = f"{{event}} {{where}}\\n".encode()
        with open(OUT, "ab", 0) as file:
            file.write(line)
sys.addaudithook(hook)
"""
SLOW = """
import sys, time
if "daemon" in sys.orig_argv and "run" in sys.orig_argv:
    time.sleep(2)
"""
MODEL = """
import socket, sys, time
from pathlib import Path
from shiyi.models.encoder import load_encoder
encoder = load_encoder("default", cache=Path(sys.argv[1]))
encoder.embed_passages(["花生過敏"], quickly=True)
time.sleep(25)
try:
    socket.socket(socket.AF_UNIX).connect("/nonexistent/seen")
except OSError:
    pass
"""
RUN = Path(__file__).with_name("whole_run.py")


def customised(place: Path, text: str) -> Mapping[str, str]:
    """Return the environment in which every Python process runs a text first."""
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(text, "utf-8")
    return {"PYTHONPATH": str(place / "site")}


def without_routes() -> list[str]:
    """Return how a command runs where there is no way out, if the machine lets us."""
    if not (shutil.which("unshare") and shutil.which("ip")):
        return []
    way = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    allowed = subprocess.run([*way, "true"], capture_output=True, check=False)
    return way if allowed.returncode == 0 else []


@pytest.mark.slow
def test_a_slow_start_is_waited_for(served: Served, tmp_path: Path) -> None:
    """Twelve at once, and a daemon that needs two seconds: one is started, all are answered."""
    slow = customised(tmp_path, SLOW)
    clients = [command(served.home, "remember", f"第{n}句", **slow) for n in range(12)]
    told = [one.communicate(timeout=120) for one in clients]

    assert [one.returncode for one in clients] == [0] * 12, told
    assert len(daemons_of(served.home)) == 1
    assert (served.home / "daemon.log").read_text("utf-8").count("listening") == 1


@pytest.mark.slow
def test_nothing_leaves_the_machine(tmp_path: Path) -> None:
    """A whole run, from the first words to the last export, asks nobody outside for anything."""
    out, home = tmp_path / "connections", tmp_path / "home"
    environment = {
        **os.environ, **customised(tmp_path, WATCH.format(out=str(out))), "SHIYI_HOME": str(home),
        "SHIYI_DAEMON": "on", "SHIYI_DAEMON_IDLE": "60", "SHIYI_CACHE": str(tmp_path / "cache"),
    }  # fmt: skip
    environment.pop("SHIYI_MODEL", None)
    done = subprocess.run(
        [*without_routes(), sys.executable, "-P", str(RUN), str(tmp_path)],
        env=environment, capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    made = out.read_text("utf-8").splitlines()

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [b"asked", b"seen"]
    assert "socket.connect None" in made  # the hook was there, and saw sockets of our own
    assert [one for one in made if not one.endswith(" None")] == ["socket.connect 192.0.2.1"]


@pytest.mark.slow
@pytest.mark.model
def test_no_library_calls_home(tmp_path: Path) -> None:
    """What is not Python's own is seen by the kernel only, and may wait a while before it calls."""
    strace, out = shutil.which("strace"), tmp_path / "calls"
    if strace is None:
        pytest.skip("strace is not there")
    subprocess.run(
        [strace, "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(out),
         sys.executable, "-P", "-c", MODEL, str(tmp_path / "cache")],
        env={**os.environ, "PYTHONUNBUFFERED": "1"}, timeout=300, check=True,
    )  # fmt: skip
    made = out.read_text("utf-8", "replace").splitlines()

    assert [line for line in made if "AF_UNIX, sun_path=" in line]  # ours, in the end
    assert [line for line in made if "AF_INET" in line] == []
