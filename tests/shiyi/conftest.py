"""A command line in this process, and the real one in another."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shiyi.cli import call

SHIYI = Path(sys.executable).with_name("shiyi")


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Stdin(io.TextIOWrapper):
    """Standard input that holds the given bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), "utf-8")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is not there yet, searched without a model."""
    path = tmp_path / "home"
    monkeypatch.setenv("SHIYI_HOME", str(path))
    monkeypatch.setenv("SHIYI_MODEL", "none")
    for name in ("SHIYI_SCOPE", "SHIYI_TOKENS", "SHIYI_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return path


@pytest.fixture
def run(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    """Call the command line in this process."""

    def run_here(*arguments: object, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", Stdin(stdin))
        capsys.readouterr()
        code = call([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return run_here


@pytest.fixture
def shell(home: Path, tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[bytes]"]:
    """Call the installed command, bytes in and bytes out."""

    def run_there(
        *arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run(
            [str(SHIYI), *arguments],
            cwd=tmp_path,
            env={
                **kept,
                "SHIYI_HOME": str(home),
                "SHIYI_MODEL": "none",
                "SHIYI_DAEMON": "off",
                **(env or {}),
            },
            input=stdin,
            capture_output=True,
            check=False,
        )

    return run_there


@pytest.fixture
def kept(run: Callable[..., Answer], home: Path, blank: Path) -> Callable[..., Any]:
    """Remember words and return the answer."""

    def keep(text: str, *options: object) -> Any:
        if not home.exists():
            shutil.copytree(blank, home)
        answer = run("remember", text, *options, "--json")
        assert answer.code == 0, answer
        return answer.json

    return keep
