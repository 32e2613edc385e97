"""Text at the edge: what may be kept, and how it is shown on a terminal."""

import hashlib
import unicodedata

from shiyi.core.errors import UsageError

_SHOWN_AS_THEY_ARE = frozenset("\n\t\u200d")  # the joiner holds emoji together
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def check_text(text: str, what: str = "text") -> str:
    """Return `text` unchanged.

    Raises UsageError when it is empty, blank, or holds half a surrogate pair (which has no UTF-8
    form and so could not be kept exactly).
    """
    if not text or text.isspace():
        raise UsageError(f"The {what} is empty; give at least one visible character.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The {what} holds half a surrogate pair at character {error.start}, which has no "
            "UTF-8 form; remove that character."
        ) from None
    return text


def decode_text(content: bytes, what: str = "text") -> str:
    """Return `content` as text.

    Raises UsageError when it is not UTF-8, naming the byte.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"The {what} is not UTF-8 (byte {error.start}); convert it to UTF-8 first, "
            "for example with iconv."
        ) from None


def text_sha256(text: str) -> str:
    """Return the SHA-256 of the UTF-8 bytes of `text`, in hex."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def visible(text: str) -> str:
    r"""Return `text` with control, bidi and zero-width characters written as escapes (\u202e)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character in _SHOWN_AS_THEY_ARE
        or unicodedata.category(character) not in _HIDDEN_CATEGORIES
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
