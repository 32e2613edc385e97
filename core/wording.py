"""How numbers and commands are worded."""

import shlex

LOST_PLACE = "What this page would go on from is no longer there; begin with the first page."


def counted(number: int, plural: str) -> str:
    """Return a number with what it counts: "1 record", "2 records"; a plural ends with s."""
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"


def command(*words: str) -> str:
    """Return a command as sentences name it, in backticks; a door may word it in its own way."""
    return f"`shiyi {shlex.join(words)}`"
