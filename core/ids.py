"""Identifiers: ULIDs for what is new, ULID-shaped hashes for what is imported, and scope names.

Order never comes from an id, only from the change sequence, so a clock that jumps does no harm.
"""

import hashlib
import re
import unicodedata

from ulid import ULID

from shiyi.core.errors import UsageError
from shiyi.core.text import visible

_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
LEAST_SHORT = 8  # characters of the beginning of an id that stands for it
_SHORT = re.compile(rf"[0-7][0-9A-HJKMNP-TV-Z]{{{LEAST_SHORT - 1},24}}")
_TRACE_ID = re.compile("[0-9]{24}")
_SCOPE_CHARACTERS = frozenset("_.@+:-")
_MAX_SCOPE = 64
MAX_TURN = 200
MAX_EXTERNAL_ID = 512


def new_id() -> str:
    """Return a fresh 26-character ULID."""
    return str(ULID())


def is_id(text: str) -> bool:
    """Tell whether `text` has the form of an id."""
    return _ID.fullmatch(text) is not None


def as_id(text: str) -> str | None:
    """Return the id that `text` is, whatever its case and the space around it, or None."""
    plain = text.strip().upper()
    return plain if is_id(plain) else None


def is_short_id(text: str) -> bool:
    """Tell whether `text` has the form of the beginning of an id."""
    return _SHORT.fullmatch(text.strip().upper()) is not None


def is_trace_id(text: str) -> bool:
    """Tell whether `text` has the form of the id of a trace."""
    return _TRACE_ID.fullmatch(text) is not None


def derived_id(scope: str, key: str) -> str:
    """Return the id that `key`, an identity given by a source, always has in `scope`.

    The same import therefore meets its own rows again. 128 bits of SHA-256, written as a ULID.
    """
    digest = hashlib.sha256(f"{scope}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return str(ULID.from_bytes(digest[:16]))


def resolve_id(scope: str, reference: str) -> str:
    """Return the id for `reference`: an id as it is, any other name by `derived_id`."""
    return reference if is_id(reference) else derived_id(scope, reference)


def check_id(text: str) -> str:
    """Return the id that `text` is, in capital letters.

    Raises UsageError when it is none; the message does not repeat the value.
    """
    id_ = as_id(text)
    if id_ is None:
        raise UsageError(
            "An id is 26 characters of digits and capital letters, as `shiyi list` shows it."
        )
    return id_


def check_turn(name: str) -> str:
    """Return the name of a turn in NFC, without the space around it.

    Raises UsageError unless it is 1 to 200 characters on one line that all can be seen; the message
    does not repeat it.
    """
    normal = unicodedata.normalize("NFC", name)
    seen = visible(normal) == normal and not set("\n\t") & set(normal)
    normal = normal.strip()
    if not (0 < len(normal) <= MAX_TURN and seen):
        raise UsageError(
            f"A turn is named by 1 to {MAX_TURN} visible characters on one line, for example t-17."
        )
    return normal


def check_scope(name: str) -> str:
    """Return the scope name in NFC.

    Raises UsageError unless it is 1 to 64 letters (of any script, with their marks), digits and
    `_ . @ + : -`, starting with a letter, digit or `_`, and shows all that it holds.
    """
    if not isinstance(name, str):
        raise UsageError("A scope name is a text, for example `me` or `工作`.")
    normal = unicodedata.normalize("NFC", name)
    if not (
        0 < len(normal) <= _MAX_SCOPE
        and (normal[0] == "_" or unicodedata.category(normal[0])[0] in "LN")
        and all(c in _SCOPE_CHARACTERS or unicodedata.category(c)[0] in "LMN" for c in normal)
        and visible(normal) == normal
    ):
        raise UsageError(
            "A scope name is 1 to 64 letters (of any script), digits and _ . @ + : - and starts "
            "with a letter, a digit or _; for example `me` or `工作`."
        )
    return normal
