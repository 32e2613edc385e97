"""What the MCP server says of itself: few tools, plain schemas, honest hints."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from shiyi.models.tokens import get_counter
from shiyi.service.answers import response_model
from shiyi.service.invoke import request_model
from shiyi.service.mcp.greeting import HANDSHAKES, greeting
from shiyi.service.mcp.schema import schema_of_model
from shiyi.service.mcp.server import described, make_server
from shiyi.service.mcp.tool import Tool
from shiyi.service.mcp.tools import TOOLS
from shiyi.service.table.operations import find_operation
from tests.service.agents import INITIALIZE, STATELESS, here

each = pytest.mark.parametrize("tool", TOOLS, ids=lambda one: one.name)
_MOST_TOOLS = 12


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for one in schema.values():
            yield from parts(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from parts(one)


def test_the_surface_is_small() -> None:
    """A model reads few tools, and all of them together cost it less than 8,000 tokens."""
    names = [tool.name for tool in TOOLS]
    told = json.dumps(
        [described(tool).model_dump(by_alias=True, exclude_none=True) for tool in TOOLS]
    )

    assert len(names) == len(set(names)) <= _MOST_TOOLS
    assert all(name.startswith("memory_") for name in names)
    assert get_counter("o200k").count(told) < 8_000


@each
def test_every_client_accepts_the_schemas(tool: Tool) -> None:
    """A root object, arrays with items, no references, no unions, no lists of types."""
    for schema in (tool.input_schema(), tool.output_schema()):
        assert schema["type"] == "object"
        for part in parts(schema):
            assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & set(part)
            if part.get("type") == "array":
                assert "type" in part["items"]
            assert not isinstance(part.get("type"), list)


@each
def test_operations_of_one_tool_answer_alike(tool: Tool) -> None:
    """A client checks an answer against one schema: a field is the same in all its operations."""
    kinds: dict[str, set[str]] = {}
    for operation in tool.table if tool.output is None else ():
        for name, schema in schema_of_model(response_model(operation))["properties"].items():
            kinds.setdefault(name, set()).add(json.dumps(schema))

    assert [name for name, found in kinds.items() if len(found) > 1] == []


@each
def test_arguments_are_fields_of_its_operations(tool: Tool) -> None:
    """Every argument gives a field that is there, and is explained; nothing names a scope."""
    for name, given in tool.inputs.items():
        assert given.description, name
        for full in given.fields:
            operation, _, own = full.partition(".")
            assert operation in tool.operations
            assert own in request_model(find_operation(operation)).model_fields
    assert not {"scope", "allow_secret", "path"} & set(tool.input_schema()["properties"])


@each
def test_hints_are_those_of_the_operations(tool: Tool) -> None:
    """Read-only, idempotent and destructive follow from the table; nothing reaches outside."""
    hints = described(tool).annotations
    permissions = {find_operation(name).permission for name in tool.operations}

    assert hints is not None
    assert hints.read_only_hint == (permissions == {"read"})
    assert hints.destructive_hint == (tool.name == "memory_correct")
    assert hints.idempotent_hint == all(find_operation(n).repeatable for n in tool.operations)
    assert hints.open_world_hint is False


@pytest.mark.parametrize("wanted", [*HANDSHAKES, "1999-01-01"])
def test_the_greeting_is_the_answer_of_the_sdk(wanted: str) -> None:
    """What is answered before the SDK is loaded is what the SDK would have answered."""
    asked = {
        "jsonrpc": "2.0", "id": 7, "method": "initialize",
        "params": {**INITIALIZE, "protocolVersion": wanted},
    }  # fmt: skip

    assert greeting(asked) == anyio.run(answer_of_the_sdk, asked)


def test_the_greeting_of_the_new_era_is_the_answer_of_the_sdk() -> None:
    """So is what a client hears that begins without a handshake."""
    asked = {"jsonrpc": "2.0", "id": "a", "method": "server/discover", "params": STATELESS}

    assert greeting(asked) == anyio.run(answer_of_the_sdk, asked)


async def answer_of_the_sdk(asked: dict[str, Any]) -> Any:
    server = make_server(lambda _: None)  # type: ignore[arg-type, return-value]
    to_server, from_client = anyio.create_memory_object_stream[Any](1)
    to_client, from_server = anyio.create_memory_object_stream[Any](1)
    options = server.create_initialization_options()
    async with from_server, anyio.create_task_group() as group:
        group.start_soon(server.run, from_client, to_client, options)
        message = jsonrpc_message_adapter.validate_python(asked, by_name=False)
        await to_server.send(SessionMessage(message))
        said = (await from_server.receive()).message
        await to_server.aclose()
    return json.loads(said.model_dump_json(by_alias=True, exclude_unset=True))


def test_the_greeting_leaves_faults_to_the_sdk() -> None:
    """Whatever is not a whole initialize request is not answered early."""
    for asked in (
        {"method": "tools/list", "id": 1, "params": {}},
        {"method": "initialize", "id": 1},
        {"method": "initialize", "params": INITIALIZE},
        {"method": "initialize", "id": 1, "params": {"protocolVersion": "2025-11-25"}},
        {"method": "initialize", "id": 1, "params": {**INITIALIZE, "protocolVersion": 3}},
        {"method": "server/discover", "id": 1, "params": {}},
        {"method": "server/discover", "params": STATELESS},
        {"method": "server/discover", "id": 1, "params": {"_meta": {}}},
    ):
        assert greeting(asked) is None


def test_read_only_shows_reading_tools(tmp_path: Path) -> None:
    """With --read-only there are no other tools, and none can be called."""

    async def main() -> None:
        async with here(tmp_path / "home", read_only=True) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {
                t.name for t in TOOLS if t.permission == "read"
            }
            result = await client.call_tool("memory_remember", {"text": "不要"})
            assert result.is_error

    anyio.run(main)
