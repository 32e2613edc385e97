"""How answers are worded."""

import re

from shiyi.core.text import visible

_BLANKS = re.compile(r"\s+")


def counted(number: int, plural: str) -> str:
    """Return a number with what it counts: "1 record", "2 records"; a plural ends with s."""
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"


def one_line(text: str) -> str:
    """Return a stored text on one line, control characters escaped."""
    return visible(_BLANKS.sub(" ", text))
