"""Text at the edge: what may be kept, and how it is shown on a terminal."""

import hashlib
import re
import unicodedata

from shiyi.core.errors import UsageError

_LINE_AND_TAB = frozenset("\n\t")
_JOINER = "\u200d"
_SYMBOLS = frozenset({"So", "Sk", "Cn"})  # Sk: the skin tones; Cn: newer than our tables
# Letters and marks of no width and no ink.
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
# Most of what is written: letters, digits, Han, kana and their punctuation, all of them seen.
_PLAIN = re.compile(
    "[\n\t -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u205e\u3000-\u303e\u3041-\u3096"
    "\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff9e]*"
)
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def check_text(text: str, what: str = "text") -> str:
    """Return `text` unchanged.

    Raises UsageError when it is empty, blank, or holds half a surrogate pair (which has no UTF-8
    form and so could not be kept exactly).
    """
    if not text or text.isspace():
        raise UsageError(f"The {what} is empty; give at least one visible character.")
    encode_text(text, what)
    return text


def encode_text(text: str, what: str = "text") -> bytes:
    """Return the UTF-8 bytes of `text`.

    Raises UsageError when it holds half a surrogate pair.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The {what} holds half a surrogate pair at character {error.start}, which has no "
            "UTF-8 form; remove that character."
        ) from None


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
    """Return the SHA-256 of the UTF-8 bytes of `text`, in hex.

    Raises UsageError when it holds half a surrogate pair.
    """
    return hashlib.sha256(encode_text(text)).hexdigest()


def visible(text: str) -> str:
    r"""Return `text` with control, bidi and other unseen characters written as escapes (\u202e).

    Line breaks, tabs and whole emoji stay as they are.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if _is_hidden(character, text[position - 1 : position])
        else character
        for position, character in enumerate(text)
    )


def _is_hidden(character: str, before: str) -> bool:
    if character in _LINE_AND_TAB:
        return False
    if character == _JOINER:  # it holds emoji together; between letters it only hides
        return not (before and (unicodedata.category(before) in _SYMBOLS or _selects(before)))
    if _selects(character):  # one picks the form of a character; more are a hidden message
        return not before or before in _LINE_AND_TAB or _selects(before)
    return character in _BLANK_LETTERS or unicodedata.category(character) in _HIDDEN_CATEGORIES


def _selects(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
