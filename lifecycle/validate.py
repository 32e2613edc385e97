"""Validate: whether what a home holds fits together, each fault named and none passed over."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from shiyi.core.text import text_sha256
from shiyi.core.wording import counted
from shiyi.lifecycle.circles import Graph, circles_in, tangles
from shiyi.store import Store

State = Literal["ok", "warning", "failed"]
PENDING = "purge_pending"  # the note of a purge that is not done yet
_NAMED = 5  # ids in a sentence
_TANGLED = 100  # circles of records that are all tied to one another


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: State
    detail: str


def validate(
    store: Store, *, require_closed: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Finding]:  # fmt: skip
    """Return what was looked at, in order; with `require_closed` open turns are faults.

    progress: told how many looks are done, of how many.
    """
    looks: tuple[Callable[[Store], Iterator[Finding]], ...] = (
        changes, words, rows, links, chains, spans, attachments, purges,
    )  # fmt: skip
    found: list[Finding] = []
    for done, look in enumerate(looks):
        progress(done, len(looks))
        found += look(store)
    return [*found, *turns(store, "failed" if require_closed else "warning")]


def verdict(findings: Sequence[Finding]) -> Literal["clean", "warnings", "failed"]:
    """Return the worst of what was found."""
    states = {finding.state for finding in findings}
    return "failed" if "failed" in states else "warnings" if "warning" in states else "clean"


def changes(store: Store) -> Iterator[Finding]:
    """Look for numbers of the change feed that are missing: a lost tail, or a row taken out."""
    lost = {(tail["found"], tail["expected"]) for tail in store.lost_tails()}
    for found, expected in sorted(lost):
        yield Finding(
            "changes", "failed",
            f"Changes {found + 1} to {expected} are missing: the database's log was lost.",
        )  # fmt: skip
    gaps = [(before, seq) for before, seq in store.checks.gaps() if not _is_lost(before, seq, lost)]
    for before, seq in gaps[:_NAMED]:
        yield Finding("changes", "failed", f"Change {seq} does not follow change {before}.")
    if not lost and not gaps:
        kept = counted(store.last_seq, "changes")
        yield Finding("changes", "ok", f"{kept} kept, none is missing.")


def _is_lost(before: int, seq: int, lost: Iterable[tuple[int, int]]) -> bool:
    """Tell whether a gap is that of a lost tail, or of several without a write between."""
    return any(found <= before and seq - 1 <= expected for found, expected in lost) or (
        before in {found for found, _ in lost} and seq - 1 in {expected for _, expected in lost}
    )


def words(store: Store) -> Iterator[Finding]:
    """Compare every capture with its SHA-256."""
    seen, wrong = 0, []
    for scope in store.scopes():
        for capture in store.iterate_captures(scope):
            seen += 1
            if text_sha256(capture.text) != capture.utf8_sha256:
                wrong.append(capture.capture_id)
    if wrong:
        yield Finding(
            "words",
            "failed",
            f"Not as kept: {len(wrong)} of {counted(seen, 'captures')}, {_named(wrong)}.",
        )
    else:
        yield Finding(
            "words", "ok", f"{counted(seen, 'captures')} compared with the SHA-256, all as kept."
        )


def rows(store: Store) -> Iterator[Finding]:
    """Look for rows that a change brought and are gone, and for versions that are missing."""
    lost = [row[2] for row in store.checks.lost_rows()]
    torn = [row[1] for row in store.checks.torn_records()]
    risen = [row[1] for row in store.checks.risen()]
    yield _counted("rows", lost, "Written and not there", "rows", "Every row is there.")
    yield _counted(
        "versions", torn, "Without one of their versions", "records",
        "Every record has all its versions.",
    )  # fmt: skip
    yield _counted("purged", risen, "Purged and there all the same", "ids",
                   "What was purged is gone.")  # fmt: skip


def links(store: Store) -> Iterator[Finding]:
    """Look for links that lead nowhere; a quote of words that are not there is a fault."""
    orphans = store.checks.orphans()
    quotes = [src for _, src, rel, _ in orphans if rel == "quotes"]
    others = [src for _, src, rel, _ in orphans if rel != "quotes"]
    if quotes or not others:
        yield _counted(
            "links", quotes, "Leading to no words", "quotes", "Every link leads somewhere."
        )
    if others:
        detail = f"To or from what is not here: {counted(len(others), 'links')}, {_named(others)}."
        yield Finding("links", "warning", detail)


def chains(store: Store) -> Iterator[Finding]:
    """Look for circles of what holds instead of what, and of redirects."""
    graphs: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for scope, rel, src, dst in store.checks.chains():
        graphs[scope, rel][src].append(dst)
    clean = True
    for (_, rel), graph in graphs.items():
        for tangle in tangles(graph):
            clean = False
            yield from _circles(rel, tangle)
    if clean:
        yield Finding("chains", "ok", "No chain goes round in a circle.")


def _circles(rel: str, tangle: Graph) -> Iterator[Finding]:
    circles = circles_in(tangle)
    for circle in islice(circles, _TANGLED):
        yield Finding("chains", "failed", f"A circle of {rel}: {_named(circle)}.")
    if next(circles, None) is not None:
        detail = f"More circles of {rel} among {_named(list(tangle))}; mend these first."
        yield Finding("chains", "failed", detail)


def spans(store: Store) -> Iterator[Finding]:
    """Look for quotes whose span does not lie in the words."""
    broken = [row[1] for row in store.checks.broken_spans()]
    yield _counted("spans", broken, "Beyond their words", "quotes", "Every quote fits.")


def attachments(store: Store) -> Iterator[Finding]:
    """Compare every attachment with its SHA-256, and look for files that nothing names."""
    found = list(store.checks.attachments())
    faults = {"missing": "Without their bytes", "changed": "With other bytes than before"}
    for how, fault in faults.items():
        ids = [id_ for _, id_, one in found if one == how]
        if ids:
            yield Finding("attachments", "failed", _faulty(fault, ids, "attachments"))
    stray = store.checks.stray_files()
    if stray:
        files = counted(len(stray), "files")
        detail = f"{files} of no attachment, left by an interrupted write."
        yield Finding("attachments", "warning", detail)
    elif not found:
        yield Finding("attachments", "ok", "Every attachment has its bytes.")


def purges(store: Store) -> Iterator[Finding]:
    """Say when a purge was interrupted."""
    if store.note(PENDING) is not None:
        detail = "A purge was interrupted; `shiyi purge --confirm` without an id ends it."
        yield Finding("purge", "failed", detail)


def turns(store: Store, state: State) -> Iterator[Finding]:
    """Look for turns whose words are wanted or kept and that nothing has closed."""
    open_ = sorted({one.capture_id or "" for one in store.turns.open_captures()})
    untaken = store.turns.open_receipts()
    if open_:
        detail = f"{counted(len(open_), 'captures')} not finalized, {_named(open_)}."
        yield Finding("turns", state, detail)
    if untaken:
        wanted = counted(len(untaken), "turns")
        yield Finding("turns", state, f"{wanted} to be captured and not captured yet.")
    if not open_ and not untaken:
        yield Finding("turns", "ok", "Every turn is closed.")


def _counted(name: str, ids: Sequence[Any], fault: str, what: str, good: str) -> Finding:
    if ids:
        return Finding(name, "failed", _faulty(fault, ids, what))
    return Finding(name, "ok", good)


def _faulty(fault: str, ids: Sequence[Any], what: str) -> str:
    return f"{fault}: {counted(len(ids), what)}, {_named(ids)}."


def _named(ids: Sequence[Any]) -> str:
    distinct = list(dict.fromkeys(map(str, ids)))
    first = ", ".join(distinct[:_NAMED])
    return f"{first}{' …' if len(distinct) > _NAMED else ''}"
