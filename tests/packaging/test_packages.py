"""What is installed is what the tree holds, all of it from one place."""

import importlib
import os
import tomllib
from importlib import metadata
from pathlib import Path

import shiyi

_NOT_PACKAGES = {"tests", "benchmarks", "docs", "tools", "build", "dist"}


def test_every_folder_with_modules_is_listed(root: Path, packages: dict[str, Path]) -> None:
    """An editable install imports an unlisted package happily; the wheel leaves it out."""
    in_tree = {
        file.parent
        for file in root.rglob("*.py")
        if not file.relative_to(root).parts[0].startswith(".")
        and file.relative_to(root).parts[0] not in _NOT_PACKAGES
        and not file.relative_to(root).parts[0].endswith(".egg-info")
    }

    assert in_tree == set(packages.values())


def test_every_package_has_an_init(packages: dict[str, Path]) -> None:
    """A folder without one is a namespace package, which another distribution may extend."""
    assert [
        name for name, folder in packages.items() if not (folder / "__init__.py").is_file()
    ] == []


def test_data_files_are_shipped(root: Path, packages: dict[str, Path]) -> None:
    """Each data file beside a module fits a pattern of package-data."""
    content = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    patterns = content["tool"]["setuptools"]["package-data"]["*"]

    left_out = [
        str(file.relative_to(root))
        for folder in packages.values()
        for file in folder.iterdir()
        if file.is_file()
        and file.suffix not in {".py", ".pyc", ".md"}
        and not any(file.match(pattern) for pattern in patterns)
    ]

    assert left_out == []


def test_all_packages_come_from_one_installation(packages: dict[str, Path]) -> None:
    """Two checkouts, or a checkout and a wheel, are never mixed."""
    installed = {
        name: Path(importlib.import_module(name).__file__ or "").parent for name in packages
    }

    wheel = installed["shiyi"]
    in_wheel = {name: wheel.joinpath(*name.split(".")[1:]) for name in packages}
    assert installed in (packages, in_wheel)


def test_the_working_directory_hides_nothing() -> None:
    """The chores and CI set PYTHONSAFEPATH, so that the folder shiyi/ does not shadow the wheel."""
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text("utf-8")

    assert "\nexport PYTHONSAFEPATH := 1\n" in makefile
    assert os.environ.get("PYTHONSAFEPATH") or not os.environ.get("CI")


def test_public_names_are_sorted_and_complete() -> None:
    """`__all__` is what a reader may use, in order, and each name is there."""
    assert shiyi.__all__ == sorted(shiyi.__all__)
    assert all(hasattr(shiyi, name) for name in shiyi.__all__)
    assert set(dir(shiyi)) >= set(shiyi.__all__)


def test_every_list_of_names_is_true(modules: dict[str, Path]) -> None:
    """Wherever a module lists what it gives, each name is there; ruff holds their order."""
    for name in modules:
        module = importlib.import_module(name)
        assert all(hasattr(module, one) for one in getattr(module, "__all__", [])), name


def test_version_is_the_one_in_pyproject(root: Path) -> None:
    """What is installed says the version that the tree has."""
    content = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))

    assert metadata.version("shiyi") == content["project"]["version"]
