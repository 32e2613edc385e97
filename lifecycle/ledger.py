"""The ledger, for people: its steps, what it mends by itself, and one turn replayed."""

from collections.abc import Mapping, Sequence
from typing import Any

from shiyi.core.ids import check_turn
from shiyi.lifecycle.audit import OpenItem, open_of, pending
from shiyi.store import Entry, Receipt, Store, Transaction

_SNIPPET = 60  # characters of a capture
_SAYING = ("capture", "attach")
_REPAIRED = "repaired: records quote it"


def entries_of(
    store: Store, scope: str, *, turn: str | None, capture_id: str | None, limit: int
) -> list[Entry]:
    """Return the last steps of a turn, a capture or the scope, oldest first."""
    if turn is None and capture_id is None:
        return store.turns.last(scope, limit)
    if turn is not None:
        found = store.turns.of_turn(scope, check_turn(turn))
        found = [one for one in found if capture_id in {None, one.capture_id}]
    else:
        found = store.turns.of_capture(scope, capture_id or "")
    return found[-limit:]


def repair(
    store: Store, scope: str, *, turn: str | None, capture_id: str | None, key: str | None
) -> dict[str, Any]:
    """Close the captures that records quote, and name what cannot be closed without somebody.

    Returns repaired (ids of captures) and left (open items).
    """
    turn = None if turn is None else check_turn(turn)

    def is_meant(turn_id: str | None, id_: str | None) -> bool:
        return turn in {None, turn_id} and capture_id in {None, id_}

    def act(transaction: Transaction) -> dict[str, Any]:
        taken = [
            one for one in store.open_turns.captures(scope)
            if one.capture_id and is_meant(one.turn_id, one.capture_id)
        ]  # fmt: skip
        ids = [one.capture_id for one in taken if one.capture_id]
        quotes = store.links_to(scope, ids, rels=["quotes"])
        closed = [
            Entry(
                scope=scope, step="repair", outcome="derived", turn_id=one.turn_id,
                capture_id=one.capture_id, reason=_REPAIRED, created_at=transaction.now,
                records=tuple(dict.fromkeys(k.src for k in quotes[one.capture_id])),
            )
            for one in taken if one.capture_id in quotes
        ]  # fmt: skip
        by_turn: dict[str, list[Entry]] = {}
        for one in closed:
            by_turn.setdefault(one.turn_id or str(one.capture_id), []).append(one)
        for name, steps in by_turn.items():  # so that the feed names every turn
            transaction.add_steps(name, steps)
        repaired = [one.capture_id for one in closed]
        left = [one for one in _left(store, scope, turn, capture_id) if one.id not in repaired]
        return {
            "repaired": repaired,
            "left": [{name: getattr(one, name) for name in one.__slots__} for one in left],
        }

    return store.write(scope, act, key=key, request=["ledger", turn, capture_id])


def _left(store: Store, scope: str, turn: str | None, capture_id: str | None) -> list[OpenItem]:
    items = pending(store, scope) if turn is None else list(open_of(store, scope, turn))
    return [one for one in items if capture_id in {None, one.id}]


def timeline(
    store: Store, scope: str, turn: str, traces: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return what happened in a turn, in order: by the number of each write, never by a clock.

    traces: those of the questions that were asked under the turn; each stands after the newest
    write that it saw. Every step has seq, at, step, outcome, id, note, ids and trace.
    """
    turn = check_turn(turn)
    steps = [(one.seq, 0, _of_receipt(one)) for one in store.turns.receipts(scope, turn)]
    entries = store.turns.of_turn(scope, turn)
    notes = _notes(store, scope, entries)
    steps += [(one.seq, 0, _of_entry(one, notes)) for one in entries]
    steps += [(one["engine"]["sequence"], 1, _of_trace(one)) for one in traces]
    return [told for _, _, told in sorted(steps, key=lambda step: step[:2])]


def _of_receipt(receipt: Receipt) -> dict[str, Any]:
    note = ", ".join(receipt.reasons)
    if receipt.reasons_suppressed:
        note += f" (put aside: {', '.join(receipt.reasons_suppressed)})"
    at = receipt.created_at.isoformat()
    return _step(receipt.seq, at, "preflight", receipt.tier, note=note.strip())


def _of_entry(entry: Entry, notes: Mapping[str, str]) -> dict[str, Any]:
    id_ = entry.capture_id or entry.attachment_id
    said = notes.get(id_ or "", "") if entry.step in _SAYING else ""
    return _step(
        entry.seq, entry.created_at.isoformat(), entry.step, entry.outcome, id=id_,
        note=entry.reason or said, ids=list(entry.records), trace=entry.trace_id,
    )  # fmt: skip


def _of_trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    return _step(
        trace["engine"]["sequence"], trace["at"], trace["operation"], trace["outcome"],
        note="for maintenance" if trace.get("maintenance") else "",
        ids=list(trace["chosen"]), trace=trace["id"],
    )  # fmt: skip


def _step(seq: int, at: str, step: str, outcome: str, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"id": None, "note": "", "ids": [], "trace": None}
    return {"seq": seq, "at": at, "step": step, "outcome": outcome, **told, **more}


def _notes(store: Store, scope: str, entries: Sequence[Entry]) -> dict[str, str]:
    """Return the beginning of the words of each capture, and the name of each attachment."""
    ids = [one.capture_id for one in entries if one.capture_id]
    found = {}
    for id_, capture in store.captures(scope, ids).items():
        text = " ".join(capture.text[: 2 * _SNIPPET].split())
        found[id_] = text if len(text) <= _SNIPPET else f"{text[: _SNIPPET - 1]}…"
    for entry in entries:
        if entry.step == "attach" and entry.attachment_id:
            attachment = store.attachments.find(scope, entry.attachment_id)
            found[entry.attachment_id] = attachment.name if attachment else ""
    return found
