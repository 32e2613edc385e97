"""What is meant when something is named: a whole id, the beginning of one, or a source's name.

Ids are read in either case. A source's name goes first, since it may look like one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shiyi.core.errors import UsageError
from shiyi.core.ids import as_id, is_short_id
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.service.session import Session


@dataclass(frozen=True, slots=True)
class Named:
    """The ids that were meant, each once, and the names that stand for nothing here."""

    ids: list[str]
    unknown: list[str]


def named(session: Session, scope: str, references: Sequence[str]) -> Named:
    """Return what each reference means in a scope.

    Raises UsageError for the beginning of several ids.
    """
    found = {text: _meant(session, scope, text) for text in references}
    ids = dict.fromkeys(id_ for id_ in found.values() if id_ is not None)
    return Named(list(ids), [text for text, id_ in found.items() if id_ is None])


def whole(session: Session, scope: str, reference: str) -> str:
    """Return the id that is meant, or the reference itself when nothing here is.

    Raises UsageError for the beginning of several ids.
    """
    return _meant(session, scope, reference) or reference


def given(session: Session, scope: str, id_: str) -> str:
    """Return the id that an answer gave, whole or short; quicker than `whole`, which knows names.

    Raises UsageError for the beginning of several ids.
    """
    if (whole_id := as_id(id_)) is not None:
        return whole_id
    session.store  # noqa: B018 - a home that is not there is said
    if is_short_id(id_) and session.holds(scope):
        meant = session.indexes.get(scope, vectors=False).ids_beginning(id_)
        if len(meant) == 1:
            return meant[0]
    return whole(session, scope, id_)


def whole_capture(session: Session, scope: str, reference: str) -> str:
    """Return the id of the capture that is meant, or the reference itself when nothing here is.

    A name that a record has as well means the capture. Raises UsageError for the beginning of
    several ids.
    """
    for name in readings(reference):
        capture_id = capture_id_of(scope, name)
        if session.store.capture(scope, capture_id) is not None:
            return capture_id
    return whole(session, scope, reference)


def readings(text: str) -> list[str]:
    """Return what a text may name: itself, and the id that it is in small letters."""
    return list(dict.fromkeys([text, as_id(text) or text]))


def _meant(session: Session, scope: str, text: str) -> str | None:
    """Return the id of what a text names: by id or name first, then by the beginning of an id."""
    store = session.store
    for name in readings(text):
        record_id, capture_id = record_id_of(scope, name), capture_id_of(scope, name)
        if store.versions(scope, record_id):
            return record_id
        if store.capture(scope, capture_id) is not None:
            return capture_id
    if not is_short_id(text) or not session.holds(scope):
        return None
    meant = session.indexes.get(scope, vectors=False).ids_beginning(text)
    if len(meant) > 1:
        raise UsageError(f"{len(meant)} ids begin with {text}; give more of its characters.")
    return meant[0] if meant else None
