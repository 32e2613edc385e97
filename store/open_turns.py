"""What is open in the turns of a scope: words that were wanted, and captures that nothing closed.

Read once, and then turn by turn as the feed names them, so that a look costs what is open and what
changed, however long the ledger is.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from shiyi.store.database import Database
from shiyi.store.rows import Change
from shiyi.store.turns import Entry, Receipt, Turns, closing_of

_SCOPES = 16  # kept
_FEW = 500  # turns that may have changed; for more of them all is read again


@dataclass(slots=True)
class _Open:
    """As of a change: the steps of the captures that are open, by id, and receipts, by turn."""

    seq: int
    captures: dict[str, list[Entry]] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)


class OpenTurns:
    """Looks what is open."""

    def __init__(
        self,
        database: Database,
        turns: Turns,
        last_seq: Callable[[], int],
        changes_since: Callable[[str, int], list[Change]],
    ) -> None:
        """Take the turns, and how to read the feed."""
        self._lock = database.lock
        self._turns = turns
        self._last_seq = last_seq
        self._changes_since = changes_since
        self._kept: dict[str, _Open] = {}

    def captures(self, scope: str) -> list[Entry]:
        """Return the capture steps that nothing has closed, oldest first."""
        with self._lock:
            steps = [step for own in self._now(scope).captures.values() for step in own]
        return sorted(steps, key=lambda step: step.seq)

    def receipts(self, scope: str) -> list[Receipt]:
        """Return the receipts whose words are wanted and not captured, oldest first."""
        with self._lock:
            found = list(self._now(scope).receipts.values())
        return sorted(found, key=lambda receipt: receipt.seq)

    def forget(self) -> None:
        """Forget what may have been seen of a write that was never committed."""
        self._kept.clear()

    def _now(self, scope: str) -> _Open:
        known, last = self._kept.pop(scope, None), self._last_seq()
        if known is not None and known.seq != last:
            changes = self._changes_since(scope, known.seq)
            named = {one.id for one in changes if one.what == "turn"}
            if len(named) > _FEW or any(one.what == "purge" for one in changes):
                known = None
            else:
                known.seq = last
                for name in named:
                    self._look(scope, name, known)
        if known is None:
            known = _Open(last)
            for step in self._turns.open_captures(scope):
                known.captures.setdefault(step.capture_id or "", []).append(step)
            known.receipts = {one.turn_id: one for one in self._turns.open_receipts(scope)}
        self._kept[scope] = known
        while len(self._kept) > _SCOPES:
            del self._kept[next(iter(self._kept))]
        return known

    def _look(self, scope: str, name: str, known: _Open) -> None:
        """Look again at what is open in a turn, or of a capture that is of none."""
        entries = self._turns.of_turn(scope, name)
        for id_ in {name, *(one.capture_id for one in entries if one.capture_id)}:
            told = self._turns.of_capture(scope, id_)
            taken = [one for one in told if one.step == "capture"]
            known.captures.pop(id_, None)
            if taken and closing_of(told, id_) is None:
                known.captures[id_] = taken
        known.receipts.pop(name, None)
        wanted = [one for one in self._turns.receipts(scope, name) if one.required]
        if wanted and not any(one.step == "capture" and not one.attachment_id for one in entries):
            known.receipts[name] = wanted[-1]
