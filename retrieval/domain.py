"""A domain by its name: an entity, a topic, a phase or one record, and the records that are of it.

A record is of an entity when a link says so, when its title, gist or detail holds one of the
entity's names as it is written, or when a topic of it is one of those names. Of a topic or a
phase are those that carry it, in either script; one name may be both.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from shiyi.indexer.fold import fold, to_simplified
from shiyi.retrieval.asof import Mask, Standing
from shiyi.retrieval.window import same_name
from shiyi.store import Store
from shiyi.store.kinds import KINDS

_TO_ENTITY = ("mentions", "about", "member_of")
_LEAST_HAN = 2  # characters of a name that is looked for in texts
_LEAST_LATIN = 3


@dataclass(frozen=True, slots=True)
class Domain:
    """What a name stands for. place: of the record itself, when it is one."""

    kind: str
    members: Mask
    place: int | None = None


def find_domain(store: Store, standing: Standing, name: str, id_: str) -> Domain | None:
    """Return what a name stands for: a record's id, an entity, or a phase and topic.

    id_: the id that `name` is, or stands for when a source gave it.
    """
    redirects = store.redirects(standing.scope, as_of=standing.as_of)
    own = standing.places([redirects.get(id_, id_)])
    if len(own):
        return _of_record(store, standing, int(own[0]), redirects)
    entity = _entity_named(store, standing, name, redirects)
    if entity is not None:
        return _of_record(store, standing, entity, redirects)
    topics = _same_topics(store, standing, [name])
    keys = [key for key, phase in standing.phase_names.items() if same_name(phase, name)]
    if not topics and not keys:
        return None
    members = np.isin(standing["phase"], np.array(keys, np.uint64))
    if topics:
        members |= _with_topics(store, standing, topics)
    return Domain("phase" if keys else "topic", members)


def _of_record(
    store: Store, standing: Standing, place: int, redirects: Mapping[str, str]
) -> Domain:
    """Return an entity with its records, or a facet with its members, or one record alone.

    An entity has the records and the names of those that were merged into it.
    """
    id_, kind = standing.id(place), KINDS[standing["kind"][place]]
    members = standing.among(store.rolls.sources(standing.scope, [id_], _TO_ENTITY, standing.as_of))
    if kind == "entity":
        own = [id_, *(old for old, final in redirects.items() if final == id_)]
        records = store.heads(standing.scope, own, as_of=standing.as_of).values()
        names = [name for one in records for name in (*_parts(one.title), *one.aliases)]
        pattern = _pattern(names)
        if pattern:
            found = store.rolls.with_words(standing.scope, pattern, standing.as_of)
            members |= standing.among(found)
        topics = _same_topics(store, standing, names)
        if topics:
            members |= _with_topics(store, standing, topics)
    members[place] = True
    return Domain(kind, members, place)


def _entity_named(
    store: Store, standing: Standing, name: str, redirects: Mapping[str, str]
) -> int | None:
    """Return the most salient entity that has a name, as its title or an alias."""
    wanted = fold(name).strip()
    for id_, names in store.rolls.names(standing.scope, "entity", standing.as_of):
        parts = (*_parts(names[0]), *names)
        if wanted and any(fold(part).strip() == wanted for part in parts):
            return int(standing.places([redirects.get(id_, id_)])[0])
    return None


def _parts(title: str) -> list[str]:
    """Return a title, and what stands before and inside its brackets: 阿嬤（闕林玉霞）."""
    return [part.strip() for part in re.split(r"[（）()]", title) if part.strip()]


def _pattern(names: Iterable[str]) -> str:
    """Return an RE2 pattern for any of the names; Latin ones as whole words, too short ones not."""
    wanted: dict[str, None] = {}
    for name in names:
        for written in (name, to_simplified(name)):
            escaped = re.escape(written)
            if written.isascii():
                if len(written) >= _LEAST_LATIN:
                    wanted[rf"\b{escaped}\b" if written.isalnum() else escaped] = None
            elif len(written) >= _LEAST_HAN:
                wanted[escaped] = None
    return f"(?i)(?:{'|'.join(wanted)})" if wanted else ""


def _same_topics(store: Store, standing: Standing, names: Iterable[str]) -> list[str]:
    """Return the topics, as they are written, that are one of the names."""
    wanted = {fold(name).strip() for name in names}
    known = store.rolls.topic_counts(standing.scope, None, standing.as_of)
    return [topic for topic in known if fold(topic).strip() in wanted]


def _with_topics(store: Store, standing: Standing, topics: list[str]) -> Mask:
    return standing.among(store.rolls.with_topics(standing.scope, topics, standing.as_of))
