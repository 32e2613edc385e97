"""Absence: what has to be looked for, and in vain, before anybody may say that there is none.

A topic is asked for as it stands and in every other way that memories may have put it, among all
there are: superseded and archived, notes and sessions, expired ones too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shiyi.indexer.analyze import han_share, identifiers, only_identifiers, words
from shiyi.indexer.fold import fold, is_traditional, to_mainland_words, to_taiwan_words
from shiyi.indexer.index import Filter
from shiyi.indexer.indexes import Indexes
from shiyi.retrieval.outcome import Outcome
from shiyi.retrieval.query import MAX_QUERY, Query
from shiyi.retrieval.search import Finding, find
from shiyi.retrieval.trace import Tracer
from shiyi.retrieval.traced import AbsenceResult, ProbeRun
from shiyi.store import Store

_EVERYTHING = Filter(expired=True)
_ENTITIES = Filter(kinds=frozenset({"entity"}), captures=False, expired=True)
_MEANING = frozenset({"dense"})
_ALL_CHANNELS = frozenset({"lexical", "dense"})
_ENTITIES_ASKED = 20
_OTHER_NAMES = 8
_SHOWN = 20  # ids in all
_NEAR = 0.8  # of the best score: what is below the floor, but hardly farther than the nearest
_NEAREST = 3  # ids of near misses for each probe
# What a question is made of besides what it is about; folded.
_PRONOUNS = "我你您他她它咱"
_ASKING = frozenset({
    "什么", "怎么", "怎样", "怎么样", "如何", "为什么", "为何", "哪里", "哪儿", "哪个", "哪些",
    "哪年", "多少", "几个", "几次", "有没有", "是不是", "是否", "没有", "有过", "曾经", "请问",
    "告诉", "告诉我", "记得", "提到", "提过", "说过", "讲过", "关于", "我们", "你们", "他们",
    "我的", "你的", "这个", "那个", "ever", "never", "anything", "something", "tell", "remember",
    "mention", "mentioned",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Probe:
    """A way to ask. masked stands in the trace where the text holds a stored name."""

    name: str
    text: str
    channels: frozenset[str] = _ALL_CHANNELS
    masked: str | None = None


def prove_absence(
    indexes: Indexes, store: Store, scope: str, query: Query, trace: Tracer
) -> AbsenceResult:
    """Ask for the topic of `query` in every way there is.

    Raises UsageError as a search does.
    """
    runs: list[ProbeRun] = []
    notes: dict[str, None] = {}
    searched, whole = 0, True
    for probe in _probes(indexes, store, scope, query):
        if len(probe.text) > MAX_QUERY >= len(query.text):
            notes["Another wording of it is too long to be asked for; ask for a part of it."] = None
            continue
        trace.name, trace.wording = probe.name, probe.masked
        asked = _asked(query, probe.text, _EVERYTHING, probe.channels)
        found = find(indexes, scope, asked, trace)
        runs.append(_run(probe, found))
        searched = found.evidence.searched
        notes |= dict.fromkeys(indexes.notes)
        whole &= only_identifiers(query.text) or _by_meaning(found)
    ids = list(dict.fromkeys(id_ for run in runs for id_ in run.found))
    outcome: Outcome = "found" if ids else "empty" if whole else "unavailable"
    if outcome == "unavailable":
        notes["Not everything was asked for by its meaning, so absence is not shown."] = None
    trace.chose(ids)
    return AbsenceResult(
        outcome=outcome, searched=searched, probes=runs, found=ids[:_SHOWN],
        omitted=max(0, len(ids) - _SHOWN), notes=list(notes),
    )  # fmt: skip


def nowhere(notes: Sequence[str]) -> AbsenceResult:
    """Return that nothing could be asked, since there is no such scope, as `notes` say."""
    return AbsenceResult(
        outcome="unavailable", searched=0, probes=[], found=[], omitted=0,
        notes=[*notes, "Nothing was asked, so absence is not shown."],
    )  # fmt: skip


def _by_meaning(found: Finding) -> bool:
    """Tell whether every document had its say by its meaning."""
    index = found.index
    return not len(index) or (found.hybrid and not len(index.waiting()))


def _asked(query: Query, text: str, filter_: Filter, channels: frozenset[str]) -> Query:
    return Query(
        text=text, limit=query.limit, filter=filter_, channels=channels, now=query.now,
        without=query.without,
    )  # fmt: skip


def _run(probe: _Probe, found: Finding) -> ProbeRun:
    fused = found.fused
    above = [hit.id for hit in found.hits] if found.known else []
    outcome: Outcome = "found" if above else "empty"
    if found.outcome == "unavailable":
        outcome = "unavailable"
    near = fused.speaks & (fused.score >= _NEAR * fused.score[fused.speaks].max(initial=0.0))
    below = np.flatnonzero(near) if not above else np.empty(0, np.int64)
    best = below[np.argsort(-fused.score[below], kind="stable")]
    names = (found.index.key(int(found.slots[place]))[1] for place in best[: 4 * _NEAREST])
    return ProbeRun(
        name=probe.name, text=probe.text, outcome=outcome, found=above, misses=len(below),
        nearest=list(dict.fromkeys(names))[:_NEAREST],
    )  # fmt: skip


def _probes(indexes: Indexes, store: Store, scope: str, query: Query) -> Iterator[_Probe]:
    """Yield the ways to ask, none of them twice."""
    seen: set[tuple[str, frozenset[str]]] = set()
    for probe in _ways(indexes, store, scope, query):
        key = (probe.text, probe.channels)
        if key not in seen:
            seen.add(key)
            yield probe


def _ways(indexes: Indexes, store: Store, scope: str, query: Query) -> Iterator[_Probe]:
    topic = query.text
    yield _Probe("as asked", topic)
    if not only_identifiers(topic):
        yield _Probe("by meaning alone", topic, _MEANING)
    if han_share(topic):
        other = to_mainland_words(topic) if is_traditional(topic) else to_taiwan_words(topic)
        yield _Probe("other script and wording", other)
    content = [word for word in map(_bare, words(topic)) if word and word not in _ASKING]
    if content:
        yield _Probe("content words", " ".join(dict.fromkeys(content)))
    for name in sorted(identifiers(topic)):
        yield _Probe("identifier", name)
    yield from _other_names(indexes, store, scope, query)


def _bare(word: str) -> str:
    """Return a word without the pronoun that is cut together with it: 我养 is 养."""
    return word.lstrip(_PRONOUNS) if word[-1] not in _PRONOUNS else word


def _other_names(indexes: Indexes, store: Store, scope: str, query: Query) -> Iterator[_Probe]:
    """Yield the topic with the other names of the entities that it names."""
    topic = fold(query.text)
    asked = Query(
        text=query.text, limit=_ENTITIES_ASKED, filter=_ENTITIES, weak=True, now=query.now,
        channels=frozenset({"lexical"}),
    )  # fmt: skip
    ids = [hit.id for hit in find(indexes, scope, asked).hits]
    probes = []
    for id_, versions in store.versions_of(scope, ids).items():
        names = [fold(name).strip() for name in (versions[-1].title, *versions[-1].aliases)]
        written = max((name for name in names if name and name in topic), key=len, default=None)
        if written is None:
            continue
        for name in dict.fromkeys(names):
            if any(map(str.isalnum, name)) and name not in topic:
                masked = topic.replace(written, f"[{id_}]")
                probes.append(_Probe("alias", topic.replace(written, name), masked=masked))
    yield from probes[:_OTHER_NAMES]
