"""Homes that cannot be used are refused in a sentence, with the exit code that says why."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shiyi.cli import call
from shiyi.core.errors import HomeBusyError
from shiyi.store import Store

Run = Callable[..., Any]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system in memory."""
    path = tmp_path / "disk"
    path.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", path],
            check=True, capture_output=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk takes rights that we do not have here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def fill(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(os.urandom(4096))


def test_read_only_disk(run: Run, disk: Path) -> None:
    """On a read-only disk nothing can be kept, and that is said."""
    assert run("--home", disk / "home", "remember", "甲").code == 0
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)

    old = run("--home", disk / "home", "remember", "乙")
    new = run("--home", disk / "new", "init", "--json")

    assert (old.code, new.code) == (73, 73)
    assert old.err.startswith("shiyi: ")
    assert "Traceback" not in old.err
    assert new.json["error"]["code"] == "unwritable"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_full_disk(run: Run, disk: Path) -> None:
    """A full disk refuses words, export and index; what was kept before is found again."""
    home = disk / "home"
    first = run("--home", home, "remember", "花生過敏", "--json").json
    fill(disk / "ballast")

    words = run(
        "--home", home, "remember", "--words-only", stdin=os.urandom(400_000).hex().encode()
    )
    out = run("--home", home, "export", disk / "out")
    built = run("--home", home, "reindex")

    assert {words.code, out.code, built.code} == {73}, (words, out, built)
    for answer in (words, out, built):
        assert answer.err.startswith("shiyi: ")
        assert "Traceback" not in answer.err
    (disk / "ballast").unlink()
    assert run("--home", home, "reindex").code == 0
    hits = run("--home", home, "search", "花生", "--json").json["hits"]
    assert first["capture_id"] in {hits[0]["id"], *hits[0]["also"]}


def test_busy_home(run: Run, home: Path) -> None:
    """While another owns the home, every command says so at once and changes nothing."""
    with Store(home, create=True):
        answer = run("remember", "甲")

    assert answer.code == HomeBusyError.exit_code == 75
    assert "is in use by process" in answer.err
    assert run("remember", "甲").code == 0


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + bytes(4096), b"\0" * 20_000])
def test_foreign_database(content: bytes, run: Run, home: Path) -> None:
    """A file that is not ours is left untouched."""
    home.mkdir(mode=0o700)
    (home / "shiyi.duckdb").write_bytes(content)

    answer = run("remember", "甲")

    if content:
        assert answer.code == 65
        assert (home / "shiyi.duckdb").read_bytes() == content


def test_home_is_a_file(run: Run, home: Path) -> None:
    """A file where the home should be is not touched."""
    home.write_text("mine", "utf-8")

    assert run("init").code in {2, 73}
    assert home.read_text("utf-8") == "mine"


@pytest.mark.parametrize("content", ["model = ", "colour = 'red'", "model = 1", "\x00"])
def test_settings_that_cannot_be_read(content: str, run: Run, home: Path) -> None:
    """A mistake in settings.toml is named with its file."""
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text(content, "utf-8")

    answer = run("list")

    assert answer.code == 2
    assert "settings.toml" in answer.err


def test_settings_choose_model_and_scope(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """settings.toml is used, the environment wins over it, and an option over both."""
    monkeypatch.delenv("SHIYI_MODEL")
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text("model = 'none'\nscope = '我'\n", "utf-8")

    assert run("remember", "甲", "--json").json["scope"] == "我"
    assert run("status", "--json").json["model"] == "none"
    monkeypatch.setenv("SHIYI_SCOPE", "work")
    assert run("remember", "乙", "--json").json["scope"] == "work"
    assert run("remember", "丙", "--scope", "x", "--json").json["scope"] == "x"


@pytest.mark.parametrize("command", [["search", "花生"], ["reindex"], ["status"], ["init"]])
def test_model_that_is_not_there(command: list[str], run: Run, kept: Run, tmp_path: Path) -> None:
    """Without its model everything goes on by keywords, and says so with the path."""
    kept("花生過敏")
    path = str(tmp_path / "no-model")

    answer = run(*command, "--model", path)

    assert answer.code == 0
    assert "no-model" in answer.out
    assert "sentence-transformers directory" in answer.out


def test_hub_model_that_is_not_cached(
    run: Run, kept: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status says what a search would: keywords only, and why."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    kept("花生過敏")
    status = run("status", "--model", "nobody/nothing", "--json").json

    assert status["mode"] == "keyword"
    assert any("local hub cache" in note for note in status["notes"])
    assert run("search", "花生", "--model", "nobody/nothing", "--json").json["mode"] == "keyword"


def test_index_of_another_model(run: Run, kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of another model or dimension are never mixed: they are made anew."""
    kept("花生過敏")
    kept("喜歡散步")
    run("reindex", "--model", "hashing")
    monkeypatch.setattr("shiyi.models.hashing.HashingEncoder.__init__.__kwdefaults__",
                        {"dimension": 64, "query_prompt": "", "passage_prompt": ""})  # fmt: skip

    answer = run("search", "花生", "--model", "hashing", "--json").json

    assert answer["mode"] == "hybrid"
    assert "花生過敏" in answer["hits"][0]["snippet"]["text"]
    assert run("reindex", "--model", "hashing", "--json").json["indexes"][0]["embedded"] == 4


def test_errors_of_our_own_hide_the_words(
    run: Run, kept: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of ours ends with 70 and a sentence that holds nothing of what was said."""
    kept("甲")

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("shiyi.store.Store.find_heads", fails)
    answer = run("list", "--json")
    monkeypatch.setenv("SHIYI_DEBUG", "1")
    with pytest.raises(RuntimeError):
        call(["list"])

    assert answer.code == 70
    assert answer.json["error"]["code"] == "internal"
    assert "RuntimeError" in answer.out
    assert "secret" not in answer.out + answer.err


def test_disk_errors_of_any_file_are_explained(
    run: Run, kept: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is said as such, wherever it is met."""
    kept("甲")

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/columns.npy")

    monkeypatch.setattr("shiyi.indexer.reindex.publish", fails)
    answer = run("reindex")

    assert answer.code == 73
    assert "/somewhere/columns.npy cannot be written (No space left on device)" in answer.err
