"""Using a tool: its operation, then whose word everything is that the answer shows."""

from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import BaseModel

from shiyi.core.errors import HomeError, UsageError
from shiyi.core.iterate import batched
from shiyi.retrieval.packing import Budgeted
from shiyi.service.mcp import answers
from shiyi.service.mcp.tool import Tool
from shiyi.service.mcp.wording import for_model
from shiyi.service.refusal import refusal_of
from shiyi.service.session import OTHERS

_AT_ONCE = 1000  # memories whose origin is asked


class Door(Protocol):
    """What one request may use: one scope, and how operations are called in it.

    The scope belongs to the process or the token; no argument of a tool names one.
    """

    @property
    def scope(self) -> str:
        """The scope of everything."""

    def may(self, permission: str) -> bool:
        """Tell whether what needs that permission may be done."""

    async def call(self, operation: str, values: Mapping[str, Any]) -> BaseModel:
        """Do an operation and return what it answers, or raise what it raises."""


async def use(tool: Tool, door: Door, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Use a tool and return its answer, with the trust of everything that it shows.

    Raises whatever the operation raises.
    """
    operation, values = tool.ask(arguments)
    try:
        answer = _worded(_plain(await door.call(operation, values)))
    except UsageError as error:
        raise _in_its_words(error, tool, operation) from None
    given = {name: one for name, one in arguments.items() if one is not None}
    content = tool.answer(answer, {**given, "scope": door.scope})
    shown = answers.memories_of(content) if tool.trusted else []
    trusts: dict[str, str] = {}
    for some in batched(shown, _AT_ONCE):
        origins = _plain(await door.call("origins", {"ids": some}))["origins"]
        trusts |= {one["id"]: one["trust"] for one in origins}
    return answers.with_trust(content, trusts) if tool.trusted else content


def of_one_scope(sentence: str) -> str:
    """Return a sentence without the names of other scopes."""
    own, others, _ = sentence.partition(OTHERS)
    return f"{own}." if others else sentence


def told(error: Exception) -> str:
    """Return what a model reads: without content, other scopes, places or a person's options."""
    refusal = refusal_of(error)
    if refusal.code == HomeError.code:
        return "Nothing is remembered here yet; memory_remember makes the beginning."
    return for_model(of_one_scope(refusal.message))


def _plain(answer: BaseModel) -> dict[str, Any]:
    left_out = {"text"} if isinstance(answer, Budgeted) else None
    return answer.model_dump(mode="json", exclude=left_out)


def _worded(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose sentences of ours are for a model; stored text stays as it is."""
    if "notes" in answer:
        answer["notes"] = [for_model(of_one_scope(note)) for note in answer["notes"]]
    warnings = answer.get("warnings", [])
    for place, one in enumerate(warnings):
        if isinstance(one, str) and not answers.is_about_memory(one):
            warnings[place] = for_model(one)
    for one in [*answer.get("open", ()), *warnings]:
        if isinstance(one, dict):
            one["todo"] = for_model(one["todo"])
    return answer


def _in_its_words(error: UsageError, tool: Tool, operation: str) -> UsageError:
    """Return the error with the name that the argument has in the tool."""
    field, colon, rest = str(error).partition(": ")
    own = tool.argument_of(operation, field.partition(".")[0])
    return UsageError(f"{own}: {rest}") if colon and field.isidentifier() else error
