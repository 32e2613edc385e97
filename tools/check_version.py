"""Compare the version of the package with the newest one in the changelog."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_HEADING = re.compile(r"^## \[?(?P<version>[0-9][^\]\s]*)\]?(?: - (?P<date>\S+))?$", re.MULTILINE)


def main() -> int:
    """Say what does not agree; return 1 when something does not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    newest = _HEADING.search((ROOT / "CHANGELOG.md").read_text("utf-8"))
    if newest is None:
        print("CHANGELOG.md has no heading such as `## [0.1.0] - Unreleased`.")
        return 1
    if newest["version"] != project["version"]:
        print(f"CHANGELOG.md is at {newest['version']}, pyproject.toml at {project['version']}.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
