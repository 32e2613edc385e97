"""What is put in comes out, exactly, and is never changed."""

import hashlib
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import ConflictError, UsageError
from shiyi.core.ids import new_id
from shiyi.store import Capture, Store, Transaction

Put = Callable[..., list[str]]

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1)
HARD_TEXTS = (
    "\0", "a\0b\0", "\x1b[31m\r\n\x85\x7f", "\u202eabc\u2066\u200b\ufeff", "e\u0301 é ﬁ ＡＢ",
    "👨‍👩‍👧‍👦🏳️‍🌈", "𠮷野家𪚥\U0003134a\U000e0100", "\ufffe\uffff\U0010ffff",
    "'; DROP TABLE captures; --",
    "$1 ? :name %s {0}", " \t\n", "",
)  # fmt: skip
TIMES = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001
    datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours))),
)
NAMES = st.none() | TEXTS
JSON = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)  # fmt: skip
in_one_store = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_hard_texts_come_back_byte_for_byte(
    store: Store, keep: Callable[..., Capture], text: str
) -> None:
    """A capture is kept byte for byte, whatever characters it holds."""
    kept = keep(store, text)

    found = store.capture("me", kept.capture_id)
    assert found is not None
    assert found.text.encode() == text.encode()
    assert found.utf8_sha256 == hashlib.sha256(text.encode()).hexdigest()


@in_one_store
@given(
    text=TEXTS, captured_at=st.none() | TIMES, speaker=TEXTS, session_id=NAMES, turn_id=NAMES,
    previous_id=NAMES, source_path=NAMES, external_id=NAMES, attrs=JSON,
)  # fmt: skip
def test_any_capture_comes_back_equal(rows: Any, store: Store, put: Put, **values: Any) -> None:
    """Any capture comes back equal, in a batch and alone."""
    captures = [rows.capture(**values), rows.capture("beside it")]

    put(store, captures)

    ids = [capture.capture_id for capture in captures]
    assert store.captures("me", ids) == {c.capture_id: c for c in captures}
    assert store.capture("me", ids[0]) == captures[0]
    assert store.capture_hashes("me", ids) == {c.capture_id: c.utf8_sha256 for c in captures}


@in_one_store
@given(
    title=TEXTS, gist=TEXTS, detail=NAMES, topics=st.lists(TEXTS, max_size=3).map(tuple),
    aliases=st.lists(TEXTS, max_size=3).map(tuple), salience=st.integers(0, 100),
    date_start=st.none() | st.dates(), date_end=st.none() | st.dates(), phase=NAMES,
    created_at=TIMES, updated_at=TIMES, expires_at=st.none() | TIMES,
    confidence=st.none() | st.integers(0, 1) | st.floats(0, 1), reason=NAMES, attrs=JSON,
)  # fmt: skip
def test_any_record_comes_back_equal_with_its_etag(
    rows: Any, store: Store, put: Put, **values: Any
) -> None:
    """Any record version comes back equal, and so does its etag."""
    records = [rows.record(**values), rows.record(), rows.record(confidence=0.5, topics=("x",))]

    put(store, records)

    found = store.versions_of("me", [record.record_id for record in records])
    assert found == {record.record_id: [record] for record in records}
    assert found[records[0].record_id][0].etag == records[0].etag


def test_ten_megabytes_come_back(store: Store, keep: Callable[..., Capture]) -> None:
    """A capture of 10 MB is kept whole."""
    text = "海内存知己，天涯若比邻。👍\0" * 260_000

    kept = keep(store, text)

    assert len(text.encode()) > 10_000_000
    assert store.capture("me", kept.capture_id) == kept


def test_a_batch_of_every_size_comes_back(store: Store, rows: Any, put: Put) -> None:
    """Batches around DuckDB's vector size come back whole and in id order."""
    for size in (1, 2047, 2048, 2049, 5000):
        scope = f"batch-{size}"
        captures = [rows.capture(f"第 {i} 句", scope=scope) for i in range(size)]
        put(store, captures, scope)

        ids = sorted(capture.capture_id for capture in captures)
        assert [c.capture_id for c in store.iterate_captures(scope)] == ids
        assert store.captures(scope, ids) == {c.capture_id: c for c in captures}


@pytest.mark.parametrize("field", ["speaker", "session_id", "source_path", "external_id"])
def test_half_a_surrogate_pair_is_refused(store: Store, rows: Any, field: str, put: Put) -> None:
    """What has no UTF-8 form is refused, in any field, and nothing is written."""
    capture = rows.capture(**{field: "a\ud800"})

    with pytest.raises(UsageError, match="surrogate"):
        put(store, [capture])

    assert store.counts("me")["captures"] == 0
    assert store.scopes() == []


def test_a_capture_is_refused_under_a_hash_that_is_not_its_own(
    store: Store, rows: Any, put: Put
) -> None:
    """utf8_sha256 is always the hash of the exact bytes."""
    wrong = Capture(
        scope="me", capture_id=new_id(), text="one", utf8_sha256=rows.capture("two").utf8_sha256,
        recorded_at=datetime.now(UTC),
    )  # fmt: skip

    with pytest.raises(UsageError, match="SHA-256"):
        put(store, [wrong])


def test_a_capture_is_never_overwritten(
    store: Store, rows: Any, keep: Callable[..., Capture]
) -> None:
    """A second capture under the same id changes nothing, in one batch or in a later write."""
    first = keep(store, "the first words")
    fresh = new_id()
    batch = [
        rows.capture("other words", capture_id=first.capture_id),
        rows.capture("new", capture_id=fresh),
        rows.capture("new again", capture_id=fresh),
    ]

    def write_twice(t: Transaction) -> dict[str, Any]:
        return {"new": sorted(t.add_captures(batch)), "again": sorted(t.add_captures(batch))}

    assert store.write("me", write_twice) == {"new": [fresh], "again": []}
    assert store.captures("me", [first.capture_id, fresh]) == {
        first.capture_id: first,
        fresh: batch[1],
    }
    assert [change.id for change in store.changes_since("me", 1)] == [fresh]


def test_versions_are_appended_and_the_last_is_the_head(store: Store, rows: Any, put: Put) -> None:
    """Every version stays; the head is the newest; a version cannot be written twice."""
    first = rows.record(gist="It rained.")
    second = rows.record(record_id=first.record_id, version=2, gist="It rained hard.")
    for record in (first, second):
        put(store, [record])

    with pytest.raises(ConflictError):
        put(store, [second])

    assert store.versions("me", first.record_id) == [first, second]
    assert list(store.iterate_heads("me")) == [second]
    assert store.counts("me") == {"captures": 0, "records": 1, "versions": 2, "links": 0}


def test_the_etag_names_the_statement(rows: Any) -> None:
    """Times and reasons do not count; any part of the statement does."""
    record = rows.record(record_id="0" * 26)
    later = rows.record(
        record_id="1" * 26, version=2, reason="a typo", updated_at=datetime.now(UTC),
        external_id="x", salience_source="user",
    )  # fmt: skip

    assert later.etag == record.etag
    for change in (
        {"gist": "It snowed."}, {"title": "雪"}, {"detail": ""}, {"topics": ("雨",)},
        {"layer": "self"},
        {"aliases": ("雨",)}, {"salience": 31}, {"date_start": date(2026, 1, 1)}, {"phase": "x"},
        {"status": "archived"}, {"attrs": {"a": 1}}, {"confidence": 0.0}, {"sensitivity": "x"},
        {"expires_at": datetime(2026, 1, 1, tzinfo=UTC)},
    ):  # fmt: skip
        assert rows.record(**change).etag != record.etag, change


def test_the_etag_is_the_same_in_every_zone(rows: Any) -> None:
    """The same moment and the same number give the same etag, however they are written."""
    there = datetime(2026, 1, 1, 8, tzinfo=timezone(timedelta(hours=8)))

    here = rows.record(expires_at=there.astimezone(UTC), confidence=1.0)
    assert rows.record(expires_at=there, confidence=1).etag == here.etag


def test_a_time_without_a_zone_is_refused(store: Store, rows: Any, put: Put) -> None:
    """A time that could mean several moments is not guessed at."""
    record = rows.record(expires_at=datetime(2026, 1, 1))  # noqa: DTZ001

    with pytest.raises(UsageError, match="zone"):
        put(store, [record])


@pytest.mark.parametrize("order", ["id", "updated", "newest"])
def test_pages_of_captures_follow_each_other(
    store: Store, rows: Any, put: Put, order: Literal["id", "updated", "newest"]
) -> None:
    """Pages hold each capture once: by id, or what was kept or said last before the rest."""
    days = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(3)]
    captures = [
        rows.capture(str(i), recorded_at=days[i % 3], captured_at=(None, *days)[i % 4])
        for i in range(10)
    ]
    put(store, captures)

    seen: list[Capture] = []
    while page := store.page_captures(
        "me", order=order, after=seen[-1].capture_id if seen else None, limit=3
    ):
        seen += page

    def key(one: Capture) -> tuple[float, float, str]:
        kept, said = one.recorded_at.timestamp(), (one.captured_at or one.recorded_at).timestamp()
        keys = {"id": (0, 0), "updated": (-kept, -said), "newest": (0, -said)}
        return *keys[order], one.capture_id

    assert seen == sorted(captures, key=key)


def test_links_are_found_from_both_ends_and_kept_once(store: Store, rows: Any, put: Put) -> None:
    """A link is kept once; another span or relation is another link."""
    a, b, c = sorted(new_id() for _ in range(3))
    links = [
        rows.link(a, b, span_start=0, span_end=4, attrs={"字": "雨"}),
        rows.link(a, b, span_start=5, span_end=9),
        rows.link(a, b, rel="supports"),
        rows.link(c, b),
    ]
    put(store, [*links, links[0]])
    put(store, links)

    assert store.links_from("me", [a, c, new_id()]) == {a: links[:3], c: links[3:]}
    assert store.links_to("me", [b]) == {b: links}
    assert list(store.iterate_links("me")) == links
    assert len(store.changes_since("me", 0)) == len(links)


def test_no_read_crosses_scopes(store: Store, rows: Any, put: Put) -> None:
    """The same ids in two scopes are different rows, and every read names one scope."""
    capture_id, record_id = new_id(), new_id()
    for scope in ("me", "你"):
        capture = rows.capture(scope, scope=scope, capture_id=capture_id, session_id="s")
        record = rows.record(scope=scope, record_id=record_id, gist=scope)
        link = rows.link(record_id, capture_id, scope=scope, attrs={"in": scope})
        assert put(store, [capture, record, link], scope) == [capture_id]

    for scope in ("me", "你"):
        captures = store.captures(scope, [capture_id])
        assert captures[capture_id].text == scope
        assert [c.text for c in store.iterate_captures(scope)] == [scope]
        assert [c.text for c in store.page_captures(scope, limit=9)] == [scope]
        assert [r.gist for r in store.versions(scope, record_id)] == [scope]
        assert [r.gist for r in store.iterate_heads(scope)] == [scope]
        assert [r.gist for r in store.find_heads(scope, limit=9)] == [scope]
        assert [k.attrs["in"] for k in store.links_to(scope, [capture_id])[capture_id]] == [scope]
        assert store.links_from(scope, [record_id])[record_id][0].attrs == {"in": scope}
        assert set(store.counts(scope).values()) == {1}
        assert len(store.changes_since(scope, 0)) == 3
    assert store.capture("another", capture_id) is None
    assert store.last_of_session("another", "s") is None


def test_the_last_of_a_session_follows_the_writes(
    home: Path, rows: Any, keep: Callable[..., Capture]
) -> None:
    """The newest capture of a session is known at once, in the write itself and after reopening."""
    with Store(home, create=True) as store:
        assert store.last_of_session("me", "s") is None
        first = keep(store, "one", session_id="s")
        keep(store, "elsewhere", session_id="t")
        assert store.last_of_session("me", "s") == first.capture_id
        batch = [rows.capture(str(i), session_id="s") for i in range(3)]

        def write_and_ask(t: Any) -> dict[str, Any]:
            t.add_captures(batch)
            return {"last": store.last_of_session("me", "s")}

        def write_and_fail(t: Any) -> dict[str, Any]:
            t.add_captures([rows.capture("never", session_id="s")])
            raise RuntimeError

        assert store.write("me", write_and_ask)["last"] == batch[-1].capture_id
        with pytest.raises(RuntimeError):
            store.write("me", write_and_fail)
        assert store.last_of_session("me", "s") == batch[-1].capture_id
    with Store(home) as store:
        assert store.last_of_session("me", "s") == batch[-1].capture_id


def test_a_capture_is_looked_up_among_many_by_id_and_scope(
    store: Store, rows: Any, put: Put
) -> None:
    """Of ids that are here, elsewhere and nowhere, one or several, those of the scope are found."""
    here = [rows.capture(str(number)) for number in range(3)]
    elsewhere = rows.capture("elsewhere", scope="you")
    put(store, here)
    put(store, [elsewhere], "you")
    wanted = [here[0].capture_id, elsewhere.capture_id, here[2].capture_id, new_id()]

    assert store.captures("me", wanted) == {c.capture_id: c for c in (here[0], here[2])}
    assert store.capture_hashes("me", wanted) == {
        c.capture_id: c.utf8_sha256 for c in (here[0], here[2])
    }
    assert [store.captures("me", [one]).keys() for one in wanted] == [
        {wanted[0]}, set(), {wanted[2]}, set(),
    ]  # fmt: skip
    assert store.captures("me", []) == {}
