"""What a kind has of its own: one small class each.

A shape describes `attrs` of one kind. Names that it does not list are kept as they are. What is
given must fit; what a shape needs must be there only where a record is newly made as its kind, so
that what was imported before stays as it is.
"""

from shiyi.store.shapes.base import Shape
from shiyi.store.shapes.check import (
    SHAPES,
    check_attrs,
    check_beginning,
    check_staying,
    is_whole,
    references_of,
    with_ids,
)
from shiyi.store.shapes.persons import MYSELF, REDIRECT, is_merged

__all__ = [
    "MYSELF", "REDIRECT", "SHAPES", "Shape", "check_attrs", "check_beginning", "check_staying",
    "is_merged",
    "is_whole", "references_of", "with_ids",
]  # fmt: skip
