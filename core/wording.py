"""How numbers are worded."""

LOST_PLACE = "What this page would go on from is no longer there; begin with the first page."


def counted(number: int, plural: str) -> str:
    """Return a number with what it counts: "1 record", "2 records"; a plural ends with s."""
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"
