"""The packages as pyproject.toml lists them, and the modules as the tree holds them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def listed_packages() -> dict[str, Path]:
    """Map each package that setuptools is told of to its folder."""
    content: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    setuptools = content["tool"]["setuptools"]
    mapping = setuptools["package-dir"]
    return {
        name: ROOT / mapping.get(name, name.removeprefix("shiyi.").replace(".", "/"))
        for name in setuptools["packages"]
    }


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def packages() -> dict[str, Path]:
    return listed_packages()


@pytest.fixture(scope="session")
def modules(packages: dict[str, Path]) -> dict[str, Path]:
    """Map each import name to its file; a package stands for its `__init__.py`."""
    found = {}
    for package, folder in packages.items():
        for file in sorted(folder.glob("*.py")):
            found[package if file.stem == "__init__" else f"{package}.{file.stem}"] = file
    return found
