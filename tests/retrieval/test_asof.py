"""As of a time: the same answer as a store that ends there would give."""

import shutil
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.retrieval.asof import parse_as_of
from tests.examples import few
from tests.retrieval.mapping import Archive

MAPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("survey", {}), ("survey", {"window": "2021"}), ("survey", {"query": "去年的雨"}),
    ("routing", {"about": "話題"}), ("routing", {"about": "說過的 coffee"}),
    ("catalog", {}), ("catalog", {"by": "phase", "status": ["active", "superseded"]}),
    ("recall", {"about": "話題"}), ("recall", {"before": "2022"}),
)  # fmt: skip
NAMES = [f"名{n}" for n in range(6)]
VERSION = st.fixed_dictionaries(
    {
        "name": st.sampled_from(NAMES),
        "kind": st.sampled_from(["event", "state", "entity", "followup", "promise", "feeling"]),
        "status": st.sampled_from(["active", "active", "superseded", "archived"]),
        "title": st.sampled_from(["人1", "去年的雨", "coffee", "說過的"]),
        "phase": st.sampled_from([None, "甲", "乙"]),
        "topics": st.sampled_from([(), ("話題",)]),
        "salience": st.integers(0, 100),
        "date_start": st.sampled_from([None, date(2021, 5, 1), date(2022, 7, 8)]),
        "attrs": st.sampled_from([{}, {"block": "load"}, {"due": "2022-01-02", "context": "x"}]),
    }
)
LINK = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(["contradicts", "mentions", "quotes"]),
    st.sampled_from(NAMES),
)
STEPS = st.lists(st.one_of(VERSION, LINK), min_size=1, max_size=14)


def write(archive: Archive, steps: list[Any], times: list[datetime]) -> None:
    """Write steps as they were written at those times; a name that is there gets a version."""
    versions: dict[str, int] = {}
    for step, at in zip(steps, times, strict=True):
        if isinstance(step, tuple):
            archive.links(step)
            continue
        version = versions[step["name"]] = versions.get(step["name"], 0) + 1
        row = {name: value for name, value in step.items() if value is not None}
        archive.records({**row, "version": version, "at": at})


def told(archive: Archive, operation: str, **values: Any) -> dict[str, Any]:
    found = archive.ask(operation, budget=100_000, **values)
    return dict(found.model_dump(exclude={"as_of", "tokens", "trace", "truncated"}))


@settings(max_examples=few(5), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(steps=STEPS, data=st.data())
def test_as_of_is_a_store_that_ends_there(
    blank: Path, steps: list[Any], data: st.DataObject
) -> None:
    """Survey, routing, catalog and recall; versions, states, links, phases and follow-ups."""
    kept = data.draw(st.integers(0, len(steps)))
    with tempfile.TemporaryDirectory() as place:
        whole, cut = (
            Archive(shutil.copytree(blank, Path(place) / name)) for name in ("whole", "cut")
        )
        begun = datetime.now(UTC)
        times = [begun + timedelta(microseconds=n) for n in range(len(steps))]
        write(whole, steps[:kept], times[:kept])
        time.sleep(0.002)  # links are as old as the clock says
        moment = datetime.now(UTC)
        time.sleep(0.002)
        after = datetime.now(UTC)
        later = Later(whole, steps[:kept])
        later.write(steps[kept:], after)
        write(cut, steps[:kept], times[:kept])
        try:
            for operation, values in MAPS:
                then = told(whole, operation, as_of=moment.isoformat(), **values)
                # A query is matched by words as of a time, and by search now.
                by_words = "query" in values or "coffee" in values.get("about", "")
                clock = {"as_of": datetime.now(UTC)} if by_words else {"now": moment}
                asked = {name: at.isoformat() for name, at in clock.items()}
                only = told(cut, operation, **values, **asked)
                if not kept:  # there is no scope yet, which is said in other words
                    assert (then["outcome"], only["outcome"]) == ("empty", "empty")
                    continue
                then.pop("notes"), only.pop("notes")
                assert then == only, (operation, values)
        finally:
            whole.close()
            cut.close()


class Later:
    """Goes on writing where `write` has stopped."""

    def __init__(self, archive: Archive, steps: list[Any]) -> None:
        self.archive = archive
        self.versions: dict[str, int] = {}
        for step in steps:
            if isinstance(step, dict):
                self.versions[step["name"]] = self.versions.get(step["name"], 0) + 1

    def write(self, steps: list[Any], begun: datetime) -> None:
        for n, step in enumerate(steps):
            if isinstance(step, tuple):
                self.archive.links(step)
                continue
            version = self.versions[step["name"]] = self.versions.get(step["name"], 0) + 1
            row = {name: value for name, value in step.items() if value is not None}
            at = begun + timedelta(microseconds=n)
            self.archive.records({**row, "version": version, "at": at})


def test_a_link_is_as_old_as_the_version_it_came_with(tmp_path: Path) -> None:
    """What is taken in again from an export keeps its times, and its links with them."""
    archive = Archive(tmp_path / "home")
    old = datetime(2020, 5, 1, tzinfo=UTC)
    archive.record("e", kind="entity", at=old)
    store = archive.session.store

    def both(transaction: Any) -> dict[str, Any]:
        transaction.add_records([archive.version("r", at=old)])
        transaction.add_links([archive.link("r", "mentions", "e")])
        return {}

    store.write("me", both)
    then = archive.ask("survey", as_of="2020-06", budget=10_000)

    assert then.entities[0].records == 1
    assert archive.ask("survey", as_of="2020-04").outcome == "empty"
    archive.close()


def test_what_as_of_means() -> None:
    """A day ends with its last moment; an instant is itself."""
    last = datetime(2024, 2, 29, 23, 59, 59, 999999, UTC)

    assert parse_as_of("2024-02") == parse_as_of("2024-02-29") == last
    assert parse_as_of("2024-02-29T10:00:00+08:00") == datetime(2024, 2, 29, 2, tzinfo=UTC)
    with pytest.raises(UsageError):
        parse_as_of("whenever")
