"""What a turn holds: its receipt, its words, and so whether memories may be read under it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shiyi.core.errors import UsageError
from shiyi.core.ids import check_turn

if TYPE_CHECKING:
    from shiyi.store import Capture, Entry, Receipt, Store

VERBATIM = "verbatim"


def judged(store: "Store", scope: str, turn: str) -> "Receipt":
    """Return the receipt of a turn; raises UsageError when there is none."""
    receipt = store.turns.receipt(scope, turn)
    if receipt is None:
        raise UsageError(
            "This turn has no receipt; run `shiyi preflight` with its words first "
            "(`shiyi remember` does it by itself). Nothing was kept."
        )
    return receipt


def kept_before(
    store: "Store",
    scope: str,
    entries: "Iterable[Entry]",
    digest: str,
    *,
    fidelity: str = VERBATIM,
    of: str | None = None,
) -> "Capture | None":
    """Return the capture that one of these steps kept of the same words, or None."""
    wanted = ("capture", fidelity, of)
    ids = [e.capture_id for e in entries if (e.step, e.outcome, e.attachment_id) == wanted]
    found = store.captures(scope, [id_ for id_ in ids if id_ is not None])
    return next((one for one in found.values() if one.utf8_sha256 == digest), None)


def check_reading(store: "Store", scope: str, turn: str) -> None:
    """Raise UsageError unless memories may be read under a turn: what it wants kept is kept."""
    turn = check_turn(turn)
    receipt = store.turns.receipt(scope, turn)
    if receipt is None:
        raise UsageError(
            "Nothing is read under a turn that was not judged; run `shiyi preflight` first, or "
            "leave the turn out."
        )
    if not receipt.required:
        return
    digest = receipt.utf8_sha256
    if kept_before(store, scope, store.turns.of_turn(scope, turn), digest) is None:
        raise UsageError(
            "The words of this turn are not captured yet, and they come first; run "
            "`shiyi capture`, then ask again. For maintenance alone: --maintenance, which the "
            "trace will say."
        )
