"""Schemas go forward, one numbered step at a time, each whole or not at all."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shiyi.core.errors import HomeError, HomeForeignError
from shiyi.store import Capture, Store
from shiyi.store.database import Database
from shiyi.store.migrations import MIGRATIONS, Migrations

STEPS: Migrations = (
    ("CREATE TABLE fruit (name VARCHAR)", "INSERT INTO fruit VALUES ('梨')"),
    ("ALTER TABLE fruit ADD COLUMN price INTEGER",),
    ("UPDATE fruit SET price = 3", "CREATE INDEX fruit_by_name ON fruit (name)"),
)


def opened(home: Path, migrations: Migrations, *, create: bool = False) -> closing[Database]:
    return closing(Database(home, create=create, migrations=migrations))


@pytest.mark.parametrize("old", range(len(STEPS) + 1))
def test_every_older_schema_becomes_the_newest(tmp_path: Path, old: int) -> None:
    """From blank and from each older schema the result is the same, and is reached once."""
    with opened(tmp_path, STEPS[:old], create=True) as database:
        assert database.meta("schema") == str(old)

    for _ in range(2):
        with opened(tmp_path, STEPS) as database:
            assert database.meta("schema") == str(len(STEPS))
            assert database.rows("SELECT name, price FROM fruit") == [("梨", 3)]


def test_a_failing_migration_changes_nothing(tmp_path: Path) -> None:
    """The steps before it stay, the failing one is undone, and an old reader still works."""
    failing = (*STEPS[:2], ("UPDATE fruit SET price = 9", "SELECT no_such_function()"))
    with opened(tmp_path, STEPS[:1], create=True):
        pass

    with pytest.raises(HomeError):
        Database(tmp_path, create=False, migrations=failing)

    with opened(tmp_path, STEPS[:2]) as database:
        assert database.meta("schema") == "2"
        assert database.rows("SELECT name, price FROM fruit") == [("梨", None)]


def test_a_failing_first_migration_leaves_no_database(tmp_path: Path) -> None:
    """A database that cannot be made is not there, and making it again works."""
    with pytest.raises(HomeError):
        Database(tmp_path, create=True, migrations=(("CREATE TABLE (",),))

    with pytest.raises(HomeError, match="no memory"):
        Database(tmp_path, create=False, migrations=STEPS)
    with opened(tmp_path, STEPS, create=True) as database:
        assert database.meta("schema") == "3"
    assert [path.name for path in tmp_path.iterdir()] == ["shiyi.duckdb"]


def test_a_newer_schema_is_refused_and_left_as_it_is(
    home: Path, keep: Callable[..., Capture]
) -> None:
    """A home that a newer version wrote is refused with both numbers, byte for byte untouched."""
    with Store(home, create=True) as store:
        keep(store)
    newer = (*MIGRATIONS, ("CREATE TABLE future (a INTEGER)",))
    with opened(home, newer):
        pass
    before = (home / "shiyi.duckdb").read_bytes()

    with pytest.raises(HomeForeignError, match=r"newer Shiyi \(schema 3; .* 2\).*Upgrade"):
        Store(home)

    assert (home / "shiyi.duckdb").read_bytes() == before


def test_a_schema_is_written_in_one_step(home: Path, store: Store) -> None:
    """A new home has the newest schema and an id of its own."""
    other = home.with_name("other")
    with Store(other, create=True) as second:
        assert len(second.home_id) == len(store.home_id) == 26
        assert second.home_id != store.home_id
    assert store._database.meta("schema") == str(len(MIGRATIONS))
