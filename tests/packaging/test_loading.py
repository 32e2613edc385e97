"""What is loaded, and when: a small command does not wait for what only a search needs."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "transformers", "sentence_transformers", "faiss", "jieba", "onnxruntime")
DATA = (*HEAVY, "duckdb", "numpy", "pydantic", "opencc", "yaml", "rich")


def loaded(code: str, names: tuple[str, ...], home: Path) -> list[str]:
    """Return which of the names a fresh interpreter has loaded after running the code."""
    script = (
        f"{code}\nimport sys\nsys.stderr.write(' '.join(n for n in {names!r} if n in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={
            "SHIYI_HOME": str(home),
            "HOME": str(home),
            "SHIYI_MODEL": "none",
            "PATH": "",
            "SHIYI_DAEMON": "off",
        },
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.rpartition("\n")[2].split()


@pytest.mark.parametrize(
    "code",
    [
        "import shiyi",
        "from shiyi import ShiyiError",
        "from shiyi.cli import call; call(['--help'])",
        "from shiyi.cli import call; call(['--version'])",
        "from shiyi.cli import call; call(['eval', '--help'])",
        "from shiyi.cli import call; call(['eval'])",
        "from shiyi.cli import call; call(['frobnicate'])",
    ],
)
def test_the_front_door_loads_nothing_heavy(code: str, tmp_path: Path) -> None:
    """Importing the package and asking for help load no library of weight, not even numpy."""
    assert loaded(code, DATA, tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["remember", "我對花生過敏"],
        ["list"],
        ["show", "x"],
        ["edit", "x", "--title", "y"],
        ["archive", "x"],
        ["export", "out"],
    ],
)
def test_small_commands_do_without_index_and_model(arguments: list[str], tmp_path: Path) -> None:
    """Keeping and reading words load neither FAISS nor a segmenter nor a model, nor numpy."""
    code = f"from shiyi.cli import call; call(['remember', '你好']); call({arguments!r})"

    assert loaded(code, (*HEAVY, "numpy", "rich"), tmp_path) == []


@pytest.mark.parametrize("command", ["status", "version"])
def test_state_is_said_without_the_model(command: str, tmp_path: Path) -> None:
    """Looking at a home with the default model loads no weights and no segmenter."""
    code = f"""from shiyi.cli import call
call(['remember', '你好'])
call(['{command}', '--model', 'default'])"""

    assert loaded(code, HEAVY, tmp_path) == []


def test_keyword_search_does_without_model(tmp_path: Path) -> None:
    """Without a model nothing of PyTorch or ONNX is loaded."""
    code = "from shiyi.cli import call; call(['remember', '你好']); call(['search', '你好'])"

    assert set(loaded(code, HEAVY, tmp_path)) <= {"faiss", "jieba"}
