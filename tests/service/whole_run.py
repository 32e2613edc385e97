"""A whole run of a memory, as a program: nothing of it may ask anybody outside.

It uses everything once, and in the end really asks outside, so that it is seen to be noticed.
"""

import http.client
import subprocess
import sys
from pathlib import Path

from shiyi.core.settings import load_settings
from shiyi.service.daemon.client import Client

OUTSIDE = "import socket; socket.socket().connect(('192.0.2.1', 9))"


def run(place: Path) -> None:
    """Use everything once, then ask outside."""
    notes = place / "notes"
    notes.mkdir()
    (notes / "2024-05-01.md").write_text("備用鑰匙在鐵罐裡。 https://example.com/x\n", "utf-8")
    for words in (
        ["init"], ["remember", "我對花生過敏，別點宮保雞丁。"], ["import", str(notes)], ["reindex"],
        ["search", "花生 allergy"], ["probe", "鑰匙"], ["deep", "鑰匙"], ["survey"], ["recall"],
        ["list"], ["status"], ["validate"], ["doctor"], ["trace"], ["version"],
        ["backup", str(place / "backup")], ["export", str(place / "out")],
        ["token", "create", "--role", "read"], ["eval", "datasets"],
        ["mcp", "install", "--client", "codex", "--print"],
    ):  # fmt: skip
        shiyi(*words)
    with Client(place / "home", load_settings(place / "home")) as client:
        client.start()
        told = next(held := client.held("serve"))
        token = Path(told["token_file"]).read_text("ascii").strip()
        connection = http.client.HTTPConnection(told["url"].removeprefix("http://"), timeout=60)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/search", b'{"text":"allergy"}', headers)
        assert connection.getresponse().status == 200
        connection.close()
        held.close()
    initialize = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    )
    shiyi("mcp", said=initialize)
    shiyi("daemon", "stop")
    print("asked")  # noqa: T201
    subprocess.run([sys.executable, "-c", OUTSIDE], capture_output=True, check=False)
    print("seen")  # noqa: T201


def shiyi(*words: str, said: bytes = b"") -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "shiyi", *words], input=said, capture_output=True, check=False
    )
    assert done.returncode in {0, 1}, (words, done.stdout, done.stderr)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
