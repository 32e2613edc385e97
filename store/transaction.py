"""One write: all of it is committed together, with the changes that the index follows."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from shiyi.core.errors import UsageError
from shiyi.core.ids import new_id
from shiyi.store import captures as _captures
from shiyi.store import corrected as _corrected
from shiyi.store import feedback as _feedback
from shiyi.store import links as _links
from shiyi.store import purge as _purge
from shiyi.store import records as _records
from shiyi.store import unlink as _unlink
from shiyi.store.attachments import Attachment, insert_attachment
from shiyi.store.database import Database, naive
from shiyi.store.rows import Capture, Change, Feedback, Link, Record
from shiyi.store.turns import Entry, Receipt, insert_entries, insert_receipt

_INSERT_CHANGES = """
    INSERT INTO changes (seq, scope, what, id, version, changed_at)
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?)
"""
SessionEnds = dict[tuple[str, str], str | None]  # (scope, session) → its newest capture


class Transaction:
    """What one write may do, all in one scope."""

    def __init__(
        self, database: Database, scope: str, now: datetime, session_ends: SessionEnds, start: int
    ) -> None:
        self.now = now
        self.scope = scope
        self.hashes: dict[str, str] = {}  # of the captures that this write added
        self._start = start  # the number of its first change
        self._database = database
        self._session_ends = session_ends
        self._changes: list[tuple[str, str, int]] = []  # what, id, version
        self._fresh: set[str] = set()

    def new_id(self) -> str:
        """Return a fresh id; what this write adds under it needs no look-up."""
        made = new_id()
        self._fresh.add(made)
        return made

    def add_captures(self, captures: Sequence[Capture]) -> set[str]:
        """Append captures; return the ids that were new. Ids already there are left alone.

        Raises UsageError when a SHA-256 is not that of the words.
        """
        self._check_scope(captures)
        added = _captures.insert_captures(self._database, self.scope, captures, self._fresh)
        for capture in added.values():
            self._changes.append(("capture", capture.capture_id, 1))
            self.hashes[capture.capture_id] = capture.utf8_sha256
            if capture.session_id is not None:
                self._session_ends[self.scope, capture.session_id] = capture.capture_id
        return set(added)

    def add_records(self, records: Sequence[Record]) -> None:
        """Append record versions.

        Raises ConflictError when a version is already there.
        """
        self._check_scope(records)
        _records.insert_records(self._database, records)
        self._changes += [("record", record.record_id, record.version) for record in records]

    def add_links(self, links: Sequence[Link]) -> int:
        """Append links and return how many were new; those already there are left alone."""
        self._check_scope(links)
        added = _links.insert_links(self._database, self.scope, links, self._fresh)
        self._changes += [("link", link.src, 0) for link in added]
        return len(added)

    def add_steps(
        self, name: str, entries: Sequence[Entry], receipt: Receipt | None = None
    ) -> None:
        """Append steps of a turn, and a version of its receipt, under one number of the feed.

        name: the turn, or the capture where there is none.
        """
        self._check_scope([*entries, *([receipt] if receipt else [])])
        seq = self.next_seq
        if receipt is not None:
            insert_receipt(self._database, replace(receipt, seq=seq))
        insert_entries(self._database, [replace(one, seq=seq) for one in entries])
        self._changes.append(("turn", name, receipt.version if receipt else 0))

    def add_attachment(self, attachment: Attachment) -> None:
        """Append an attachment whose bytes are in their place."""
        self._check_scope([attachment])
        insert_attachment(self._database, attachment)
        self._changes.append(("attachment", attachment.attachment_id, 1))

    def add_feedback(self, feedback: Sequence[Feedback]) -> int:
        """Append feedback and return how much was new; what is there already is left alone."""
        self._check_scope(feedback)
        added = _feedback.insert_feedback(self._database, self.scope, feedback)
        self._changes += [("feedback", one.feedback_id, 0) for one in added]
        return len(added)

    def note_corrected(self, claims: Sequence[tuple[str, str]]) -> None:
        """Note what was corrected, as (SHA-256 of its folded words, record), to know it again."""
        _corrected.insert_corrected(self._database, self.scope, claims)

    def purge(self, doomed: _purge.Doomed, tells: Callable[[str], bool]) -> None:
        """Delete everything about what is doomed, and put up tombstones.

        Reasons and notes of other things go as well when they tell of it.
        """
        _purge.delete(self._database, self.scope, doomed, self.now, tells)
        self._session_ends.clear()
        self._changes += [("purge", id_, 0) for id_ in doomed.ids]

    def unlink_since(self, seq: int, goes: Callable[[str, str, str], bool]) -> int:
        """Remove the links that came after a change, where `goes(src, rel, dst)`; return how many.

        They are kept aside, so that `relink_as_of` can bring them back.
        """
        found = _unlink.links_since(self._database, self.scope, seq)
        gone = [(placed, ends) for placed, ends in found if goes(*ends)]
        if gone:
            placed = [one for one, _ in gone]
            _unlink.keep_aside(self._database, self.scope, placed, self.next_seq)
            _unlink.remove(self._database, placed)
        self._changes += [("unlink", ends[0], 0) for _, ends in gone]
        return len(gone)

    def relink_as_of(self, seq: int) -> int:
        """Bring back the links that stood at a change and were removed since; return how many."""
        rows = _unlink.kept_aside(self._database, self.scope, seq)
        return self.add_links([
            Link(
                scope=self.scope, src=src, rel=rel, dst=dst, span_start=start, span_end=end,
                attrs=json.loads(attrs),
            )
            for src, rel, dst, start, end, attrs in rows
        ])  # fmt: skip

    def note(self, name: str, value: str) -> None:
        """Note something about the home itself."""
        self._database.set_meta(name, value)

    @property
    def next_seq(self) -> int:
        """The number of the next change."""
        return self._start + len(self._changes)

    def append_changes(self) -> list[Change]:
        """Append the changes and return them."""
        changes = [
            Change(seq, self.scope, *change)
            for seq, change in enumerate(self._changes, self._start)
        ]
        now = naive(self.now)
        self._database.insert(
            _INSERT_CHANGES, [(c.seq, c.scope, c.what, c.id, c.version, now) for c in changes]
        )
        return changes

    def _check_scope(
        self, rows: Sequence[Capture | Record | Link | Receipt | Entry | Attachment | Feedback]
    ) -> None:
        if any(row.scope != self.scope for row in rows):
            raise UsageError("What one write adds belongs to its one scope; nothing was changed.")
