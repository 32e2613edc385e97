"""A home, rows to put into it, and child processes that use it."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.ids import new_id
from shiyi.core.text import text_sha256
from shiyi.store import Capture, Link, Record, Store, Transaction

NOW = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)


class Rows:
    """Makes rows with everything filled in that a test does not care about."""

    @staticmethod
    def capture(text: str = "今天下雨了。", **given: Any) -> Capture:
        values = {"scope": "me", "capture_id": new_id(), "recorded_at": NOW, **given}
        return Capture(text=text, utf8_sha256=text_sha256(text), **values)

    @staticmethod
    def record(**given: Any) -> Record:
        values = {
            "scope": "me", "record_id": new_id(), "version": 1, "kind": "fact", "layer": "core",
            "title": "雨", "gist": "It rained.", "created_at": NOW, "updated_at": NOW, **given,
        }  # fmt: skip
        return Record(**values)

    @staticmethod
    def link(src: str, dst: str, **given: Any) -> Link:
        return Link(**{"scope": "me", "src": src, "rel": "quotes", "dst": dst, **given})


@pytest.fixture(scope="session")
def rows() -> Rows:
    return Rows()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(blank: Path, home: Path) -> Iterator[Store]:
    shutil.copytree(blank, home)
    with Store(home) as opened:
        yield opened


def put(store: Store, rows: Sequence[Capture | Record | Link], scope: str = "me") -> list[str]:
    """Write rows of any kinds in one write; return the ids of the new captures."""

    def action(transaction: Transaction) -> dict[str, Any]:
        new = transaction.add_captures([row for row in rows if isinstance(row, Capture)])
        transaction.add_records([row for row in rows if isinstance(row, Record)])
        transaction.add_links([row for row in rows if isinstance(row, Link)])
        return {"new": sorted(new)}

    new: list[str] = store.write(scope, action)["new"]
    return new


@pytest.fixture(name="put", scope="session")
def put_fixture() -> Callable[..., list[str]]:
    return put


@pytest.fixture(scope="session")
def keep(rows: Rows) -> Callable[..., Capture]:
    """Write one capture and return it."""

    def write(store: Store, text: str = "今天下雨了。", **given: Any) -> Capture:
        capture = rows.capture(text, **given)
        put(store, [capture], capture.scope)
        return capture

    return write
