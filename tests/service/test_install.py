"""Entering this memory into clients: what is theirs stays, byte for byte in meaning."""

import json
import re
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
from shiyi.service.agents.jsonc import Text

COMMAND = ["/opt/a b/shiyi", "mcp", "--scope", "工作"]
_ENTRY = {"command": COMMAND[0], "args": COMMAND[1:]}
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
    "fault",
    ["{", '{"a": 1,,}', "[ not closed", '/* {"a": 1}', "\x00", "[]", "7", '{"KEY": 7}',
     '{"a": ' + "[" * 100_000, '{"a": tru}', "{'a': 1}"],
    ids=range(11),
)  # fmt: skip
def test_a_broken_file_is_left_alone(client: Any, fault: str) -> None:
    """It is refused with a sentence that names it, and stays as it is, without a backup."""
    path = write(client, fault)
    before = path.read_bytes()

    with pytest.raises(UsageError, match=r"left alone|nothing was written"):
        installed(client, COMMAND)

    assert path.read_bytes() == before
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
        '# of the other\n[mcp_servers.other]\ncommand = "y"\n'
    )
    path = write(codex, text)

    apply(uninstalled(codex))

    assert (
        path.read_text("utf-8") == 'a = 1\n\n# of the other\n[mcp_servers.other]\ncommand = "y"\n'
    )


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


@pytest.mark.parametrize("name", ["codex", "cursor"])
@pytest.mark.parametrize("read_only", ["file", "folder"])
def test_what_is_read_only_stays(
    name: str, read_only: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file or folder that nobody may write is named in a sentence, and nothing lies beside it."""
    client = find_client(name)
    path = write(client, OTHERS[client.form])
    before = path.read_bytes()
    place = path if read_only == "file" else path.parent
    mode = place.stat().st_mode
    place.chmod(0o444 if read_only == "file" else 0o555)

    code = call(["mcp", "install", "--client", name, "--yes"])

    place.chmod(mode)
    assert (code, path.read_bytes()) == (73, before)
    assert "cannot be written (it is read-only); it is as it was" in capsys.readouterr().err
    assert list(path.parent.iterdir()) == [path]


def test_a_file_without_end_is_no_configuration(home: Path) -> None:
    """What is too large, or no file, is not read on."""
    cursor = find_client("cursor")
    with write(cursor, "").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(UsageError, match="too large"):
        installed(cursor, COMMAND)
    cursor.place().unlink()
    cursor.place().mkdir()
    with pytest.raises(UsageError, match="no regular file"):
        installed(cursor, COMMAND)


_COMMENTED = """\
// mine
{
    "theme": "dark", // not "light"
    /* a list,
       with a comma at its end */
    "last": [1.0, 1e400, "// no comment", "\\u00e9",],
    "KEY": { // of the servers
        "other": {"command": "x"}, // the other
        // "old": {},
    },
}
// the end"""


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("begin", ["", "\ufeff"], ids=["plain", "bom"])
@each
def test_comments_stay(client: Any, begin: str, end: str) -> None:
    """Every comment, blank and number is where it was, and out again is as if never in."""
    if client.form == "toml":
        return
    path: Path = client.place()
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (begin + _COMMENTED.replace("KEY", client.within[0])).replace("\n", end)
    path.write_bytes(text.encode())

    apply(installed(client, COMMAND))

    after = path.read_bytes().decode()
    entry = servers(client, Text(after).content)["shiyi"]
    assert entry == client.entry(COMMAND)
    lines = after.split(end)
    assert [line for line in text.split(end) if line not in lines] == []
    assert "\r\n" not in after if end == "\n" else after.count("\n") == after.count("\r\n")
    assert installed(client, COMMAND).new is None
    apply(uninstalled(client))
    assert path.read_bytes().decode() == text


_OURS = {
    "cursor": """\
{"mcpServers": {
  "shiyi": {
    "command": "old", // mine
    "args": ["mcp"],
    "env": {"A": "1"}
  }
}}
""",
    "codex": """\
[mcp_servers.shiyi] # mine
# slow
startup_timeout_sec = 30 # s
command = "old"
args = [
  "mcp", # all
]
env.A = "1"

[mcp_servers.shiyi.tools]
b = 2 # two
""",
}


@pytest.mark.parametrize(("name", "text"), _OURS.items(), ids=_OURS)
def test_what_is_added_to_our_entry_stays(name: str, text: str) -> None:
    """A new command takes the place of the old one; what the person wrote beside it is theirs."""
    client = find_client(name)
    path = write(client, text)

    apply(installed(client, COMMAND))

    after = path.read_text("utf-8")
    read_after = Text(after).content if name == "cursor" else tomllib.loads(after)
    before = Text(text).content if name == "cursor" else tomllib.loads(text)
    old, new = servers(client, before)["shiyi"], servers(client, read_after)["shiyi"]
    assert new == {**old, **client.entry(COMMAND)}
    for remark in ("mine", "slow", "# s", "# two", '"A"', "env.A"):
        assert (remark in after) == (remark in text)


def test_a_key_that_stands_twice() -> None:
    """Elsewhere it is no matter of ours; on the way to the servers it is refused."""
    cursor = find_client("cursor")
    path = write(cursor, '{"a": 1, "a": 2, "mcpServers": {}}')
    apply(installed(cursor, COMMAND))
    assert path.read_text("utf-8").startswith('{"a": 1, "a": 2, "mcpServers": {')
    path.write_text('{"mcpServers": {}, "mcpServers": {"x": {}}}', "utf-8")
    with pytest.raises(UsageError, match="twice"):
        installed(cursor, COMMAND)


def test_opencode_two_has_a_place_of_its_own() -> None:
    """Where mcp.servers is, the entry goes there; otherwise into the form that both read."""
    opencode = find_client("opencode")
    path = write(opencode, '{"mcp": {"servers": {}}}')

    apply(installed(opencode, COMMAND))

    assert list(json.loads(path.read_text("utf-8"))["mcp"]) == ["servers"]
    assert json.loads(path.read_text("utf-8"))["mcp"]["servers"]["shiyi"]["command"] == COMMAND


def test_a_server_may_be_called_servers() -> None:
    """In the form of opencode 1 that is a server like any other."""
    opencode = find_client("opencode")
    path = write(opencode, '{"mcp": {"servers": {"type": "local", "command": ["x"]}}}')

    apply(installed(opencode, COMMAND))

    assert set(json.loads(path.read_text("utf-8"))["mcp"]) == {"servers", "shiyi"}


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


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_REMARKS = ("", "", " ", "\n", "\t", "/* , } \n */", '// " it\n', "\r\n")


@settings(max_examples=60)
@given(
    some.dictionaries(some.sampled_from("abc"), some.recursive(
        some.none() | some.floats(allow_nan=False, allow_infinity=False)
        | some.text('x/*\\"', max_size=4),
        lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text("y"), inner),
        max_leaves=5,
    )),
    some.lists(some.sampled_from(_REMARKS), min_size=1, max_size=40),
    some.booleans(),
    some.booleans(),
)  # fmt: skip
def test_any_commented_json_keeps_its_meaning(
    content: dict[str, Any], remarks: list[str], has_servers: bool, commas: bool
) -> None:
    """Wherever comments and commas stand, they stay, in and out, and so does what is said."""
    cursor = find_client("cursor")
    before = {**content, "mcpServers": {"other": content}} if has_servers else content
    tokens = _TOKEN.findall(json.dumps(before))
    text = ""
    for place, token in enumerate(tokens):
        if commas and token in "}]" and tokens[place - 1] not in "{[,":
            text += ","
        text += remarks[place % len(remarks)] + token
    text += remarks[-1]
    path = write(cursor, "")
    path.write_bytes(text.encode())

    apply(installed(cursor, COMMAND))

    new = path.read_bytes().decode()
    meant = {**before, "mcpServers": {**before.get("mcpServers", {}), "shiyi": _ENTRY}}
    assert Text(new).content == meant
    for remark in ("/* , } \n */", '// " it'):
        assert new.count(remark) == text.count(remark)
    apply(uninstalled(cursor))
    assert Text(path.read_bytes().decode()).content == {"mcpServers": {}, **before}
    for remark in ("/* , } \n */", '// " it'):
        assert path.read_bytes().decode().count(remark) == text.count(remark)


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
    assert path.read_text("utf-8") == '{\n  "mcpServers": {}\n}\n'


def test_the_skill_is_put_where_it_is_wanted(home: Path) -> None:
    """`shiyi mcp skill DIR` writes the file that ships with the package."""
    assert call(["mcp", "skill", str(home / "skills")]) == 0

    path = home / "skills" / "shiyi-memory" / "SKILL.md"
    text = path.read_text("utf-8")
    assert text.startswith("---\nname: shiyi-memory\n")
    assert call(["mcp", "skill", str(home / "skills")]) == 0
    assert list(path.parent.iterdir()) == [path]
    path.write_text("of my own", "utf-8")
    assert call(["mcp", "skill", str(home / "skills")]) == 0
    assert path.read_text("utf-8") == text
    (backup,) = path.parent.glob("SKILL.md.before-shiyi-*")
    assert backup.read_text("utf-8") == "of my own"


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
