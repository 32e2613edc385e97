"""Names and texts as SQL has them, for the few statements that take no parameters for them."""

import re

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def quoted(*names: str) -> str:
    """Return names of tables or columns, quoted and parted by commas.

    They come from the catalogue, and are looked at all the same: raises ValueError for any other.
    """
    if not names or not all(_NAME.fullmatch(name) for name in names):
        raise ValueError("A table and a column are named in small letters, digits and lines.")
    return ", ".join(f'"{name}"' for name in names)


def unnested(count: int) -> str:
    """Return the parameters of an insert that takes one list a column."""
    return ", ".join(["unnest(?)"] * count)


def literal(text: str) -> str:
    """Return a text as a literal; for paths, which are a person's choice."""
    return "'" + text.replace("'", "''") + "'"
