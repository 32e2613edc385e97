"""What is derived and how it belongs together: add-record, link and supersede, one write each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.ids import check_turn
from shiyi.core.text import visible
from shiyi.lifecycle.held import judged
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.readers.quotes import span_of
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.write import check_match, head_of, new_record, record_fields, title_of
from shiyi.store import Entry, Link, Record, Store, Transaction
from shiyi.store.shapes import references_of

# The kind of record that a relation leads to, where only one will do.
_LEADS_TO = {"mentions": "entity", "member_of": "facet"}
# The link that stands for a record named in a field of attrs: its relation, and whether it leads
# from the named record to the one that names it.
_STANDS_FOR = {
    "entities": ("mentions", False),
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

    The records that its attrs name are linked with it: the entities of a facet, whom a state is of,
    what speaks for and against a hypothesis. The ledger of the turn names it: of the one given,
    else of the words that it quotes. Returns record_id, version, etag, links (how many), fidelity
    (sourced or summary_only, which follows from the quotes) and turn_id.

    Raises UsageError unless there are quotes or it is said to be `summary_only`, and for a quote
    that does not stand in its capture, a source that nobody can read again, a turn that was not
    judged, a secret, attrs that do not fit the kind, or a bad date; NotFoundError for a capture or
    a record that is not there.
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
        columns = record_fields(statement)
        if "title" not in columns and "gist" not in columns:
            raise UsageError("A record has a title or a gist; give at least one.")
        columns.setdefault("gist", columns.get("title"))
        columns.setdefault("title", title_of(columns["gist"]))
        record = new_record(scope, columns, transaction, whole=True)
        links = _quoted(store, record, quotes) + _named_in_attrs(store, record)
        own = turn or _turn_of(store, links)
        if own is not None:
            judged(store, scope, own)
        transaction.add_records([record])
        transaction.add_links(links)
        if own is not None:
            step = Entry(
                scope=scope, step="record", outcome=record.kind, turn_id=own,
                records=(record.record_id,), created_at=transaction.now,
            )  # fmt: skip
            transaction.add_steps(own, [step])
        return {
            "record_id": record.record_id, "version": 1, "etag": record.etag, "links": len(links),
            "fidelity": "summary_only" if summary_only else "sourced", "turn_id": own,
        }  # fmt: skip

    request = ["add-record", dict(statement), [_plain(one) for one in quotes], summary_only, turn]
    return store.write(scope, act, key=key, request=request)


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

    def act(transaction: Transaction) -> dict[str, Any]:
        source = head_of(store, scope, record_id_of(scope, src))
        made = (
            _quoted(store, source, [Quote(dst)])[0]
            if rel == "quotes"
            else _between(source, rel, head_of(store, scope, record_id_of(scope, dst)))
        )
        added = transaction.add_links([made])
        return {"src": made.src, "rel": rel, "dst": made.dst, "added": bool(added)}

    return store.write(scope, act, key=key, request=["link", src, rel, dst])


def supersede(
    store: Store,
    scope: str,
    old: str,
    new: str,
    *,
    reason: str | None = None,
    if_match: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Say that `new` holds instead of `old`, whose next version has the status superseded.

    Returns old and new, the version and etag of the old one, and whether anything changed.

    Raises NotFoundError, ConflictError when `if_match` is not the etag of the old one, and
    UsageError when the old one holds instead of the new one already, however many steps between.
    """
    check_secrets(reason)

    def act(transaction: Transaction) -> dict[str, Any]:
        before = head_of(store, scope, record_id_of(scope, old))
        after = head_of(store, scope, record_id_of(scope, new))
        check_match(before, if_match)
        _check_chain(store, scope, after.record_id, before.record_id)
        added = transaction.add_links([_between(after, "supersedes", before)])
        stands = before
        if before.status != "superseded":
            stands = replace(
                before, status="superseded", version=before.version + 1,
                updated_at=transaction.now, reason=reason,
            )  # fmt: skip
            transaction.add_records([stands])
        return {
            "old": stands.record_id, "new": after.record_id, "version": stands.version,
            "etag": stands.etag, "changed": bool(added) or stands is not before,
        }  # fmt: skip

    request = ["supersede", old, new, reason, if_match]
    return store.write(scope, act, key=key, request=request)


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


def _quoted(store: Store, record: Record, quotes: Sequence[Quote]) -> list[Link]:
    ids = [capture_id_of(record.scope, quote.capture) for quote in quotes]
    captures = store.captures(record.scope, ids)
    links = []
    for quote, id_ in zip(quotes, ids, strict=True):
        if id_ not in captures:
            raise NotFoundError(f"There is no capture {visible(quote.capture)} in this scope.")
        try:
            start, end = span_of(quote, captures[id_].text)
        except UsageError as error:
            raise UsageError(f"The record is not kept, since {error}") from None
        quoted = Link(scope=record.scope, src=record.record_id, rel="quotes", dst=id_)
        links.append(replace(quoted, span_start=start, span_end=end))
    return links


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
            links.append(_between(*((other, rel, record) if towards else (record, rel, other))))
    return links


def _between(source: Record, rel: str, target: Record) -> Link:
    wanted = _LEADS_TO.get(rel, target.kind)
    if source.record_id == target.record_id:
        raise UsageError("A record is not tied to itself; name two of them.")
    if target.kind != wanted:
        raise UsageError(f"{rel} leads to a record of kind {wanted}, not of kind {target.kind}.")
    return Link(scope=source.scope, src=source.record_id, rel=rel, dst=target.record_id)


def _check_chain(store: Store, scope: str, new: str, old: str) -> None:
    """Raise UsageError when `old` stands above `new` in a chain of what holds instead of what."""
    seen, above = {old}, [old]
    while above:
        found = store.links_from(scope, above, rels=["supersedes"])
        above = [k.dst for links in found.values() for k in links if k.dst not in seen]
        seen.update(above)
    if new in seen and new != old:
        raise UsageError(
            "The old record already holds instead of the new one, so this would go round in a "
            "circle; swap them, or write a new record."
        )


def _plain(quote: Quote) -> list[Any]:
    return [quote.capture, quote.text, quote.start, quote.end]
