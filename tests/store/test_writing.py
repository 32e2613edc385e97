"""One write is one transaction: with its changes, under its key, or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import ConflictError, HomeDamagedError, HomeError, UsageError
from shiyi.store import Capture, Change, Store, Transaction


def everything(store: Store) -> dict[str, Any]:
    """Return what a write could have left behind."""
    scopes = store.scopes()
    return {
        "scopes": scopes,
        "counts": {scope: store.counts(scope) for scope in [*scopes, "me"]},
        "changes": {scope: store.changes_since(scope, 0) for scope in [*scopes, "me"]},
        "last_seq": store.last_seq,
        "watermark": (store.home / "watermark").read_bytes(),
        "lost": store.lost_tails(),
    }


def test_the_change_feed_has_no_gaps(
    store: Store, rows: Any, put: Callable[..., list[str]]
) -> None:
    """Each row written is one change, numbered without gaps over all scopes, in its order."""
    expected: list[Change] = []
    for round_ in range(3):
        for scope in ("me", "you"):
            capture = rows.capture(f"{round_}", scope=scope)
            record = rows.record(scope=scope)
            link = rows.link(record.record_id, capture.capture_id, scope=scope)
            put(store, [capture, record, link], scope)
            seq = len(expected)
            expected += [
                Change(seq + 1, scope, "capture", capture.capture_id, 1),
                Change(seq + 2, scope, "record", record.record_id, 1),
                Change(seq + 3, scope, "link", record.record_id, 0),
            ]

    assert store.last_seq == len(expected)
    for since in (0, 4, len(expected)):
        for scope in ("me", "you"):
            wanted = [c for c in expected if c.scope == scope and c.seq > since]
            assert store.changes_since(scope, since) == wanted


def test_the_feed_goes_on_after_reopening(home: Path, keep: Callable[..., Capture]) -> None:
    """Numbers go on where they stopped."""
    for _ in range(3):
        with Store(home, create=True) as store:
            keep(store)

    with Store(home) as store:
        assert [change.seq for change in store.changes_since("me", 0)] == [1, 2, 3]


def test_a_write_of_nothing_changes_nothing_but_makes_the_scope(store: Store) -> None:
    """An empty write has no changes."""
    assert store.write("me", lambda _: {"n": 0}) == {"n": 0}

    assert store.scopes() == ["me"]
    assert (store.last_seq, store.changes_since("me", 0)) == (0, [])


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError, ConflictError])
def test_a_failing_action_leaves_nothing_behind(
    store: Store, rows: Any, keep: Callable[..., Capture], error: type[BaseException]
) -> None:
    """What fails comes out as it is; no row, scope, change or key stays; the next write works."""
    keep(store)
    before = everything(store)

    def write(t: Any) -> dict[str, Any]:
        capture, record = rows.capture(scope="new"), rows.record(scope="new")
        t.add_captures([capture])
        t.add_records([record])
        t.add_links([rows.link(record.record_id, capture.capture_id, scope="new")])
        raise error

    with pytest.raises(error):
        store.write("new", write, key="k")

    assert everything(store) == before
    assert store.write("new", lambda _: {"ran": True}, key="k") == {"ran": True}
    keep(store)
    assert [change.seq for change in store.changes_since("me", 0)] == [1, 2]


def test_a_result_without_a_json_form_undoes_its_write(store: Store, rows: Any) -> None:
    """A result that could not be repeated under its key is an error, and nothing stays."""

    def write(t: Any) -> dict[str, Any]:
        return {"ids": t.add_captures([rows.capture()])}

    with pytest.raises(UsageError, match="JSON"):
        store.write("me", write, key="k")

    assert store.counts("me")["captures"] == 0


def test_a_write_inside_a_write_is_refused_and_undone(
    store: Store, rows: Any, keep: Callable[..., Capture]
) -> None:
    """Transactions do not nest, and the attempt leaves nothing."""

    def write(t: Any) -> dict[str, Any]:
        t.add_captures([rows.capture()])
        keep(store)
        return {}

    with pytest.raises(HomeError):
        store.write("me", write)

    assert store.counts("me")["captures"] == 0
    keep(store)
    assert store.last_seq == 1


def test_a_write_belongs_to_one_scope(
    store: Store, rows: Any, put: Callable[..., list[str]]
) -> None:
    """Rows of another scope are refused, so no write reaches into a scope it does not name."""
    for stray in (
        rows.capture(scope="you"),
        rows.record(scope="you"),
        rows.link("a", "b", scope="you"),
    ):
        with pytest.raises(UsageError, match="one scope"):
            put(store, [rows.capture(), rows.record(), rows.link("a", "b"), stray])

    assert store.scopes() == []


def test_an_action_reads_what_it_wrote(store: Store, rows: Any) -> None:
    """Reads inside a write see its rows before they are committed."""
    capture, record = rows.capture(), rows.record()

    def write(t: Any) -> dict[str, Any]:
        t.add_captures([capture])
        t.add_records([record])
        return {
            "capture": store.capture("me", capture.capture_id) == capture,
            "versions": len(store.versions("me", record.record_id)),
        }

    assert store.write("me", write) == {"capture": True, "versions": 1}


def test_a_repeat_under_a_key_returns_the_first_result(home: Path, rows: Any) -> None:
    """A repeat runs nothing and answers as the first time did, after a restart too."""
    runs: list[str] = []

    def write(t: Any) -> dict[str, Any]:
        capture = rows.capture()
        t.add_captures([capture])
        runs.append(capture.capture_id)
        return {"id": capture.capture_id, "雨": [1, None, 0.5]}

    request = {"text": "今天下雨了。", "half": "\ud800"}
    with Store(home, create=True) as store:
        first = store.write("me", write, key="钥匙", request=request)
        assert store.write("me", write, key="钥匙", request=dict(request)) == first
    with Store(home) as store:
        assert store.write("me", write, key="钥匙", request=request) == first
        assert (len(runs), store.counts("me")["captures"], store.last_seq) == (1, 1, 1)


def test_a_key_used_for_another_request_is_a_conflict(store: Store) -> None:
    """The same key with another request is refused and runs nothing; keys are per scope."""
    store.write("me", lambda _: {"n": 1}, key="k", request={"a": 1})
    ran: list[int] = []

    with pytest.raises(ConflictError, match="key"):
        store.write("me", lambda _: {"n": len(ran)}, key="k", request={"a": 2})

    assert ran == []
    assert store.write("you", lambda _: {"n": 2}, key="k", request={"a": 2}) == {"n": 2}
    assert store.write("me", lambda _: {"n": 3}, key="k2", request={"a": 2}) == {"n": 3}


def test_without_a_key_a_write_runs_again(store: Store, keep: Callable[..., Capture]) -> None:
    """Only a key makes a repeat harmless."""
    keep(store, "again")
    keep(store, "again")

    assert store.counts("me")["captures"] == 2


def test_closing_twice_is_harmless_and_using_after_it_is_an_error(home: Path) -> None:
    """A closed store says so, and closing again releases nothing that others hold."""
    store = Store(home, create=True)
    store.close()
    with Store(home) as other:
        store.close()
        assert other.scopes() == []
        with pytest.raises(HomeError, match="closed"):
            store.scopes()
        with pytest.raises(HomeError, match="closed"):
            store.write("me", lambda _: {})
        with pytest.raises(OSError, match="in use"):
            Store(home)


def test_what_cannot_be_read_back_is_no_success(store: Store, rows: Any) -> None:
    """Words that are not there after the commit are never called kept."""
    capture = rows.capture()

    def lose(transaction: Transaction) -> dict[str, Any]:
        transaction.add_captures([capture])
        store._database.rows("DELETE FROM captures")
        return {}

    with pytest.raises(HomeDamagedError, match="read back"):
        store.write("me", lose)
