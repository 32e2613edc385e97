"""Row 16: a warm search over MCP on standard input, against the same in one process."""

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks import corpus, homes
from benchmarks.measure import Row, milliseconds
from shiyi.core.settings import load_settings
from shiyi.daemon_commands import stop_daemon
from shiyi.service.daemon.client import Client as Daemon
from shiyi.service.invoke import invoke
from shiyi.service.session import Session

SIZE = 10_000
_ROUNDS, _WARM = 100, 10
_TIMES, _MORE = 3, 0.005  # the limit: so many times the time in one process, and so many seconds


def rows(sizes: Sequence[int], wanted: set[int]) -> Iterator[Row]:
    """Measure homes of up to 10,000 documents, by keywords, through a daemon of their own."""
    for size in (size for size in sizes if size <= SIZE):
        if 16 in wanted:
            yield _search(size)


def _search(size: int) -> Row:
    asked = corpus.queries(_ROUNDS + _WARM, size)
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder) / "one", Path(folder) / "other"
        for home in (one, other):
            shutil.copytree(homes.home_of(size), home)
        try:
            inside, through = anyio.run(_in_turn, one, other, asked)
        finally:
            with Daemon(other, load_settings(other, model="none")) as daemon:
                stop_daemon(daemon)
    return Row(
        row=16,
        what="a warm search over MCP on standard input, through the daemon, against 3 times the "
        "same in one process and 5 ms (wall, p50)",
        size=size,
        measured=through / (_TIMES * inside + _MORE),
        limit=1,
        ours=milliseconds(1000 * through),
        peer=milliseconds(1000 * inside),
    )


async def _in_turn(one: Path, other: Path, asked: Sequence[str]) -> tuple[float, float]:
    """Return the medians of the two ways, in seconds, each asked in turn."""
    env = {
        "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "SHIYI_HOME": str(other),
        "SHIYI_MODEL": "none", "SHIYI_DAEMON": "on",
    }  # fmt: skip
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "shiyi", "mcp", "--scope", homes.ALL], env=env
    )
    inside: list[float] = []
    through: list[float] = []
    with Session(one, model="none") as session:
        async with Client(server, mode="legacy") as client:
            for text in asked:
                begun = time.perf_counter()
                invoke(session, "search", {"text": text}, scope=homes.ALL)
                middle = time.perf_counter()
                answer = await client.call_tool("memory_search", {"query": text})
                ended = time.perf_counter()
                assert not answer.is_error, answer.content
                inside.append(middle - begun)
                through.append(ended - middle)
    return statistics.median(inside[_WARM:]), statistics.median(through[_WARM:])
