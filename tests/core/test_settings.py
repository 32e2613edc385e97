"""Where a home lies and what can be set."""

from pathlib import Path

import pytest

from shiyi.core.errors import UsageError
from shiyi.core.settings import Settings, home_directory, load_settings


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "MODEL", "SCOPE", "TOKENS", "QUERY_PROMPT", "PASSAGE_PROMPT", "TRACES",
                 "TRACE_DAYS", "TRACE_MOST", "DAEMON", "DAEMON_IDLE"):  # fmt: skip
        monkeypatch.delenv(f"SHIYI_{name}", raising=False)


def test_what_is_given_wins_over_environment_over_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line wins, then the environment, then settings.toml, then the default."""
    (tmp_path / "settings.toml").write_text('scope = "文件"\nmodel = "none"\ntokens = "bytes"\n')
    monkeypatch.setenv("SHIYI_MODEL", "/a/model")
    monkeypatch.setenv("SHIYI_TOKENS", "cl100k")
    monkeypatch.setenv("SHIYI_SCOPE", "")

    settings = load_settings(tmp_path, tokens="o200k", query_prompt=None)

    assert settings == Settings(scope="文件", model="/a/model", tokens="o200k", query_prompt="")


def test_numbers_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read as numbers, or refused by name."""
    monkeypatch.setenv("SHIYI_TRACE_DAYS", "7")
    assert load_settings(tmp_path).trace_days == 7
    monkeypatch.setenv("SHIYI_TRACE_DAYS", "soon")
    with pytest.raises(UsageError, match="SHIYI_TRACE_DAYS is a whole number"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("trace_most = 0", "trace_most is a number from 1"), ('traces = "yes"', 'is "on" or')],
)
def test_values_out_of_range_are_refused(tmp_path: Path, content: str, message: str) -> None:
    """The setting is named, with what it may be."""
    (tmp_path / "settings.toml").write_text(content)
    with pytest.raises(UsageError, match=message):
        load_settings(tmp_path)


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    """A home without settings has the defaults."""
    assert load_settings(tmp_path) == load_settings(tmp_path / "missing") == Settings()


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    """Editors that write one are forgiven."""
    (tmp_path / "settings.toml").write_text('scope = "me2"\n', "utf-8-sig")

    assert load_settings(tmp_path).scope == "me2"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"scope", "not valid TOML"),
        (b'scope = "\xff"', "not valid TOML"),
        (b"colour = 1", "unknown setting 'colour'; known: attachment_mb, "),
        (b"scope = 1", "scope is a text in quotes, not int"),
        (b'trace_days = "30"', "trace_days is a whole number, not str"),
        (b"trace_days = true", "trace_days is a whole number, not bool"),
        (b"[model]\nname = 'x'", "model is a text in quotes, not dict"),
        (None, "cannot be read"),
    ],
)
def test_a_bad_settings_file_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    """The message names the file, what was found and what is known; nothing is guessed."""
    path = tmp_path / "settings.toml"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)

    with pytest.raises(UsageError, match=message) as refusal:
        load_settings(tmp_path)

    assert str(path) in str(refusal.value)


def test_the_home_is_given_or_named_or_the_platforms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A given path wins over SHIYI_HOME, which wins over the platform's data directory."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    platforms = home_directory()
    assert platforms.name == "shiyi"
    assert tmp_path in platforms.parents

    monkeypatch.setenv("SHIYI_HOME", "~/记忆")
    assert home_directory() == home_directory("") == tmp_path / "记忆"
    assert home_directory("here") == home_directory(Path("here")) == tmp_path / "here"


@pytest.mark.parametrize("path", ["a\0b", "~no-such-user-here/x"])
def test_a_path_that_cannot_be_is_refused(path: str) -> None:
    """An impossible path is refused before anything looks for it."""
    with pytest.raises(UsageError):
        home_directory(path)
