"""How often a property is tried."""

from hypothesis import settings


def few(count: int) -> int:
    """Return how many examples to take of a kind that is dear; `make slow` takes many more."""
    return count * settings().max_examples // 50
