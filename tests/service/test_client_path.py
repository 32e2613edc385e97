"""What only asks a daemon stays small: it loads nothing that a memory itself stands on."""

import json
import os
import subprocess
import sys

from tests.service.serving import Served

HEAVY = {
    "duckdb", "faiss", "numpy", "torch", "sentence_transformers", "transformers", "onnxruntime",
    "tokenizers", "jieba", "opencc", "mcp", "starlette", "uvicorn", "anyio", "jinja2", "rich",
    "cryptography", "prometheus_client", "ir_measures",
}  # fmt: skip
SCRIPT = """
import json, sys
from shiyi.cli import call
for words in json.loads(sys.argv[1]):
    code = call(words)
    print("\\0" + json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules}),
                  sorted(name for name in sys.modules if name.startswith("shiyi."))]) + "\\0")
"""


def loaded(*commands: list[str], **environment: str) -> list[tuple[int, set[str], set[str]]]:
    """Run commands in a process of their own; return their exit codes and what was loaded then."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, json.dumps(commands)],
        env={**os.environ, "SHIYI_MODEL": "none", **environment}, capture_output=True, check=True,
    )  # fmt: skip
    told = [json.loads(text) for text in done.stdout.split(b"\0")[1::2]]
    return [(code, set(packages), set(own)) for code, packages, own in told]


def test_a_command_loads_little(served: Served) -> None:
    """Neither the database, nor an index, nor a model, nor a server."""
    with served.client() as client:
        client.start()
        client.control("open", create=True)
    expected = [
        (["remember", "花生過敏"], 0),
        (["search", "花生"], 0),
        (["search", "花生", "--json"], 0),
        (["search", "鑰匙"], 1),
        (["status"], 0),
        (["list", "--kind", "nonsense"], 2),
        (["daemon", "status"], 0),
    ]

    told = loaded(*(words for words, _ in expected), SHIYI_HOME=str(served.home))

    for (words, code), (ended, packages, own) in zip(expected, told, strict=True):
        assert ended == code, words
        assert not packages & HEAVY, words
        assert not own & {"shiyi.store.database", "shiyi.indexer.indexes", "shiyi.models.encoder"}


def test_help_and_version_load_no_models_of_requests() -> None:
    """What is only about the command line needs not even pydantic."""
    for code, packages, _ in loaded(["--help"], ["--version"], ["eval", "--help"]):
        assert code == 0
        assert not packages & (HEAVY | {"pydantic"})
