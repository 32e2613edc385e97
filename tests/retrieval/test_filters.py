"""Filters act inside the search: as if what they leave out were not there to be found."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.indexer.index import Filter
from shiyi.store.kinds import KINDS, LAYERS, STATUSES
from tests.examples import few

DAYS = [date(2026, 1, 1) + timedelta(days=7 * n) for n in range(6)]
TOPICS = ["咖啡", "電話", "Rain"]
OTHER_SCRIPT = {"咖啡": "咖啡", "電話": "电话", "Rain": "RAIN"}
LEXICAL = frozenset({"lexical"})
SEVERAL = {"min_size": 1, "max_size": 2}
DAY = st.none() | st.dates(DAYS[0], DAYS[-1])
FILTER = st.builds(
    Filter,
    kinds=st.just(frozenset()) | st.frozensets(st.sampled_from(KINDS[:4]), **SEVERAL),
    layers=st.just(frozenset()) | st.frozensets(st.sampled_from(LAYERS), **SEVERAL),
    statuses=st.just(frozenset()) | st.frozensets(st.sampled_from(STATUSES), **SEVERAL),
    topics=st.just(frozenset()) | st.frozensets(st.sampled_from([*TOPICS, *OTHER_SCRIPT.values()])),
    since=DAY, until=DAY, captures=st.booleans(), records=st.booleans(),
)  # fmt: skip


@pytest.fixture
def archive(memory: Any) -> tuple[Any, dict[str, dict[str, Any]]]:
    """A memory, half in a generation and half since, and what each id in it is."""
    truth: dict[str, dict[str, Any]] = {}
    for n in range(30):
        if n == 15:
            memory.indexes.reindex("me")
        day = DAYS[n % 6] if n % 5 else None
        topics = (TOPICS[n % 3],) if n % 4 else ()
        last = DAYS[min(5, n % 6 + n % 2)] if day else None
        about = {"kind": KINDS[n % 4], "layer": LAYERS[n % 6], "status": STATUSES[n % 3]}
        record = memory.record(
            f"r{n}", f"山 walk {n}", topics=topics, date_start=day, date_end=last, **about
        )
        truth[record] = {"days": (day, last), "topics": set(topics), "type": "record", **about}
        said = datetime(day.year, day.month, day.day, 9, tzinfo=UTC) if day else None
        capture = memory.capture(
            f"c{n}", f"山 talk {n}", captured_at=said, attrs={"topics": list(topics)}
        )
        truth[capture] = {"days": (day, day), "topics": set(topics), "type": "capture"}
    return memory, truth


def passes(one: dict[str, Any], filter_: Filter) -> bool:
    """Say what a filter means, one document at a time."""
    if one["type"] == "capture" and not filter_.captures:
        return False
    if one["type"] == "record":
        named = ((filter_.kinds, "kind"), (filter_.layers, "layer"), (filter_.statuses, "status"))
        if not filter_.records or any(want and one[name] not in want for want, name in named):
            return False
    if filter_.topics:
        spelled = {topic for name in one["topics"] for topic in (name, OTHER_SCRIPT[name])}
        if not spelled & filter_.topics:
            return False
    start, end = one["days"]
    if (filter_.since or filter_.until) and start is None:
        return False
    return not (
        (filter_.since and end < filter_.since) or (filter_.until and start > filter_.until)
    )


@settings(max_examples=few(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filter_=FILTER)
def test_a_filter_finds_what_passes_it(
    archive: tuple[Any, dict[str, dict[str, Any]]], filter_: Filter
) -> None:
    """Filtered hits are the unlimited search's hits that pass, in their order, all of them."""
    memory, truth = archive
    everything = memory.search("山", limit=100, channels=LEXICAL)
    expected = [hit.id for hit in everything.hits if passes(truth[hit.id], filter_)]
    found = memory.search("山", limit=100, channels=LEXICAL, filter=filter_)
    assert len(everything.hits) == 60
    assert [hit.id for hit in found.hits] == expected
    assert found.basis.searched == sum(passes(one, filter_) for one in truth.values())

    by_meaning = memory.search("山", limit=100, filter=filter_, weak=True)
    assert {hit.id for hit in by_meaning.hits} >= set(expected)
    assert all(passes(truth[hit.id], filter_) for hit in by_meaning.hits)


def test_a_filter_is_not_a_cut_of_the_first_hits(memory: Any) -> None:
    """A memory that a hundred better ones hide is first when the filter leaves those out."""
    memory.captures({f"c{n}": "咖啡 咖啡 咖啡" for n in range(120)})
    memory.record("r", "很久以前提到過咖啡的一句很長的話，別的都沒有說。", layer="self")
    only = Filter(captures=False, layers=frozenset({"self"}))

    for limit in (1, 8):
        assert [hit.layer for hit in memory.search("咖啡", limit=limit, filter=only).hits] == [
            "self"
        ]


def test_what_expired_stops_matching_and_stays_readable(memory: Any) -> None:
    """From the moment it expires a record is not found, by words or id, but can be read."""
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    record = memory.record("r", "明天要買咖啡", layer="note", expires_at=moment)
    for reindex in (False, True):
        if reindex:
            memory.indexes.reindex("me")
        for query in ("咖啡", record):
            before = memory.search(query, now=moment - timedelta(seconds=1))
            assert [hit.id for hit in before.hits] == [record]
            for now in (moment, moment + timedelta(days=400)):
                after = memory.search(query, now=now, weak=True)
                assert (after.outcome, after.hits, after.basis.searched) == ("empty", [], 0)
    assert memory.store.versions("me", record)[-1].gist == "明天要買咖啡"


def test_an_archived_record_is_found_when_asked_for(memory: Any) -> None:
    """Archiving changes what the filter sees, at once and after a rebuild."""
    record = memory.record("r", "買咖啡")
    memory.edit(record, status="archived")
    for reindex in (False, True):
        if reindex:
            memory.indexes.reindex("me")
        active = Filter(statuses=frozenset({"active"}))
        assert memory.search("咖啡", filter=active).hits == []
        assert "leave 1 documents out" in memory.search("咖啡", filter=active).notes[0]
        assert [hit.version for hit in memory.search("咖啡").hits] == [2]


def test_filters_that_leave_nothing(memory: Any) -> None:
    """Nothing allowed is an empty answer, not an error."""
    memory.record("r", "買咖啡")
    found = memory.search("咖啡", filter=Filter(captures=False, records=False), weak=True)
    assert (found.outcome, found.basis.searched) == ("empty", 0)
