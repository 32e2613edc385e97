"""The commands about the daemon itself: `shiyi daemon …` and `shiyi serve`."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import click

from shiyi.core.errors import DaemonError, HomeBusyError, UsageError
from shiyi.core.settings import home_directory, load_settings
from shiyi.service.daemon.client import GONE, Client
from shiyi.service.daemon.listening import IPAddress, address_of, host_name
from shiyi.service.tokens import FIRST_TOKEN_FILE

_STOP = 15.0  # seconds
_AGAIN = 0.2  # seconds until a daemon that has left is started again
_EXPOSED = (
    "Exposed: every operation but those for the owner, to any machine that reaches this address "
    "with a token, without encryption. Requests name it by the address{} or localhost; others are "
    "refused."
)
_EXTENSIONS: tuple[str, ...] = (  # "module:function" of other doors in the daemon
    "shiyi.service.mcp.mount:routes",
    "shiyi.service.dashboard.door:routes",
)


def _home(command: Any) -> Any:
    command = click.option("--home", help="Where the memory lies.")(command)
    command = click.option("--scope", hidden=True)(command)
    return click.option("--model", hidden=True)(command)


def _client(ctx: click.Context, home: str | None, **given: str | None) -> Client:
    general = ctx.find_root().obj or {}
    place = home_directory(home or general.get("home"))
    chosen = {name: one or general.get(name) for name, one in given.items()}
    return Client(place, load_settings(place, **chosen))


def _say(text: str, content: dict[str, Any], *, as_json: bool) -> None:
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else text)


def _as_json(ctx: click.Context, given: bool) -> bool:
    return given or bool((ctx.find_root().obj or {}).get("as_json"))


@click.group(invoke_without_command=True)
@click.pass_context
def daemon(ctx: click.Context) -> None:
    """Run, look at or stop the daemon of a home.

    It is started on demand, holds the indexes and the model once for everybody, and leaves when
    nobody asked anything for a while (setting daemon_idle).
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(UsageError.exit_code)


@daemon.command()
@_home
@click.pass_context
def run(ctx: click.Context, /, home: str | None, **_: Any) -> None:
    """Be the daemon, in the foreground, until it is stopped."""
    from importlib import import_module

    from shiyi.service.daemon.process import run as be_daemon

    extensions = []
    for one in _EXTENSIONS:
        module, _colon, name = one.partition(":")
        extensions.append(getattr(import_module(module), name))
    be_daemon(_client(ctx, home).home, extensions=extensions)


@daemon.command()
@_home
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.pass_context
def status(ctx: click.Context, /, home: str | None, *, as_json: bool, **_: Any) -> int:
    """Say whether a daemon serves the home. Exit code 1 when none does."""
    client = _client(ctx, home)
    hello = client.running()
    content: dict[str, Any] = {"home": str(client.home), "running": hello is not None}
    if hello is None:
        _say(f"No daemon serves {client.home}.", content, as_json=_as_json(ctx, as_json))
        return 1
    state = client.control("state")
    content |= {"pid": hello["pid"], "version": hello["version"], **state}
    also = f", also at {' and '.join(state['urls'])}" if state["urls"] else ""
    text = f"Process {hello['pid']} (version {hello['version']}) serves {client.home}{also}."
    _say(text, content, as_json=_as_json(ctx, as_json))
    return 0


@daemon.command()
@_home
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.pass_context
def stop(ctx: click.Context, /, home: str | None, *, as_json: bool, **_: Any) -> int:
    """Have the daemon leave. A long job has 3 s to end, then ends between two batches."""
    client = _client(ctx, home)
    state = client.control("state") if client.running() else {"jobs": [], "urls": []}
    jobs = [f"{job['operation']} of {job['scope']}" for job in state["jobs"]]
    for job in jobs:
        click.echo(f"{job} is under way; it ends between two batches.", err=True)
    for url in state["urls"]:
        click.echo(f"The `shiyi serve` at {url} starts it again, until that is ended.", err=True)
    stopped = stop_daemon(client)
    text = "The daemon has left." if stopped else f"No daemon serves {client.home}."
    if jobs:
        text += " What was done is kept; run the same again to go on."
    content = {"home": str(client.home), "stopped": stopped, "jobs": jobs}
    _say(text, content, as_json=_as_json(ctx, as_json))
    return 0


@daemon.command()
@_home
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.pass_context
def restart(ctx: click.Context, /, home: str | None, *, as_json: bool, **_: Any) -> int:
    """Have the daemon leave, and start another one."""
    client = _client(ctx, home)
    stop_daemon(client)
    hello = client.start()
    text = f"Process {hello['pid']} (version {hello['version']}) serves {client.home}."
    content = {"home": str(client.home), "pid": hello["pid"], "version": hello["version"]}
    _say(text, content, as_json=_as_json(ctx, as_json))
    return 0


def stop_daemon(client: Client) -> bool:
    """Ask the daemon to leave and wait until it has; tell whether there was one.

    Raises DaemonError when it stays.
    """
    hello = client.running()
    if hello is None:
        return False
    client.control("stop")
    client.close()
    until = time.monotonic() + _STOP
    while time.monotonic() < until:
        if not _is_alive(int(hello["pid"]), client):
            return True
        time.sleep(0.02)
    raise DaemonError(f"The daemon of {client.home} is still busy; it leaves when it is done.")


def _is_alive(pid: int, client: Client) -> bool:
    """Tell whether the home still has that owner; nobody is signalled."""
    try:
        owner = json.loads((client.home / "owner.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return bool(owner.get("pid") == pid)


@click.command()
@_home
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True,
              help="The TCP port; 0 for any free one.")  # fmt: skip
@click.option("--bind", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--allow-remote", is_flag=True, help="Allow an address that others can reach.")
@click.option("--name", "names", multiple=True, help="A host name under which it is addressed.")
@click.pass_context
def serve(
    ctx: click.Context, /, home: str | None, port: int, bind: str, *, allow_remote: bool,
    names: tuple[str, ...], scope: str | None, model: str | None,
) -> None:  # fmt: skip
    """Answer over HTTP on this machine, for tokens, until Ctrl-C.

    The daemon of the home does it, with the settings of this command, for as long as this command
    runs. Several may run at once, each with a port of its own.
    """
    address = address_of(bind)
    if not address.is_loopback and not allow_remote:
        raise UsageError(
            f"{bind} can be reached from other machines. With --allow-remote whoever can reach "
            "the port and has a token may ask, and what is said is not encrypted on the way."
        )
    names = tuple(host_name(name) for name in names)
    client = _client(ctx, home, scope=scope, model=model)
    if client.settings.daemon == "off":
        raise HomeBusyError('Serving needs the daemon, and the setting daemon is "off".')
    for number in (signal.SIGTERM, signal.SIGINT):  # either is how it ends, and closes the port
        signal.signal(number, lambda *_: sys.exit(0))
    with client:
        first = True
        while True:
            for url in _served(client, port, bind, names):
                port = int(url.rpartition(":")[2])
                if first:
                    _say_where(client, url, address, names)
                first = False
            time.sleep(_AGAIN)


def _served(client: Client, port: int, bind: str, names: tuple[str, ...]) -> Iterator[str]:
    """Have the daemon serve until it leaves; yields the address."""
    client.start()
    with suppress(TimeoutError, *GONE):  # whatever became of it, it is looked for again
        for told in client.held("serve", port=port, bind=bind, names=list(names)):
            if told is not None:
                yield told["url"]


def _say_where(client: Client, url: str, address: IPAddress, names: tuple[str, ...]) -> None:
    where = ", every address of this machine" if address.is_unspecified else ""
    click.echo(f"Serving {client.home} at {url}/v1/{where} (Ctrl-C ends it).")
    click.echo(f"A token for reading and writing is in {client.home / FIRST_TOKEN_FILE}.")
    if not address.is_loopback:
        also = "".join(f", {name}" for name in names)
        click.echo(_EXPOSED.format(also), err=True)
