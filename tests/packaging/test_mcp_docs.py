"""What is written about agents is so: the tools, the snippets of the clients, the skill."""

import json
import re
from pathlib import Path

import pytest

from shiyi.service.agents.clients import CLIENTS
from shiyi.service.agents.install import snippet
from shiyi.service.mcp.tools import TOOLS
from shiyi.service.table.operations import OPERATIONS

_COMMAND = ["/home/you/.local/bin/shiyi", "mcp"]


def test_every_tool_is_documented(root: Path) -> None:
    """docs/mcp.md has a line for each tool with its hint, and none for what is not there."""
    page = (root / "docs" / "mcp.md").read_text("utf-8")
    rows = re.findall(r"^\| `(memory_\w+)` \| (\w+) \|", page, re.MULTILINE)

    assert rows == [
        (tool.name, "reads" if tool.permission == "read" else "writes") for tool in TOOLS
    ]


def test_every_operation_is_a_tool_or_left_out_for_a_reason(root: Path) -> None:
    """docs/mcp.md names what each tool is made from, and each operation that no tool does."""
    page = (root / "docs" / "mcp.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(memory_\w+)` \| \w+ \| (.*?) \|", page, re.MULTILINE))
    left = re.search(r"^What no tool does.*?\n\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    assert left is not None
    named = re.findall(r"`([a-z][a-z …-]*)`", left[1])
    offered = {name for tool in TOOLS for name in tool.operations}

    for tool in TOOLS:
        assert set(re.findall(r"`([^`]+)`", rows[tool.name])) == set(tool.operations)
    for operation in OPERATIONS:
        group = f"{operation.name.partition(' ')[0]} …"
        assert (operation.name in offered) != bool({operation.name, group} & set(named)), operation


@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name)
def test_the_snippet_of_each_client_is_documented(client: object, root: Path) -> None:
    """docs/mcp.md shows exactly what --print gives."""
    page = (root / "docs" / "mcp.md").read_text("utf-8")

    assert snippet(client, _COMMAND) in page  # type: ignore[arg-type]


def test_the_skill_names_what_is_there(root: Path) -> None:
    """The skill has its front matter, and its tools and arguments are real."""
    skill = (root / "service" / "skill" / "SKILL.md").read_text("utf-8")
    tools = {tool.name: tool for tool in TOOLS}

    assert re.match(r"---\nname: shiyi-memory\ndescription: .{40,1000}\n---\n", skill)
    assert set(re.findall(r"memory_[a-z_]*[a-z]", skill)) <= set(tools)
    for name, given in re.findall(r"`(memory_\w+) (\{.*?\})`", skill.replace("\n", " ")):
        assert tools[name].ask(json.loads(given))
