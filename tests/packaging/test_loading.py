"""What is loaded, and when: a small command does not wait for what only a search needs."""

import subprocess
import sys
from pathlib import Path

HEAVY = ("torch", "transformers", "sentence_transformers", "faiss", "jieba", "onnxruntime")
DATA = (*HEAVY, "duckdb", "numpy", "pydantic", "opencc", "yaml", "rich")


SCRIPT = """
import sys
from shiyi.cli import call
for line in sys.argv[2:]:
    exec(line)
    there = [name for name in sys.argv[1].split() if name in sys.modules]
    sys.stderr.write(f"\\0{line}: {' '.join(there)}\\0")
"""


def loaded(lines: list[str], names: tuple[str, ...], home: Path) -> list[str]:
    """Return which of the names a fresh interpreter has loaded after each of the lines."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, " ".join(names), *lines],
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
    told = done.stderr.split("\0")[1::2]
    assert len(told) == len(lines)
    return told


def test_the_front_door_loads_nothing_heavy(tmp_path: Path) -> None:
    """Importing the package and asking for help load no library of weight, not even numpy."""
    lines = [
        "import shiyi",
        "from shiyi import ShiyiError",
        *(f"call({words!r})" for words in (
            ["--help"], ["--version"], ["eval", "--help"], ["eval"], ["frobnicate"],
        )),
    ]  # fmt: skip

    assert loaded(lines, DATA, tmp_path) == [f"{line}: " for line in lines]


def test_small_commands_do_without_index_and_model(tmp_path: Path) -> None:
    """Keeping and reading words load neither FAISS nor a segmenter nor a model, nor numpy."""
    lines = [f"call({words!r})" for words in (
        ["remember", "我對花生過敏"], ["list"], ["show", "x"], ["edit", "x", "--title", "y"],
        ["archive", "x"], ["export", "out"],
    )]  # fmt: skip

    told = loaded(lines, (*HEAVY, "numpy", "rich"), tmp_path)

    assert told == [f"{line}: " for line in lines]


def test_state_is_said_without_the_model(tmp_path: Path) -> None:
    """Looking at a home with the default model loads no weights and no segmenter."""
    lines = [f"call({words!r})" for words in (
        ["remember", "你好"], ["status", "--model", "default"], ["version", "--model", "default"],
    )]  # fmt: skip

    assert loaded(lines, HEAVY, tmp_path) == [f"{line}: " for line in lines]


def test_keyword_search_does_without_model(tmp_path: Path) -> None:
    """Without a model nothing of PyTorch or ONNX is loaded."""
    lines = ["call(['remember', '你好'])", "call(['search', '你好'])"]

    told = loaded(lines, HEAVY, tmp_path)[-1]

    assert set(told.removeprefix(f"{lines[-1]}: ").split()) <= {"faiss", "jieba"}
