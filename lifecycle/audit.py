"""What is open: in one turn, before anybody says that it is saved, and in a whole scope."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from shiyi.core.ids import check_turn
from shiyi.core.text import text_sha256
from shiyi.core.wording import command
from shiyi.store import Capture, Entry, Receipt, Store, Transaction
from shiyi.store.turns import CLOSING, closing_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenItem:
    """One thing that is not as it should be, and what to do about it.

    problem: no_receipt, not_captured, not_finalized, missing_capture, changed_words, broken_span,
    missing_record, missing_bytes, archived, no_text or suppressed. id: of what it concerns.
    """

    problem: str
    turn_id: str | None
    id: str | None
    since: str | None
    todo: str


def session_check(store: Store, scope: str, turn: str | None, *, stale_days: int) -> dict[str, Any]:
    """Look whether a turn, or else the newest, is kept and closed; the look is noted.

    Returns turn_id, verdict (pass, pass_with_warnings or fail), open and warnings. What is not
    known to be well is open. Turns of before that were left open longer than `stale_days` are
    warnings.
    """
    turn = None if turn is None else check_turn(turn)

    def act(transaction: Transaction) -> dict[str, Any]:
        newest = store.turns.newest(scope) if turn is None else None
        own = newest.turn_id if newest else turn
        if own is None:
            todo = "No turn was judged in this scope; run `shiyi preflight` with the words of one."
            return _verdict(None, [_item("no_receipt", None, None, None, todo)], [])
        items = list(open_of(store, scope, own))
        latest = transaction.now - timedelta(days=stale_days)
        stale = [
            one
            for one, since in _left_open(store, scope)
            if one.turn_id != own and since.created_at < latest
        ]
        found = _verdict(own, items, [*_doubts(store, scope, own), *stale])
        step = Entry(
            scope=scope, step="check", outcome=found["verdict"], turn_id=own,
            created_at=transaction.now,
        )  # fmt: skip
        transaction.add_steps(own, [step])
        return found

    return store.write(scope, act)


def pending(store: Store, scope: str) -> list[OpenItem]:
    """Return all that is left open in a scope, oldest first, each with its next step."""
    return [item for item, _ in _left_open(store, scope)]


def open_of(store: Store, scope: str, turn: str) -> Iterator[OpenItem]:
    """Yield what is open in a turn."""
    receipt = store.turns.receipt(scope, turn)
    entries = store.turns.of_turn(scope, turn)
    if receipt is None:
        yield _item(
            "no_receipt", turn, None, None, "Run `shiyi preflight` with the words of this turn."
        )
    taken = [one for one in entries if one.step == "capture" and one.capture_id]
    ids = [one.capture_id for one in taken if one.capture_id]
    captures = store.captures(scope, ids)
    if receipt is not None and receipt.required and not _has_message(receipt, captures, taken):
        yield _not_captured(receipt)
    for step in taken:
        capture = captures.get(step.capture_id or "")
        if capture is None:
            todo = "Restore a backup: words that were kept are not there."
            yield _item("missing_capture", turn, step.capture_id, step, todo)
            continue
        told = store.turns.of_capture(scope, capture.capture_id)
        closing = closing_of(told, capture.capture_id)
        if closing is None:
            yield _not_finalized(step)
        yield from _faults(store, scope, capture, step, closing)
    for step in entries:
        attachment = step.attachment_id if step.step == "attach" else None
        kept = store.attachments.find(scope, attachment) if attachment else None
        if attachment and (kept is None or not store.attachments.is_there(kept)):
            todo = "Restore a backup, or capture the file again."
            yield _item("missing_bytes", turn, attachment, step, todo)


def _has_message(receipt: Receipt, captures: dict[str, Capture], taken: list[Entry]) -> bool:
    said = {one.capture_id for one in taken if one.attachment_id is None}
    return any(
        one.capture_id in said and one.utf8_sha256 == receipt.utf8_sha256
        for one in captures.values()
    )


def _faults(
    store: Store, scope: str, capture: Capture, step: Entry, closing: Entry | None
) -> Iterator[OpenItem]:
    """Yield where words, quotes and records do not fit together; closing: what closed them."""
    id_, turn = capture.capture_id, step.turn_id
    if text_sha256(capture.text) != capture.utf8_sha256:
        yield _item("changed_words", turn, id_, step, "Restore a backup: words never change.")
    quotes = store.links_to(scope, [id_], rels=["quotes"]).get(id_, [])
    for link in quotes:
        if not 0 <= link.span_start < link.span_end <= len(capture.text):
            todo = f"Give {link.src} a quote that lies within the words."
            yield _item("broken_span", turn, link.src, step, todo)
    if closing is None or closing.outcome != "derived":
        return
    # A record that a person purged is missed by nobody.
    quoting = {link.src for link in quotes} | store.purged.among(scope, closing.records)
    for record in closing.records:
        if record not in quoting:
            todo = f"Tie it with {command('link', record, 'quotes', id_)}."
            yield _item("missing_record", turn, record, step, todo)


def _doubts(store: Store, scope: str, turn: str) -> Iterator[OpenItem]:
    """Yield what a person may want to know of a turn, though nothing of it is open."""
    receipt = store.turns.receipt(scope, turn)
    if receipt and receipt.asked == "skip" and receipt.reasons_suppressed:
        again = command("preflight", "--turn", turn, "--tier", "full")
        todo = f"It was skipped as asked; {again} with its words keeps it after all."
        yield _item("suppressed", turn, None, receipt, todo)
    entries = store.turns.of_turn(scope, turn)
    named = {id_ for one in entries if one.step in CLOSING for id_ in one.records}
    for id_, head in store.heads(scope, sorted(named)).items():
        if head.status == "archived":
            again = command("edit", id_, "--status", "active")
            todo = f"It is archived since; if it holds, {again}."
            yield _item("archived", turn, id_, receipt, todo)
    for step in entries:
        if step.step == "attach" and step.attachment_id:
            told = store.turns.of_attachment(scope, step.attachment_id)
            if not any(one.step == "capture" for one in told):
                read = command("capture", "--turn", turn, "--of", step.attachment_id)
                todo = f"Nothing of it is searched; {read} keeps a transcription or ocr of it."
                yield _item("no_text", turn, step.attachment_id, step, todo)


def _left_open(store: Store, scope: str) -> list[tuple[OpenItem, Receipt | Entry]]:
    """Return what is left open in a scope in the order in which it was begun."""
    found: list[tuple[OpenItem, Receipt | Entry]] = [
        (_not_captured(one), one) for one in store.open_turns.receipts(scope)
    ]
    found += [(_not_finalized(one), one) for one in store.open_turns.captures(scope)]
    return sorted(found, key=lambda pair: pair[1].seq)


def _not_captured(receipt: Receipt) -> OpenItem:
    todo = f"Capture its words: {command('capture', '--turn', receipt.turn_id)} with the same text."
    return _item("not_captured", receipt.turn_id, None, receipt, todo)


def _not_finalized(step: Entry) -> OpenItem:
    close = partial(command, "finalize", step.capture_id or "")
    todo = (
        f"Keep what it says with {command('add-record')}, then {close('derived')}; or, when "
        f"{command('probe')} shows that it is kept already, {close('no_derivation_needed')}."
    )
    return _item("not_finalized", step.turn_id, step.capture_id, step, todo)


def _item(
    problem: str, turn: str | None, id_: str | None, since: Receipt | Entry | None, todo: str
) -> OpenItem:
    at = None if since is None else since.created_at.isoformat()
    return OpenItem(problem=problem, turn_id=turn, id=id_, since=at, todo=todo)


def _verdict(turn: str | None, items: list[OpenItem], doubts: list[OpenItem]) -> dict[str, Any]:
    verdict = "fail" if items else "pass_with_warnings" if doubts else "pass"
    return {"turn_id": turn, "verdict": verdict, "open": _plain(items), "warnings": _plain(doubts)}


def _plain(items: list[OpenItem]) -> list[dict[str, Any]]:
    return [
        {
            "problem": one.problem, "turn_id": one.turn_id, "id": one.id, "since": one.since,
            "todo": one.todo,
        }
        for one in items
    ]  # fmt: skip
