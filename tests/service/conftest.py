"""Homes with daemons."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.serving import Served


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A home that a daemon may serve; it is stopped after the test."""
    monkeypatch.setenv("SHIYI_DAEMON", "on")
    monkeypatch.setenv("SHIYI_DAEMON_IDLE", "120")
    monkeypatch.setenv("SHIYI_MODEL", "none")
    one = Served(tmp_path / "home")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home that is served over TCP, shared by the tests of a module."""
    one = Served(tmp_path_factory.mktemp("served") / "home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHIYI_MODEL", "none")
        patch.setenv("SHIYI_DAEMON_IDLE", "120")
        patch.setenv("SHIYI_TOKEN_RATE", "0")
        one.listen()
        one.ask("POST", "/v1/remember", {"text": "花生過敏"})
    yield one
    one.stop()
