"""How much something matters: one axis from 0 to 100, shown as four levels.

Level 0 is passing (below 30), 1 related (30 to 59), 2 key (60 to 79), 3 axis (80 and more). A level
that is given stands for the middle of its band.
"""

from bisect import bisect_right

# Where a weight is from: a person, a file, a review, or nowhere.
SOURCES: tuple[str, ...] = ("stated", "imported", "reviewed", "default")
LEVELS: tuple[str, ...] = ("passing", "related", "key", "axis")
_FROM = (30, 60, 80)  # the least of the levels above 0
_MIDDLES = (15, 45, 70, 90)


def level_of(salience: int) -> int:
    """Return the level, 0 to 3, of a salience."""
    return bisect_right(_FROM, salience)


def salience_of(level: int) -> int:
    """Return the salience that a level, 0 to 3, stands for."""
    return _MIDDLES[level]
