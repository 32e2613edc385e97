"""The command line, made from the table of operations."""

import contextlib
import locale
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from shiyi import interrupt
from shiyi.core.errors import OutputError, UsageError
from shiyi.core.files import expanded
from shiyi.core.text import decode_text
from shiyi.service.table.operations import GROUPS, OPERATIONS, Operation, find_operation

_MOST_BYTES = 64 << 20  # of words given at once
_EPILOGUE = """\
The options above may also stand after the command. SHIYI_HOME, SHIYI_SCOPE and SHIYI_MODEL set
what is not given here.

Exit codes: 0 done or found · 1 nothing found, or a gate or turn not held · 2 bad usage · 3 some
lines of an import failed · 4 the record changed meanwhile · 5 doctor or validate found a fault ·
65 the database or a backup is damaged or not ours · 66 no home · 69 the model or index cannot be
used · 70 internal error · 73 the disk is full or read-only · 74 the answer cannot be written · 75
another process owns the home · 76 the outcome of a write is unknown · 77 not allowed · 130
interrupted
"""


# Commands beside the table: about the processes that do operations, not about a memory.
BESIDE = {
    "daemon": ("Run, look at or stop the daemon of a home.", "shiyi.daemon_commands:daemon"),
    "serve": ("Answer over HTTP on this machine, for tokens.", "shiyi.daemon_commands:serve"),
    "dashboard": ("Look at this memory in a browser.", "shiyi.dashboard_command:dashboard"),
    "mcp": ("Serve this memory to an agent over MCP.", "shiyi.agent_commands:mcp"),
    "hook": ("Answer a hook of Claude Code or Codex.", "shiyi.agent_commands:hook"),
}


class OperationGroup(click.Group):
    """Knows every command by name and sentence; builds one only when it is called."""

    prefix = ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(self._sentences())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build one command from its request model."""
        del ctx
        name = f"{self.prefix}{cmd_name}"
        if name in BESIDE:
            return _beside(name)
        if name in GROUPS:
            return _inner_group(name)
        try:
            operation = find_operation(name)
        except KeyError:
            return None
        from shiyi.commands import build_command

        return build_command(operation, run)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and sentences without building anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self._sentences().items()))

    def _sentences(self) -> dict[str, str]:
        """Return what stands below this group: a group of its own, or an operation."""
        found: dict[str, str] = {}
        for operation in OPERATIONS:
            if operation.name.startswith(self.prefix):
                first, *more = operation.name.removeprefix(self.prefix).split(" ")
                found[first] = GROUPS[f"{self.prefix}{first}"] if more else operation.purpose
        return found if self.prefix else {**found, **{n: says for n, (says, _) in BESIDE.items()}}


def _beside(name: str) -> click.Command:
    """Return a command that is no operation."""
    module, _, attribute = BESIDE[name][1].partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command


def _inner_group(name: str) -> click.Group:
    """Return the group of that name; without a command it says which there are."""

    @click.pass_context
    def callback(ctx: click.Context) -> None:
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())
            ctx.exit(UsageError.exit_code)

    group = OperationGroup(name, callback=callback, help=GROUPS[name], invoke_without_command=True)
    group.prefix = f"{name} "
    return group


@click.group(
    cls=OperationGroup,
    invoke_without_command=True,
    epilog=_EPILOGUE,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
)
@click.option("--home", help="Where the memory lies; else the user's data directory.")
@click.option("--scope", help="The person, persona or workspace; else `me`.")
@click.option("--model", help="`default`, `none`, a directory, or the name of a local model.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.option("--version", is_flag=True, help="Say which version this is.")
@click.pass_context
def main(ctx: click.Context, /, *, version: bool, **options: Any) -> None:
    """Shiyi (拾忆): a local-first memory index for AI agents."""
    if version:
        from importlib.metadata import version as version_of

        click.echo(f"shiyi {version_of('shiyi')}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(UsageError.exit_code)
    ctx.obj = options


def run(operation: Operation, values: Mapping[str, Any], options: Mapping[str, Any]) -> int:
    """Do an operation, print its answer and return the exit code."""
    from shiyi.render import exit_code, render
    from shiyi.service.answers import as_json, is_budgeted
    from shiyi.service.daemon.callers import open_caller

    if options["as_json"] and is_budgeted(operation):
        values = {**values, "format": "json"}
    show, ask = _asking(to_stderr=options["as_json"])
    with (
        _progress(operation) as progress,
        open_caller(
            options["home"],
            model=options["model"],
            progress=progress,
            waiting=cache(partial(_say_that_it_waits, operation.name)),
            show=show,
            ask=ask,
            ask_passphrase=_ask_passphrase if sys.stdin and sys.stdin.isatty() else None,
        ) as caller,
    ):
        answer = caller.call(operation, values, options["scope"])
    text = as_json(answer) if options["as_json"] else render(operation, answer)
    try:
        click.echo(text, color=False if os.environ.get("NO_COLOR") else None)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"The answer cannot be written ({error.strerror}), but `{operation.name}` is done and "
            "what it kept is kept."
        ) from None
    return exit_code(answer)


def _say_that_it_waits(name: str, before: int) -> None:
    many = "another job" if before == 1 else f"{before} other jobs"
    click.echo(f"{name} waits until {many} of this home {'is' if before == 1 else 'are'} done.",
               err=True)  # fmt: skip


@contextlib.contextmanager
def _progress(operation: Operation) -> Iterator[Any]:
    """Show a progress bar on a terminal's standard error, and nothing elsewhere."""
    if not (operation.job and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    amounts = (
        (DownloadColumn(), TransferSpeedColumn())
        if operation.job == "bytes"
        else (MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    )
    columns = (
        SpinnerColumn(), TextColumn(operation.name), BarColumn(), *amounts, TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(operation.name, total=None, rate="")

        def report(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.0f}/s" if speed else "")

        yield report


def _asking(*, to_stderr: bool) -> tuple[Callable[[str], None], Callable[[], str]]:
    """Return how to show something and ask for a key: on a terminal, else line by line."""

    def ask() -> str:
        if sys.stdin is None:
            raise EOFError
        if sys.stdin.isatty():
            return click.getchar()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    return partial(click.echo, err=to_stderr), ask


def _ask_passphrase(new: bool) -> str:
    """Ask on the terminal, without showing it; twice for a new one."""
    said: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True)
    return said


def read_words(given: str | None, file: str | None) -> str:
    """Return the words of an argument, of `--file`, or of standard input.

    Raises UsageError when there are none, or both an argument and a file.
    """
    if given is not None and file is not None:
        raise UsageError("Give the words or --file, not both.")
    if file is not None:
        return decode_text(_read_file(expanded(file), file), file)
    if given is not None and given != "-":
        return given
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("Give the words, --file, or pipe them in.")
    name = "standard input"
    return decode_text(_bounded(sys.stdin.buffer.read(_MOST_BYTES + 1), name), name)


def _read_file(path: Path, name: str) -> bytes:
    """Return the bytes of a regular file; a pipe or device may never end."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{name} is no regular file; pipe its content in instead.")
        with path.open("rb") as file:
            return _bounded(file.read(_MOST_BYTES + 1), name)
    except OSError as error:
        raise UsageError(f"{name} cannot be read ({error.strerror}).") from None


def _bounded(content: bytes, name: str) -> bytes:
    if len(content) > _MOST_BYTES:
        raise UsageError(
            f"{name} holds more than {_MOST_BYTES >> 20} MB; `shiyi import` takes long texts."
        )
    return content


def start(arguments: Sequence[str]) -> int:
    """Run one command line from the shell and return its exit code."""
    os.umask(0o077)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: nobody wants to read it
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as we run
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return call([as_typed(argument) for argument in arguments])


def call(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing is raised but SystemExit."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    complain = partial(_complain, as_json="--json" in own)
    try:
        result = main.main(list(arguments), prog_name="shiyi", standalone_mode=False)
        code = result if isinstance(result, int) else 0
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        # The reader has gone; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        return complain(interrupt.SENTENCE, "interrupted", interrupt.EXIT_CODE)
    except Exception as error:
        if interrupt.pressed():
            return complain(interrupt.SENTENCE, "interrupted", interrupt.EXIT_CODE)
        if os.environ.get("SHIYI_DEBUG"):
            raise
        return complain(*_explained(error))
    return code


def _explained(error: Exception) -> tuple[str, str, int, str | None]:
    """Return the sentence, the code, the exit code, and how a question ended; None if refused."""
    if isinstance(error, click.ClickException):
        return _with_help(error), "usage", UsageError.exit_code, None
    from shiyi.service.refusal import refusal_of

    told = refusal_of(error)
    return told.message, told.code, told.exit_code, told.outcome


def _complain(
    sentence: str, code: str, exit_code: int, outcome: str | None = None, *, as_json: bool
) -> int:
    with contextlib.suppress(OSError):  # nowhere to complain to
        if as_json:
            _say_as_json({"code": code, "message": sentence, "outcome": outcome})
        else:
            click.echo(f"shiyi: {sentence}", err=True)
    return exit_code


def _say_as_json(error: Mapping[str, str | None]) -> None:
    import json

    click.echo(json.dumps({"error": error}, ensure_ascii=False))


def _with_help(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" See `{context.command_path} --help`." if context is not None else ""
    return f"{error.format_message()}{hint}"


def as_typed(argument: str) -> str:
    """Return an argument that is not UTF-8 as the locale reads it, where it can."""
    if argument.isascii() or not any("\udc80" <= character <= "\udcff" for character in argument):
        return argument
    try:
        return os.fsencode(argument).decode(locale.getencoding())
    except UnicodeError:
        return argument
