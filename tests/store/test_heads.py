"""Heads and links in bulk: filtered, ordered, paged, as of a time, and within one scope."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.core.ids import new_id
from shiyi.store import HeadFilter, Phase, Record, Store
from shiyi.store.heads import Order

Put = Callable[..., list[str]]
T0 = datetime(2026, 1, 1, tzinfo=UTC)

dates = st.none() | st.dates(date(2020, 1, 1), date(2020, 1, 9))
heads = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["event", "fact", "entity"]),
            "phase": st.sampled_from([None, "甲", "乙"]),
            "salience": st.integers(0, 3),
            "date_start": dates,
            "hours": st.integers(0, 4),
            "versions": st.integers(1, 3),
        }
    ),
    max_size=12,
)


def made(rows: Any, given_heads: list[dict[str, Any]]) -> list[list[Record]]:
    """Return records with their versions, the later ones with a higher salience."""
    found = []
    for spec in given_heads:
        fields = {name: spec[name] for name in ("kind", "phase", "date_start")}
        id_ = new_id()
        found.append([
            rows.record(
                record_id=id_, version=n + 1, salience=spec["salience"] + n,
                date_end=spec["date_start"], topics=(spec["kind"],),
                updated_at=T0 + timedelta(hours=spec["hours"] + n), **fields,
            )
            for n in range(spec["versions"])
        ])  # fmt: skip
    return found


def key_of(order: str, record: Record) -> tuple[Any, ...]:
    """Say in Python what an order means."""
    day = record.date_start
    far = date.max.toordinal()
    keys = {
        "id": (),
        "oldest": (day is None, day.toordinal() if day else 0),
        "newest": (day is None, -day.toordinal() if day else 0),
        "salience": (-record.salience, -day.toordinal() if day else far),
        "updated": (-record.updated_at.timestamp(), -day.toordinal() if day else far),
    }
    return (*keys[order], record.record_id)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    heads,
    st.sampled_from(get_args(Order)),
    st.none() | st.sampled_from([("event",), ("fact", "entity")]),
    dates,
    dates,
    st.none() | st.integers(-1, 6),
    st.integers(1, 5),
)
def test_pages_hold_each_head_once_in_order(
    store: Store, rows: Any, put: Put, specs: list[dict[str, Any]], order: Order,
    kinds: tuple[str, ...] | None, since: date | None, until: date | None, hours: int | None,
    limit: int,
) -> None:  # fmt: skip
    """Whatever is asked, the pages together are what Python would have chosen and sorted."""
    scope = new_id().lower()
    records = made(rows, specs)
    put(store, [Record(**{**_fields(v), "scope": scope}) for one in records for v in one], scope)
    as_of = None if hours is None else T0 + timedelta(hours=hours)
    wanted = HeadFilter(kinds=kinds, since=since, until=until, as_of=as_of)

    seen: list[Record] = []
    while page := store.find_heads(
        scope, wanted, order=order, after=seen[-1].record_id if seen else None, limit=limit
    ):
        seen += page

    stood = [[v for v in one if as_of is None or v.updated_at <= as_of] for one in records]
    expected = [
        one[-1]
        for one in stood
        if one
        and (kinds is None or one[-1].kind in kinds)
        and (since is None or (one[-1].date_start or date.min) >= since)
        and (until is None or (one[-1].date_start or date.max) <= until)
    ]
    expected.sort(key=lambda record: key_of(order, record))
    assert [(r.record_id, r.version) for r in seen] == [(r.record_id, r.version) for r in expected]
    counts = store.count_heads(scope, "kind", wanted)
    assert sum(counts.values()) == len(expected)
    by_phase = store.heads_by_phase(scope, wanted, most=2)
    assert all(len(found) <= 2 for found in by_phase.values())
    assert set(by_phase) == {record.phase for record in expected}


def _fields(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in Record.__slots__}


def test_phases_topics_and_ids(store: Store, rows: Any, put: Put) -> None:
    """Phases come in the order of their first day; a count by topic counts each of them."""
    late = rows.record(phase="乙", date_start=date(2024, 1, 1), date_end=date(2024, 2, 1))
    early = rows.record(phase="甲", date_start=date(2020, 1, 1), topics=("a", "b"))
    bare = rows.record(topics=("a",))
    put(store, [late, early, bare])

    assert store.phases("me") == [
        Phase("甲", date(2020, 1, 1), date(2020, 1, 1), 1),
        Phase("乙", date(2024, 1, 1), date(2024, 2, 1), 1),
    ]
    assert store.count_heads("me", "topic") == {"a": 2, "b": 1}
    assert store.count_heads("me", "phase") == {"乙": 1, "甲": 1, None: 1}
    assert set(store.heads("me", [late.record_id, new_id()])) == {late.record_id}
    assert store.heads("me", [late.record_id], as_of=T0 - timedelta(days=999)) == {}
    undated = store.find_heads("me", HeadFilter(dated=False), limit=9)
    assert [one.record_id for one in undated] == [bare.record_id]


def test_a_page_after_something_gone_is_refused(store: Store, rows: Any, put: Put) -> None:
    """A cursor that no longer stands in the list is said, not taken as its end."""
    record = rows.record(kind="fact")
    put(store, [record])

    after = {"after": record.record_id, "limit": 3}
    events = HeadFilter(kinds=("event",))
    assert store.find_heads("me", order="newest", **after) == []
    assert store.find_heads("me", events, **after) == []  # ids follow each other without it
    with pytest.raises(UsageError, match="begin with the first page"):
        store.find_heads("me", events, order="newest", **after)
    with pytest.raises(UsageError):
        store.find_heads("you", order="updated", **after)
    with pytest.raises(UsageError, match="begin with the first page"):
        store.page_captures("me", order="updated", **after)


def test_links_of_a_hub_are_cut_and_counted(store: Store, rows: Any, put: Put) -> None:
    """Of each relation only so many come, and the degree says how many there are."""
    hub, other = new_id(), new_id()
    people = [rows.link(new_id(), hub, rel="mentions") for _ in range(50)]
    put(store, [*people, rows.link(other, hub, rel="about"), rows.link(hub, other, rel="supports")])

    cut = store.links_to("me", [hub, other], most=3)
    assert [link.rel for link in cut[hub]].count("mentions") == 3
    assert [link.rel for link in cut[hub]].count("about") == 1
    assert [link.src for link in cut[other]] == [hub]
    assert [link.src for link in store.links_to("me", [hub], rels=["about"])[hub]] == [other]
    assert store.links_from("me", [hub], rels=[]) == {}
    assert store.degrees("me", [hub])[hub] == {
        "out": {"supports": 1}, "in": {"mentions": 50, "about": 1},
    }  # fmt: skip
    sources, relations, targets = store.edges("me")
    assert len(sources) == len(relations) == len(targets) == 52
    assert store.edges("me", ["about"]) == ([other], ["about"], [hub])
    assert store.edges("you") == ([], [], [])
    assert store.links_to("you", [hub]) == {}
    assert store.degrees("you", [hub])[hub] == {"out": {}, "in": {}}
