"""Sentences as a model can follow them: a command that is named becomes the call of a tool.

Whoever writes a sentence names a step as the command of a person, in backticks: `shiyi finalize
ID derived`. A model has no command line, so here it reads the tool and the arguments that do the
same, or else that the step is the person's. Options that only a person may give are left out.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from shiyi.service.invoke import request_model
from shiyi.service.mcp.tool import Tool
from shiyi.service.mcp.tools import TOOLS
from shiyi.service.table.operations import Operation, find_operation

_COMMAND = re.compile(r"`shiyi ([^`]+)`")
# What only a person can do, at the command line.
_OPTION = re.compile(r",? or say --[a-z-]+[^.]*|(?<=\.) (?![^.]*or say --)[^.]*--[a-z-]+[^.]*\.")
_INSTEAD = {"list": ("catalog", "memory_survey"), "ledger": ("pending", "memory_status")}


def for_model(sentence: str) -> str:
    """Return a sentence of ours for a model; not for stored text, which stays as it is."""
    return _OPTION.sub(
        "", _COMMAND.sub(lambda found: _called(found[1]) or _persons(found), sentence)
    )


def _persons(found: "re.Match[str]") -> str:
    return f"{found[0]} (a command for the person)"


def _called(command: str) -> str | None:
    """Return how a tool is called that does what a command does, or None."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    operation = _operation(words)
    if operation is None:
        return None
    name, tool_name = _INSTEAD.get(operation.name, (operation.name, None))
    values = _values(operation, words[len(operation.name.split()) :])
    for tool in TOOLS:
        if name in tool.operations and tool_name in {None, tool.name}:
            return _call(tool, name, values)
    return None


def _operation(words: Sequence[str]) -> Operation | None:
    for length in (2, 1):
        try:
            return find_operation(" ".join(words[:length]))
        except KeyError:
            continue
    return None


def _values(operation: Operation, words: Sequence[str]) -> dict[str, str]:
    """Return the fields that the words of a command give."""
    fields = request_model(operation).model_fields
    extra = {name: dict(one.json_schema_extra or {}) for name, one in fields.items()
             if not callable(one.json_schema_extra)}  # fmt: skip
    places = [name for name, one in extra.items() if one.get("cli") in {"argument", "words"}]
    options = {f"--{one.get('flag', name)}".replace("_", "-"): name for name, one in extra.items()}
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            given[options.get(word, word)] = next(rest, "")
        elif places:
            given[places.pop(0)] = word
    return given


def _call(tool: Tool, operation: str, values: Mapping[str, Any]) -> str | None:
    """Return the call in words, or None when the tool cannot be called so."""
    said = {tool.argument_of(operation, own): value for own, value in values.items()}
    if not set(said) <= set(tool.inputs):
        return None
    parts = [f"{name} {one}".rstrip() for name, one in said.items()]
    if choice := tool.choice_of(operation):
        parts.insert(0, choice)
    elif meaning := [one for one, own in tool.by_presence.items() if own == operation]:
        field = tool.inputs[meaning[0]].fields[0].partition(".")[2]
        if meaning[0] not in said:
            if not request_model(find_operation(operation)).model_fields[field].is_required():
                return None  # without it something else is meant
            parts.insert(0, meaning[0])
    return f"{tool.name} ({', '.join(parts)})" if parts else tool.name
