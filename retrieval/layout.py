"""How an answer is laid out: plain fields, sections of items, and what was left out.

JSON and Markdown are both written in blocks that end with a line break, of which the next begins
with a character that is neither blank nor `/`. No token of o200k or cl100k crosses such a place,
so what an answer costs is the sum of what its blocks cost.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, Field

from shiyi.core.text import visible

Format = Literal["json", "markdown"]
_PARTING = re.compile(r"(?<!\S)·(?!\S)")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
GAINS = (0.05, 0.8, 0.9, 1.0)  # id, one line, short card, full card


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of some forms by one counter: tokens of each, -1 until they are counted.

    paths: by the gains, the steps that pay, as (form before, form after, gain by token).
    """

    tokens: list[int]
    paths: dict[tuple[float, ...], list[tuple[int, int, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """Something to show. forms go from the smallest to the largest and are never empty.

    known: by the name of the counter; who shows the same forms again keeps it for them.
    """

    id: str
    value: float
    forms: tuple[str, ...]
    known: dict[str, Known] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Items under one name, in the order in which they are shown.

    gains: what each form is worth of an item's value, ascending; one for each form.
    """

    name: str
    items: tuple[Item, ...]
    weight: float = 1.0
    gains: tuple[float, ...] = GAINS


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the sections: plain fields before them, those that are None left out.

    request names the request without its budget and cursor, see `fingerprint_of`. mark is what a
    cursor ends with, for who gives it and takes it off.
    """

    format: Format
    fields: Mapping[str, Any] = field(default_factory=dict)
    request: str = ""
    mark: str = ""


class Left(BaseModel):
    """What the budget left out, counted by section."""

    omitted: dict[str, int] = Field(default_factory=dict, description="items not shown at all")
    stepped_down: dict[str, int] = Field(
        default_factory=dict, description="items shown in a smaller form than they have"
    )
    resume: str | None = Field(
        default=None, description="the cursor that goes on with what is omitted"
    )


class Budgeted(BaseModel):
    """What every answer with a budget has. `text` is what was budgeted and what a door prints."""

    outcome: Literal["found", "empty", "failed", "unavailable"]
    notes: list[str] = Field(default_factory=list, description="what was missing or could widen")
    trace: str | None = Field(
        default=None, description="the id under which this call can be looked at"
    )
    truncated: Left
    counter: str
    tokens: int = Field(description="what the text costs, at most the budget")
    text: str = Field(exclude=True, repr=False, description="the answer in the format asked for")


def compact(value: Any) -> str:
    """Return a value as JSON on one line, Unicode as it is."""
    return _ENCODER.encode(value)


def head_of(frame: Frame) -> str:
    """Return the plain fields of an answer."""
    fields = {name: value for name, value in frame.fields.items() if value is not None}
    if frame.format == "json":
        return f"{compact(fields)[:-1]},\n" if fields else "{\n"
    shown = [f"{name}: {plain(value)}" for name, value in fields.items()]
    return f"{' · '.join(shown)}\n" if shown else ""


def plain(value: Any) -> str:
    """Return a value on one line of Markdown."""
    text = value if isinstance(value, str) else compact(value)
    return visible(" ".join(text.split()))


def inline(text: str) -> str:
    """Return stored text in which no dot looks like what parts two fields of a line."""
    return _PARTING.sub(r"\\·", text) if "·" in text else text


def between(format_: Format) -> str:
    """Return what parts two items."""
    return ",\n" if format_ == "json" else "\n"


def opened(name: str, format_: Format) -> str:
    """Return the line with which a section begins."""
    return f'"{name}":[\n' if format_ == "json" else f"## {name}\n"


def closed(format_: Format) -> str:
    """Return the line with which a section ends."""
    return "],\n" if format_ == "json" else ""


def tail_of(left: Left, counter: str, tokens: int, frame: Frame) -> str:
    """Return what was left out, and what the answer costs."""
    if frame.format == "json":
        fields = {"truncated": left.model_dump(), "counter": counter, "tokens": tokens}
        return f"{compact(fields)[1:]}\n"
    parts = [
        f"{what}: {', '.join(f'{count} {name}' for name, count in counts.items())}"
        for what, counts in (("left out", left.omitted), ("shortened", left.stepped_down))
        if counts
    ]
    if left.resume:
        parts.append(f"resume: {left.resume}")
    return " · ".join([*parts, f"{tokens} tokens ({counter})"]) + "\n"
