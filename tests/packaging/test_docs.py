"""The documents say what is so."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from shiyi.service.table.operations import OPERATIONS


@pytest.mark.parametrize(
    "tool",
    [["generate.py", "--check"], ["kinds.py", "--check"], ["check_docs.py"], ["check_version.py"]],
    ids=" ".join,
)
def test_tools_find_no_fault(tool: list[str], root: Path) -> None:
    """Generated files are up to date, links and commands resolve, versions agree."""
    done = subprocess.run(
        [sys.executable, "-P", str(root / "tools" / tool[0]), *tool[1:]],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "")


def test_examples_in_docstrings_run(modules: dict[str, Path]) -> None:
    """Each `>>>` in the code gives what stands below it."""
    failed = {
        name: result.failed
        for name, file in modules.items()
        if name != "shiyi.__main__"
        and ">>> " in file.read_text("utf-8")
        and (result := doctest.testmod(importlib.import_module(name))).failed
    }

    assert failed == {}


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_readme_names_every_command(readme: str, root: Path) -> None:
    """A reader of either language meets every command."""
    text = (root / readme).read_text("utf-8")

    assert [one.name for one in OPERATIONS if f"shiyi {one.name}" not in text] == []
