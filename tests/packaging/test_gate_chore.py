"""`make gate`: what cannot be held yet, or not here, is said and passed over."""

import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def chore(root: Path) -> Any:
    """The module of tools/gate.py."""
    spec = spec_from_file_location("gate_chore", root / "tools" / "gate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_missing_is_named(
    chore: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A baseline that nobody made, a model or sets that are not here."""
    monkeypatch.setenv("SHIYI_DATASETS", "")
    monkeypatch.setattr(chore, "find_spec", lambda _: object())
    for name in ("sample", "dev"):
        assert chore.why_not(tmp_path / f"{name}.json") == "no baseline yet"
        (tmp_path / f"{name}.json").touch()
    assert chore.why_not(tmp_path / "sample.json") is None
    assert chore.why_not(tmp_path / "dev.json") == "SHIYI_DATASETS names no sets"

    monkeypatch.setattr(chore, "find_spec", lambda _: None)
    assert chore.why_not(tmp_path / "sample.json") == "the default model is not installed"


def test_one_baseline_that_falls_fails_the_chore(
    chore: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The exit code is the worst; a baseline that is passed over does no harm."""
    monkeypatch.setattr(chore, "ROOT", tmp_path)
    monkeypatch.setattr(chore, "BASELINES", tmp_path)
    monkeypatch.setattr(chore, "OUTPUT", tmp_path / "out")
    monkeypatch.setattr(chore, "find_spec", lambda _: object())
    assert chore.main() == 0
    (tmp_path / "sample.json").write_text("{}", "utf-8")

    assert chore.main() == 2
    said = capfd.readouterr()
    assert "dev.json: skipped, no baseline yet" in said.out
    assert "is not a baseline" in said.err


def test_ci_is_a_script_that_can_be_read(root: Path) -> None:
    """The shell accepts .ci/run, and it holds the baselines."""
    script = root / ".ci" / "run"

    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert "make gate" in script.read_text("utf-8")
