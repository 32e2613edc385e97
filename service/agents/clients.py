"""The clients that can be told about this memory: where each keeps its servers, and in which form.

Looked up in the clients' own documentation in November 2026; docs/mcp.md names the pages.
"""

import os
import sys
from pathlib import Path

from shiyi.core.errors import UsageError
from shiyi.service.agents.install import Client, Entry


def _home() -> Path:
    return Path.home()


def _config() -> Path:
    """Return where programs of this platform keep their settings."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or _home() / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support"
    return _xdg()


def _xdg() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME")
    return Path(given) if given and Path(given).is_absolute() else _home() / ".config"


def _claude_code() -> Path:
    given = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(given) if given else _home()) / ".claude.json"


def _codex() -> Path:
    given = os.environ.get("CODEX_HOME")
    return (Path(given) if given else _home() / ".codex") / "config.toml"


def _opencode() -> Path:
    folder = _xdg() / "opencode"
    other = folder / "opencode.jsonc"
    return other if other.exists() else folder / "opencode.json"


def _typed(command: list[str]) -> Entry:
    return {"type": "stdio", "command": command[0], "args": command[1:]}


def _opencode_entry(command: list[str]) -> Entry:
    return {"type": "local", "command": command}


CLIENTS: tuple[Client, ...] = (
    Client("claude-code", "Claude Code", _claude_code, ("mcpServers",), entry=_typed),
    Client(
        "claude-desktop", "Claude Desktop",
        lambda: _config() / "Claude" / "claude_desktop_config.json", ("mcpServers",),
        after="Quit Claude Desktop wholly and start it again.",
    ),
    Client("codex", "Codex", _codex, ("mcp_servers",), form="toml"),
    Client("cursor", "Cursor", lambda: _home() / ".cursor" / "mcp.json", ("mcpServers",),
           after="Restart Cursor, and see that the server is switched on."),
    Client("vscode", "VS Code", lambda: _config() / "Code" / "User" / "mcp.json", ("servers",),
           entry=_typed, after="Run `MCP: List Servers` in VS Code and start it."),
    Client("gemini", "Gemini CLI", lambda: _home() / ".gemini" / "settings.json",
           ("mcpServers",), after="Start Gemini CLI again; /mcp lists it."),
    Client("opencode", "opencode", _opencode, ("mcp",), entry=_opencode_entry),
)  # fmt: skip


def find_client(name: str) -> Client:
    """Return the client of that name; raises UsageError that names them all."""
    for client in CLIENTS:
        if client.name == name:
            return client
    raise UsageError(f"The client is one of: {', '.join(one.name for one in CLIENTS)}.")
