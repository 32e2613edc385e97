"""Entering this memory into clients: what is theirs stays, byte for byte in meaning."""

import json
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from shiyi.cli import call
from shiyi.core.errors import UsageError
from shiyi.service.agents.clients import CLIENTS, find_client
from shiyi.service.agents.install import apply, installed, snippet, uninstalled

COMMAND = ["/opt/a b/shiyi", "mcp", "--scope", "工作"]
OTHERS: dict[str, str] = {
    "json": '{\n  "theme": "dark",\n  "KEY": {"other": {"command": "x", "args": ["-y"]}},\n'
    '  "last": [1, 2.5, null, true, "é漢"]\n}\n',
    "toml": '# mine\nmodel = "o9"  # a comment\n\n[mcp_servers.other]\ncommand = "x"\n\n'
    "[profiles.a]\nwhen = 2026-05-01T00:00:00Z\n",
}
each = pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home of their own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "SHIYI_SCOPE",
                 "SHIYI_HOME", "SHIYI_MODEL"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(client: Any, text: str) -> Path:
    path: Path = client.place()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("KEY", client.within[0]), "utf-8")
    return path


def read(client: Any, text: str) -> Any:
    return tomllib.loads(text) if client.form == "toml" else json.loads(text)


def servers(client: Any, content: Any) -> Any:
    for key in client.within:
        content = content[key]
    return content


@each
def test_a_new_file(client: Any) -> None:
    """It holds the entry, as --print shows it, belongs to its owner, and a second time is none."""
    apply(installed(client, COMMAND))

    path = client.place()
    assert path.read_text("utf-8") == snippet(client, COMMAND)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    entry = servers(client, read(client, path.read_text("utf-8")))["shiyi"]
    told = entry["command"] if client.name == "opencode" else [entry["command"], *entry["args"]]
    assert told == COMMAND
    assert installed(client, COMMAND).new is None


@each
def test_other_settings_stay(client: Any) -> None:
    """Other servers and settings mean what they meant, in and out; the backup is the old file."""
    path = write(client, OTHERS[client.form])
    before = path.read_text("utf-8")

    backup = apply(installed(client, COMMAND))

    after = read(client, path.read_text("utf-8"))
    assert backup is not None
    assert backup.read_text("utf-8") == before
    assert servers(client, after).pop("shiyi")
    assert after == read(client, before)
    if client.form == "toml":
        assert path.read_text("utf-8").startswith(before)
    assert installed(client, COMMAND).new is None
    apply(uninstalled(client))
    assert read(client, path.read_text("utf-8")) == read(client, before)


@each
def test_an_entry_of_ours_is_replaced(client: Any) -> None:
    """Another scope takes the place of the one before; there is never a second entry."""
    write(client, OTHERS[client.form])
    apply(installed(client, COMMAND))
    apply(installed(client, ["/opt/shiyi", "mcp"]))

    text = client.place().read_text("utf-8")
    assert "/opt/a b" not in text
    assert installed(client, ["/opt/shiyi", "mcp"]).new is None
    assert set(servers(client, read(client, text))) == {"other", "shiyi"}


@each
@pytest.mark.parametrize(
    "fault", ["{", '{"a": 1,}', "[ not closed", '// hi\n{"a": 1}', "\x00", "[]"]
)
def test_a_broken_file_is_left_alone(client: Any, fault: str) -> None:
    """It is refused with a sentence that names it, and stays as it is, without a backup."""
    path = write(client, fault)

    with pytest.raises(UsageError, match=r"left alone|nothing was written"):
        installed(client, COMMAND)

    assert path.read_text("utf-8") == fault
    assert len(list(path.parent.iterdir())) == 1


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {other = {command = "x"}}\n',
        'mcp_servers.shiyi.command = "x"\n',
        '[mcp_servers]\nshiyi = {command = "x"}\n',
    ],
)
def test_toml_in_another_form_is_left_alone(text: str) -> None:
    """What cannot be edited without touching other settings is refused."""
    codex = find_client("codex")
    path = write(codex, text)

    with pytest.raises(UsageError, match="left alone"):
        installed(codex, COMMAND)

    assert path.read_text("utf-8") == text


def test_a_text_that_looks_like_a_table_stays() -> None:
    """A string of several lines with our own heading in it is noticed, and nothing is written."""
    codex = find_client("codex")
    text = 'note = """\n[mcp_servers.shiyi]\ncommand = "no"\n"""\n'
    path = write(codex, text)

    with pytest.raises(UsageError, match="left alone"):
        installed(codex, COMMAND)

    assert path.read_text("utf-8") == text


def test_a_table_in_the_middle_goes_out_alone() -> None:
    """Our table and those inside it go; what stands after them stays, with its comments."""
    codex = find_client("codex")
    text = (
        'a = 1\n\n[mcp_servers.shiyi]\ncommand = "x"\n\n[mcp_servers.shiyi.env]\nA = "1"\n'
        '\n# of the other\n[mcp_servers.other]\ncommand = "y"\n'
    )
    path = write(codex, text)

    apply(uninstalled(codex))

    assert tomllib.loads(path.read_text("utf-8")) == {
        "a": 1, "mcp_servers": {"other": {"command": "y"}},
    }  # fmt: skip


def test_a_link_stays_a_link_and_modes_stay(home: Path) -> None:
    """A configuration kept elsewhere is written there, with its mode."""
    cursor = find_client("cursor")
    kept = home / "dotfiles" / "mcp.json"
    kept.parent.mkdir()
    kept.write_text("{}\n", "utf-8")
    kept.chmod(0o640)
    cursor.place().parent.mkdir()
    cursor.place().symlink_to(kept)

    apply(installed(cursor, COMMAND))

    assert cursor.place().is_symlink()
    assert "shiyi" in kept.read_text("utf-8")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert [path.parent for path in home.rglob("*.before-shiyi-*")] == [kept.parent]


def test_a_file_that_changed_meanwhile_is_not_overwritten() -> None:
    """Between showing and writing, the client may have written its own settings."""
    gemini = find_client("gemini")
    path = write(gemini, "{}")
    change = installed(gemini, COMMAND)
    path.write_text('{"new": 1}', "utf-8")

    with pytest.raises(UsageError, match="changed meanwhile"):
        apply(change)

    assert json.loads(path.read_text("utf-8")) == {"new": 1}


def test_opencode_two_has_a_place_of_its_own() -> None:
    """Where mcp.servers is, the entry goes there; otherwise into the form that both read."""
    opencode = find_client("opencode")
    path = write(opencode, '{"mcp": {"servers": {}}}')

    apply(installed(opencode, COMMAND))

    assert list(json.loads(path.read_text("utf-8"))["mcp"]) == ["servers"]
    assert json.loads(path.read_text("utf-8"))["mcp"]["servers"]["shiyi"]["command"] == COMMAND


@pytest.mark.parametrize(
    ("platform", "name", "ends"),
    [
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        (
            "darwin",
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("win32", "vscode", "roaming/Code/User/mcp.json"),
        ("linux", "vscode", "xdg/Code/User/mcp.json"),
        ("linux", "opencode", "xdg/opencode/opencode.json"),
        ("linux", "claude-code", "claude/.claude.json"),
        ("linux", "codex", "codex/config.toml"),
    ],
)
def test_places(
    platform: str, name: str, ends: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each platform and each variable of a client says where its file is."""
    monkeypatch.setattr(sys, "platform", platform)
    for variable, folder in (("APPDATA", "roaming"), ("XDG_CONFIG_HOME", "xdg"),
                             ("CLAUDE_CONFIG_DIR", "claude"), ("CODEX_HOME", "codex")):  # fmt: skip
        monkeypatch.setenv(variable, str(home / folder))

    assert find_client(name).place() == home / ends


@settings(max_examples=40)
@given(
    some.dictionaries(some.text(), some.recursive(
        some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False)
        | some.text(),
        lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner), max_leaves=8,
    )),
    some.sampled_from([None, 2, 4, "\t"]),
)  # fmt: skip
def test_any_json_keeps_its_meaning(content: dict[str, Any], indent: Any) -> None:
    """Whatever a client keeps is read back as it was."""
    content.pop("mcpServers", None)
    cursor = find_client("cursor")
    write(cursor, "").write_text(json.dumps(content, indent=indent), "utf-8")

    change = installed(cursor, COMMAND)

    assert change.new is not None
    after = json.loads(change.new)
    assert after.pop("mcpServers")["shiyi"]["args"] == COMMAND[1:]
    assert after == content


def test_the_command_asks_shows_and_writes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """No answer means no; --yes does not ask; --print touches nothing."""
    path = find_client("cursor").place()
    answers: Callable[[], bool] = lambda: False  # noqa: E731
    monkeypatch.setattr("click.confirm", lambda *_, **__: answers())

    assert call(["mcp", "install", "--client", "cursor", "--print"]) == 0
    assert json.loads(capsys.readouterr().out)["mcpServers"]["shiyi"]["args"] == ["mcp"]
    assert call(["mcp", "install", "--client", "cursor"]) == 1
    assert "+++ " in capsys.readouterr().out
    assert not path.exists()
    assert call(["mcp", "--scope", "work", "install", "--client", "cursor", "--yes"]) == 0
    entry = json.loads(path.read_text("utf-8"))["mcpServers"]["shiyi"]
    assert entry["args"] == ["mcp", "--scope", "work"]
    assert Path(entry["command"]).is_absolute()
    assert call(["mcp", "install", "--client", "emacs", "--yes"]) == 2
    assert "claude-code" in capsys.readouterr().err
    assert call(["mcp", "uninstall", "--client", "cursor", "--yes"]) == 0
    assert json.loads(path.read_text("utf-8")) == {"mcpServers": {}}


def test_the_skill_is_put_where_it_is_wanted(home: Path) -> None:
    """`shiyi mcp skill DIR` writes the file that ships with the package."""
    assert call(["mcp", "skill", str(home / "skills")]) == 0

    text = (home / "skills" / "shiyi-memory" / "SKILL.md").read_text("utf-8")
    assert text.startswith("---\nname: shiyi-memory\n")


def test_the_environment_goes_into_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client does not pass on our variables, so what they say is written down."""
    monkeypatch.setenv("SHIYI_HOME", "mine")
    monkeypatch.setenv("SHIYI_SCOPE", "work")
    monkeypatch.setenv("SHIYI_MODEL", "none")

    assert call(["mcp", "install", "--client", "cursor", "--print"]) == 0

    arguments = json.loads(capsys.readouterr().out)["mcpServers"]["shiyi"]["args"]
    place = str(Path("mine").absolute())
    assert arguments == ["mcp", "--home", place, "--scope", "work", "--model", "none"]


def test_each_change_has_a_backup_of_its_own() -> None:
    """Two changes within a second: the file from before both is still there."""
    client = find_client("cursor")
    client.place().parent.mkdir(parents=True)
    client.place().write_text('{"theme": "dark"}', "utf-8")

    first = apply(installed(client, ["/usr/bin/shiyi", "mcp"]))
    second = apply(uninstalled(client))

    assert first is not None
    assert first != second
    assert first.read_text("utf-8") == '{"theme": "dark"}'
