"""Purge: what a person names goes for good, from every file of the home.

First the rows, in one transaction that also notes what is still to be done; then the files that
are made from them; then the database itself, copied without what was deleted. The note goes with
the last step, so an interruption anywhere is ended by purging again.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shiyi.core.errors import HomeError, HomeUnwritableError, NotFoundError
from shiyi.core.ids import is_id
from shiyi.core.text import visible
from shiyi.indexer.analyze import forget_words
from shiyi.indexer.embeddings import forget_passages, passage_key
from shiyi.indexer.generation import scope_directory
from shiyi.indexer.reindex import iterate_documents
from shiyi.lifecycle.backup import back_up, managed_backups, unreadable_backups
from shiyi.lifecycle.backups import elsewhere, remove, sweep
from shiyi.lifecycle.echoes import Echoes
from shiyi.lifecycle.validate import PENDING
from shiyi.store import Capture, Record, Store, Transaction, encode_json
from shiyi.store.attachments import attachment_path
from shiyi.store.purge import Doomed
from shiyi.store.traces import Traces

_REASON = "Words that it quoted were purged."
_CORRECTING = ("supersedes", "contradicts", "redirects_to", "merged_into")
_EXPORTS = "Exports and copies of this home, and what a model was shown, are out of reach."
_DISK = (
    "The disk may hold the old bytes until it writes over them: in a file system's snapshots and "
    "journal, and in blocks that are free again. They are unlinked, not overwritten; an encrypted "
    "disk is the help against that."
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a purge does.

    quoting: records that stay and lose a quote; repeating: what stays and repeats what goes: in any
    version, of those that quote it, correct it or were corrected by it; in its reason, of all
    records; and captures that feedback quotes. sources: captures that stay and are quoted by
    records that go. beside: what was read from an attachment that
    goes, and the attachment that words which go were read from. gone: ids that were purged before.
    """

    doomed: Doomed
    quoting: tuple[str, ...]
    repeating: tuple[str, ...]
    sources: tuple[str, ...]
    beside: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    echoes: Echoes = field(default_factory=lambda: Echoes(()), repr=False)


@dataclass(slots=True)
class Purge:
    """What was done. left: sentences about what could not be reached."""

    plan: Plan
    vectors: int = 0
    files: int = 0
    traces: int = 0
    backups: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def plan_purge(store: Store, scope: str, ids: Sequence[str], *, with_records: bool = False) -> Plan:
    """Return what would go with these ids; with `with_records` also the records that quote them.

    Raises NotFoundError for an id that is nothing here and was not purged either.
    """
    captures = store.captures(scope, ids)
    own = store.versions_of(scope, ids)
    records = set(own)
    files = dict(store.purged.attachments(scope, ids))
    gone = store.purged.among(scope, ids)
    for id_ in ids:
        if id_ not in captures and id_ not in records and id_ not in files and id_ not in gone:
            raise NotFoundError(
                f"There is nothing with the id {visible(id_)} in the scope {scope}."
            )
    links = store.links_to(scope, list(captures), rels=["quotes"])
    quoting = {link.src for found in links.values() for link in found} - records
    if with_records:
        records, quoting = records | quoting, set()
        own = store.versions_of(scope, sorted(records))
    heads = store.heads(scope, sorted(quoting))
    texts = [capture.text for capture in captures.values()]
    for version in (one for versions in own.values() for one in versions):
        texts += [_words_of(version), version.title, version.gist, version.detail or ""]
    echoes = Echoes(texts)
    near = set(heads) | (_corrections(store, scope, sorted(records)) - records)
    repeating = {
        id_ for id_, versions in store.versions_of(scope, sorted(near)).items()
        if any(echoes.repeats(f"{_words_of(one)}\n{one.reason or ''}") for one in versions)
    }  # fmt: skip
    repeating |= _telling(store, scope, echoes) - records - captures.keys()
    quoted = store.links_from(scope, sorted(records), rels=["quotes"])
    sources = {link.dst for found in quoted.values() for link in found} - captures.keys()
    beside = _beside(store, scope, captures.values(), files) - captures.keys() - files.keys()
    doomed = Doomed(
        captures=tuple(captures), records=tuple(sorted(records)), attachments=tuple(sorted(files)),
        hashes=tuple(capture.utf8_sha256 for capture in captures.values()),
        files=tuple(sorted(set(files.values()))),
    )  # fmt: skip
    return Plan(
        doomed, tuple(sorted(heads)), tuple(sorted(repeating)), tuple(sorted(sources)),
        tuple(sorted(beside)), tuple(sorted(gone)), echoes,
    )  # fmt: skip


def purge(store: Store, scope: str, plan: Plan, traces: Traces, backups: Path) -> Purge:
    """Do what a plan says, and end what an interrupted purge had left to do.

    The indexes of the home must be closed. Returns what was done and what could not be reached.

    Raises HomeUnwritableError without room; the rows are gone then, purging again does the rest.
    """
    done = Purge(plan)
    if plan.doomed.ids:
        _delete(store, scope, plan)
    finish(store, traces, backups, done)
    done.left = list(_left(store, plan, backups))
    return done


def finish(store: Store, traces: Traces, backups: Path, done: Purge) -> bool:
    """Do what the note says is still to be done; return whether there was anything."""
    noted = store.note(PENDING)
    if noted is None:
        return False
    todo = json.loads(noted)
    try:
        forget_words()
        for scope in todo["scopes"]:
            done.traces += traces.forget(scope)
            shutil.rmtree(scope_directory(store.home, scope), ignore_errors=True)
        done.vectors += _forget_vectors(store)
        done.files += sum(_remove_bytes(store, sha256) for sha256 in todo["files"])
        done.backups += _replace_backups(store, backups)
        # From here on only the file of the database is left.
        store.keep_note(PENDING, encode_json({"scopes": [], "files": []}))
        store.purged.rebuild(PENDING)
    except OSError as error:
        if isinstance(error, HomeError) and not isinstance(error, HomeUnwritableError):
            raise
        raise HomeUnwritableError(
            f"The purge is not done yet ({error.strerror or 'there is no room'}): the memories are "
            "gone, but old bytes are still in files. Make room and run `shiyi purge --confirm`."
        ) from None
    return True


def _delete(store: Store, scope: str, plan: Plan) -> None:
    before = json.loads(store.note(PENDING) or '{"scopes": [], "files": []}')
    todo = {
        "scopes": sorted({*before["scopes"], scope}),
        "files": sorted({*before["files"], *plan.doomed.files}),
    }

    def act(transaction: Transaction) -> dict[str, Any]:
        marked = [
            replace(
                head, version=head.version + 1, updated_at=transaction.now,
                reason=f"{_REASON} {', '.join(plan.doomed.captures)}",
            )
            for head in store.heads(scope, list(plan.quoting)).values()
        ]  # fmt: skip
        transaction.purge(plan.doomed, plan.echoes.tells)
        transaction.add_records(marked)
        transaction.note(PENDING, encode_json(todo))
        return {"purged": len(plan.doomed.ids)}

    store.write(scope, act)


def _forget_vectors(store: Store) -> int:
    """Remove all vectors that no memory of the home is searched by; return how many.

    What went was embedded in more ways than can be told now: with the end of the turn before it
    and without, by an analyzer of before, as it stood in an older version.
    """
    directories = list((store.home / "vectors").glob("*/"))
    if not directories:
        return 0
    scopes = store.scopes()
    documents = (one for scope in scopes for one in iterate_documents(store, scope))
    kept = {passage_key(document.passage) for document in documents}
    return sum(forget_passages(directory, kept) for directory in directories)


def _remove_bytes(store: Store, sha256: str) -> bool:
    """Remove the bytes of an attachment unless another one has the same."""
    path = attachment_path(store.home, sha256)
    if store.purged.is_used(sha256) or not path.exists():
        return False
    path.unlink()
    with suppress(OSError):
        path.parent.rmdir()  # when it was the last one there
    return True


def _replace_backups(store: Store, directory: Path) -> list[str]:
    """Remove the home's own backups, which hold what goes; a new one is made first."""
    sweep(directory)
    sweep(store.home)
    old = managed_backups(directory, store.home_id)
    if any(not one.sealed for one in old):
        back_up(store, managed=directory, link=False, thin=False)
    for one in old:
        remove(one.path)
    return [one.path.name for one in old]


def _left(store: Store, plan: Plan, backups: Path) -> Iterable[str]:
    doomed = plan.doomed
    if plan.repeating:
        yield (f"What stays repeats its words: {', '.join(plan.repeating)}. Purge it too, by id.")
    if plan.beside:
        yield (
            f"What it was read from, or what was read from it, is still kept: "
            f"{', '.join(plan.beside)}. Purge it too, by id."
        )
    if plan.sources:
        yield (
            f"The words that the records rest on are still kept: {', '.join(plan.sources)}. Purge "
            "them too, by id, if they say the same."
        )
    twins = [*store.purged.twins(doomed.hashes), *store.purged.files_like(doomed.files)]
    if twins:
        named = ", ".join(f"{id_} in {scope}" for scope, id_ in twins)
        yield f"The same words or bytes are also kept as {named}."
    places = [place for place in elsewhere(store) if Path(place).exists()]
    if places:
        yield f"Backups that were written elsewhere still hold it: {', '.join(places)}."
    damaged = unreadable_backups(backups)
    if damaged:
        named = ", ".join(map(str, damaged))
        yield f"Nobody can read any more which home these backups are of; remove them: {named}."
    yield from (_EXPORTS, _DISK)


def _telling(store: Store, scope: str, echoes: Echoes) -> set[str]:
    """Return the records whose reasons tell of what goes, and words in feedback that do."""
    found = {id_ for id_, reason in store.purged.reasons(scope) if echoes.tells(reason)}
    quoted = sorted({one.capture_id for one in store.iterate_feedback(scope)})
    said = store.captures(scope, quoted).items()
    return found | {id_ for id_, capture in said if echoes.tells(capture.text)}


def _corrections(store: Store, scope: str, records: Sequence[str]) -> set[str]:
    """Return the records that correct, or are corrected by, any of these."""
    after = store.links_from(scope, records, rels=_CORRECTING)
    before = store.links_to(scope, records, rels=_CORRECTING)
    links = [link for found in (*after.values(), *before.values()) for link in found]
    return {end for link in links for end in (link.src, link.dst)}


def _beside(
    store: Store, scope: str, captures: Iterable[Capture], files: Iterable[str]
) -> set[str]:
    """Return what was read from attachments, and the attachments that words were read from."""
    read_from = [id_ for one in captures if (id_ := one.attrs.get("attachment"))]
    there = store.purged.attachments(scope, read_from)
    return {*store.purged.read_from(scope, list(files)), *(id_ for id_, _ in there)}


def _words_of(version: Record) -> str:
    """Return all that a version says."""
    said = [version.title, version.gist, version.detail or "", *version.topics, *version.aliases]
    return "\n".join([*said, *_texts_in(version.attrs)])


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in attrs; ids, by which records name each other, are no words."""
    if isinstance(value, str):
        if not is_id(value):
            yield value
    elif isinstance(value, Mapping | Sequence):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(one)
