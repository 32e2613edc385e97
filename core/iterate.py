"""Iterating in portions."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one possibly shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
