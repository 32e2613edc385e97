"""Segments of small corpora."""

from collections.abc import Iterable
from pathlib import Path

from shiyi.indexer.segment import Array, Segment, SegmentBuilder


def build_segment(counts: Iterable[tuple[Array, Array]], directory: Path) -> Segment:
    """Build a segment in `directory` from each document's keys and frequencies, in order."""
    builder = SegmentBuilder(directory)
    for keys, frequencies in counts:
        builder.add(keys, frequencies)
    builder.finish()
    return Segment.load(directory)
