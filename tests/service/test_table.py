"""The table of operations, and that every door is made from it."""

import inspect
from typing import Any, get_type_hints

import click
import pytest
from pydantic import BaseModel

import shiyi
from shiyi.cli import main as command_group
from shiyi.client import Memory, Scope
from shiyi.render import _RENDERERS
from shiyi.service import requests, responses
from shiyi.service.invoke import handler_of, request_model
from shiyi.service.table.operations import GROUPS, OPERATIONS, Operation, find_operation

PYTHON_NAMES = {"import": "import_"}
each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)


def method_of(operation: Operation) -> Any:
    owner = Scope if operation.scoped else Memory
    return getattr(owner, PYTHON_NAMES.get(operation.name, operation.python_name))


def test_names_are_unique_and_found() -> None:
    """A name stands for one operation; another name for none."""
    names = [one.name for one in OPERATIONS]

    assert len(set(names)) == len(names)
    assert all(find_operation(name).name == name for name in names)
    with pytest.raises(KeyError):
        find_operation("forget-everything")


@each
def test_everything_named_is_there(operation: Operation) -> None:
    """Request, response, handler and the form for people exist."""
    assert issubclass(request_model(operation), BaseModel)
    assert issubclass(getattr(responses, operation.response), BaseModel)
    parameters = list(inspect.signature(handler_of(operation)).parameters)
    assert len(parameters) == 3
    hints = get_type_hints(handler_of(operation))
    assert hints["request"] is request_model(operation)
    assert hints["return"] is getattr(responses, operation.response)
    assert operation.response in _RENDERERS
    assert operation.purpose.endswith(".")


@each
def test_every_field_is_explained(operation: Operation) -> None:
    """The help of every door comes from these sentences."""
    for name, field in request_model(operation).model_fields.items():
        assert field.description, name
        assert not field.description.endswith("."), name


@each
def test_command_line_is_the_same(operation: Operation) -> None:
    """A command for each operation, with an argument or option for each field."""
    command: click.Command | None = command_group
    for word in operation.name.split(" "):
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    taken = {parameter.name for parameter in command.params}
    fields = set(request_model(operation).model_fields)

    assert fields <= taken
    assert taken - fields <= {"home", "scope", "model", "as_json", "file"}


@each
def test_python_is_the_same(operation: Operation) -> None:
    """A method for each operation, with the same parameters, defaults and answer."""
    method = method_of(operation)
    parameters = dict(inspect.signature(method).parameters)
    del parameters["self"]
    fields = request_model(operation).model_fields

    assert set(parameters) == set(fields)
    for name, field in fields.items():
        if field.is_required():
            assert parameters[name].default is inspect.Parameter.empty
        else:
            default = field.get_default(call_default_factory=True)
            # A list cannot be a default in Python; None stands for it.
            assert parameters[name].default == (None if isinstance(default, list) else default)
    assert inspect.get_annotations(method)["return"] == f"responses.{operation.response}"
    assert hasattr(responses, operation.response)


def test_no_method_is_beside_the_table() -> None:
    """The Python client has no operation of its own."""
    own = {name for cls in (Scope, Memory) for name in vars(cls) if not name.startswith("_")}
    table = {PYTHON_NAMES.get(one.name, one.python_name) for one in OPERATIONS}

    assert own == table | {"scope"}


def test_no_model_is_left_over() -> None:
    """Every request in the module belongs to an operation."""
    used = {one.request for one in OPERATIONS}
    found = {
        name
        for name, value in vars(requests).items()
        if inspect.isclass(value) and issubclass(value, requests.Request)
    }

    assert found - {"Reading", "Request", "_Statement"} == used


def test_every_group_is_explained_and_used() -> None:
    """A name of two words belongs to a group that has a sentence, and no group is empty."""
    groups = {one.name.partition(" ")[0] for one in OPERATIONS if " " in one.name}

    assert groups == set(GROUPS)
    assert not groups & {one.name for one in OPERATIONS}
    assert all(sentence.endswith(".") for sentence in GROUPS.values())


def test_only_writing_makes_a_home() -> None:
    """Reading never makes a home, and what destroys is named as such."""
    for operation in OPERATIONS:
        assert not (operation.creates_home and operation.permission == "read")
    assert {one.permission for one in OPERATIONS} <= {"read", "write", "destroy"}


def test_unknown_fields_are_refused(tmp_path: Any) -> None:
    """A misspelt field is an error, not silence."""
    with (
        shiyi.open(tmp_path / "home", model="none") as memory,
        pytest.raises(shiyi.ShiyiError, match="extra inputs"),
    ):
        memory.call("remember", {"text": "甲", "tilte": "乙"})
