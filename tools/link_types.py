"""Lay build/types/shiyi: one link a file, so that a type checker sees the import names."""

import shutil
import tomllib
from pathlib import Path

root = Path(__file__).resolve().parents[1]
setuptools = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
tree = root / "build" / "types"
shutil.rmtree(tree, ignore_errors=True)
for package in setuptools["packages"]:
    default = package.removeprefix("shiyi.").replace(".", "/")
    folder = root / setuptools["package-dir"].get(package, default)
    for file in folder.iterdir():
        if file.is_file():
            link = tree / package.replace(".", "/") / file.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
