"""Every operation that writes, with a fault at each statement and at the commit of its write."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import HomeUnwritableError
from shiyi.lifecycle.validate import validate
from shiyi.service.session import Session
from shiyi.service.table.operations import OPERATIONS
from shiyi.store import Store
from shiyi.store.database import Database
from tests.service.writing import CALLS, SAID, World, do, make_world

FULL = "The disk is full."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Make the home once, to be copied."""
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def world(whole: World, tmp_path: Path) -> World:
    shutil.copytree(whole.home, tmp_path / "home")
    return World(tmp_path / "home", whole.files, whole.ids)


def test_every_write_has_a_call() -> None:
    """An operation that is added gets a call here, and with it all the tests below."""
    writing = {one.name for one in OPERATIONS if one.scoped and one.permission != "read"}
    assert writing == set(CALLS)


@contextmanager
def failing(at: int) -> Iterator[list[int]]:
    """Have the `at`-th statement in a transaction fail, counted from 1, or the commit after it.

    Yields a list of the statements that were reached; it is as long as `at` when one failed.
    """
    reached: list[int] = []
    execute, transaction = Database._execute, Database.transaction

    def count() -> None:
        reached.append(1)
        if len(reached) == at:
            raise HomeUnwritableError(FULL)

    def executing(self: Database, *given: Any) -> Any:
        if self._writing:
            count()
        return execute(self, *given)

    @contextmanager
    def committing(self: Database) -> Iterator[None]:
        with transaction(self):
            yield
            count()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_execute", executing)
        patch.setattr(Database, "transaction", committing)
        yield reached


def state(store: Store) -> dict[str, Any]:
    """Return every row, and the names of the files that attachments have."""
    snapshots = store.snapshots
    rows = {table.name: list(snapshots.lines(table)) for table in snapshots.tables()}
    places = (store.home / "attachments").rglob("*")
    return {**rows, "files": sorted(path.name for path in places if path.is_file())}


def faults(store: Store) -> list[str]:
    return [found.detail for found in validate(store) if found.state == "failed"]


def attempt(session: Session, name: str, values: dict[str, Any], at: int) -> bool:
    """Do an operation with the fault; return whether it was done all the same."""
    with failing(at) as reached:
        try:
            result = do(session, name, **values)
        except HomeUnwritableError:
            return False
    return len(reached) < at or bool(getattr(result, "failed", 0))


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"purge"}))
def test_a_fault_anywhere_leaves_nothing_and_a_repeat_does_it_once(world: World, name: str) -> None:
    """Nothing is half written, the home validates, and the same key gives one result."""
    values = CALLS[name](world)
    with world.open() as session:
        before = state(session.store)
        at = 1
        while not attempt(session, name, values, at):
            assert state(session.store) == before, f"at {at}"
            at += 1
        assert at > 2, "a write has statements and a commit"
        after = state(session.store)
        assert after != before
        first = do(session, name, **values)
        assert faults(session.store) == []
        if "key" in values:
            assert do(session, name, **values) == first
            assert state(session.store) == after


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_fault_anywhere_in_a_purge_is_ended_by_a_repeat(world: World, step: int) -> None:
    """Either nothing is gone yet, or validate says that it is not done; a repeat ends it."""
    values = CALLS["purge"](world)
    at, done = 1, False
    while not done:
        home = world.home.with_name(f"home{at}")
        shutil.copytree(world.home, home)
        with Session(home, model="none") as session:
            before = state(session.store)
            done = attempt(session, "purge", values, at)
            if not done and state(session.store) != before:
                assert session.store.capture("me", world.ids["said"]) is None
                assert any("interrupted" in one for one in faults(session.store)), f"at {at}"
            do(session, "purge", **values)
            assert faults(session.store) == [], f"at {at}"
        assert not any(
            SAID[4:].encode() in path.read_bytes() for path in home.glob("shiyi.duckdb*")
        ), f"at {at}"
        shutil.rmtree(home)
        at += step
    assert at > 10
