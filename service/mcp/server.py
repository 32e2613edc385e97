"""The MCP server: tools, resources and prompts over whichever transport.

What it says of itself never depends on what is stored. Its own logs hold no argument and no
answer; whatever goes wrong is told in one sentence.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from shiyi.core.errors import NotFoundError
from shiyi.core.ids import as_id
from shiyi.service.mcp.greeting import INSTRUCTIONS, NAME, TITLE, version
from shiyi.service.mcp.prompts import PROMPTS
from shiyi.service.mcp.tool import Tool
from shiyi.service.mcp.tools import TOOLS
from shiyi.service.mcp.use import Door, told, use
from shiyi.service.refusal import refusal_of

log = logging.getLogger("shiyi.mcp")
Context = ServerRequestContext[Any, Any]
_RESOURCE = re.compile(r"memory://(record|capture)/([0-9A-Za-z]{26})")


def make_server(door_of: Callable[[Context], Door]) -> Server[Any]:
    """Return the server; `door_of` says through which door a request goes."""
    handlers = _Handlers(door_of)
    return Server(
        NAME,
        version=version(),
        title=TITLE,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


def described(tool: Tool) -> types.Tool:
    """Return a tool as a client sees it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.permission == "read",
            destructive_hint=tool.changes_what_holds,
            idempotent_hint=tool.repeatable,
            open_world_hint=False,
        ),
    )


class _Handlers:
    """What the requests of the protocol do."""

    def __init__(self, door_of: Callable[[Context], Door]) -> None:
        self._door_of = door_of
        self._tools = {tool.name: (tool, described(tool)) for tool in TOOLS}

    async def list_tools(
        self, ctx: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the tools that whoever asks may use."""
        door = self._door_of(ctx)
        shown = [told for tool, told in self._tools.values() if door.may(tool.permission)]
        return types.ListToolsResult(tools=shown)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Use one tool."""
        try:
            door = self._door_of(ctx)
            tool, _ = self._tools.get(params.name, (None, None))
            if tool is None or not door.may(tool.permission):
                raise NotFoundError("There is no such tool here.")  # noqa: TRY301
            content = await use(tool, door, params.arguments or {})
        except Exception as error:  # noqa: BLE001 - told in one sentence, without content
            log.info("a tool was refused: %s", refusal_of(error).code)
            sentence = types.TextContent(type="text", text=told(error))
            return types.CallToolResult(content=[sentence], is_error=True)
        text = types.TextContent(type="text", text=_as_text(content))
        return types.CallToolResult(content=[text], structured_content=content)

    async def list_resources(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List nothing: names of resources would be stored text. The templates tell the form."""
        return types.ListResourcesResult(resources=[])

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Say how a record or a capture is addressed."""
        made = [
            types.ResourceTemplate(
                uri_template=f"memory://{kind}/{{id}}",
                name=kind,
                title=f"One {kind}",
                description=f"{says}, with its trust; the id as the tools give it.",
                mime_type="application/json",
            )
            for kind, says in (
                ("record", "A statement, its fields and what it quotes"),
                ("capture", "Words exactly as they were said"),
            )
        ]
        return types.ListResourceTemplatesResult(resource_templates=made)

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one record or capture whole."""
        uri = str(params.uri)
        found = _RESOURCE.fullmatch(uri)
        tool = self._tools["memory_fetch"][0]
        try:
            if found is None or as_id(found[2]) is None:
                raise NotFoundError(  # noqa: TRY301
                    "A resource is memory://record/<id> or memory://capture/<id>, with a whole id."
                )
            content = await use(tool, self._door_of(ctx), {"id": found[2], "budget": 100_000})
            if content["metadata"]["type"] != found[1]:
                raise NotFoundError("There is no such record or capture.")  # noqa: TRY301
        except Exception as error:  # noqa: BLE001 - told in one sentence, without content
            refusal = refusal_of(error)
            known = refusal.code in {"not_found", "usage", "forbidden"}
            code = types.INVALID_PARAMS if known else types.INTERNAL_ERROR
            raise MCPError(code=code, message=told(error)) from None
        shown = types.TextResourceContents(
            uri=params.uri, mime_type="application/json", text=_as_text(content)
        )
        return types.ReadResourceResult(contents=[shown])

    async def list_prompts(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """List the prompts."""
        made = [
            types.Prompt(
                name=one.name,
                title=one.title,
                description=one.description,
                arguments=[
                    types.PromptArgument(name=name, description=says, required=True)
                    for name, says in one.arguments.items()
                ],
            )
            for one in PROMPTS
        ]
        return types.ListPromptsResult(prompts=made)

    async def get_prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Return a prompt with its arguments filled in."""
        prompt = next((one for one in PROMPTS if one.name == params.name), None)
        given = params.arguments or {}
        if prompt is None or set(given) != set(prompt.arguments):
            raise MCPError(
                code=types.INVALID_PARAMS,
                message="There is no such prompt, or its arguments are not these.",
            )
        text = types.TextContent(type="text", text=prompt.filled(given))
        message = types.PromptMessage(role="user", content=text)
        return types.GetPromptResult(description=prompt.description, messages=[message])


def _as_text(content: Mapping[str, Any]) -> str:
    """Return the content for clients that read text only."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
