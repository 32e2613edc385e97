"""A write and a look-up stay cheap however much the home holds."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from shiyi.store import Capture, Store
from shiyi.store.database import Database

Put = Callable[..., list[str]]


def test_a_write_takes_few_statements(
    store: Store, keep: Callable[..., Capture], rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capture costs four statements, of which one reads it back; with a session and a key six.

    The batch size is free.
    """
    keep(store, session_id="s")
    seen: list[str] = []
    run = Database.rows

    def counted(self: Database, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        seen.append(query)
        return run(self, query, values)

    monkeypatch.setattr(Database, "rows", counted)

    keep(store)
    assert len(seen) == 4
    seen.clear()
    batch = [rows.capture(session_id="s") for _ in range(50)]

    def write(t: Any) -> dict[str, Any]:
        return {"after": store.last_of_session("me", "s"), "new": len(t.add_captures(batch))}

    store.write("me", write, key="k", request={})
    assert len(seen) == 6
    assert Counter(query.split()[0] for query in seen) == {"SELECT": 3, "INSERT": 3}


def test_look_ups_by_id_use_an_index(store: Store, rows: Any, put: Put) -> None:
    """Looking rows up by id does not read the table, for one id and for many."""
    captures = [rows.capture(str(i)) for i in range(20_000)]
    put(store, captures)
    store.checkpoint()
    database = store._database
    for table, column in (
        ("captures", "capture_id"), ("records", "record_id"), ("links", "src"), ("links", "dst"),
    ):  # fmt: skip
        assert database.rows(
            "SELECT 1 FROM duckdb_indexes() WHERE table_name = ? AND expressions = ?",
            [table, f"[{column}]"],
        )

    for count in (1, 8, 500):
        plan = database.rows(
            "EXPLAIN ANALYZE SELECT text FROM captures WHERE scope = ? AND "
            "list_contains(?, capture_id)",
            ["me", [capture.capture_id for capture in captures[-count:]]],
        )
        assert "Index Scan" in plan[0][1]
