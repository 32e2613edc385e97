"""The block of our own export: what a line says beyond the public fields, and how it is read."""

from datetime import datetime
from typing import Any

from shiyi.core.dates import parse_timestamp
from shiyi.store.salience import LEVELS, SOURCES

EXPORT_BLOCK = "shiyi"
READ_AS_LEVEL = len(LEVELS)  # a salience below this would be read as a level, so the block has it


def taken_block(attrs: dict[str, Any], mark: str) -> dict[str, Any]:
    """Take the block out of `attrs` and return it; anything else of that name stays there.

    mark: the field without which it is none of ours.
    """
    block = attrs.get(EXPORT_BLOCK)
    if not isinstance(block, dict) or mark not in block:
        return {}
    salience = block.get("salience", 0)
    others = [value for name, value in block.items() if name != "salience"]
    if salience not in range(READ_AS_LEVEL) or not all(isinstance(one, str) for one in others):
        return {}
    del attrs[EXPORT_BLOCK]
    return block


def source_of(block: dict[str, Any], salience: int | None) -> str:
    """Return where a weight is from: what our own export says, else the import itself."""
    if salience is None:
        return "default"
    said = block.get("salience_source")
    return said if said in SOURCES else "imported"


def time_in(block: dict[str, Any], name: str) -> datetime | None:
    """Return a time that the block has under a name, or None; raises UsageError for another."""
    value = block.get(name)
    return parse_timestamp(value) if isinstance(value, str) else None
