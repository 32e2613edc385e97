"""`shiyi dashboard`: look at a memory in a browser."""

import json
import webbrowser
from typing import Any

import click

from shiyi.core.errors import HomeBusyError


@click.command()
@click.option("--home", help="Where the memory lies.")
@click.option("--scope", help="The scope to look at first.")
@click.option("--model", hidden=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The TCP port, unless one is open for it already; any free one by default.",
)
@click.option("--no-browser", is_flag=True, help="Only say where it is.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.pass_context
def dashboard(
    ctx: click.Context, /, home: str | None, scope: str | None, port: int, *, no_browser: bool,
    as_json: bool, **_: Any,
) -> None:  # fmt: skip
    """Look at this memory in a browser.

    The address opens once, within a minute; the browser then stays in until it is idle for half an
    hour. The daemon of the home answers it, on this machine only.
    """
    from shiyi.core.ids import check_scope
    from shiyi.service.daemon.callers import There, open_caller

    general = ctx.find_root().obj or {}
    with open_caller(home or general.get("home"), model=None) as caller:
        if not isinstance(caller, There):
            raise HomeBusyError('The dashboard needs the daemon, and the setting daemon is "off".')
        caller.start(create=False)
        chosen = scope or general.get("scope")
        given = {"scope": check_scope(chosen)} if chosen else {}
        told = caller.client.control("dashboard", port=port, **given)
    if as_json or general.get("as_json"):
        click.echo(json.dumps(told))
        return
    click.echo(f"The dashboard opens once, within {told['seconds']} seconds, at")
    click.echo(told["url"])
    if not no_browser:
        webbrowser.open(told["url"])
