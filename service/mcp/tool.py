"""What a tool is: a name for fields of one operation, or of a small choice of them.

Bounds, kinds and defaults come from the request models, permissions from the table of operations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shiyi.core.errors import UsageError
from shiyi.service.answers import response_model
from shiyi.service.invoke import request_model
from shiyi.service.mcp import answers
from shiyi.service.mcp.schema import schema_of_field, schema_of_model
from shiyi.service.table.operations import Operation, find_operation

Values = dict[str, Any]
MOST_TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Input:
    """One argument: the fields `operation.field` that it gives, and what a model is told of it."""

    fields: tuple[str, ...]
    description: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. choose: the operation that the arguments ask for, and what they imply."""

    name: str
    title: str
    description: str
    operations: tuple[str, ...]
    inputs: Mapping[str, Input]
    choose: Callable[[Values], tuple[str, Values]] | None = None
    switch: Mapping[str, Any] = field(default_factory=dict)  # arguments that only choose
    extra: Mapping[str, Any] = field(default_factory=dict)  # arguments for how it is shown
    check: Callable[[Mapping[str, Any]], None] | None = None  # of those
    answer: Callable[[Values, Values], Values] = answers.plain
    output: Mapping[str, Any] | None = None
    trusted: bool = True  # its answers hold stored text, so they say whose word it is

    @property
    def table(self) -> list[Operation]:
        """Return its operations."""
        return [find_operation(name) for name in self.operations]

    @property
    def permission(self) -> Literal["read", "write", "destroy"]:
        """Return what its operations need at most."""
        order = ("read", "write", "destroy")
        return max((one.permission for one in self.table), key=order.index)

    @property
    def repeatable(self) -> bool:
        """Tell whether doing it twice is as good as once."""
        return all(one.repeatable for one in self.table)

    @property
    def changes_what_holds(self) -> bool:
        """Tell whether it does more than add: it may take out of sight what was in sight."""
        hiding = {"edit", "archive", "supersede"}
        return self.permission == "destroy" or bool(hiding & set(self.operations))

    def input_schema(self) -> Values:
        """Return the schema of its arguments."""
        properties: Values = {
            name: dict(one) for name, one in {**self.switch, **self.extra}.items()
        }
        for name, given in self.inputs.items():
            operation, _, own = given.fields[0].partition(".")
            model_field = request_model(find_operation(operation)).model_fields[own]
            schema = schema_of_field(model_field, given.description)
            if given.default is not None:
                schema["default"] = given.default
            if own == "budget":
                schema["maximum"] = MOST_TOKENS
            properties[name] = schema
        required = [name for name, one in self.inputs.items() if one.required]
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})

    def output_schema(self) -> Values:
        """Return the schema of its answers, those of all its operations together."""
        if self.output is not None:
            return dict(self.output)
        properties: Values = {}
        for operation in self.table:
            properties |= schema_of_model(response_model(operation))["properties"]
        properties.pop("text", None)
        return {"type": "object", "properties": properties}

    def ask(self, arguments: Mapping[str, Any]) -> tuple[str, Values]:
        """Return the operation to call and its values.

        Raises UsageError, which names arguments but never repeats what they hold.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        known = [*self.switch, *self.inputs, *self.extra]
        if not set(given) <= set(known):
            raise UsageError(f"{self.name} takes only these arguments: {', '.join(known)}.")
        missing = [n for n, one in self.inputs.items() if one.required and n not in given]
        if missing:
            raise UsageError(f"{self.name} needs the argument {missing[0]}.")
        for name, schema in self.switch.items():
            if name in given and given[name] not in schema["enum"]:
                raise UsageError(f"{name} is one of: {', '.join(schema['enum'])}.")
        if self.check:
            self.check(given)
        operation, implied = self.choose(given) if self.choose else (self.operations[0], {})
        values = dict(implied)
        for name, one in self.inputs.items():
            value = given.get(name, one.default)
            own = self._field_of(one, operation)
            if own is not None and value is not None:
                values[own] = value
            elif own is None and name in given:
                raise UsageError(f"{name} has no meaning in this use of {self.name}; leave it out.")
        if values.get("budget", 0) > MOST_TOKENS:
            raise UsageError(f"budget is at most {MOST_TOKENS}.")
        fields = request_model(find_operation(operation)).model_fields
        return operation, {**({"format": "json"} if "format" in fields else {}), **values}

    def argument_of(self, operation: str, own: str) -> str:
        """Return the argument that a field of an operation is given by."""
        full = f"{operation}.{own}"
        return next((name for name, one in self.inputs.items() if full in one.fields), own)

    @staticmethod
    def _field_of(one: Input, operation: str) -> str | None:
        owned = (full.partition(".") for full in one.fields)
        return next((own for name, _, own in owned if name == operation), None)


def same(
    operations: Sequence[str], told: Mapping[str, str], **options: Mapping[str, Any]
) -> dict[str, Input]:
    """Return arguments with the names of the fields of the operations that have them."""
    made: dict[str, Input] = {}
    for name, description in told.items():
        owners = [
            f"{one}.{name}"
            for one in operations
            if name in request_model(find_operation(one)).model_fields
        ]
        made[name] = Input(tuple(owners), description, **options.get(name, {}))
    return made
