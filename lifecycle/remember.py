"""Remember: the whole way of a turn in one write, from its receipt to its closing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shiyi.core.errors import ConflictError
from shiyi.core.ids import check_turn, new_id
from shiyi.core.text import check_text, text_sha256
from shiyi.lifecycle.claims import said_again
from shiyi.lifecycle.dates import basis_of
from shiyi.lifecycle.fitting import check_attrs_said, check_new
from shiyi.lifecycle.gate import judge
from shiyi.lifecycle.held import kept_before
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.turn import take, weigh
from shiyi.lifecycle.write import MAX_STATEMENT, Words, new_record, record_fields, title_of
from shiyi.store import Capture, Entry, Link, Record, Store, Transaction
from shiyi.store.turns import closing_of

_WORDS_ONLY = "words only"
_TOO_LONG = "too long for a record without a gist"


def remember(
    store: Store,
    scope: str,
    words: Words,
    statement: Mapping[str, Any],
    *,
    words_only: bool = False,
    allow_secret: bool = False,
    key: str | None = None,
) -> dict[str, Any]:
    """Keep the words, and unless `words_only` a record that quotes them, and close the turn.

    The statement gives the record's fields; what it leaves out comes from the words. Words over
    MAX_STATEMENT bytes are kept without a record unless the statement has a gist of its own.
    Without a turn they get one of their own. Words that the turn holds already are not kept again.
    Returns capture_id, record_id (or None), utf8_sha256, bytes, turn_id and warnings.

    Raises UsageError for blank words, lone surrogates, a secret, a bad date or a statement that is
    too long; ConflictError when the turn holds other words, or a record already that a statement
    would not change.
    """
    check_text(words.text)
    check_secrets(words.text, dict(statement), allow=allow_secret)
    size = len(words.text.encode("utf-8"))
    derive = not words_only and (size <= MAX_STATEMENT or statement.get("gist") is not None)
    verdict, digest = judge(words.text), text_sha256(words.text)
    given = check_turn(words.turn) if words.turn is not None else None

    def act(transaction: Transaction) -> dict[str, Any]:
        turn = given or new_id()
        before = store.turns.receipt(scope, turn) if given else None
        receipt = weigh(
            transaction, before, turn=turn, digest=digest, verdict=verdict, asked="full"
        )
        entries = store.turns.of_turn(scope, turn) if given else []
        kept = kept_before(store, scope, entries, digest)
        steps: list[Entry] = []
        warnings: list[str] = []
        if kept is None:
            kept, step = take(store, transaction, replace(words, turn=turn))
            steps.append(step)
        closed = closing_of(entries, kept.capture_id)
        record_id = closed.records[0] if closed and closed.records else None
        if closed is None or (derive and record_id is None):
            if derive:
                record, warnings = _derived(kept, statement, transaction)
                record_id = record.record_id
                warnings += said_again(store, record)
            steps.append(_closing(kept, turn, record_id, words_only=words_only))
        elif statement:
            raise ConflictError(
                "These words have a record already; edit that one. Nothing was changed."
            )
        if steps or receipt is not before:
            transaction.add_steps(turn, steps, None if receipt is before else receipt)
        return {
            "capture_id": kept.capture_id, "record_id": record_id, "utf8_sha256": digest,
            "bytes": size, "turn_id": turn, "warnings": warnings,
        }  # fmt: skip

    request = ["remember", _plain(words), dict(statement), words_only]
    return store.write(scope, act, key=key, request=request)


def _closing(capture: Capture, turn: str, record_id: str | None, *, words_only: bool) -> Entry:
    return Entry(
        scope=capture.scope,
        step="finalize",
        outcome="derived" if record_id else "no_derivation_needed",
        turn_id=turn,
        capture_id=capture.capture_id,
        records=(record_id,) if record_id else (),
        reason=None if record_id else _WORDS_ONLY if words_only else _TOO_LONG,
        created_at=capture.recorded_at,
    )


def _derived(
    capture: Capture, statement: Mapping[str, Any], transaction: Transaction
) -> tuple[Record, list[str]]:
    """Add the record that quotes a capture as a whole; return it and what is doubtful in it."""
    given = record_fields(statement)
    made = {
        "kind": "fact",
        "title": title_of(given.get("gist", capture.text)),
        "gist": capture.text.strip(),
    }
    check_attrs_said(given.get("attrs", {}))
    record = new_record(capture.scope, {**made, **given}, transaction)
    check_new(record)
    warnings: list[str] = []
    if record.date_start is not None:
        basis, warnings = basis_of(given, None, [capture])
        record = replace(record, date_basis=basis)
    quote = Link(
        scope=record.scope,
        src=record.record_id,
        rel="quotes",
        dst=capture.capture_id,
        span_start=0,
        span_end=len(capture.text),
    )
    transaction.add_records([record])
    transaction.add_links([quote])
    return record, warnings


def _plain(words: Words) -> list[Any]:
    return [
        words.text, words.speaker, words.session, words.turn, words.said_at, words.origin,
    ]  # fmt: skip
