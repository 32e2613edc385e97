"""Turns: the receipts that judged them, and the ledger of what was done in each, append-only.

What was written together has one number, that of its change in the feed: it is the order of steps,
whatever the clock says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from shiyi.store.database import Database, naive, utc

Tier = Literal["full", "skip"]
Step = Literal["capture", "attach", "record", "finalize", "repair", "check"]
CLOSING: tuple[Step, ...] = ("finalize", "repair")
_RECEIPT = (
    "scope, turn_id, version, seq, asked, tier, signal, reasons, reasons_suppressed, "
    "utf8_sha256, created_at"
)
_ENTRY = (
    "scope, seq, step, outcome, turn_id, capture_id, attachment_id, records, trace_id, reason, "
    "created_at"
)
_INSERT_RECEIPT = f"INSERT INTO receipts ({_RECEIPT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_INSERT_ENTRIES = f"""
    INSERT INTO ledger ({_ENTRY})
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?),
           unnest(?), unnest(?), unnest(?)
"""
# By the name or id alone: with a second condition DuckDB reads the whole table, not the index.
_RECEIPTS = f"SELECT {_RECEIPT} FROM receipts WHERE turn_id = ? ORDER BY version"  # noqa: S608
_NEWEST = f"SELECT {_RECEIPT} FROM receipts WHERE scope = ? ORDER BY seq DESC LIMIT 1"  # noqa: S608
_ALL_RECEIPTS = f"SELECT {_RECEIPT} FROM receipts WHERE scope = ? ORDER BY seq"  # noqa: S608
_ALL_ENTRIES = f"SELECT {_ENTRY} FROM ledger WHERE scope = ? ORDER BY seq, rowid"  # noqa: S608
_OF_TURN = f"""
    SELECT {_ENTRY} FROM ledger WHERE turn_id = ? ORDER BY seq, rowid
"""  # noqa: S608
_OF_CAPTURE = f"""
    SELECT {_ENTRY} FROM ledger WHERE capture_id = ? ORDER BY seq, rowid
"""  # noqa: S608
_OF_ATTACHMENT = f"""
    SELECT {_ENTRY} FROM ledger WHERE attachment_id = ? ORDER BY seq, rowid
"""  # noqa: S608
_PAGE = f"""
    SELECT {_ENTRY} FROM ledger WHERE scope = ? ORDER BY seq DESC, rowid DESC LIMIT ?
"""  # noqa: S608
_OPEN_CAPTURES = f"""
    SELECT {_ENTRY} FROM ledger AS taken
    WHERE ($scope IS NULL OR scope = $scope) AND step = 'capture'
        AND NOT EXISTS (
            SELECT 1 FROM ledger AS closed WHERE closed.scope = taken.scope
                AND closed.capture_id = taken.capture_id AND closed.step IN ('finalize', 'repair')
        )
    ORDER BY seq, rowid
"""  # noqa: S608
# The newest version of a receipt never asks for less than one before it.
_OPEN_RECEIPTS = f"""
    SELECT {_RECEIPT} FROM receipts AS receipt
    WHERE ($scope IS NULL OR scope = $scope) AND tier = 'full'
        AND NOT EXISTS (
            SELECT 1 FROM ledger AS taken WHERE taken.scope = receipt.scope
                AND taken.turn_id = receipt.turn_id AND taken.step = 'capture'
                AND taken.attachment_id IS NULL
        )
    QUALIFY version = max(version) OVER (PARTITION BY scope, turn_id) ORDER BY seq
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One version of how a turn was judged; of its words it has the SHA-256 only.

    asked is the tier that was asked for: auto, full or skip. seq is given by the write.
    """

    scope: str
    turn_id: str
    version: int
    asked: str
    tier: Tier
    signal: str
    reasons: tuple[str, ...]
    reasons_suppressed: tuple[str, ...]
    utf8_sha256: str
    created_at: datetime
    seq: int = 0

    @property
    def required(self) -> bool:
        """Whether the words have to be captured and closed before anything else is done."""
        return self.tier == "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One step that was done. seq is given by the write.

    outcome: of a capture its fidelity, of what closes it `derived` or `no_derivation_needed`, of a
    check its verdict. attachment_id of a capture: whose words it holds.
    """

    scope: str
    step: Step
    outcome: str
    turn_id: str | None = None
    capture_id: str | None = None
    attachment_id: str | None = None
    records: tuple[str, ...] = ()
    trace_id: str | None = None
    reason: str | None = None
    created_at: datetime
    seq: int = 0


def closing_of(entries: Sequence[Entry], capture_id: str) -> Entry | None:
    """Return the step that closed a capture last, or None."""
    closing = (e for e in reversed(entries) if e.step in CLOSING and e.capture_id == capture_id)
    return next(closing, None)


class Turns:
    """Reads the turns of a home."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receipts(self, scope: str, turn_id: str) -> list[Receipt]:
        """Return the versions of a turn's receipt, oldest first; empty when it has none."""
        rows = self._database.rows(_RECEIPTS, [turn_id])
        return [_receipt(row) for row in rows if row[0] == scope]

    def receipt(self, scope: str, turn_id: str) -> Receipt | None:
        """Return the receipt of a turn as it stands, or None."""
        return next(reversed(self.receipts(scope, turn_id)), None)

    def newest(self, scope: str) -> Receipt | None:
        """Return the receipt that was written last, or None."""
        return next(map(_receipt, self._database.rows(_NEWEST, [scope])), None)

    def of_turn(self, scope: str, turn_id: str) -> list[Entry]:
        """Return the steps of a turn, in order."""
        return self._steps(_OF_TURN, scope, turn_id)

    def of_capture(self, scope: str, capture_id: str) -> list[Entry]:
        """Return the steps of a capture, in order."""
        return self._steps(_OF_CAPTURE, scope, capture_id)

    def of_attachment(self, scope: str, attachment_id: str) -> list[Entry]:
        """Return the steps of an attachment, in order."""
        return self._steps(_OF_ATTACHMENT, scope, attachment_id)

    def last(self, scope: str, limit: int) -> list[Entry]:
        """Return the last steps of a scope, oldest first."""
        return [_entry(row) for row in self._database.rows(_PAGE, [scope, limit])][::-1]

    def iterate(self, scope: str) -> Iterator[Receipt | Entry]:
        """Yield every receipt of a scope and then every step, each in order."""
        for batch in self._database.batches(_ALL_RECEIPTS, [scope]):
            yield from map(_receipt, batch)
        for batch in self._database.batches(_ALL_ENTRIES, [scope]):
            yield from map(_entry, batch)

    def open_captures(self, scope: str | None = None) -> list[Entry]:
        """Return the capture steps of a scope, or all, that nothing has closed, oldest first.

        It reads the whole ledger; `open_turns` follows what changes.
        """
        return [_entry(row) for row in self._database.rows(_OPEN_CAPTURES, {"scope": scope})]

    def open_receipts(self, scope: str | None = None) -> list[Receipt]:
        """Return the receipts of a scope, or all, whose words are wanted and not captured."""
        return [_receipt(row) for row in self._database.rows(_OPEN_RECEIPTS, {"scope": scope})]

    def _steps(self, query: str, scope: str, of: str) -> list[Entry]:
        return [_entry(row) for row in self._database.rows(query, [of]) if row[0] == scope]


def insert_receipt(database: Database, receipt: Receipt) -> None:
    """Append a version of a receipt."""
    database.rows(
        _INSERT_RECEIPT,
        [
            receipt.scope, receipt.turn_id, receipt.version, receipt.seq, receipt.asked,
            receipt.tier, receipt.signal, list(receipt.reasons), list(receipt.reasons_suppressed),
            receipt.utf8_sha256, naive(receipt.created_at),
        ],
    )  # fmt: skip


def insert_entries(database: Database, entries: Sequence[Entry]) -> None:
    """Append steps."""
    database.insert(
        _INSERT_ENTRIES,
        [
            (
                one.scope, one.seq, one.step, one.outcome, one.turn_id, one.capture_id,
                one.attachment_id, list(one.records), one.trace_id, one.reason,
                naive(one.created_at),
            )
            for one in entries
        ],
    )  # fmt: skip


def _receipt(row: tuple[Any, ...]) -> Receipt:
    return Receipt(
        scope=row[0], turn_id=row[1], version=row[2], seq=row[3], asked=row[4], tier=row[5],
        signal=row[6], reasons=tuple(row[7]), reasons_suppressed=tuple(row[8]),
        utf8_sha256=row[9], created_at=utc(row[10]),
    )  # fmt: skip


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry(
        scope=row[0], seq=row[1], step=row[2], outcome=row[3], turn_id=row[4], capture_id=row[5],
        attachment_id=row[6], records=tuple(row[7]), trace_id=row[8], reason=row[9],
        created_at=utc(row[10]),
    )  # fmt: skip
