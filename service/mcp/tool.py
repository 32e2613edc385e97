"""What a tool is: a name for fields of one operation, or of a small choice of them.

Which one a call asks for is said by one argument (its switch), or by the presence of one. Bounds,
kinds and defaults come from the request models, permissions from the table of operations.
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
_BUDGET: Values = {"minimum": 200, "maximum": MOST_TOKENS}


@dataclass(frozen=True, slots=True)
class Input:
    """One argument: the fields `operation.field` that it gives, and what a model is told of it."""

    fields: tuple[str, ...]
    description: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Switch:
    """An argument that says which operation is meant; the first choice is the default."""

    name: str
    choices: Mapping[str, str]  # what is said, and the operation
    description: str

    def schema(self) -> Values:
        """Return the schema of the argument."""
        return {"type": "string", "enum": list(self.choices), "description": self.description}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool; its first operation is the one that is meant when nothing else is said."""

    name: str
    title: str
    description: str
    inputs: Mapping[str, Input]
    operation: str = ""
    switch: Switch | None = None
    by_presence: Mapping[str, str] = field(default_factory=dict)  # an argument that means one
    implied: Mapping[str, Values] = field(default_factory=dict)  # what is asked of one besides
    extra: Mapping[str, Any] = field(default_factory=dict)  # arguments for how it is shown
    answer: Callable[[Values, Values], Values] = answers.plain
    output: Mapping[str, Any] | None = None
    trusted: bool = True  # its answers hold stored text, so they say whose word it is

    @property
    def operations(self) -> tuple[str, ...]:
        """Return the names of its operations."""
        own = [*self.switch.choices.values()] if self.switch else [self.operation]
        return tuple(dict.fromkeys([*own, *self.by_presence.values()]))

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
        properties: Values = {}
        if self.switch:
            default = {} if self.by_presence else {"default": next(iter(self.switch.choices))}
            properties[self.switch.name] = self.switch.schema() | default
        properties |= {name: dict(one) for name, one in self.extra.items()}
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
        known = [*([self.switch.name] if self.switch else []), *self.inputs, *self.extra]
        if not set(given) <= set(known):
            raise UsageError(f"{self.name} takes only these arguments: {', '.join(known)}.")
        for name, schema in {"budget": _BUDGET, **self.extra}.items():
            if name in given:
                _check_number(name, given[name], schema)
        operation = self._meant(given)
        values = dict(self.implied.get(operation, {}))
        for name, one in self.inputs.items():
            value = given.get(name, one.default)
            own = self._field_of(one, operation)
            if own is not None and value is not None:
                values[own] = value
            elif own is None and name in given and name != "budget":  # which this door sees to
                raise UsageError(f"{name} {self._belongs(one)}.")
        self._refuse_missing(operation, values)
        fields = request_model(find_operation(operation)).model_fields
        return operation, {**({"format": "json"} if "format" in fields else {}), **values}

    def _meant(self, given: Values) -> str:
        """Return the operation that the arguments ask for."""
        if self.switch and self.switch.name in given:
            choices, said = self.switch.choices, given[self.switch.name]
            if not isinstance(said, str) or said not in choices:
                raise UsageError(f"{self.switch.name} is one of: {', '.join(choices)}.")
            return choices[said]
        return next((own for name, own in self.by_presence.items() if name in given),
                    self.operations[0])  # fmt: skip

    def _refuse_missing(self, operation: str, values: Values) -> None:
        """Raise UsageError when an argument that the operation needs is not given."""
        for own, one in request_model(find_operation(operation)).model_fields.items():
            if one.is_required() and own not in values:
                use = f" with {chosen}" if (chosen := self.choice_of(operation)) else ""
                needed = self.argument_of(operation, own)
                raise UsageError(f"{self.name}{use} needs the argument {needed}.")

    def _belongs(self, one: Input) -> str:
        """Return where an argument has a meaning."""
        own = [operation for operation in self.operations if self._field_of(one, operation)]
        uses = [choice for operation in own if (choice := self.choice_of(operation))]
        uses += [name for name, operation in self.by_presence.items() if operation in own]
        if not uses:
            return f"has no meaning in this use of {self.name}; leave it out"
        return f"goes with {' or '.join(uses)}; give that as well, or leave it out"

    def choice_of(self, operation: str) -> str:
        """Return the switch and its value that choose an operation, or nothing."""
        choices = self.switch.choices if self.switch else {}
        said = next((said for said, own in choices.items() if own == operation), None)
        return "" if said is None or self.switch is None else f"{self.switch.name} {said}"

    def argument_of(self, operation: str, own: str) -> str:
        """Return the argument that a field of an operation is given by."""
        full = f"{operation}.{own}"
        return next((name for name, one in self.inputs.items() if full in one.fields), own)

    @staticmethod
    def _field_of(one: Input, operation: str) -> str | None:
        owned = (full.partition(".") for full in one.fields)
        return next((own for name, _, own in owned if name == operation), None)


def _check_number(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    """Raise UsageError unless a value is a whole number within bounds."""
    least, most = schema["minimum"], schema.get("maximum")
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        up_to = "" if most is None else f" up to {most}"
        raise UsageError(f"{name} is a whole number from {least}{up_to}.")


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
