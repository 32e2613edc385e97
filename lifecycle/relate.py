"""What is derived and how it belongs together: add-record and link, one write each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.ids import check_turn
from shiyi.indexer.fold import fold
from shiyi.lifecycle.claims import said_again
from shiyi.lifecycle.dates import basis_of
from shiyi.lifecycle.held import judged
from shiyi.lifecycle.names import record_id_of
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.states import placed
from shiyi.lifecycle.ties import between, quoted
from shiyi.lifecycle.write import head_of, new_record, record_fields, title_of
from shiyi.store import Entry, Link, Record, Store, Transaction
from shiyi.store.shapes import REDIRECT, check_beginning, references_of

# The link that stands for a record named in a field of attrs: its relation, and whether it leads
# from the named record to the one that names it.
_STANDS_FOR = {
    "entities": ("mentions", False),
    "between": ("mentions", False),
    "events": ("member_of", True),
    "of": ("about", False),
    "supports": ("supports", True),
    "contradicts": ("contradicts", True),
}
# What is no source: nobody can read it again.
_CONVERSATION = frozenset({
    "conversation", "the conversation", "this conversation", "current conversation",
    "the current conversation", "chat", "this chat", "the current chat", "当前对话", "當前對話",
    "本次对话", "本次對話", "这次对话", "這次對話", "此对话", "此對話", "对话", "對話",
})  # fmt: skip
_HAPPENED = ("event", "experience")
_NOBODY = frozenset({
    "他", "她", "它", "牠", "祂", "ta", "他们", "她们", "它们", "牠们", "有人", "某人", "某个人",
    "那个人", "这个人", "对方", "谁", "he", "she", "it", "they", "him", "her", "them", "someone",
    "somebody",
})  # fmt: skip


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
    _check_sources(statement, quotes)
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
    check_beginning(record.kind, record.attrs)
    _check_somebody(record)
    words = quoted(store, record, quotes)
    warnings: list[str] = []
    if record.date_start is not None:
        captures = store.captures(scope, [one.dst for one in words])
        basis, warnings = basis_of(columns, statement.get("date_basis"), list(captures.values()))
        record = replace(record, date_basis=basis)
    named = _named_in_attrs(store, record)
    if record.kind == "facet":
        _check_shared(store, record)
    state = placed(store, record, transaction.now)
    warnings += said_again(store, record)
    return Made(state.record, [*words, *named, *state.links], state.retired, warnings)


def link(
    store: Store, scope: str, src: str, rel: str, dst: str, *, key: str | None = None
) -> dict[str, Any]:
    """Tie a record to another one, or to a capture that it quotes as a whole.

    Returns src, rel, dst and whether the link is new. The names are ids or names of a source.

    Raises NotFoundError when an end is not there, UsageError for a link of a record to itself, for
    an end of the wrong kind, and for `supersedes`, which has more to it.
    """
    if rel == "supersedes":
        raise UsageError("What holds instead of what is said by supersede, not by link.")
    if rel == "redirects_to":
        raise UsageError("Which entity stands for which is said by entity merge, not by link.")

    def act(transaction: Transaction) -> dict[str, Any]:
        source = head_of(store, scope, record_id_of(scope, src))
        made = (
            quoted(store, source, [Quote(dst)])[0]
            if rel == "quotes"
            else between(source, rel, head_of(store, scope, record_id_of(scope, dst)))
        )
        added = transaction.add_links([made])
        return {"src": made.src, "rel": rel, "dst": made.dst, "added": bool(added)}

    return store.write(scope, act, key=key, request=["link", src, rel, dst])


def _check_sources(statement: Mapping[str, Any], quotes: Sequence[Quote]) -> None:
    """Raise UsageError for a source that nobody can read again, and for a fidelity typed in."""
    attrs = statement.get("attrs") or {}
    if "fidelity" in attrs:
        raise UsageError("How exact a record is follows from what it quotes; leave fidelity out.")
    said = [attrs.get(name) for name in ("source", "sources")]
    named: list[Any] = [quote.capture for quote in quotes]
    named += [one for value in said for one in (value if isinstance(value, list) else [value])]
    if any(isinstance(one, str) and one.strip().casefold() in _CONVERSATION for one in named):
        raise UsageError(
            "The current conversation is no source, since nobody can read it again; capture the "
            "words and quote the capture, or say summary-only."
        )


def _turn_of(store: Store, links: Sequence[Link]) -> str | None:
    """Return the judged turn whose words a record quotes, the first if there are several."""
    for link in links:
        if link.rel == "quotes":
            steps = store.turns.of_capture(link.scope, link.dst)
            turn = next((one.turn_id for one in steps if one.step == "capture"), None)
            if turn is not None:
                return turn
    return None


def _named_in_attrs(store: Store, record: Record) -> list[Link]:
    """Return the links that stand for the records that a new record's attrs name."""
    named = references_of(record.kind, record.attrs)
    heads = store.heads(record.scope, sorted({id_ for ids in named.values() for id_ in ids}))
    links = []
    for field, ids in named.items():
        rel, towards = _STANDS_FOR[field]
        for id_ in ids:
            if id_ not in heads:
                raise NotFoundError(f"{field} names a record that is not in this scope.")
            other = heads[id_]
            links.append(between(*((other, rel, record) if towards else (record, rel, other))))
    return links


def _check_somebody(record: Record) -> None:
    """Raise UsageError for a person who was made of a pronoun."""
    if REDIRECT in record.attrs:
        raise UsageError("Entities become one by entity merge; leave redirects_to out.")
    if record.kind == "entity" and fold(record.title).strip() in _NOBODY:
        raise UsageError(
            "A pronoun names nobody, so no entity is made of it; put it into unresolved_referent "
            "in the attrs of the event."
        )


def _check_shared(store: Store, facet: Record) -> None:
    """Raise UsageError unless the events of a facet happened, each to all of its entities."""
    ids, scope = facet.attrs["events"], facet.scope
    redirects = store.redirects(scope)
    wanted = {redirects.get(id_, id_) for id_ in facet.attrs["entities"]}
    events, found = store.heads(scope, ids), store.links_from(scope, ids, rels=["mentions"])
    for id_ in ids:
        mentioned = {redirects.get(link.dst, link.dst) for link in found.get(id_, [])}
        if events[id_].kind not in _HAPPENED or not wanted <= mentioned:
            raise UsageError(
                "A facet rests on events that its entities share: link each of its events to each "
                "of its entities with mentions first."
            )


def _plain(quote: Quote) -> list[Any]:
    return [quote.capture, quote.text, quote.start, quote.end]
