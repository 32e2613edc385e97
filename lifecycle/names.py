"""Names from outside, and the ids that they always have in a scope."""

from shiyi.core.ids import is_id, resolve_id


def capture_id_of(scope: str, reference: str) -> str:
    """Return the id of the capture that a source calls `reference`; an id is returned as it is."""
    return resolve_id(scope, reference)


def record_id_of(scope: str, reference: str) -> str:
    """Return the id of the record that a source calls `reference`; an id is returned as it is.

    Captures and records are named apart, so one name may stand for one of each.
    """
    return reference if is_id(reference) else resolve_id(scope, f"record\0{reference}")
