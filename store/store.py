"""The truth: one home, one owner, one door to captures, records, links and the change feed."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shiyi.core.errors import ConflictError, HomeError, HomeUnwritableError
from shiyi.core.files import make_private_directory
from shiyi.store import captures as _captures
from shiyi.store import links as _links
from shiyi.store import records as _records
from shiyi.store.database import Database, naive
from shiyi.store.lease import Lease
from shiyi.store.rows import Capture, Change, Link, Record, encode_json
from shiyi.store.watermark import Watermark

Result = dict[str, Any]
_INSERT_CHANGES = """
    INSERT INTO changes (seq, scope, what, id, version, changed_at)
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?)
"""


class Transaction:
    """What one write may do. Everything it does is committed together, with its change rows."""

    def __init__(self, database: Database, now: datetime) -> None:
        self.now = now
        self._database = database
        self.changes: list[tuple[str, str, str, int]] = []  # scope, what, id, version

    def add_captures(self, captures: Sequence[Capture]) -> set[str]:
        """Append captures; return the ids that were new. Ids already there are left alone."""
        added = _captures.insert_captures(self._database, captures)
        for capture in captures:
            if (capture.scope, capture.capture_id) in added:
                self.changes.append((capture.scope, "capture", capture.capture_id, 1))
        return {capture_id for _, capture_id in added}

    def add_records(self, records: Sequence[Record]) -> None:
        """Append record versions."""
        _records.insert_records(self._database, records)
        self.changes += [(r.scope, "record", r.record_id, r.version) for r in records]

    def add_links(self, links: Sequence[Link]) -> None:
        """Append links; those already there are left alone."""
        scope = links[0].scope if links else ""
        for src, _, _ in _links.insert_links(self._database, links):
            self.changes.append((scope, "link", src, 0))


class Store:
    """A home, opened by its one owner. Use it as a context manager, or close it."""

    def __init__(self, home: Path, *, create: bool = False) -> None:
        """Open `home`; with `create`, make it (0700) when it is not there yet.

        Raises HomeError or one of its kinds; a home that is refused is left untouched.
        """
        self.home = home
        if create:
            _make_home(home)
        elif not home.is_dir():
            raise HomeError(f"There is no memory at {home}; make one with `shiyi init`.")
        try:
            self._lease = Lease(home)
            self._watermark = Watermark(home)
        except HomeError:
            raise
        except OSError as error:
            raise _unwritable(home, error) from error
        try:
            self._database = Database(home, create=create)
        except BaseException:
            self._watermark.close()
            self._lease.release()
            raise
        self.home_id = self._database.meta("home_id") or ""
        self._known_scopes = set(self.scopes())
        self._note_lost_tail()

    def close(self) -> None:
        """Close the database and give the home up."""
        try:
            self._database.close()
        finally:
            self._watermark.close()
            self._lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Writing

    def write(
        self,
        scope: str,
        action: Callable[[Transaction], Result],
        *,
        key: str | None = None,
        request: Any = None,
    ) -> Result:
        """Run `action` in one transaction and return its result, durable when this returns.

        With an idempotency key, a repeat returns the first result without running `action`.

        Raises ConflictError when the key was used in this scope with another request.
        """
        fingerprint = hashlib.sha256(encode_json(request).encode("utf-8")).hexdigest()
        with self._database.lock:
            first = self._first_result(scope, key, fingerprint)
            if first is not None:
                return first
            with self._database.transaction():
                seq, result = self._run(scope, action, key, fingerprint)
            self._seq = seq
            self._known_scopes.add(scope)
            self._watermark.write(seq)
        return result

    def _run(
        self, scope: str, action: Callable[[Transaction], Result], key: str | None, print_: str
    ) -> tuple[int, Result]:
        now = datetime.now(UTC)
        if scope not in self._known_scopes:
            self._database.rows(
                "INSERT INTO scopes VALUES (?, ?) ON CONFLICT DO NOTHING", [scope, naive(now)]
            )
        transaction = Transaction(self._database, now)
        result = action(transaction)
        start = self.last_seq + 1
        self._database.insert(
            _INSERT_CHANGES,
            [(start + i, *change, naive(now)) for i, change in enumerate(transaction.changes)],
        )
        if key is not None:
            self._database.rows(
                "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)",
                [scope, key, print_, encode_json(result), naive(now)],
            )
        return start + len(transaction.changes) - 1, result

    def _first_result(self, scope: str, key: str | None, fingerprint: str) -> Result | None:
        if key is None:
            return None
        query = """
            SELECT request_sha256, result FROM idempotency WHERE scope = ? AND idempotency_key = ?
        """
        found = self._database.rows(query, [scope, key])
        if not found:
            return None
        if found[0][0] != fingerprint:
            raise ConflictError(
                "This idempotency key was already used for another request; use a new key. "
                "Nothing was changed."
            )
        first: Result = json.loads(found[0][1])
        return first

    # Reading

    def capture(self, scope: str, capture_id: str) -> Capture | None:
        """Return one capture, or None."""
        return _captures.find_capture(self._database, scope, capture_id)

    def captures(self, scope: str, ids: Sequence[str]) -> dict[str, Capture]:
        """Return the captures among `ids` that exist in the scope."""
        return _captures.find_captures(self._database, scope, ids)

    def iterate_captures(self, scope: str) -> Iterator[Capture]:
        """Yield every capture of the scope, in id order."""
        return _captures.iterate_captures(self._database, scope)

    def page_captures(self, scope: str, *, after: str = "", limit: int) -> list[Capture]:
        """Return up to `limit` captures whose id follows `after`."""
        return _captures.page_captures(self._database, scope, after, limit)

    def capture_hashes(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the SHA-256 of the captures among `ids` that exist."""
        return _captures.capture_hashes(self._database, scope, ids)

    def last_of_session(self, scope: str, session_id: str) -> str | None:
        """Return the id of the newest capture of a session, or None."""
        return _captures.last_of_session(self._database, scope, session_id)

    def versions(self, scope: str, record_id: str) -> list[Record]:
        """Return every version of a record, oldest first."""
        return _records.record_versions(self._database, scope, record_id)

    def versions_of(self, scope: str, ids: Sequence[str]) -> dict[str, list[Record]]:
        """Return the versions of the records among `ids` that exist, oldest first."""
        return _records.versions_of_records(self._database, scope, ids)

    def iterate_heads(self, scope: str) -> Iterator[Record]:
        """Yield the head of every record of the scope, in id order."""
        return _records.iterate_heads(self._database, scope)

    def page_heads(self, scope: str, *, limit: int, **filters: Any) -> list[Record]:
        """Return a page of heads; see `records.page_heads`."""
        return _records.page_heads(self._database, scope, limit=limit, **filters)

    def links_from(self, scope: str, ids: Sequence[str]) -> dict[str, list[Link]]:
        """Return the links that leave each of `ids`."""
        return _links.links_from(self._database, scope, ids)

    def links_to(self, scope: str, target: str) -> list[Link]:
        """Return the links that arrive at `target`."""
        return _links.links_to(self._database, scope, target)

    def iterate_links(self, scope: str) -> Iterator[Link]:
        """Yield every link of the scope, ordered by its source."""
        return _links.iterate_links(self._database, scope)

    def scopes(self) -> list[str]:
        """Return the names of the scopes, in order."""
        return [row[0] for row in self._database.rows("SELECT scope FROM scopes ORDER BY scope")]

    def counts(self, scope: str) -> dict[str, int]:
        """Return how many captures, records (heads), versions and links the scope holds."""
        query = """
            SELECT (SELECT count(*) FROM captures WHERE scope = $scope),
                   (SELECT count(DISTINCT record_id) FROM records WHERE scope = $scope),
                   (SELECT count(*) FROM records WHERE scope = $scope),
                   (SELECT count(*) FROM links WHERE scope = $scope)
        """
        row = self._database.rows(query, {"scope": scope})[0]
        return dict(zip(("captures", "records", "versions", "links"), row, strict=True))

    # The change feed

    @property
    def last_seq(self) -> int:
        """The sequence number of the newest change; 0 in an empty home."""
        if not hasattr(self, "_seq"):
            self._seq = int(self._database.rows("SELECT coalesce(max(seq), 0) FROM changes")[0][0])
        return self._seq

    def changes_since(self, scope: str, seq: int) -> list[Change]:
        """Return the changes of the scope after `seq`, oldest first."""
        query = """
            SELECT seq, scope, what, id, version FROM changes
            WHERE seq > ? AND scope = ? ORDER BY seq
        """
        return [Change(*row) for row in self._database.rows(query, [seq, scope])]

    def lost_tails(self) -> list[dict[str, int]]:
        """Return the losses noticed so far, each with the sequence expected and the one found."""
        noted: list[dict[str, int]] = json.loads(self._database.meta("lost_tails") or "[]")
        return noted

    def _note_lost_tail(self) -> None:
        expected, found = self._watermark.read(), self.last_seq
        if found < expected:
            noted = [*self.lost_tails(), {"expected": expected, "found": found}]
            with self._database.transaction():
                self._database.set_meta("lost_tails", encode_json(noted))
        self._watermark.write(found)


def _make_home(home: Path) -> None:
    try:
        make_private_directory(home)
        if not home.is_dir():
            raise NotADirectoryError
    except OSError as error:
        raise _unwritable(home, error) from error


def _unwritable(home: Path, error: OSError) -> HomeUnwritableError:
    return HomeUnwritableError(
        f"The home {home} cannot be written ({error.strerror or 'not a directory'}); nothing was "
        "changed. Make it writable or choose another with --home."
    )
