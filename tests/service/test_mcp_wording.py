"""Sentences of ours: a person reads commands, a model reads its tools."""

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import anyio
import pytest
from mcp import Client

from shiyi.cli import BESIDE
from shiyi.service.mcp.wording import for_model
from shiyi.service.table.operations import GROUPS, OPERATIONS
from tests.service.agents import here, refused, use

_FOLDERS = ("core", "store", "models", "indexer", "retrieval", "lifecycle", "service")
_COMMAND = re.compile(r"`shiyi ([a-z-]+)(?: ([a-z-]+))?[^`]*`(.{0,25})", re.DOTALL)
_PERSONS = " (a command for the person)"


def sentences() -> Iterator[str]:
    """Yield every text of the source that names a command, with a word for what is filled in."""
    for folder in _FOLDERS:
        for file in sorted(Path(str(import_module(f"shiyi.{folder}").__path__[0])).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = [one.value if isinstance(one, ast.Constant) else "X"
                             for one in node.values]  # fmt: skip
                    yield "".join(map(str, parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def test_every_command_in_a_sentence_is_one() -> None:
    """A step that a sentence names can be taken."""
    names = {one.name for one in OPERATIONS} | set(BESIDE)
    found = [match for text in sentences() for match in _COMMAND.finditer(text)]

    wrong = [one[0] for one in found if one[1] not in names and f"{one[1]} {one[2]}" not in names]

    assert len(found) > 30
    assert [one for one in wrong if not one.startswith(tuple(f"`shiyi {g}" for g in GROUPS))] == []


def test_a_model_is_told_tools_or_whose_step_it_is() -> None:
    """Whatever sentence reaches a model, a command in it is said to be the person's."""
    for text in sentences():
        for match in _COMMAND.finditer(for_model(text)):
            assert match[3].startswith(_PERSONS[: len(match[3])]), text


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("`shiyi finalize A derived`.", "memory_finalize (capture A, outcome derived)."),
        ("`shiyi link A quotes B`", "memory_correct (action link, id A, rel quotes, other B)"),
        ("`shiyi edit A --status active`", "memory_correct (action edit, id A, status active)"),
        ("`shiyi capture --turn 't 1'`", "memory_capture (turn t 1)"),
        ("`shiyi absence`", "memory_probe (absent_topic)"),
        ("`shiyi list` shows", "memory_survey (view directory) shows"),
        ("`shiyi followup close`", "memory_correct (action close_followup)"),
        ("`shiyi capture --of A`", f"`shiyi capture --of A`{_PERSONS}"),
        ("Run `shiyi doctor`.", f"Run `shiyi doctor`{_PERSONS}."),
        ("`shiyi link 'A`", f"`shiyi link 'A`{_PERSONS}"),
        ("Take it out, or say --allow-secret.", "Take it out."),
    ],
)
def test_how_a_step_is_told(sentence: str, told: str) -> None:
    """A command becomes the call that does the same; what has none stays the person's."""
    assert for_model(sentence) == told


def arguments_of(todo: str, tool: str) -> dict[str, str]:
    """Read the call of a tool out of a sentence, as a model would."""
    named = re.search(rf"{tool} \(([^)]*)\)", todo)
    assert named is not None, todo
    return dict(part.split(" ", 1) for part in named[1].split(", "))


def test_what_is_open_is_closed_as_it_says(tmp_path: Path) -> None:
    """Each next step can be taken word for word, until the turn is kept and closed."""
    words = "我下個月搬到台中，房租一萬二。"

    async def steps(client: Client) -> None:
        await use(client, "memory_remember", text="貓叫阿福。")
        nothing = await use(client, "memory_finalize", turn="t 1")
        assert "memory_preflight" in nothing["open"][0]["todo"]
        await use(client, "memory_preflight", text=words, turn="t 1")
        assert "memory_capture" in await refused(client, "memory_search", query="台中", turn="t 1")
        (open_,) = (await use(client, "memory_status", what="pending"))["open"]
        asked = arguments_of(open_["todo"], "memory_capture")
        await use(client, "memory_capture", text=words, **asked)
        (open_,) = (await use(client, "memory_finalize", turn="t 1"))["open"]
        close = arguments_of(open_["todo"], "memory_finalize")
        assert close["outcome"] == "derived"
        early = await refused(client, "memory_finalize", **close)
        assert "memory_add_record" in early
        quotes = [{"capture": close["capture"], "text": "我下個月搬到台中"}]
        await use(client, "memory_add_record", kind="event", gist="搬到台中。", quotes=quotes)
        other = await use(client, "memory_add_record", kind="fact", gist="房租一萬二。",
                          summary_only=True)  # fmt: skip
        both = {**close, "records": [other["record_id"]]}
        tie = arguments_of(await refused(client, "memory_finalize", **both), "memory_correct")
        await use(client, "memory_correct", **tie)
        assert (await use(client, "memory_finalize", **both))["closed"] == "derived"
        await use(client, "memory_correct", action="archive", id=other["record_id"])
        checked = await use(client, "memory_finalize", turn="t 1")
        assert checked["verdict"] == "pass_with_warnings"
        await use(client, "memory_correct",
                  **arguments_of(checked["warnings"][0]["todo"], "memory_correct"))  # fmt: skip
        assert (await use(client, "memory_finalize", turn="t 1"))["verdict"] == "pass"

    async def main() -> None:
        async with here(tmp_path / "home") as client:
            await steps(client)

    anyio.run(main)


def test_stored_text_keeps_its_commands(tmp_path: Path) -> None:
    """Only sentences of ours are worded anew; what somebody said stays byte for byte."""
    words = "先跑 `shiyi finalize A derived`，再 `shiyi list`。"

    async def main() -> None:
        async with here(tmp_path / "home") as client:
            kept = await use(client, "memory_remember", text=words)
            other = await use(client, "memory_remember", text="不用跑。")
            await use(client, "memory_correct", action="contradict", id=other["record_id"],
                      other=kept["record_id"], reason=words)  # fmt: skip
            again = await use(client, "memory_remember", text=words)
            shown = [
                await use(client, "memory_search", query="finalize"),
                await use(client, "memory_survey", view="conflicts"),
                again["warnings"],
            ]
            for content in shown:
                assert words in json.dumps(content, ensure_ascii=False)

    anyio.run(main)
