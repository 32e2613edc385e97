"""Claude.ai exports: text blocks are speech, pasted texts are kept, the rest is counted."""

import json
from pathlib import Path
from typing import Any

from shiyi.lifecycle.readers import CaptureItem, Item, LineError, Skipped, read


def message(uuid: str | None, sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
    return {"uuid": uuid, "sender": sender, "text": "", "content": content, **more}


def items_of(folder: Path, *messages: Any, **more: Any) -> list[Item]:
    file = folder / "conversations.json"
    told = {"uuid": "u1", "name": "搬家", "chat_messages": list(messages), **more}
    file.write_text(json.dumps([told], ensure_ascii=False), "utf-8")
    return list(read(file, format="claude"))


def captures(items: list[Item]) -> list[CaptureItem]:
    return [item for item in items if isinstance(item, CaptureItem)]


def skips(items: list[Item]) -> dict[str, int]:
    return {item.reason: item.count for item in items if isinstance(item, Skipped)}


def test_messages_come_in_order_and_linked(tmp_path: Path) -> None:
    """Senders, times, titles and links are those of the export."""
    question = message("m1", "human", "看這份清單", created_at="2026-01-01T00:00:01.000000Z")
    answer = message("m2", "assistant", "好", "的", created_at="2026-01-01T00:00:09.000000Z")

    first, second = captures(items_of(tmp_path, question, answer))

    assert (first.speaker, first.text, first.external_id) == (
        "user",
        "看這份清單",
        first.key,
    )
    assert (second.speaker, second.text, second.previous) == ("assistant", "好\n的", first.key)
    assert second.captured_at is not None
    assert second.captured_at.isoformat() == "2026-01-01T00:00:09+00:00"
    assert (first.session, first.attrs) == ("u1", {"title": "搬家"})


def test_thinking_and_tools_are_counted_not_kept(tmp_path: Path) -> None:
    """Only text blocks are words, even where the merged text says more."""
    blocks = (
        {"type": "thinking", "thinking": "…"},
        {"type": "tool_use", "name": "x", "input": {}},
        {"type": "tool_result", "content": []},
    )
    answer = message("m2", "assistant", *blocks, "好", text="thinking… 好")
    silent = message("m3", "assistant", blocks[0], text="merged")

    items = items_of(tmp_path, answer, silent)

    assert [one.text for one in captures(items)] == ["好"]
    assert skips(items) == {"a message without words": 1, "thinking": 2, "tool traffic": 2}


def test_the_text_field_is_the_fallback(tmp_path: Path) -> None:
    """An old export without blocks still has its words."""
    old = {"uuid": "m1", "sender": "human", "text": " old words\n"}

    assert [one.text for one in captures(items_of(tmp_path, old))] == [" old words\n"]


def test_a_pasted_text_without_a_message_is_kept(tmp_path: Path) -> None:
    """A long paste lives only in its attachment; the answer follows it."""
    pasted = [{"file_name": "paste.txt", "file_type": "txt", "extracted_content": "床、書桌"}]
    question = message("m1", "human", attachments=pasted)
    answer = message("m2", "assistant", "好")

    paste, reply = captures(items_of(tmp_path, question, answer))

    assert (paste.text, paste.origin, paste.fidelity) == (
        "床、書桌",
        "attachment",
        "external_material",
    )
    assert paste.speaker == "user"
    assert paste.attrs["file_name"] == "paste.txt"
    assert reply.previous == paste.key


def test_an_attachment_stands_beside_its_message(tmp_path: Path) -> None:
    """Words and paste are two captures; the dialogue goes on from the words."""
    pasted = [{"file_name": "a.txt", "extracted_content": "床"}]
    question = message("m1", "human", "看", attachments=pasted, files=[{"file_name": "a.png"}])
    answer = message("m2", "assistant", "好")

    words, paste, reply = captures(items_of(tmp_path, question, answer))

    assert paste.attrs["message"] == words.key
    assert words.attrs["files"] == ["a.png", "a.txt"]
    assert reply.previous == words.key


def test_a_retry_is_marked_as_another_branch(tmp_path: Path) -> None:
    """Siblings stay in the list; only the way to the last message is unmarked."""
    root = message("m1", "human", "hi", parent_message_uuid="00000000-0000-4000-8000-000000000000")
    first = message("m2", "assistant", "first", parent_message_uuid="m1")
    second = message("m3", "assistant", "second", parent_message_uuid="m1")

    question, retried, final = captures(items_of(tmp_path, root, first, second))

    assert retried.attrs["branch"] == "other"
    assert "branch" not in final.attrs
    assert retried.previous == final.previous == question.key


def test_messages_without_names_keep_their_keys_when_the_chat_grows(tmp_path: Path) -> None:
    """Equal messages without a uuid are told apart by their order in the chat."""
    said = [message(None, "human", "hi"), message(None, "human", "hi")]

    before = [one.key for one in captures(items_of(tmp_path, *said))]
    after = [one.key for one in captures(items_of(tmp_path, *said, message(None, "human", "hi")))]

    assert len(set(after)) == 3
    assert after[:2] == before


def test_a_bad_message_costs_only_itself(tmp_path: Path) -> None:
    """Half a surrogate pair, an unknown sender, no object at all: the rest is read."""
    file = tmp_path / "conversations.json"
    told = [
        5,
        message("a", "robot", "x"),
        message("b", "human", "\ud800"),
        message("c", "human", "ok"),
    ]
    file.write_text(json.dumps([{"uuid": "u", "chat_messages": told}]), "utf-8")

    items = list(read(file))

    assert [one.text for one in captures(items)] == ["ok"]
    assert len([one for one in items if isinstance(one, LineError)]) == 1
    assert skips(items) == {"a message of unknown form": 2}
