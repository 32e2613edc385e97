"""Eight clients for ten minutes: no error, nothing lost, no memory but for what is kept."""

import json
import os
import random
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

import shiyi
from tests.service.serving import Served

MINUTES = float(os.environ.get("SHIYI_TEST_MINUTES", "10"))
CLIENTS = 8
AT_ONCE = 100  # lines of an import
MOST_MB = 150  # of growth: an index of what was kept, and the caches of a process at work
WORDS = [
    "花生", "過敏", "咖啡", "散步", "鑰匙", "北京", "上海", "貓", "狗", "電影", "工作",
    "火車", "護照", "牙醫", "咖哩", "Lisbon", "Maeve", "passport", "dentist", "curry",
]  # fmt: skip


class Agent:
    """One client, which does now this and now that, and notes how long each took."""

    def __init__(self, served: Served, place: Path, number: int) -> None:
        self._home, self._place, self._number = served.home, place, number
        self._chance = random.Random(number)
        self.took: dict[str, list[float]] = defaultdict(list)
        self.kept = 0
        self.error: Exception | None = None

    def work(self, until: float) -> None:
        try:
            with shiyi.open(self._home) as memory:
                me = memory.scope("me")
                while time.monotonic() < until:
                    began = time.monotonic()
                    self.took[self._step(me)].append(time.monotonic() - began)
                    time.sleep(0.05)
        except Exception as error:  # noqa: BLE001 - shown by the test
            self.error = error

    def _step(self, me: shiyi.Scope) -> str:
        chance = self._chance.random()
        if chance < 0.6:
            me.search(self._words(2))
            return "search"
        if chance < 0.8:
            me.probe(self._words(2))
            return "probe"
        if chance < 0.99:
            me.remember(f"{self._number} {self.kept} {self._words(12)}")
            self.kept += 1
            return "remember"
        lines = [{"id": f"{self._number}-{self.kept}-{n}", "text": self._words(12)}
                 for n in range(AT_ONCE)]  # fmt: skip
        path = self._place / f"{self._number}.jsonl"
        path.write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")
        me.import_(str(path))
        self.kept += AT_ONCE
        return "import"

    def _words(self, count: int) -> str:
        return " ".join(self._chance.choices(WORDS, k=count))


def megabytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmRSS"))


@pytest.mark.slow
def test_eight_clients(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search, probe, remember and import, all at the same time."""
    monkeypatch.setenv("SHIYI_MODEL", "hashing")
    with shiyi.open(served.home) as memory:
        memory.scope("me").remember("花生過敏")
        memory.scope("me").search("花生")
    pid = served.pid()
    agents = [Agent(served, tmp_path, number) for number in range(CLIENTS)]
    until = time.monotonic() + MINUTES * 60
    threads = [threading.Thread(target=one.work, args=(until,)) for one in agents]
    for thread in threads:
        thread.start()
    time.sleep(MINUTES * 6)  # a tenth: what is loaded when it is first used, is loaded
    start = megabytes(pid)
    for thread in threads:
        thread.join()
    end = megabytes(pid)
    with shiyi.open(served.home) as memory:
        kept = memory.status().scopes[0].captures

    for name in ("search", "probe", "remember", "import"):
        took = sorted(second for one in agents for second in one.took[name])
        figures = {q: round(took[int((len(took) - 1) * q / 100)] * 1000) for q in (50, 95, 99, 100)}
        print(name, len(took), "calls, ms:", figures)  # noqa: T201
    print(f"{start} MB, then {end} MB, {kept} kept")  # noqa: T201
    assert [one.error for one in agents] == [None] * CLIENTS
    assert kept == 1 + sum(one.kept for one in agents)
    assert served.pid() == pid
    assert end - start < MOST_MB
