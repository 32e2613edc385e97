"""Write what is made from the table of operations: the Python client and the command reference.

    python tools/generate.py [--check]

With --check nothing is written; the exit code is 1 when a file is not what it would be.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from shiyi.cli import main as command_group
from shiyi.service import requests
from shiyi.service.invoke import request_model
from shiyi.service.table.operations import OPERATIONS, Operation

ROOT = Path(__file__).resolve().parents[1]
_RESERVED = {"import": "import_"}
_PATHS = [get_args(kind)[1] for kind in (requests.Place, requests.Places)]  # also as pathlib has it
_WIDTH = 96
_HEADER = '''"""The Python client: one method for each operation.

Made from the table of operations by tools/generate.py; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

from shiyi.connection import Connection

if TYPE_CHECKING:
    from shiyi.service import responses

'''


def main() -> int:
    """Write or check the files."""
    made = {
        ROOT / "shiyi" / "client.py": client_source(),
        ROOT / "docs" / "reference" / "commands.md": command_reference(),
    }
    if "--check" in sys.argv[1:]:
        stale = [p for p, text in made.items() if not p.exists() or p.read_text("utf-8") != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date; run `make generate`.")
        return 1 if stale else 0
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


def client_source() -> str:
    """Return the source of shiyi/client.py."""
    scoped = [_method(operation) for operation in OPERATIONS if operation.scoped]
    whole = [_method(operation) for operation in OPERATIONS if not operation.scoped]
    return "\n".join(
        [
            _HEADER,
            *_aliases(),
            'class Scope:\n    """One scope of a memory; nothing it does reaches another."""\n',
            "    def __init__(self, connection: Connection, name: str) -> None:",
            "        self._connection = connection",
            "        self.name = name\n",
            "    def _call(self, operation: str, values: dict[str, Any]) -> Any:",
            "        return self._connection.call(operation, values, self.name)\n",
            "\n".join(scoped),
            "",
            'class Memory(Connection):\n    """A home and everything in it."""\n',
            "    def scope(self, name: str) -> Scope:",
            '        """Return the scope of that name; the first thing kept in it makes it."""',
            "        return Scope(self, name)\n",
            "    def _call(self, operation: str, values: dict[str, Any]) -> Any:",
            "        return self.call(operation, values)\n",
            "\n".join(whole),
        ]
    )


def _aliases() -> Iterator[str]:
    """Yield the choices that have a name of their own."""
    for name, choices in _named_choices():
        values = ", ".join(f'"{value}"' for value in get_args(choices))
        body = textwrap.fill(values, _WIDTH, initial_indent="    ", subsequent_indent="    ")
        line = f"{name} = Literal[{values}]"
        yield line if len(line) <= _WIDTH else f"{name} = Literal[\n{body},\n]  # fmt: skip"
    yield "\n"


def _named_choices() -> list[tuple[str, Any]]:
    found = {name: value for name, value in vars(requests).items() if get_origin(value) is Literal}
    return sorted(found.items())


def _method(operation: Operation) -> str:
    fields = request_model(operation).model_fields
    positional = [name for name, field in fields.items() if _is_positional(field)]
    others = [name for name in fields if name not in positional]
    parameters = ["self", *(_parameter(name, fields[name]) for name in positional)]
    if others:
        parameters += ["*", *(_parameter(name, fields[name]) for name in others)]
    name = _RESERVED.get(operation.name, operation.python_name)
    lines = [
        *_signature(name, parameters, operation.response),
        *_docstring(operation, fields),
        *_body(operation.name, list(fields)),
        f'        return cast("responses.{operation.response}", answer)',
        "",
    ]
    return "\n".join(lines)


def _signature(name: str, parameters: Sequence[str], response: str) -> Iterator[str]:
    line = f'    def {name}({", ".join(parameters)}) -> "responses.{response}":'
    if len(parameters) == 1:
        yield line
        return
    yield f"    def {name}("
    yield from (f"        {parameter}," for parameter in parameters)
    yield f'    ) -> "responses.{response}":'


def _body(operation: str, names: Sequence[str]) -> Iterator[str]:
    if not names:
        yield f'        answer = self._call("{operation}", {{}})'
        return
    values = ", ".join(f'"{name}":\0{name}' for name in names)
    indent = " " * 12
    body = textwrap.fill(values, _WIDTH, initial_indent=indent, subsequent_indent=indent)
    yield f'        answer = self._call("{operation}", {{'
    yield f"{body},".replace("\0", " ")
    yield "        })  # fmt: skip"


def _docstring(operation: Operation, fields: dict[str, FieldInfo]) -> Iterator[str]:
    if not fields:
        yield f'        """{operation.purpose}"""'
        return
    yield f'        """{operation.purpose}\n'
    for name, field in fields.items():
        text = f"{name}: {field.description}."
        yield textwrap.fill(text, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12)
    yield '        """'


def _parameter(name: str, field: FieldInfo) -> str:
    annotation = _source_of(field.annotation)
    if any(one in _PATHS for one in field.metadata):
        annotation = f"{annotation} | PathLike[str]"
    if field.is_required():
        return f"{name}: {annotation}"
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined or isinstance(default, list):
        default, annotation = None, f"{annotation} | None"
    text = f'"{default}"' if isinstance(default, str) else _number(default)
    return f"{name}: {annotation} = {text}"


def _number(value: Any) -> str:
    return f"{value:_}" if isinstance(value, int) and not isinstance(value, bool) else repr(value)


def _source_of(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        as_path = any(one in _PATHS for one in metadata)
        return f"{_source_of(inner)}{' | PathLike[str]' if as_path else ''}"
    if origin in {Union, UnionType}:
        return " | ".join(_source_of(part) for part in get_args(annotation))
    if origin is Literal:
        for name, choices in _named_choices():
            if annotation == choices:
                return name
        values = ", ".join(f'"{value}"' for value in get_args(annotation))
        return f"Literal[{values}]"
    if origin is list:
        return f"Sequence[{_source_of(get_args(annotation)[0])}]"
    named = {dict: "Mapping[str, Any]", NoneType: "None"}
    return named.get(origin or annotation) or str(annotation.__name__)


def _is_positional(field: FieldInfo) -> bool:
    extra = field.json_schema_extra
    return isinstance(extra, dict) and extra.get("cli") in {"argument", "words"}


def command_reference() -> str:
    """Return the text of docs/reference/commands.md."""
    context = click.Context(command_group, info_name="shiyi", **command_group.context_settings)
    parts = [
        "# Commands\n",
        "Made from the table of operations by `make generate`; a test holds it to the code.\n",
        f"```text\n{_help(command_group, context)}\n```\n",
    ]
    for operation in OPERATIONS:
        command: click.Command = command_group
        own = context
        for word in operation.name.split(" "):
            assert isinstance(command, click.Group)
            found = command.get_command(own, word)
            assert found is not None
            command, own = found, click.Context(found, info_name=word, parent=own)
        parts.append(f"## shiyi {operation.name}\n")
        parts.append(f"```text\n{_help(command, own)}\n```\n")
        parts.append(f"Permission: {operation.permission}. {_repeating(operation)}\n")
    return "\n".join(parts)


def _repeating(operation: Operation) -> str:
    if operation.repeatable:
        return "May be repeated."
    if "key" in request_model(operation).model_fields:
        return "Each call does it again, unless --key names it."
    return "Each call does it again."


def _help(command: click.Command, context: click.Context) -> str:
    formatter = click.HelpFormatter(width=_WIDTH)
    command.format_help(context, formatter)
    return formatter.getvalue().rstrip()


if __name__ == "__main__":
    sys.exit(main())
