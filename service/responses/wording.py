"""How answers are worded."""

import re
from typing import Annotated

from shiyi.core.text import visible
from shiyi.core.wording import counted

__all__ = ["Name", "Place", "Sentence", "counted", "one_line"]

# Marks of fields that a token is not told as they are (see `service/places.py`).
PLACE = "of the machine"  # left out
NAME = "perhaps a path"  # then its last part is told
SENTENCE = "ours"  # told without the paths in it
Place = Annotated[str | None, PLACE]
Name = Annotated[str, NAME]
Sentence = Annotated[str, SENTENCE]

_BLANKS = re.compile(r"\s+")


def one_line(text: str) -> str:
    """Return a stored text on one line, control characters escaped."""
    return visible(_BLANKS.sub(" ", text))
