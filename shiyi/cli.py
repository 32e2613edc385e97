"""The command line, made from the table of operations."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shiyi.core.errors import ShiyiError, UsageError
from shiyi.core.text import decode_text
from shiyi.service.operations import OPERATIONS, Operation, find_operation

if TYPE_CHECKING:
    from pydantic import BaseModel

_INTERRUPTED = 130
_INTERNAL = 70
_EPILOGUE = """\
Exit codes: 0 done or found · 1 nothing found · 2 bad usage · 3 some lines of an import failed ·
4 the record changed meanwhile · 5 doctor found a fault · 65 the database is damaged or not ours ·
66 no home · 69 the model or index cannot be used · 70 internal error · 73 the disk is full or
read-only · 75 another process owns the home · 130 interrupted
"""


class OperationGroup(click.Group):
    """Knows every command by name and sentence; builds one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return [operation.name for operation in OPERATIONS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build one command from its request model."""
        del ctx
        try:
            operation = find_operation(cmd_name)
        except KeyError:
            return None
        from shiyi.commands import build_command

        return build_command(operation, run)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and sentences without building anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(one.name, one.purpose) for one in OPERATIONS])


@click.group(
    cls=OperationGroup,
    epilog=_EPILOGUE,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
)
@click.option("--home", help="Where the memory lies; SHIYI_HOME or the user's data directory.")
@click.option("--scope", help="The person, persona or workspace; `me` by default.")
@click.option("--model", help="`default`, `none`, a directory, or the name of a local model.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.pass_context
def main(
    ctx: click.Context, home: str | None, scope: str | None, model: str | None, as_json: bool
) -> None:
    """Shiyi (拾忆): a local-first memory index for AI agents."""
    ctx.obj = {"home": home, "scope": scope, "model": model, "as_json": as_json}


def run(operation: Operation, values: Mapping[str, Any], options: Mapping[str, Any]) -> int:
    """Do an operation, print its answer and return the exit code."""
    from shiyi.render import exit_code, render
    from shiyi.service.invoke import invoke
    from shiyi.service.session import Session

    with (
        _progress(operation) as progress,
        Session(options["home"], model=options["model"], progress=progress) as session,
    ):
        answer: BaseModel = invoke(session, operation.name, values, scope=options["scope"])
    text = answer.model_dump_json() if options["as_json"] else render(operation, answer)
    click.echo(text)
    return exit_code(operation, answer)


@contextlib.contextmanager
def _progress(operation: Operation) -> Iterator[Any]:
    """Show a progress bar on a terminal's standard error, and nothing elsewhere."""
    from shiyi.indexer.reindex import no_progress

    if not (operation.is_job and sys.stderr.isatty()):
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(), TextColumn(operation.name), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(operation.name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def read_words(given: str | None, file: str | None) -> str:
    """Return the words of an argument, of `--file`, or of standard input.

    Raises UsageError when there are none, or both an argument and a file.
    """
    if given is not None and file is not None:
        raise UsageError("Give the words or --file, not both.")
    if file is not None:
        try:
            return decode_text(Path(file).expanduser().read_bytes(), file)
        except OSError as error:
            raise UsageError(f"{file} cannot be read ({error.strerror}).") from None
    if given is not None and given != "-":
        return given
    if sys.stdin.isatty():
        raise UsageError("Give the words, --file, or pipe them in.")
    return decode_text(sys.stdin.buffer.read(), "standard input")


def entry() -> None:
    """Start from the shell."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(call([as_typed(argument) for argument in sys.argv[1:]]))


def call(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    as_json = "--json" in arguments
    try:
        result = main.main(list(arguments), prog_name="shiyi", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except ShiyiError as error:
        _complain(str(error), error.code, as_json=as_json)
        return error.exit_code
    except click.ClickException as error:
        _complain(_with_help(error), "usage", as_json=as_json)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        sentence = "Interrupted; what was done so far is kept. Run it again to go on."
        _complain(sentence, "interrupted", as_json=as_json)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _complain(sentence: str, code: str, *, as_json: bool) -> None:
    if as_json:
        import json

        click.echo(json.dumps({"error": {"code": code, "message": sentence}}, ensure_ascii=False))
    else:
        click.echo(f"shiyi: {sentence}", err=True)


def _with_help(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" See `{context.command_path} --help`." if context is not None else ""
    return f"{error.format_message()}{hint}"


def as_typed(argument: str) -> str:
    """Return an argument as the person typed it, whatever the locale says.

    Python decodes the command line by the locale. Bytes that are UTF-8 with characters beyond
    the two-byte range were UTF-8; anything else is left as it was decoded.
    """
    try:
        text = os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        return argument
    return text if any(character >= "\u0800" for character in text) else argument
