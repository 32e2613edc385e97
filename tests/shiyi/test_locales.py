"""The installed command reads and writes UTF-8 under any locale."""

import os
import pty
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.shiyi.conftest import SHIYI

Shell = Callable[..., "subprocess.CompletedProcess[bytes]"]
WORDS = "我不喜歡雜訊，café 也是 👍"


@pytest.fixture(scope="session")
def gbk(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A locale in which the command line is read as GBK."""
    place = tmp_path_factory.mktemp("locales")
    made = subprocess.run(
        ["localedef", "-i", "zh_CN", "-f", "GBK", str(place / "zh_CN.GBK")],
        capture_output=True, check=False,
    ) if _has("localedef") else None  # fmt: skip
    if made is None or not (place / "zh_CN.GBK").is_dir():
        pytest.skip("this machine has no localedef or no description of the GBK locale")
    return {"LOCPATH": str(place), "LC_ALL": "zh_CN.GBK", "LANG": "zh_CN.GBK"}


def _has(program: str) -> bool:
    return any((Path(folder) / program).exists() for folder in os.get_exec_path())


def check(shell: Shell, environment: Mapping[str, str], *asked: str) -> None:
    """Keep what is typed and what is piped in, and see both, bytes in and bytes out."""
    kept = shell("remember", WORDS, env=environment)
    piped = shell("remember", "--words-only", stdin="雜訊從管線來".encode(), env=environment)
    found = shell(*asked, "--json", env=environment)

    assert (kept.returncode, piped.returncode, found.returncode) == (0, 0, 0), found
    assert WORDS in found.stdout.decode("utf-8")
    assert "雜訊從管線來" in found.stdout.decode("utf-8")


@pytest.mark.parametrize(
    ("asked", "environment"),
    [
        ("list --what captures", {"LC_ALL": "C"}),
        ("list --what captures", {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"}),
        ("search 雜訊", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    ],
)
def test_plain_locales(asked: str, environment: dict[str, str], shell: Shell) -> None:
    """`search 雜訊` works where the locale knows only ASCII, even when that is forced."""
    check(shell, environment, *asked.split())


def test_gbk_locale(gbk: Mapping[str, str], shell: Shell) -> None:
    """A terminal that sends UTF-8 under a GBK locale is read as what it sends."""
    check(shell, {**gbk, "PYTHONUTF8": "0"}, "search", "雜訊")


def test_words_typed_in_gbk(gbk: Mapping[str, str], shell: Shell) -> None:
    """Where the terminal really sends GBK, the locale is right and is believed."""
    assert shell("remember", "我不喜欢杂讯".encode("gbk"), env=gbk).returncode == 0

    assert "我不喜欢杂讯" in shell("list", env=gbk).stdout.decode("utf-8")


def test_home_with_spaces_and_chinese(shell: Shell, tmp_path: Path) -> None:
    """Every path is taken as it is, under an ASCII locale too."""
    home = tmp_path / "我的 記憶 (1)"
    environment = {"SHIYI_HOME": str(home), "LC_ALL": "C", "PYTHONUTF8": "0"}

    assert shell("remember", WORDS, env=environment).returncode == 0
    assert shell("reindex", env=environment).returncode == 0
    assert (home / "shiyi.duckdb").is_file()


def test_a_closed_pipe_is_no_error(kept: Callable[..., Any], home: Path) -> None:
    """`shiyi show … | head -1` ends in silence."""
    listed = kept("長" * 400_000, "--words-only")["capture_id"]
    environment = {**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "none"}

    with subprocess.Popen(
        [SHIYI, "show", listed], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()

    assert process.returncode == 0
    assert error == b""


def test_color_only_on_a_terminal(kept: Callable[..., Any], home: Path) -> None:
    """Matches are bold on a terminal, and plain in a pipe or with NO_COLOR."""
    kept(WORDS)
    environment = {**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "none"}

    def on_a_terminal(extra: dict[str, str]) -> bytes:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [SHIYI, "search", "雜訊"], env={**environment, **extra}, stdout=theirs, stderr=theirs
        ) as process:
            process.wait()
        os.close(theirs)
        shown = os.read(ours, 65_536)
        os.close(ours)
        return shown

    assert b"\x1b[1m" in on_a_terminal({})
    assert b"\x1b[" not in on_a_terminal({"NO_COLOR": "1"})
