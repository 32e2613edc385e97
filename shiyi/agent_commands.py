"""The commands for agents: `shiyi mcp …` and `shiyi hook …`."""

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from shiyi.core.errors import HomeError, UsageError
from shiyi.core.files import expanded
from shiyi.core.ids import check_scope
from shiyi.core.settings import home_directory, load_settings

if TYPE_CHECKING:
    from shiyi.service.agents.install import Change, Client

_WAIT = 5.0  # seconds for a model that is being loaded; then keywords answer, and say so
_MOST_BYTES = 64 << 20  # of a hook's input


@click.group(invoke_without_command=True)
@click.option("--home", help="Where the memory lies.")
@click.option("--scope", help="The one scope that the agent works in; else `me`.")
@click.option("--model", help="`default`, `none`, a directory, or the name of a local model.")
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@click.pass_context
def mcp(ctx: click.Context, /, *, read_only: bool, **given: str | None) -> None:
    """Serve this memory to one agent over MCP, on standard input and output.

    The client starts it; `shiyi mcp install` tells a client how. It ends with its input.
    """
    root: dict[str, Any] = ctx.find_root().obj or {}
    options = {name: given[name] or root.get(name) for name in ("home", "scope", "model")}
    ctx.obj = options
    if ctx.invoked_subcommand is not None:
        return
    settings = load_settings(home_directory(options["home"]), model=options["model"])
    scope = check_scope(options["scope"] or settings.scope)

    from shiyi.service.mcp.greeting import Wire

    wire = Wire()
    wire.greet()

    from shiyi.service.daemon.callers import open_caller
    from shiyi.service.mcp.stdio import serve

    with open_caller(options["home"], model=options["model"], wait=_WAIT) as caller:
        serve(wire, caller, scope, read_only=read_only)
    wire.close()
    os._exit(0)  # a thread that still reads would hold the process


def _client_option(command: Any) -> Any:
    return click.option("--client", required=True, help="claude-code, codex, cursor …")(command)


@mcp.command()
@_client_option
@click.option("--scope", help="The one scope that the agent works in.")
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry; touch nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def install(
    ctx: click.Context,
    client: str,
    scope: str | None,
    *,
    read_only: bool,
    only_print: bool,
    yes: bool,
) -> int:
    """Tell a client about this memory: shows the change, keeps a backup, then writes.

    Clients: claude-code, claude-desktop, codex, cursor, vscode, gemini, opencode.
    """
    from shiyi.service.agents.clients import find_client
    from shiyi.service.agents.install import command_line, installed, snippet

    found = find_client(client)
    own = scope or ctx.obj["scope"]
    command = command_line(
        check_scope(own) if own else None, ctx.obj["home"], ctx.obj["model"], read_only=read_only
    )
    if only_print:
        click.echo(snippet(found, command), nl=False)
        return 0
    return _change(found, installed(found, command), yes=yes)


@mcp.command()
@_client_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(client: str, *, yes: bool) -> int:
    """Take this memory out of a client's configuration; its other settings stay."""
    from shiyi.service.agents.clients import find_client
    from shiyi.service.agents.install import uninstalled

    found = find_client(client)
    return _change(found, uninstalled(found), yes=yes)


def _change(client: "Client", change: "Change", *, yes: bool) -> int:
    from shiyi.service.agents.install import apply

    if change.new is None:
        click.echo(f"{change.path} is as it should be; nothing was changed.")
        return 0
    click.echo(change.diff(), nl=False)
    if not yes and not click.confirm(f"Write {change.path}?"):
        click.echo("Nothing was written.")
        return 1
    backup = apply(change)
    kept = f" The file from before is {backup}." if backup else ""
    click.echo(f"Wrote {change.path}.{kept} {client.after}")
    return 0


@mcp.command()
@click.argument("directory", required=False)
def skill(directory: str | None) -> int:
    """Print SKILL.md, which teaches an agent the protocol, or put it into DIRECTORY.

    For Claude Code: `shiyi mcp skill ~/.claude/skills`.
    """
    from importlib.resources import files

    from shiyi.service.agents.install import apply, written

    text = files("shiyi.service").joinpath("skill", "SKILL.md").read_text("utf-8")
    if directory is None:
        click.echo(text, nl=False)
        return 0
    change = written(expanded(directory) / "shiyi-memory" / "SKILL.md", text)
    if change.new is None:
        click.echo(f"{change.path} is as it should be; nothing was changed.")
        return 0
    backup = apply(change)
    kept = f" The file from before is {backup}." if backup else ""
    click.echo(f"Wrote {change.path}.{kept}")
    return 0


class _Hook(click.Command):
    """Says what is wrong with its arguments, and fails nothing: exit code 2 would stop a prompt."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments."""
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            click.echo(f"shiyi: {error.format_message()}", err=True)
            raise click.exceptions.Exit(0) from None


@click.command(cls=_Hook)
@click.argument("event", type=click.Choice(["session-start", "user-prompt", "pre-compact"]))
@click.option("--home", help="Where the memory lies.")
@click.option("--scope", help="The one scope that the agent works in; else `me`.")
@click.option("--model", hidden=True)
@click.option(
    "--print",
    "client",
    type=click.Choice(["claude-code", "codex"]),
    help="Print the settings that make a client call this hook; do nothing else.",
)
@click.pass_context
def hook(ctx: click.Context, /, event: str, client: str | None, **given: str | None) -> int:
    """Answer a hook of Claude Code or Codex; the client calls it with JSON on standard input.

    session-start recalls what matters, user-prompt recalls what fits the prompt, pre-compact keeps
    what the transcript holds and the memory does not. Whatever happens, the client goes on: the
    exit code is 0, and what went wrong is a sentence on standard error.
    """
    root: dict[str, Any] = ctx.find_root().obj or {}
    options = {name: given[name] or root.get(name) for name in ("home", "scope", "model")}
    from shiyi.service.agents.hook import SECONDS, answer_hook, settings_for
    from shiyi.service.agents.install import command_line
    from shiyi.service.daemon.callers import open_caller

    if client is not None:
        command = command_line(options["scope"], options["home"], options["model"])
        click.echo(settings_for(client, event, command))
        return 0

    def answer() -> str:
        settings = load_settings(home_directory(options["home"]), model=options["model"])
        scope = check_scope(options["scope"] or settings.scope)
        payload = sys.stdin.buffer.read(_MOST_BYTES + 1)
        if len(payload) > _MOST_BYTES:
            raise UsageError(f"A hook reads at most {_MOST_BYTES >> 20} MB. Nothing was done.")
        with open_caller(options["home"], model=options["model"], wait=_WAIT) as caller:
            return answer_hook(event, payload, caller, scope)

    told, sentence = _in_time(answer, SECONDS[event])
    if sentence:
        click.echo(f"shiyi: {sentence}", err=True)
    elif told:
        click.echo(told)
    return 0


def _in_time(answer: Callable[[], str], seconds: float) -> tuple[str, str]:
    """Return an answer, or a sentence that says why there is none, before the seconds are over.

    A memory that is not there yet is no fault. What was begun ends by itself, or with the process.
    """
    done: list[tuple[str, str]] = []

    def work() -> None:
        try:
            done.append((answer(), ""))
        except Exception as error:  # noqa: BLE001 - told in one sentence, without content
            from shiyi.service.refusal import refusal_of

            refusal = refusal_of(error)
            done.append(("", "" if refusal.code == HomeError.code else refusal.message))

    worker = threading.Thread(target=work, name="hook", daemon=True)
    worker.start()
    worker.join(seconds)
    return done[0] if done else ("", f"The memory did not answer within {seconds:.0f} s.")
