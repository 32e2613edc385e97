"""Closing a capture: either records quote it, or a question found that none are needed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from shiyi.core.errors import ConflictError, NotFoundError, UsageError
from shiyi.core.text import check_text, visible
from shiyi.core.wording import command
from shiyi.indexer.analyze import terms
from shiyi.lifecycle.names import record_id_of
from shiyi.lifecycle.secrets import check_secrets
from shiyi.store import Capture, Entry, Record, Store, Transaction
from shiyi.store.turns import closing_of

Outcome = Literal["derived", "no_derivation_needed"]
FindTrace = Callable[[str], Mapping[str, Any] | None]
# An absence without a model is unavailable: it shows nothing, but it has asked for every word.
_ANSWERED = frozenset({
    *((name, how) for name in ("probe", "absence", "search") for how in ("found", "empty")),
    ("absence", "unavailable"),
})  # fmt: skip


def finalize(
    store: Store,
    scope: str,
    capture_id: str,
    outcome: Outcome,
    *,
    reason: str | None = None,
    records: Sequence[str] = (),
    trace_id: str | None = None,
    find_trace: FindTrace,
    key: str | None = None,
) -> dict[str, Any]:
    """Close a capture.

    `derived` needs records that quote it; without `records`, those that do are taken.
    `no_derivation_needed` needs a reason, the trace of a search, probe or absence that was asked
    after the capture, and the records that it found. Closing again in the same way changes nothing;
    only a capture that needed no record may later be closed as derived.

    Returns capture_id, turn_id, closed (how), records, repeated and warnings. Raises NotFoundError,
    UsageError for what does not hold, ConflictError when it is closed in another way.
    """
    named_as = {record_id_of(scope, one): one for one in records}
    records = list(named_as)

    def act(transaction: Transaction) -> dict[str, Any]:
        if not store.capture_hashes(scope, [capture_id]):
            raise NotFoundError(f"There is no capture {visible(capture_id)} in the scope {scope}.")
        entries = store.turns.of_capture(scope, capture_id)
        taken = next((one for one in entries if one.step == "capture"), None)
        before = closing_of(entries, capture_id)
        if before is not None and not _is_raised(before, outcome):
            _check_repeat(before, outcome, reason, records, trace_id)
            return _told(capture_id, before, repeated=True)
        warnings: list[str] = []
        if outcome == "derived":
            named = _quoting(store, scope, capture_id, named_as)
        else:
            named, warnings = _found(
                store, scope, taken, reason=reason, records=records, trace_id=trace_id,
                find_trace=find_trace,
            )  # fmt: skip
        made = Entry(
            scope=scope, step="finalize", outcome=outcome,
            turn_id=taken.turn_id if taken else None, capture_id=capture_id,
            records=tuple(named), reason=reason,
            trace_id=None if outcome == "derived" else trace_id, created_at=transaction.now,
        )  # fmt: skip
        transaction.add_steps(made.turn_id or capture_id, [made])
        return _told(capture_id, made, repeated=False) | {"warnings": warnings}

    check_secrets(reason)
    request = ["finalize", capture_id, outcome, reason, list(records), trace_id]
    return store.write(scope, act, key=key, request=request)


def _told(capture_id: str, closing: Entry, *, repeated: bool) -> dict[str, Any]:
    return {
        "capture_id": capture_id, "turn_id": closing.turn_id, "closed": closing.outcome,
        "records": list(closing.records), "repeated": repeated, "warnings": [],
    }  # fmt: skip


def _is_raised(before: Entry, outcome: Outcome) -> bool:
    """Tell whether a capture that needed no record got one after all."""
    return (before.outcome, outcome) == ("no_derivation_needed", "derived")


def _check_repeat(
    before: Entry, outcome: Outcome, reason: str | None, records: Sequence[str], trace: str | None
) -> None:
    """Raise ConflictError unless a capture is closed in that way already."""
    same = before.outcome == outcome
    if outcome == "derived":
        same = same and (not records or set(before.records) == set(records))
    else:
        stated = (before.reason, before.trace_id, set(before.records))
        same = same and stated == (reason, trace, set(records))
    if not same:
        raise ConflictError(
            f"This capture is closed as {before.outcome} already, in another way; that stays. "
            "Nothing was changed."
        )


def _quoting(store: Store, scope: str, capture_id: str, records: Mapping[str, str]) -> list[str]:
    """Return the records that quote a capture, or those that are named, by their ids."""
    links = store.links_to(scope, [capture_id], rels=["quotes"]).get(capture_id, [])
    quoting = list(dict.fromkeys(link.src for link in links))
    if not quoting:
        raise UsageError(
            "No record quotes this capture; keep one with `shiyi add-record` first, or close it as "
            "no_derivation_needed."
        )
    named = list(dict.fromkeys(records)) or quoting
    for id_ in named:
        if id_ not in quoting:
            name = visible(records[id_])
            raise UsageError(
                f"{name} does not quote this capture; tie it with "
                f"{command('link', name, 'quotes', capture_id)}, or leave it out."
            )
    return named


def _found(
    store: Store,
    scope: str,
    taken: Entry | None,
    *,
    reason: str | None,
    records: Sequence[str],
    trace_id: str | None,
    find_trace: FindTrace,
) -> tuple[list[str], list[str]]:
    """Return the records that a directed question found, checked against its trace, and doubts."""
    check_text(reason or "", "reason, which says why no record is needed,")
    trace = find_trace(trace_id) if trace_id else None
    if trace is None:
        raise UsageError(
            "That no record is needed is shown by a question: ask `shiyi probe` for what the words "
            "say, and give the id of its trace, which is kept in this scope while the setting "
            "traces is on."
        )
    if (trace["operation"], trace["outcome"]) not in _ANSWERED:
        raise UsageError(
            "That trace is of no answered search, probe or absence; ask one of them for what the "
            "words say."
        )
    if taken is not None and trace["engine"]["sequence"] < taken.seq:
        raise UsageError("That question was asked before the words were kept; ask it again.")
    heads = store.heads(scope, trace["chosen"])
    found = [id_ for id_ in trace["chosen"] if id_ in heads]
    named = list(dict.fromkeys(records))
    if any(id_ not in found for id_ in named):
        raise UsageError("A record that is named was not found by that question; name those found.")
    if found and not named:
        raise UsageError(
            f"That question found {len(found)} records; name those that say what the words say."
        )
    questions = trace.get("questions") or []
    capture = store.capture(scope, taken.capture_id) if taken and taken.capture_id else None
    asked = {term for one in questions for term in one.get("terms", [])}
    if capture is not None and asked and not _is_about(capture, asked, heads, named):
        raise UsageError(
            "That question has no word of what was said, nor has a record that is named; ask for "
            "what the words say, in their own words."
        )
    return named, _doubts(questions)


def _is_about(
    capture: Capture, asked: set[str], heads: Mapping[str, Record], named: Sequence[str]
) -> bool:
    """Tell whether a question, or a record that it found, has a word of what was said."""
    said = set(terms(capture.text))
    for head in (heads[id_] for id_ in named):
        asked = asked | set(terms(f"{head.title}\n{head.gist}\n{head.detail or ''}"))
    return not said or bool(said & asked)


def _doubts(questions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a question leaves open, though it was answered."""
    by_words = (
        "No model took part, so only words were asked for; what is said in other words is not "
        "looked for."
    )
    if questions and all(one.get("mode") == "keyword" for one in questions):
        return [by_words]
    return []
