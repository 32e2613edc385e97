"""Feedback: what a person said of a memory or an answer, in their own words, never changed."""

from typing import Any

from shiyi.core.errors import NotFoundError
from shiyi.core.ids import is_trace_id, resolve_id
from shiyi.core.text import visible
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.readers.items import FeedbackItem, Quote
from shiyi.lifecycle.secrets import check_secrets
from shiyi.lifecycle.ties import spans_of
from shiyi.store import Feedback, Store, Transaction


def add_feedback(
    store: Store,
    scope: str,
    target: str,
    verdict: str,
    evidence: Quote,
    *,
    trace: str | None = None,
    note: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Keep what was said of a record, a capture or an answer; the memory itself is not touched.

    evidence: the words in which it was said, checked against their capture. The same said again of
    the same with the same words is a repeat. Returns feedback_id, target_id and whether it is new.

    Raises NotFoundError for a target or a capture, UsageError for words, that are not there.
    """
    check_secrets(note)

    def act(transaction: Transaction) -> dict[str, Any]:
        target_id = _target(store, scope, target)
        [(capture, start, end)] = spans_of(store, scope, [evidence], "The feedback is not kept")
        one = Feedback(
            scope=scope, feedback_id=transaction.new_id(), verdict=verdict, target_id=target_id,
            capture_id=capture, span_start=start, span_end=end, trace_id=trace, note=note,
            created_at=transaction.now,
        )  # fmt: skip
        said = next((old for old in store.feedback(scope, [target_id]) if _same(old, one)), None)
        if said is None:
            transaction.add_feedback([one])
        kept = said or one
        return {
            "feedback_id": kept.feedback_id, "target_id": target_id, "verdict": verdict,
            "added": said is None,
        }  # fmt: skip

    plain = [evidence.capture, evidence.text, evidence.start, evidence.end]
    request = ["feedback", target, verdict, plain, trace, note]
    return store.write(scope, act, key=key, request=request)


def feedback_of(store: Store, scope: str, item: FeedbackItem) -> Feedback:
    """Return feedback as a file has it; raises NotFoundError or UsageError as `add_feedback`."""
    quote = Quote(item.capture, None, item.start, item.end)
    [(capture, start, end)] = spans_of(store, scope, [quote], "The feedback is not kept")
    return Feedback(
        scope=scope, feedback_id=resolve_id(scope, item.key), verdict=item.verdict,
        target_id=_target(store, scope, item.target), capture_id=capture, span_start=start,
        span_end=end, trace_id=item.trace, note=item.note, created_at=item.at,
    )  # fmt: skip


def _target(store: Store, scope: str, target: str) -> str:
    """Return the id of what is spoken of: a record, a capture, or an answer by its trace."""
    record_id, capture_id = record_id_of(scope, target), capture_id_of(scope, target)
    if store.versions(scope, record_id):
        return record_id
    if store.capture(scope, capture_id) is not None:
        return capture_id
    if is_trace_id(target):  # traces are kept for some days only, what is said of them for good
        return target
    raise NotFoundError(
        f"There is no record, capture or trace {visible(target)} in the scope {scope}."
    )


def _same(old: Feedback, new: Feedback) -> bool:
    names = ("verdict", "capture_id", "span_start", "span_end", "trace_id", "note")
    return all(getattr(old, name) == getattr(new, name) for name in names)
