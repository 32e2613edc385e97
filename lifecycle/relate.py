"""What is derived and how it belongs together: add-record and link, one write each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.core.ids import check_turn
from shiyi.lifecycle.claims import said_again
from shiyi.lifecycle.dates import basis_of
from shiyi.lifecycle.fitting import (
    check_attrs_said,
    check_new,
    check_shared,
    doubts_of,
    named_in_attrs,
)
from shiyi.lifecycle.held import judged
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.states import placed
from shiyi.lifecycle.ties import between, check_chain, quoted
from shiyi.lifecycle.write import head_of, new_record, record_fields, title_of
from shiyi.store import Entry, Link, Record, Store, Transaction


@dataclass(frozen=True, slots=True)
class Made:
    """A new record and all that is written with it."""

    record: Record
    links: list[Link]
    retired: list[Record]
    warnings: list[str]


def add_record(
    store: Store,
    scope: str,
    statement: Mapping[str, Any],
    quotes: Sequence[Quote],
    *,
    summary_only: bool = False,
    turn: str | None = None,
    allow_secret: bool = False,
    key: str | None = None,
) -> dict[str, Any]:
    """Keep a record with the words that it rests on, checked against their captures.

    The records that its attrs name are linked with it: the entities and events of a facet, whom a
    state is of, what speaks for and against a hypothesis. A named state takes its place in the
    chain of its values. The ledger of the turn names the record: of the turn given, else of the
    words that it quotes. Returns record_id, version, etag, links (how many), fidelity (sourced or
    summary_only, which follows from the quotes), turn_id, replaced (the states that hold no
    longer) and warnings, such as that it was corrected before.

    Raises UsageError unless there are quotes or it is said to be `summary_only`, and for a quote
    that does not stand in its capture, a source that nobody can read again, a turn that was not
    judged, a secret, attrs that do not fit the kind, or a date that is bad or that the words cannot
    bear; NotFoundError for a capture or a record that is not there.
    """
    check_attrs_said(statement.get("attrs") or {}, [one.capture for one in quotes])
    turn = None if turn is None else check_turn(turn)
    if bool(quotes) == summary_only:
        raise UsageError(
            "A record rests on words: give a quote, or say summary-only when there are none; not "
            "both."
        )
    check_secrets(dict(statement), allow=allow_secret)

    def act(transaction: Transaction) -> dict[str, Any]:
        new = made(store, scope, statement, quotes, transaction)
        own = turn or _turn_of(store, new.links)
        if own is not None:
            judged(store, scope, own)
        transaction.add_records([new.record, *new.retired])
        transaction.add_links(new.links)
        if own is not None:
            step = Entry(
                scope=scope, step="record", outcome=new.record.kind, turn_id=own,
                records=(new.record.record_id,), created_at=transaction.now,
            )  # fmt: skip
            transaction.add_steps(own, [step])
        return {
            "record_id": new.record.record_id, "version": 1, "etag": new.record.etag,
            "links": len(new.links), "fidelity": "summary_only" if summary_only else "sourced",
            "turn_id": own, "replaced": [one.record_id for one in new.retired],
            "warnings": new.warnings,
        }  # fmt: skip

    request = ["add-record", dict(statement), [_plain(one) for one in quotes], summary_only, turn]
    return store.write(scope, act, key=key, request=request)


def made(
    store: Store,
    scope: str,
    statement: Mapping[str, Any],
    quotes: Sequence[Quote],
    transaction: Transaction,
) -> Made:
    """Return a new record, checked, with all that is written with it; nothing is written yet."""
    columns = record_fields(statement)
    if "title" not in columns and "gist" not in columns:
        raise UsageError("A record has a title or a gist; give at least one.")
    columns.setdefault("gist", columns.get("title"))
    columns.setdefault("title", title_of(columns["gist"]))
    record = new_record(scope, columns, transaction, whole=True)
    check_new(record)
    words = quoted(store, record, quotes)
    warnings: list[str] = []
    if record.date_start is not None:
        captures = store.captures(scope, [one.dst for one in words])
        basis, warnings = basis_of(columns, statement.get("date_basis"), list(captures.values()))
        record = replace(record, date_basis=basis)
    named = named_in_attrs(store, record, record.attrs.keys())
    state = placed(store, record, transaction.now)
    warnings += [*said_again(store, record), *doubts_of(record)]
    return Made(state.record, [*words, *named, *state.links], state.retired, warnings)


def link(
    store: Store, scope: str, src: str, rel: str, dst: str, *, key: str | None = None
) -> dict[str, Any]:
    """Tie a record to another one, or to a capture that it quotes as a whole.

    Returns src, rel, dst and whether the link is new. The names are ids or names of a source.

    Raises NotFoundError when an end is not there, UsageError for a link of a record to itself, for
    an end of the wrong kind, for an event that the entities of a facet do not share, for what would
    go round in a circle, and for `supersedes`, which has more to it.
    """
    if rel == "supersedes":
        raise UsageError(
            "What holds instead of what is said by `shiyi supersede`, not by `shiyi link`."
        )
    if rel == "redirects_to":
        raise UsageError("Which entity stands for which is said by `shiyi entity merge`.")

    def act(transaction: Transaction) -> dict[str, Any]:
        source = head_of(store, scope, src)
        if rel == "quotes":
            made = quoted(store, source, [Quote(dst)])[0]
        else:
            target = head_of(store, scope, dst)
            made = between(source, rel, target)
            check_chain(store, made)
            if rel == "member_of" and target.attrs.get("entities"):
                check_shared(store, target, [source.record_id])
        added = transaction.add_links([made])
        return {"src": made.src, "rel": rel, "dst": made.dst, "added": bool(added)}

    return store.write(scope, act, key=key, request=["link", src, rel, dst])


def _turn_of(store: Store, links: Sequence[Link]) -> str | None:
    """Return the judged turn whose words a record quotes, the first if there are several."""
    for link in links:
        if link.rel == "quotes":
            steps = store.turns.of_capture(link.scope, link.dst)
            turn = next((one.turn_id for one in steps if one.step == "capture"), None)
            if turn is not None:
                return turn
    return None


def _plain(quote: Quote) -> list[Any]:
    return [quote.capture, quote.text, quote.start, quote.end]
