"""JSON without surprises: what Python would silently bend or drop is refused with a reason."""

import json
import re
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.core.strictjson import STRICT_DECODER
from shiyi.core.text import decode_text

MAX_DEPTH = 100
_MAYBE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def decode_json(content: bytes, *, lone_surrogates: bool = False) -> Any:
    """Return the value. Raw control characters in strings are kept as they are.

    Raises UsageError, without repeating the content, for: bytes that are not UTF-8, text that is
    not JSON, a key that stands twice in one object, NaN and infinities, nesting beyond MAX_DEPTH
    and (unless `lone_surrogates`) escapes for half a surrogate pair.
    """
    text = decode_text(content, "line")
    try:
        value = STRICT_DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"This is not JSON at character {error.pos}: {error.msg}.") from None
    except RecursionError:
        raise UsageError(_too_deep()) from None
    except UsageError:
        raise
    except ValueError:  # Python's own limit on the digits of an integer
        raise UsageError("This holds a number with too many digits.") from None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(value)
    if not lone_surrogates and _MAYBE_SURROGATE.search(text):
        _check_surrogates(value)
    return value


def decode_object(content: bytes, *, lone_surrogates: bool = False) -> dict[str, Any]:
    """Return the value, which has to be an object."""
    value = decode_json(content, lone_surrogates=lone_surrogates)
    if not isinstance(value, dict):
        raise UsageError('This is valid JSON but not an object; write {"text": …}.')
    return value


def _too_deep() -> str:
    return f"This is nested more than {MAX_DEPTH} levels deep."


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for one in level
            if isinstance(one, (dict, list))
            for child in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    raise UsageError(_too_deep())


def _check_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            "A string holds half a surrogate pair, which has no UTF-8 form; remove that character."
        ) from None
