"""A memory that is asked for maps: written row by row, and asked as every door asks."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shiyi.core.ids import derived_id
from shiyi.core.text import text_sha256
from shiyi.service.invoke import invoke
from shiyi.service.session import Session
from shiyi.store import Capture, Link, Record, Transaction

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Archive:
    """One home. Names stand for ids; what is not given is the same every time."""

    def __init__(self, home: Path, *, traces: str = "off") -> None:
        self.session = Session(home, model="none", create=True)
        self.session.settings = replace(self.session.settings, traces=traces)

    def close(self) -> None:
        self.session.close()

    def records(self, *rows: dict[str, Any], scope: str = "me") -> None:
        """Keep versions, each from `name` and the columns that are not as usual."""
        self._write(scope, records=[self._record(scope, **row) for row in rows])

    def record(self, name: str, scope: str = "me", **given: Any) -> str:
        """Keep one version and return its id."""
        self.records({"name": name, **given}, scope=scope)
        return derived_id(scope, name)

    def capture(self, name: str, text: str, scope: str = "me") -> str:
        row = Capture(
            scope=scope, capture_id=derived_id(scope, name), text=text,
            utf8_sha256=text_sha256(text), recorded_at=NOW, captured_at=NOW,
        )  # fmt: skip
        self.session.store.write(scope, lambda t: {"added": len(t.add_captures([row]))})
        return row.capture_id

    def links(self, *ends: tuple[str, str, str], scope: str = "me", **given: Any) -> None:
        """Tie names together."""
        self._write(scope, links=[self.link(*three, scope=scope, **given) for three in ends])

    def link(self, src: str, rel: str, dst: str, scope: str = "me", **given: Any) -> Link:
        """Return a tie between two names."""
        ends = derived_id(scope, src), derived_id(scope, dst)
        return Link(scope=scope, src=ends[0], rel=rel, dst=ends[1], **given)

    def version(self, name: str, scope: str = "me", **given: Any) -> Record:
        """Return a version of a record."""
        return self._record(scope, name, **given)

    def ask(self, operation: str, scope: str = "me", **values: Any) -> Any:
        """Ask as every door does."""
        return invoke(self.session, operation, {"now": NOW.isoformat(), **values}, scope=scope)

    def _record(self, scope: str, name: str, **given: Any) -> Record:
        title = given.pop("title", name)
        at = given.pop("at", NOW)
        values: dict[str, Any] = {
            "version": 1, "kind": "event", "layer": "core", "gist": f"{title} 的經過",
            "created_at": at, "updated_at": at, **given,
        }  # fmt: skip
        if "date_start" in values:
            values.setdefault("date_end", values["date_start"])
            values.setdefault("date_precision", "day")
        return Record(scope=scope, record_id=derived_id(scope, name), title=title, **values)

    def _write(self, scope: str, **rows: Any) -> None:
        def act(transaction: Transaction) -> dict[str, Any]:
            transaction.add_records(rows.get("records", []))
            transaction.add_links(rows.get("links", []))
            return {}

        self.session.store.write(scope, act)
