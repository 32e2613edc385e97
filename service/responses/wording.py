"""How answers are worded."""

import re

from shiyi.core.text import visible
from shiyi.core.wording import counted

__all__ = ["counted", "one_line"]

_BLANKS = re.compile(r"\s+")


def one_line(text: str) -> str:
    """Return a stored text on one line, control characters escaped."""
    return visible(_BLANKS.sub(" ", text))
