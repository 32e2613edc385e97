"""ChatGPT exports: the path that was seen, the branches, and nothing of the machine's."""

import json
from pathlib import Path
from typing import Any

from shiyi.lifecycle.readers import CaptureItem, Item, LineError, Skipped, read

TREE = ("n0", None), ("n1", "n0"), ("n2", "n1"), ("n3", "n1"), ("n4", "n3")


def message(role: str, text: str | None, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "content": content, "recipient": "all", **more}


def conversation(messages: dict[str, Any], current: str | None = "n4") -> dict[str, Any]:
    mapping = {
        name: {"id": name, "parent": parent, "message": messages.get(name)} for name, parent in TREE
    }
    return {"id": "c1", "title": "搬家", "current_node": current, "mapping": mapping}


def moving() -> dict[str, Any]:
    return conversation(
        {
            "n1": message("user", "我搬到台中了", create_time=1767225601.0),
            "n2": message("assistant", "(older answer)", create_time=None),
            "n3": message("assistant", "恭喜!", create_time=1767225605.5),
            "n4": message("user", "謝謝", create_time=1767225610.0),
        }
    )


def items_of(folder: Path, *conversations: Any) -> list[Item]:
    file = folder / "conversations.json"
    file.write_text(json.dumps(conversations), "utf-8")
    return list(read(file, format="chatgpt"))


def captures(items: list[Item]) -> list[CaptureItem]:
    return [item for item in items if isinstance(item, CaptureItem)]


def skips(items: list[Item]) -> dict[str, int]:
    return {item.reason: item.count for item in items if isinstance(item, Skipped)}


def test_the_current_path_comes_in_order_and_each_message_names_the_one_before(
    tmp_path: Path,
) -> None:
    """What the person last saw is read from top to bottom, linked, with its times and title."""
    first, second, third, _ = captures(items_of(tmp_path, moving()))

    assert [first.text, second.text, third.text] == ["我搬到台中了", "恭喜!", "謝謝"]
    assert [first.speaker, second.speaker, third.speaker] == ["user", "assistant", "user"]
    assert [None, first.key, second.key] == [first.previous, second.previous, third.previous]
    assert first.captured_at is not None
    assert first.captured_at.isoformat() == "2026-01-01T00:00:01+00:00"
    assert {one.session for one in (first, second, third)} == {"c1"}
    assert first.attrs == {"title": "搬家"}
    assert first.origin == "conversation"
    assert first.source_path == "conversations.json"


def test_a_regenerated_answer_is_kept_and_marked(tmp_path: Path) -> None:
    """The other branches come after the path, marked, and answer the same message."""
    *path, branch = captures(items_of(tmp_path, moving()))

    assert branch.text == "(older answer)"
    assert branch.attrs["branch"] == "other"
    assert branch.previous == path[0].key
    assert branch.captured_at is None


def test_without_a_current_node_the_newest_leaf_ends_the_path(tmp_path: Path) -> None:
    """An export without current_node still has one path, to the newest message."""
    told = {**moving(), "current_node": None}

    texts = [one.text for one in captures(items_of(tmp_path, told)) if "branch" not in one.attrs]

    assert texts == ["我搬到台中了", "恭喜!", "謝謝"]


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    """Nodes that are their own ancestors are read once each."""
    told = moving()
    told["mapping"]["n1"]["parent"] = "n4"

    assert len(captures(items_of(tmp_path, told))) == 4


def test_what_nobody_said_is_left_out_and_counted(tmp_path: Path) -> None:
    """System and tool messages, hidden ones, instructions and thinking are counts, not memories."""
    told = conversation(
        {
            "n0": message("system", "be kind"),
            "n1": message("user", "I like tea", metadata={"is_user_system_message": True}),
            "n2": message("assistant", "search('x')", recipient="browser"),
            "n3": {
                "author": {"role": "assistant"},
                "content": {"content_type": "thoughts", "thoughts": [{"content": "hm"}]},
            },
            "n4": message(
                "user", "hidden", metadata={"is_visually_hidden_from_conversation": True}
            ),
        }
    )

    items = items_of(tmp_path, told)

    assert captures(items) == []
    assert skips(items) == {
        "a hidden message": 1,
        "a system message": 1,
        "custom instructions": 1,
        "thinking": 1,
        "tool traffic": 1,
    }


def test_links_step_over_what_is_left_out(tmp_path: Path) -> None:
    """A message after tool traffic follows the last thing that was said."""
    told = conversation(
        {
            "n1": message("user", "weather?"),
            "n3": message("tool", "{...}"),
            "n4": message("assistant", "Sunny."),
        }
    )

    question, answer = captures(items_of(tmp_path, told))

    assert answer.previous == question.key


def test_dictated_words_are_a_transcription_and_pictures_only_named(tmp_path: Path) -> None:
    """Words from a voice chat say so; an image stays a pointer."""
    parts = [
        {"content_type": "audio_transcription", "text": "今天下雨", "direction": "in"},
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x", "size": 3},
    ]
    spoken = {
        "author": {"role": "user"},
        "content": {"content_type": "multimodal_text", "parts": parts},
    }

    items = items_of(tmp_path, conversation({"n1": spoken}))
    (only,) = captures(items)

    assert (only.text, only.fidelity) == ("今天下雨", "transcription")
    assert only.attrs["other_parts"] == [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    ]
    assert skips(items) == {"an image or file without words": 1}


def test_one_bad_conversation_does_not_stop_the_next(tmp_path: Path) -> None:
    """Each conversation stands alone; the bad one is named by its place."""
    bad: list[Any] = [5, {"mapping": 3}, {"title": "x"}]

    items = items_of(tmp_path, *bad, moving())
    errors = [item for item in items if isinstance(item, LineError)]

    assert len(captures(items)) == 4
    assert [error.line for error in errors] == ["[0]", "[1]", "[2]"]
    assert str(errors[1]).startswith(f"{tmp_path}/conversations.json[1]: A ChatGPT conversation")


def test_a_message_with_half_a_surrogate_pair_costs_only_itself(tmp_path: Path) -> None:
    """What has no UTF-8 form is refused, never bent into a question mark."""
    told = moving()
    told["mapping"]["n3"]["message"] = message("assistant", "bad \ud800 half")
    told["title"] = "\ud83d"

    items = items_of(tmp_path, told)

    assert [one.text for one in captures(items)] == ["我搬到台中了", "謝謝", "(older answer)"]
    assert ["surrogate" in item.reason for item in items if isinstance(item, LineError)] == [True]
    assert captures(items)[1].previous == captures(items)[0].key


def test_a_longer_version_of_the_chat_keeps_the_keys(tmp_path: Path) -> None:
    """Importing the export of next month meets the messages of this month again."""
    short = moving()
    del short["mapping"]["n4"]
    short["current_node"] = "n3"

    before = {one.key for one in captures(items_of(tmp_path, short))}
    after = {one.key for one in captures(items_of(tmp_path, {"id": "c0", "mapping": {}}, moving()))}

    assert before < after


def test_equal_names_in_two_conversations_do_not_meet(tmp_path: Path) -> None:
    """A node name that is no UUID only counts within its conversation."""
    items = items_of(tmp_path, moving(), {**moving(), "id": "c2"})

    assert len({one.key for one in captures(items)}) == 8
