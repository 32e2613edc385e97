"""The decoder of JSON that silently bends and drops nothing."""

import json
import math
from typing import Any

from shiyi.core.errors import UsageError


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UsageError("A key stands twice in one object; keep one of them.")
    return found


def _constant(_name: str) -> float:
    raise UsageError("NaN and infinities are not JSON numbers; leave the field out.")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _constant(text)


# Raises UsageError for a key that stands twice, NaN and infinities; raw control characters in
# strings are kept as they are.
STRICT_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float, strict=False
)
