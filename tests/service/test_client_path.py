"""What only asks a daemon stays small: it loads nothing that a memory itself stands on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.serving import Served

HEAVY = {
    "duckdb", "faiss", "numpy", "torch", "sentence_transformers", "transformers", "onnxruntime",
    "tokenizers", "jieba", "opencc", "mcp", "starlette", "uvicorn", "anyio", "jinja2", "rich",
    "cryptography", "prometheus_client", "ir_measures",
}  # fmt: skip
SCRIPT = """
import json, sys
from shiyi.cli import call
code = call(sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules}),
                  sorted(name for name in sys.modules if name.startswith("shiyi."))]))
"""


def loaded(home: Path, *arguments: str) -> tuple[int, set[str], set[str]]:
    """Run a command in a process of its own; return its exit code and what it loaded."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, "--home", str(home), *arguments],
        env={**os.environ, "SHIYI_MODEL": "none"}, capture_output=True, check=True,
    )  # fmt: skip
    code, packages, own = json.loads(done.stdout.splitlines()[-1])
    return code, set(packages), set(own)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["remember", "花生過敏"], 0),
        (["search", "花生"], 1),
        (["search", "花生", "--json"], 1),
        (["status"], 0),
        (["list", "--kind", "nonsense"], 2),
        (["daemon", "status"], 0),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_a_command_loads_little(arguments: list[str], code: int, served: Served) -> None:
    """Neither the database, nor an index, nor a model, nor a server."""
    with served.client() as client:
        client.start()
        client.control("open", create=True)
    ended, packages, own = loaded(served.home, *arguments)

    assert ended == code
    assert not packages & HEAVY
    assert not own & {"shiyi.store.database", "shiyi.indexer.indexes", "shiyi.models.encoder"}


def test_help_and_version_load_no_models_of_requests() -> None:
    """What is only about the command line needs not even pydantic."""
    for arguments in (["--help"], ["--version"], ["eval", "--help"]):
        done = subprocess.run(
            [sys.executable, "-P", "-c", SCRIPT, *arguments], capture_output=True, check=True
        )
        code, packages, _ = json.loads(done.stdout.splitlines()[-1])
        assert code == 0
        assert not set(packages) & (HEAVY | {"pydantic"})
