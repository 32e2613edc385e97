"""Claude Code transcripts: people's and the assistant's words out of the machine's traffic."""

import json
from pathlib import Path
from typing import Any

from shiyi.lifecycle.readers import CaptureItem, Item, LineError, Skipped, read

UUID = "11111111-2222-4333-8444-{:012}"


def line(number: int, kind: str, content: Any, parent: int | None = None, **more: Any) -> str:
    said = {
        "type": kind,
        "uuid": UUID.format(number),
        "parentUuid": None if parent is None else UUID.format(parent),
        "sessionId": "s",
        "cwd": "/p",
        "gitBranch": "main",
        "timestamp": "2026-06-07T05:43:00.000Z",
        "message": {"role": kind, "content": content},
        **more,
    }
    return json.dumps(said, ensure_ascii=False)


def transcript(folder: Path, *lines: str, end: str = "\n") -> Path:
    file = folder / "s.jsonl"
    file.write_text("\n".join(lines) + end, "utf-8")
    return file


def captures(items: list[Item]) -> list[CaptureItem]:
    return [item for item in items if isinstance(item, CaptureItem)]


def skips(items: list[Item]) -> dict[str, int]:
    return {item.reason: item.count for item in items if isinstance(item, Skipped)}


def words(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def test_words_are_kept_and_tools_stepped_over(tmp_path: Path) -> None:
    """A tool result in the name of the user is not the user; links step over it."""
    tool_use = [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]
    tool_result = [{"type": "tool_result", "tool_use_id": "t1", "content": "secret file"}]
    file = transcript(
        tmp_path,
        line(1, "user", "修好登入"),
        line(2, "assistant", words("先看檔案"), 1),
        line(3, "assistant", tool_use, 2),
        line(4, "user", tool_result, 3),
        line(5, "assistant", words("好了"), 4),
        '{"type":"summary","summary":"修登入","leafUuid":"x"}',
    )

    items = list(read(file))
    first, second, third = captures(items)

    assert [first.text, second.text, third.text] == ["修好登入", "先看檔案", "好了"]
    assert [first.previous, second.previous, third.previous] == [None, first.key, second.key]
    assert (first.speaker, first.session, first.key) == ("user", "s", UUID.format(1))
    assert first.attrs == {"cwd": "/p", "git_branch": "main"}
    assert skips(items) == {"a line that holds no message": 1, "tool traffic": 2}


def test_side_chains_and_notes_of_the_program_are_left_out(tmp_path: Path) -> None:
    """Flags of the program and its own texts do not pass for the person's words."""
    file = transcript(
        tmp_path,
        line(1, "user", "sub task", isSidechain=True),
        line(2, "user", "Caveat: …", isMeta=True),
        line(3, "user", "This session continues …", isCompactSummary=True),
        line(4, "user", "<local-command-stdout>x</local-command-stdout>"),
        line(5, "user", "<command-name>/clear</command-name>\n<command-args></command-args>"),
        line(6, "user", words("[Request interrupted by user]")),
        line(7, "user", [*words("<system-reminder>\nx\n</system-reminder>"), *words("go on")]),
    )

    items = list(read(file, format="claude-code"))

    assert [one.text for one in captures(items)] == ["go on"]
    assert skips(items) == {
        "a note of the program": 5,
        "a side chain": 1,
        "a summary that the program wrote": 1,
    }


def test_the_arguments_of_a_slash_command_are_the_persons_words(tmp_path: Path) -> None:
    """A command that carries words is kept whole."""
    said = "<command-name>/fix</command-name>\n<command-args>the login page</command-args>"

    (only,) = captures(list(read(transcript(tmp_path, line(1, "user", said)))))

    assert only.text == said


def test_a_line_that_is_still_being_written_is_no_error(tmp_path: Path) -> None:
    """Reading a live transcript stops at what is whole, and meets it again next time."""
    whole = [line(1, "user", "一"), line(2, "assistant", words("二"), 1)]
    half = transcript(tmp_path, whole[0], whole[1][:-20], end="")

    before = list(read(half))
    after = list(read(transcript(tmp_path, *whole, end="")))

    assert [type(item) for item in before] == [CaptureItem, Skipped]
    assert [one.text for one in captures(after)] == ["一", "二"]
    assert captures(before)[0] == captures(after)[0]


def test_a_folder_of_projects_is_read_without_its_subagents(tmp_path: Path) -> None:
    """Every transcript of every project is read; what agents told each other is not."""
    for name in ("-p/a.jsonl", "-q/b.jsonl", "-q/b/subagents/agent.jsonl"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(line(len(name), "user", name) + "\n", "utf-8")

    items = list(read(tmp_path))

    assert [one.source_path for one in captures(items)] == ["-p/a.jsonl", "-q/b.jsonl"]
    assert skips(items) == {"a folder of tool traffic": 1}


def test_a_copied_message_is_the_same_message(tmp_path: Path) -> None:
    """A resumed session that repeats older lines repeats their keys."""
    first = captures(list(read(transcript(tmp_path, line(1, "user", "hi")))))
    again = captures(list(read(transcript(tmp_path, line(1, "user", "hi", sessionId="t")))))

    assert first[0].key == again[0].key


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    """A broken line in the middle is reported; the ones around it are read."""
    file = transcript(tmp_path, line(1, "user", "a"), '{"type":', line(2, "user", "b"))

    items = list(read(file))

    assert [one.text for one in captures(items)] == ["a", "b"]
    assert [one.line for one in items if isinstance(one, LineError)] == [2]


def test_half_a_surrogate_pair_costs_only_the_words_it_is_in(tmp_path: Path) -> None:
    """A tool that cut an emoji in two is not the person's error; words cut so are refused."""
    tool = [{"type": "tool_result", "content": "\ud83d"}]
    lines = [line(1, "user", tool), line(2, "user", "a\ud83d"), line(3, "user", "b", cwd="\ud83d")]
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(json.dumps(json.loads(one)) for one in lines), "utf-8")

    items = list(read(file))

    assert [one.text for one in captures(items)] == ["b"]
    assert [one.line for one in items if isinstance(one, LineError)] == [2]
    assert skips(items) == {"tool traffic": 1}
