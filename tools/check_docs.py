"""Check the documents: every link resolves, every command and option named there exists.

Run it as `python tools/check_docs.py`.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import click

from shiyi.cli import main as command_group

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:^\$ |`|\| )(?P<line>shiyi [^`|>\n]+)", re.MULTILINE)
_TARGET = re.compile(r"(?:^|`|\$ )make (?P<target>[a-z-]+)", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^\w\- ]")


def main() -> int:
    """Print what is wrong; return 1 when something is."""
    faults = [fault for page in pages() for fault in faults_of(page)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def pages() -> list[Path]:
    """Return the Markdown files that belong to the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def faults_of(page: Path) -> Iterator[str]:
    """Yield a sentence for each link, command or target that leads nowhere."""
    text = page.read_text("utf-8")
    name = page.relative_to(ROOT)
    for match in _LINK.finditer(_FENCE.sub("", text)):
        fault = link_fault(page, match["target"])
        if fault:
            yield f"{name}: {fault}"
    for match in _COMMAND.finditer(text):
        fault = command_fault(match["line"])
        if fault:
            yield f"{name}: {fault}"
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for match in _TARGET.finditer(text):
        if match["target"] not in targets:
            yield f"{name}: there is no `make {match['target']}`"


def link_fault(page: Path, target: str) -> str | None:
    """Return why a link does not resolve; links to other hosts are not followed."""
    if "://" in target or target.startswith("mailto:"):
        return None
    path, _, anchor = target.partition("#")
    file = page if not path else page.parent / unquote(path)
    if not file.exists():
        return f"{target} is not there"
    if anchor and unquote(anchor) not in anchors(file):
        return f"{target} names no heading"
    return None


def anchors(page: Path) -> set[str]:
    """Return the names that the headings of a page get."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    return {
        _NOT_IN_A_NAME.sub("", match["text"].strip().lower()).replace(" ", "-")
        for match in _HEADING.finditer(text)
    }


def command_fault(line: str) -> str | None:
    """Return what is wrong with a command line; its values are not looked at."""
    try:
        words = shlex.split(line, comments=True)[1:]
    except ValueError:
        return f"`{line}` has an open quote"
    context = click.Context(command_group, info_name="shiyi")
    options = {flag for parameter in command_group.params for flag in parameter.opts}
    command: click.Command = command_group
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            flag = word.partition("=")[0]
            if flag not in options | {"-h", "--help"}:
                return f"`{line}` has an unknown option {flag}"
            skip = "=" not in word and _takes_a_value(command, flag)
        elif isinstance(command, click.Group) and word.isascii() and word.islower():
            found = command.get_command(context, word)
            if found is None:
                return f"there is no command {word} in `{line}`"
            command = found
            options |= {flag for parameter in command.params for flag in parameter.opts}
    return None


def _takes_a_value(command: click.Command, flag: str) -> bool:
    parameters = [*command.params, *command_group.params]
    return any(
        isinstance(one, click.Option) and flag in one.opts and not one.is_flag for one in parameters
    )


if __name__ == "__main__":
    sys.exit(main())
