"""The truth: one home, one owner, one door to captures, records, links and the change feed."""

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shiyi.core.closable import Closable
from shiyi.core.errors import HomeError
from shiyi.core.text import text_sha256
from shiyi.store import captures as _captures
from shiyi.store import corrected as _corrected
from shiyi.store import feedback as _feedback
from shiyi.store import heads as _heads
from shiyi.store import links as _links
from shiyi.store import records as _records
from shiyi.store import repeats as _repeats
from shiyi.store.attachments import Attachments
from shiyi.store.checks import Checks
from shiyi.store.database import Database, naive
from shiyi.store.faults import unreadable, unwritable
from shiyi.store.heads import HeadFilter, Phase
from shiyi.store.home import prepare_home
from shiyi.store.lease import Lease
from shiyi.store.open_turns import OpenTurns
from shiyi.store.past import Past
from shiyi.store.purge import Purged
from shiyi.store.rolls import Rolls
from shiyi.store.rows import Capture, Change, Feedback, Link, Record, encode_json
from shiyi.store.snapshot import Snapshots
from shiyi.store.transaction import SessionEnds, Transaction
from shiyi.store.turns import Turns
from shiyi.store.watermark import Watermark

Result = dict[str, Any]
_SESSIONS_REMEMBERED = 4096
_CHANGES_REMEMBERED = 1024


class Store(Closable):
    """A home, opened by its one owner. Use it as a context manager, or close it."""

    def __init__(self, home: Path, *, create: bool = False, lease: Lease | None = None) -> None:
        """Open `home`; with `create`, make it (0700) when it is not there yet.

        A `lease` that the caller has taken stays with the caller.

        Raises HomeError or one of its kinds; a home that is refused is left untouched.
        """
        self.home = home.absolute()
        self._seq: int | None = None
        self._session_ends: SessionEnds = {}
        self._read: dict[str, Capture] = {}  # what the last write added, as it was read back
        self._recent: deque[Change] = deque(maxlen=_CHANGES_REMEMBERED)
        with ExitStack() as opened:
            try:
                prepare_home(self.home, create=create)
                if lease is None:
                    opened.callback(Lease(self.home).release)
                self._database = Database(self.home, create=create)
                opened.callback(self._database.close)
                self._watermark = Watermark(self.home)
                opened.callback(self._watermark.close)
            except OSError as error:
                if isinstance(error, HomeError):
                    raise
                raise unwritable(self.home, error) from error
            self.home_id = self._database.meta("home_id") or ""
            self._versions = _records.Versions(self._database)
            self.rolls = Rolls(self._database)
            self.past = Past(self._database)
            self.checks = Checks(self.home, self._database)
            self.purged = Purged(self._database)
            self.snapshots = Snapshots(self._database)
            self.turns = Turns(self._database)
            self.open_turns = OpenTurns(
                self._database, self.turns, lambda: self.last_seq, self.changes_since
            )
            self.attachments = Attachments(self.home, self._database)
            self._known_scopes = set(self.scopes())
            self._note_lost_tail()
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Close the database and give the home up; a second time does nothing."""
        with self._database.lock:
            self._opened.close()

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

        Raises ConflictError when the key was used in this scope with another request,
        HomeUnwritableError when there is no room (then nothing of the write stays), and
        HomeDamagedError when what was committed cannot be read back.
        """
        with self._database.lock:
            if key is not None:
                first = _repeats.first_result(self._database, scope, key, request)
                if first is not None:
                    return first
            start = self.last_seq + 1
            try:
                with self._database.transaction():
                    transaction, result = self._run(scope, action, start)
                    changes = transaction.append_changes()
                    if key is not None:
                        _repeats.keep_result(self._database, scope, key, request, result)
                self._seq = start - 1 + len(changes)
            except BaseException:
                self._seq = None  # whether it was committed or not, the number is read again
                self._session_ends.clear()
                self._read = {}
                self._recent.clear()
                self._versions.forget()
                self.open_turns.forget()
                raise
            self._known_scopes.add(scope)
            self._recent.extend(changes)
            self._versions.forget(changes)
            self._watermark.write(self._seq)
            self._read_back(transaction)
            self._database.checkpoint_when_due()
        return result

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file, for a quiet moment; no failure loses anything."""
        self._database.checkpoint()

    def _run(
        self, scope: str, action: Callable[[Transaction], Result], start: int
    ) -> tuple[Transaction, Result]:
        now = datetime.now(UTC)
        if scope not in self._known_scopes:
            self._database.rows(
                "INSERT INTO scopes VALUES (?, ?) ON CONFLICT DO NOTHING", [scope, naive(now)]
            )
        transaction = Transaction(self._database, scope, now, self._session_ends, start)
        return transaction, action(transaction)

    def _read_back(self, transaction: Transaction) -> None:
        """Raise HomeDamagedError unless the words that were committed are found again.

        They are held until the next write, since the index asks for them right away.
        """
        kept = transaction.hashes
        self._read = _captures.find_captures(self._database, transaction.scope, list(kept))
        if {name: text_sha256(one.text) for name, one in self._read.items()} != kept:
            raise unreadable(self._database.path)

    # Reading

    @contextmanager
    def still(self) -> Iterator[None]:
        """Let nothing be written while the block reads several things that have to agree."""
        with self._database.lock:
            yield

    def capture(self, scope: str, capture_id: str) -> Capture | None:
        """Return one capture, or None."""
        return self.captures(scope, [capture_id]).get(capture_id)

    def captures(self, scope: str, ids: Sequence[str]) -> dict[str, Capture]:
        """Return the captures among `ids` that exist in the scope."""
        read = self._read
        held = {name: read[name] for name in ids if name in read and read[name].scope == scope}
        rest = [name for name in ids if name not in held]
        return held | _captures.find_captures(self._database, scope, rest)

    def iterate_captures(self, scope: str) -> Iterator[Capture]:
        """Yield every capture of the scope, in id order."""
        return _captures.iterate_captures(self._database, scope)

    def page_captures(
        self, scope: str, *, order: _captures.Order = "id", after: str | None = None, limit: int
    ) -> list[Capture]:
        """Return up to `limit` captures in an order, from behind the id `after`."""
        return _captures.page_captures(self._database, scope, order, after, limit)

    def capture_hashes(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the SHA-256 of the captures among `ids` that exist."""
        return _captures.capture_hashes(self._database, scope, ids)

    def last_of_session(self, scope: str, session_id: str) -> str | None:
        """Return the id of the newest capture of a session, or None."""
        with self._database.lock:
            name = (scope, session_id)
            if name not in self._session_ends:  # a look-up reads the whole column
                if len(self._session_ends) >= _SESSIONS_REMEMBERED:
                    self._session_ends.clear()
                self._session_ends[name] = _captures.last_of_session(self._database, *name)
            return self._session_ends[name]

    def versions(self, scope: str, record_id: str) -> list[Record]:
        """Return every version of a record, oldest first."""
        return self._versions.of(scope, [record_id]).get(record_id, [])

    def versions_of(self, scope: str, ids: Sequence[str]) -> dict[str, list[Record]]:
        """Return the versions of the records among `ids` that exist, oldest first."""
        return self._versions.of(scope, ids)

    def iterate_heads(self, scope: str) -> Iterator[Record]:
        """Yield the head of every record of the scope, in id order."""
        return _records.iterate_heads(self._database, scope)

    def heads(
        self, scope: str, ids: Sequence[str], *, as_of: datetime | None = None
    ) -> dict[str, Record]:
        """Return the heads of the records among `ids` that exist, or existed at `as_of`."""
        return _heads.heads_among(self._versions.of(scope, ids), as_of)

    def find_heads(
        self,
        scope: str,
        wanted: HeadFilter = _heads.EVERY,
        *,
        order: _heads.Order = "id",
        after: str | None = None,
        limit: int,
    ) -> list[Record]:
        """Return a page of heads by kind, layer, status, phase, topic, days or as of a time.

        `after` is the id of the last head of the page before; see `heads.find_heads`.
        """
        return _heads.find_heads(
            self._database, scope, wanted, order=order, after=after, limit=limit
        )

    def heads_by_phase(
        self, scope: str, wanted: HeadFilter = _heads.EVERY, *, most: int
    ) -> dict[str | None, list[Record]]:
        """Return the `most` salient heads of each phase, oldest first."""
        return _heads.heads_by_phase(self._database, scope, wanted, most=most)

    def count_heads(
        self, scope: str, by: _heads.Group, wanted: HeadFilter = _heads.EVERY
    ) -> dict[str | None, int]:
        """Return how many heads pass for each kind, layer, status, phase or topic."""
        return _heads.count_heads(self._database, scope, by, wanted)

    def phases(self, scope: str, wanted: HeadFilter = _heads.EVERY) -> list[Phase]:
        """Return the phases that the records name, in the order of their first day."""
        return _heads.phases_of(self._database, scope, wanted)

    def links_from(
        self,
        scope: str,
        ids: Sequence[str],
        *,
        rels: Sequence[str] | None = None,
        most: int | None = None,
    ) -> dict[str, list[Link]]:
        """Return the links that leave each of `ids`, at most `most` of each relation."""
        return _links.links_from(self._database, scope, ids, rels=rels, most=most)

    def links_to(
        self,
        scope: str,
        ids: Sequence[str],
        *,
        rels: Sequence[str] | None = None,
        most: int | None = None,
    ) -> dict[str, list[Link]]:
        """Return the links that arrive at each of `ids`, at most `most` of each relation."""
        return _links.links_to(self._database, scope, ids, rels=rels, most=most)

    def links_in_order(self, scope: str, ids: Sequence[str]) -> dict[str, list[Link]]:
        """Return the links that leave each of `ids`, in the order in which they came."""
        return _links.links_in_order(self._database, scope, ids)

    def degrees(self, scope: str, ids: Sequence[str]) -> dict[str, dict[str, dict[str, int]]]:
        """Return for each of `ids` how many links leave ("out") and arrive ("in"), by relation."""
        return _links.degrees(self._database, scope, ids)

    def edges(
        self, scope: str, rels: Sequence[str] | None = None
    ) -> tuple[list[str], list[str], list[str]]:
        """Return all links of the scope as three columns: src, rel, dst; each edge once."""
        return _links.edges(self._database, scope, rels)

    def iterate_links(self, scope: str) -> Iterator[Link]:
        """Yield every link of the scope, ordered by its source."""
        return _links.iterate_links(self._database, scope)

    def redirects(self, scope: str, *, as_of: datetime | None = None) -> dict[str, str]:
        """Return for each entity that was merged the one that stands for it, at the last."""
        return self.rolls.redirects(scope, as_of)

    def feedback(
        self, scope: str, targets: Sequence[str] | None = None, *, verdict: str | None = None
    ) -> list[Feedback]:
        """Return the feedback of the scope, on `targets` and of `verdict` when given."""
        return _feedback.find_feedback(self._database, scope, targets, verdict)

    def iterate_feedback(self, scope: str) -> Iterator[Feedback]:
        """Yield all feedback of the scope, by id."""
        return _feedback.iterate_feedback(self._database, scope)

    def corrected(self, scope: str, claim: str) -> list[str]:
        """Return the records that were corrected and whose folded words have this SHA-256."""
        return _corrected.find_corrected(self._database, scope, claim)

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
        """The sequence number of the newest change; 0 in an empty home.

        Numbers that a lost tail had used are never given again.
        """
        with self._database.lock:
            if self._seq is None:
                found = self._database.rows("SELECT coalesce(max(seq), 0) FROM changes")[0][0]
                self._seq = max([found, *(tail["expected"] for tail in self.lost_tails())])
            return self._seq

    def holds(self, seq: int) -> bool:
        """Tell whether what was built from the changes up to `seq` still describes this home.

        Not so when `seq` is newer than the home, or lies in a lost tail.
        """
        lost = any(tail["found"] < seq <= tail["expected"] for tail in self.lost_tails())
        return seq <= self.last_seq and not lost

    def changes_since(self, scope: str, seq: int) -> list[Change]:
        """Return the changes of the scope after `seq`, oldest first."""
        with self._database.lock:  # an index asks after each write, and then only for that
            if self._recent and self._recent[0].seq <= seq + 1:
                return [c for c in self._recent if c.seq > seq and c.scope == scope]
        query = """
            SELECT seq, scope, what, id, version FROM changes
            WHERE seq > ? AND scope = ? ORDER BY seq
        """
        return [Change(*row) for row in self._database.rows(query, [seq, scope])]

    def note(self, name: str) -> str | None:
        """Return what is noted about the home itself under a name, or None."""
        return self._database.meta(name)

    def keep_note(self, name: str, value: str) -> None:
        """Note something about the home itself; it is no change of anything kept."""
        with self._database.lock, self._database.transaction():
            self._database.set_meta(name, value)

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
        self._seq = max(expected, found)
        self._watermark.write(self._seq)
