"""What holds for a record by whichever door it comes: sources, names, and the records it names."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.indexer.fold import fold
from shiyi.lifecycle.ties import between
from shiyi.store import Link, Record, Store
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
# What is no source, folded: nobody can read it again.
_CONVERSATION = re.compile(
    r"(the |this |that |our )?(current |present |above )?(conversation|chat|dialogue|dialog)"
    r"|(当前|目前|本次|这次|这个|此|上述|我们的)?的?(对话|会话|聊天)"
)
_HAPPENED = ("event", "experience")
_NOBODY = frozenset({
    "他", "她", "它", "牠", "祂", "ta", "他们", "她们", "它们", "牠们", "有人", "某人", "某个人",
    "那个人", "这个人", "对方", "谁", "he", "she", "it", "they", "him", "her", "them", "someone",
    "somebody",
})  # fmt: skip
# Names under which what changes would be kept in an entity; folded.
_CHANGING = frozenset({
    "block", "value", "state", "states", "status", "mood", "situation", "load", "tensions",
})  # fmt: skip
_STANDS_NOW = re.compile(r"现在|目前|当前|如今|最近|\b(?:now|currently|at the moment|these days)\b")


def check_attrs_said(attrs: Mapping[str, Any], quoted: Iterable[str] = ()) -> None:
    """Raise UsageError for a source that nobody can read again, and for a fidelity typed in."""
    if "fidelity" in attrs:
        raise UsageError("How exact a record is follows from what it quotes; leave fidelity out.")
    named: list[Any] = list(quoted)
    for value in (attrs.get("source"), attrs.get("sources")):
        named += value if isinstance(value, list) else [value]
    if any(isinstance(one, str) and _is_conversation(one) for one in named):
        raise UsageError(
            "The current conversation is no source, since nobody can read it again; capture the "
            "words and quote the capture, or say summary-only."
        )


def check_new(record: Record) -> None:
    """Raise UsageError for a new record that says more than a new one of its kind can."""
    check_beginning(record.kind, record.attrs)
    if REDIRECT in record.attrs:
        raise UsageError("Entities become one by entity merge; leave redirects_to out.")
    check_entity(record)


def check_entity(record: Record, changed: Collection[str] | None = None) -> None:
    """Raise UsageError for an entity made of a pronoun, or one that holds how things stand.

    changed: the attrs that an edit gives; all of them by default.
    """
    if record.kind != "entity":
        return
    if any(fold(name).strip() in _NOBODY for name in (record.title, *record.aliases)):
        raise UsageError(
            "A pronoun names nobody, so no entity is made of it; put it into unresolved_referent "
            "in the attrs of the event."
        )
    given = record.attrs if changed is None else record.attrs.keys() & changed
    for name in map(fold, given):
        if name in _CHANGING or name.startswith("current_"):
            raise UsageError(
                "An entity holds no state, which changes; keep a record of kind state whose `of` "
                "is this entity."
            )


def doubts_of(record: Record) -> list[str]:
    """Return what is doubtful about the words of a record, though it is kept."""
    said = fold(f"{record.gist}\n{record.detail or ''}")
    if record.kind != "entity" or _STANDS_NOW.search(said) is None:
        return []
    return ["This entity tells how things stand now; keep that as a record of kind state."]


def named_in_attrs(store: Store, record: Record, fields: Collection[str]) -> list[Link]:
    """Return the links that stand for the records that some fields of attrs name.

    Raises NotFoundError when one of them is not there, UsageError when a facet names an event that
    its entities do not share.
    """
    named = {k: v for k, v in references_of(record.kind, record.attrs).items() if k in fields}
    heads = store.heads(record.scope, sorted({id_ for ids in named.values() for id_ in ids}))
    links = []
    for field, ids in named.items():
        rel, towards = _STANDS_FOR[field]
        for id_ in ids:
            if id_ not in heads:
                raise NotFoundError(f"{field} names a record that is not in this scope.")
            other = heads[id_]
            links.append(between(*((other, rel, record) if towards else (record, rel, other))))
    if record.kind == "facet" and named:
        check_shared(store, record, record.attrs.get("events", []))
    return links


def check_shared(store: Store, facet: Record, ids: list[str]) -> None:
    """Raise UsageError unless these events happened, each to all of the entities of a facet."""
    scope = facet.scope
    redirects = store.redirects(scope)
    wanted = {redirects.get(id_, id_) for id_ in facet.attrs.get("entities", [])}
    if len(wanted) == 1:
        raise UsageError("A facet is where at least two entities meet; these are one by a merge.")
    events, found = store.heads(scope, ids), store.links_from(scope, ids, rels=["mentions"])
    for id_ in ids:
        mentioned = {redirects.get(link.dst, link.dst) for link in found.get(id_, [])}
        if id_ not in events or events[id_].kind not in _HAPPENED or not wanted <= mentioned:
            raise UsageError(
                "A facet rests on events that its entities share: link each of its events to each "
                "of its entities with mentions first."
            )


def _is_conversation(text: str) -> bool:
    words = " ".join(fold(text).split()).strip("。.!！ ")
    return _CONVERSATION.fullmatch(words) is not None
