"""What tests of more than one folder use: hypothesis without deadlines, and a whole memory."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

from shiyi.core.ids import derived_id
from shiyi.core.text import text_sha256
from shiyi.indexer.indexes import Indexes
from shiyi.lifecycle.edit import edit
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.write import Words
from shiyi.models.encoder import Encoder, load_encoder
from shiyi.models.hashing import HashingEncoder
from shiyi.models.tokens import get_counter
from shiyi.retrieval.results import SearchResult
from shiyi.retrieval.search import Query, search
from shiyi.store import Capture, Link, Record, Store, Transaction

# Machines that run tests are busy, and the dictionary of words takes a second to load.
settings.register_profile("shiyi", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=300)  # of `make slow`
settings.load_profile("shiyi")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start one more than there are cores: many tests wait, for a disk or for a process."""
    return (os.cpu_count() or 1) + 1


# No test leaves a daemon behind. Those that want one have it say so, and stop it.
os.environ["SHIYI_DAEMON"] = "off"

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


class Counting(HashingEncoder):
    """The encoder for tests, with a list of the passages that it was given."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.embedded: list[str] = []

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return super().encode_passages(texts)


class Memory:
    """A home with its store and its indexes, as one process holds them."""

    def __init__(self, home: Path, load: Callable[[], Encoder]) -> None:
        self.home = home
        self.load = load
        self.store = Store(home, create=True)
        self.indexes = Indexes(self.store, load)

    def close(self) -> None:
        self.indexes.close()
        self.store.close()

    def reopen(self, load: Callable[[], Encoder] | None = None) -> None:
        """Forget everything that is in memory, as a new process would."""
        self.indexes.close()
        self.load = load or self.load
        self.indexes = Indexes(self.store, self.load)

    def say(self, text: str, scope: str = "me", **given: Any) -> dict[str, Any]:
        """Remember words; `session`, `said_at`, `words_only`; what is left states the record."""
        words = {k: given.pop(k) for k in ("session", "said_at", "speaker", "turn") if k in given}
        words_only = given.pop("words_only", False)
        return remember(self.store, scope, Words(text=text, **words), given, words_only=words_only)

    def edit(self, record_id: str, scope: str = "me", **fields: Any) -> None:
        edit(self.store, scope, record_id, fields)

    def capture(self, name: str, text: str, scope: str = "me", **given: Any) -> str:
        """Keep a capture whose id and times depend on nothing but its name."""
        if "previous" in given:
            given["previous_id"] = derived_id(scope, given.pop("previous"))
        return self.captures({name: text}, scope, **given)[0]

    def captures(self, texts: Mapping[str, str], scope: str = "me", **given: Any) -> list[str]:
        """Keep many captures in one write."""
        rows = [
            Capture(
                scope=scope, capture_id=derived_id(scope, name), text=text,
                utf8_sha256=text_sha256(text), **{"recorded_at": NOW, **given},
            )
            for name, text in texts.items()
        ]  # fmt: skip
        self.store.write(scope, lambda t: {"added": sorted(t.add_captures(rows))})
        return [row.capture_id for row in rows]

    def record(self, name: str, gist: str, scope: str = "me", **given: Any) -> str:
        """Keep a record whose id and times depend on nothing but its name."""
        values: Mapping[str, Any] = {
            "version": 1, "kind": "fact", "layer": "core", "title": gist[:20], "created_at": NOW,
            "updated_at": NOW, **given,
        }  # fmt: skip
        record = Record(scope=scope, record_id=derived_id(scope, name), gist=gist, **values)

        def add(transaction: Transaction) -> dict[str, Any]:
            transaction.add_records([record])
            return {}

        self.store.write(scope, add)
        return record.record_id

    def quote(self, record: str, capture: str, start: int, end: int, scope: str = "me") -> None:
        link = Link(
            scope=scope, src=record, rel="quotes", dst=capture, span_start=start, span_end=end
        )

        def add(transaction: Transaction) -> dict[str, Any]:
            transaction.add_links([link])
            return {}

        self.store.write(scope, add)

    def search(self, text: str, scope: str = "me", **options: Any) -> SearchResult:
        query = Query(text=text, **{"now": NOW, "budget": 100_000, **options})
        return search(self.indexes, scope, query, get_counter())


@pytest.fixture
def hashing(tmp_path: Path) -> Callable[[], Encoder]:
    """How to load the encoder for tests."""
    return lambda: load_encoder("hashing", cache=tmp_path)


@pytest.fixture
def counting() -> Counting:
    """An encoder that remembers what it embedded."""
    return Counting()


@pytest.fixture
def keywords(tmp_path: Path) -> Callable[[], Encoder]:
    """How to load no encoder."""
    return lambda: load_encoder("none", cache=tmp_path)


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty home: to copy it takes a hundredth of the time that it takes to make one."""
    home = tmp_path_factory.mktemp("blank") / "home"
    Store(home, create=True).close()
    return home


@pytest.fixture
def make_memory(tmp_path: Path, blank: Path) -> Iterator[Callable[..., Memory]]:
    """Make a memory in a home of its own, or open the one at `home`; closed after the test.

    The first home is a copy, so that any second one is another home.
    """
    made: list[Memory] = []

    def make(load: Callable[[], Encoder], home: Path | None = None) -> Memory:
        if home is None:
            home = tmp_path / f"home{len(made)}"
            if not made:
                shutil.copytree(blank, home)
        made.append(Memory(home, load))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.fixture
def memory(make_memory: Callable[..., Memory], hashing: Callable[[], Encoder]) -> Memory:
    """An empty memory with the encoder for tests."""
    return make_memory(hashing)


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 9 MB in memory."""
    path = tmp_path / "disk"
    path.mkdir()
    try:
        mount("-t", "tmpfs", "-o", "size=9m", "tmpfs", path)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk takes rights that we do not have here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python code with arguments in a process of its own; it is gone when the test is."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=tmp_path, **options,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser; `SHIYI_CHROMIUM` names one that is not on the path."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = os.environ.get("SHIYI_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium on the path, and SHIYI_CHROMIUM names none")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()
