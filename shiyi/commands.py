"""One click command from one operation: arguments and options from the request model."""

from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from shiyi.service.invoke import request_model
from shiyi.service.table.operations import Operation

_CHOICES_IN_LINE = 8
Run = Callable[[Operation, Mapping[str, Any], Mapping[str, Any]], int]


def build_command(operation: Operation, run: Run) -> click.Command:
    """Return the command of an operation; `run` does it and returns the exit code."""
    fields = request_model(operation).model_fields
    parameters: list[click.Parameter] = []
    for name, field in fields.items():
        parameters += _parameters(name, field)
    parameters += _common(fields)
    words = next((name for name, field in fields.items() if _extra(field, "cli") == "words"), None)

    @click.pass_context
    def callback(ctx: click.Context, /, **values: Any) -> int:
        options = dict(ctx.obj)
        for name, general in ctx.obj.items():
            own = _field_of(name, fields)
            if own is None:
                options[name] = values.pop(name) or general
            elif values[own] is None:  # `shiyi --scope work reindex` means that scope only
                values[own] = general
            elif values[own] == () and general is not None:
                values[own] = (general,)
        if words is not None:
            from shiyi.cli import read_words

            values[words] = read_words(values[words], values.pop("file"))
        given = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None and value != ()
        }
        return run(operation, given, options)

    name = operation.name.rpartition(" ")[2]
    return click.Command(name, callback=callback, params=parameters, help=operation.purpose)


def _common(fields: Mapping[str, FieldInfo]) -> list[click.Parameter]:
    """Return the options of the group, which may stand after the command as well."""
    names = [name for name in ("home", "scope", "model") if _field_of(name, fields) is None]
    hidden: list[click.Parameter] = [click.Option([f"--{name}"], hidden=True) for name in names]
    help_ = "Answer with one JSON object."
    return [*hidden, click.Option(["--json", "as_json"], is_flag=True, help=help_)]


def _field_of(option: str, fields: Mapping[str, FieldInfo]) -> str | None:
    """Return the field that an operation itself has under the name of a general option."""
    return next(
        (name for name, field in fields.items() if option in {name, _extra(field, "flag")}), None
    )


def _parameters(name: str, field: FieldInfo) -> list[click.Parameter]:
    form, description = _extra(field, "cli"), field.description or ""
    if form == "argument":
        _, many = _click_type(field.annotation)
        return [click.Argument([name], nargs=-1 if many else 1, required=field.is_required())]
    if form == "words":
        return [
            click.Argument([name], required=False),
            click.Option(["--file"], help=f"a file that holds {description}, in UTF-8"),
        ]
    kind, many = _click_type(field.annotation)
    if form == "commas":
        kind = click.STRING
    flag = f"--{(_extra(field, 'flag') or name).replace('_', '-')}"
    default = field.get_default(call_default_factory=True) if not field.is_required() else None
    if kind is click.BOOL:
        return [click.Option([flag, name], is_flag=True, default=None, help=description)]
    shown = ",".join(map(str, default)) if isinstance(default, list) else default
    metavar = f"{name.upper()},…" if form == "commas" else None
    if isinstance(kind, click.Choice) and len(kind.choices) > _CHOICES_IN_LINE:
        metavar = name.upper()
        description = f"{description}: {', '.join(kind.choices)}"
    note = f"  [default: {shown}]" if shown not in {None, ""} else ""
    return [
        click.Option(
            [flag, name],
            type=kind,
            multiple=many,
            required=field.is_required(),
            metavar=metavar,
            help=f"{description}{note}",
        )
    ]


def _extra(field: FieldInfo, name: str) -> str | None:
    extra = field.json_schema_extra
    value = extra.get(name) if isinstance(extra, dict) else None
    return value if isinstance(value, str) else None


def _click_type(annotation: Any) -> tuple[click.ParamType[Any], bool]:
    """Return the type of an option and whether it may be repeated."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _click_type(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        inner = [part for part in get_args(annotation) if part is not NoneType]
        return _click_type(inner[0])
    if origin is list:
        return _click_type(get_args(annotation)[0])[0], True
    if origin is dict:
        return click.STRING, False
    if origin is Literal:
        return click.Choice([str(value) for value in get_args(annotation)]), False
    return {bool: click.BOOL, int: click.INT, str: click.STRING}[annotation], False
