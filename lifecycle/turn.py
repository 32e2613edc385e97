"""The way in: a turn is judged, and its words are kept as they were judged, before all else."""

from dataclasses import replace
from typing import Any, Literal

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import ConflictError, NotFoundError, UsageError
from shiyi.core.ids import check_turn
from shiyi.core.text import check_text, text_sha256
from shiyi.lifecycle.gate import Verdict, judge
from shiyi.lifecycle.held import VERBATIM, judged, kept_before
from shiyi.lifecycle.recalled import refuse_recalled
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.write import Words
from shiyi.store import Capture, Entry, Receipt, Store, Transaction

Asked = Literal["auto", "full", "skip"]
Spoken = Literal["verbatim", "transcription", "ocr"]
_ASKED_FOR = "asked: full"
_ASKED_SKIP = "asked: skip"


def preflight(
    store: Store, scope: str, text: str, turn: str, *, tier: Asked = "auto", key: str | None = None
) -> dict[str, Any]:
    """Judge the words of a turn and return its receipt, which holds none of them.

    A tier is raised at once, by a new version of the receipt, and never lowered. Returns turn_id,
    version, required, tier, signal, reasons, reasons_suppressed, sha256 and warnings.

    Raises ConflictError when the turn was judged with other words, UsageError for blank words or a
    name that no turn has, or words that no capture could keep, since recall showed them.
    """
    refuse_recalled(text)
    turn, digest = check_turn(turn), text_sha256(check_text(text))
    verdict = judge(text)

    def act(transaction: Transaction) -> dict[str, Any]:
        before = store.turns.receipt(scope, turn)
        receipt = weigh(transaction, before, turn=turn, digest=digest, verdict=verdict, asked=tier)
        if receipt is not before:
            transaction.add_steps(turn, [], receipt)
        return _told(receipt, tier)

    return store.write(scope, act, key=key, request=["preflight", turn, digest, tier])


def weigh(
    transaction: Transaction,
    before: Receipt | None,
    *,
    turn: str,
    digest: str,
    verdict: Verdict,
    asked: Asked,
) -> Receipt:
    """Return the receipt that a turn gets, or the one before when nothing changes.

    Raises ConflictError when the turn was judged with other words.
    """
    if before is not None and before.utf8_sha256 != digest:
        raise ConflictError(
            "This turn was judged with other words, which stay; give each message a turn of its "
            "own. Nothing was changed."
        )
    wanted = verdict.tier if asked == "auto" else asked
    raised = wanted == "full" or (before is not None and before.required)
    reasons, suppressed = tuple(verdict.reasons), tuple(verdict.suppressed)
    if raised and verdict.tier == "skip":
        reasons = (_ASKED_FOR,)
    elif not raised and verdict.tier == "full":
        reasons, suppressed = (_ASKED_SKIP,), reasons + suppressed
    if before is not None:
        if before.required or not raised:
            return before
        suppressed = before.reasons_suppressed + suppressed  # what was put aside stays known
    return Receipt(
        scope=transaction.scope,
        turn_id=turn,
        version=before.version + 1 if before else 1,
        asked=asked,
        tier="full" if raised else "skip",
        signal=verdict.signal,
        reasons=reasons,
        reasons_suppressed=tuple(dict.fromkeys(suppressed)),
        utf8_sha256=digest,
        created_at=transaction.now,
    )


def capture(
    store: Store,
    scope: str,
    words: Words,
    *,
    fidelity: Spoken = "verbatim",
    of: str | None = None,
    allow_secret: bool = False,
    key: str | None = None,
) -> dict[str, Any]:
    """Keep the words of a judged turn byte for byte; again, return what was kept first.

    A transcription or the words of a picture are a capture of their own, `of` the attachment that
    they were read from. Returns turn_id, capture_id, utf8_sha256, bytes, fidelity, new, warnings.

    Raises UsageError when the turn was not judged, when the words are not the ones judged, or for a
    secret; NotFoundError for an attachment that is not there.
    """
    turn, digest = check_turn(words.turn or ""), text_sha256(check_text(words.text))
    check_secrets(words.text, allow=allow_secret)
    if (of is None) != (fidelity == VERBATIM):
        raise UsageError(
            "A transcription or ocr is of an attachment, and what was said is not: give both "
            "fidelity and of, or neither."
        )
    if words.said_at is not None:
        parse_timestamp(words.said_at)
    words = replace(words, turn=turn)

    def act(transaction: Transaction) -> dict[str, Any]:
        receipt = judged(store, scope, turn)
        if of is None and receipt.utf8_sha256 != digest:
            raise UsageError(
                "These are not the words that the turn was judged with; give the same text, byte "
                "for byte, or a new turn. Nothing was kept."
            )
        if of is not None and store.attachments.find(scope, of) is None:
            raise NotFoundError(f"There is no attachment {of} in the scope {scope}.")
        entries = store.turns.of_turn(scope, turn)
        kept = kept_before(store, scope, entries, digest, fidelity=fidelity, of=of)
        made = kept
        if made is None:
            made, step = take(store, transaction, words, fidelity=fidelity, of=of)
            transaction.add_steps(turn, [step])
        return {
            "turn_id": turn, "capture_id": made.capture_id, "utf8_sha256": digest,
            "bytes": len(words.text.encode()), "fidelity": fidelity, "new": kept is None,
            "warnings": _otherwise(kept, words),
        }  # fmt: skip

    request = [
        "capture", turn, digest, words.speaker, words.session, words.said_at, fidelity, of,
    ]  # fmt: skip
    return store.write(scope, act, key=key, request=request)


def _otherwise(kept: Capture | None, words: Words) -> list[str]:
    """Return what a repeat says otherwise than the first time, which stays."""
    if kept is None or (kept.speaker, kept.session_id) == (words.speaker, words.session):
        return []
    return ["These words are kept already, with the speaker and the session of the first time."]


def take(
    store: Store,
    transaction: Transaction,
    words: Words,
    *,
    fidelity: str = VERBATIM,
    of: str | None = None,
    source_path: str | None = None,
) -> tuple[Capture, Entry]:
    """Add the words as a new capture, and return it with its step, which is still to be added."""
    scope = transaction.scope
    said_at = parse_timestamp(words.said_at) if words.said_at else transaction.now.astimezone()
    made = Capture(
        scope=scope,
        capture_id=transaction.new_id(),
        text=words.text,
        utf8_sha256=text_sha256(words.text),
        recorded_at=transaction.now,
        captured_at=said_at,
        speaker=words.speaker,
        session_id=words.session,
        turn_id=words.turn,
        previous_id=store.last_of_session(scope, words.session) if words.session else None,
        origin=words.origin,
        fidelity=fidelity,
        source_path=source_path,
        attrs={} if of is None else {"attachment": of},
    )
    transaction.add_captures([made])
    step = Entry(
        scope=scope, step="capture", outcome=fidelity, turn_id=words.turn,
        capture_id=made.capture_id, attachment_id=of, created_at=transaction.now,
    )  # fmt: skip
    return made, step


def _told(receipt: Receipt, asked: Asked) -> dict[str, Any]:
    warnings = []
    if asked == "skip" and receipt.required:
        warnings.append("The turn stays full, as it was judged before; a tier is never lowered.")
    elif asked == "skip" and receipt.reasons_suppressed:
        warnings.append("It was skipped as asked, though there are reasons to keep it.")
    return {
        "turn_id": receipt.turn_id, "version": receipt.version, "required": receipt.required,
        "tier": receipt.tier, "signal": receipt.signal, "reasons": list(receipt.reasons),
        "reasons_suppressed": list(receipt.reasons_suppressed), "sha256": receipt.utf8_sha256,
        "warnings": warnings,
    }  # fmt: skip
