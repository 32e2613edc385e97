"""Our own JSON lines: every field, every refusal, and nothing bent on the way."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from shiyi.lifecycle.readers import (
    CaptureItem,
    Item,
    LineError,
    LinkItem,
    Quote,
    RecordItem,
    Skipped,
    read,
)


def items_of(folder: Path, *lines: Any, name: str = "memories.jsonl") -> list[Item]:
    file = folder / name
    encoded = [
        one if isinstance(one, bytes) else json.dumps(one, ensure_ascii=False).encode()
        for one in lines
    ]
    file.write_bytes(b"\n".join(encoded))
    return list(read(file, format="jsonl"))


def captures(items: list[Item]) -> list[CaptureItem]:
    return [item for item in items if isinstance(item, CaptureItem)]


def only(items: list[Item]) -> Any:
    (item,) = items
    return item


def test_a_capture_has_every_field_of_its_line(tmp_path: Path) -> None:
    """What is written is what comes out; fields that are not known are kept in attrs."""
    line = {
        "type": "capture", "id": "c1", "text": "我搬到台中了", "speaker": "小美",
        "session": "s", "previous": "c0", "captured_at": "2021-03-05T14:30:00+08:00",
        "date": "2021-03", "origin": "conversation", "fidelity": "transcription",
        "source": "diary.md", "scope": "me", "mood": {"happy": True}, "attrs": {"x": 1},
    }  # fmt: skip

    assert only(items_of(tmp_path, line)) == CaptureItem(
        key="c1", text="我搬到台中了", speaker="小美", session="s", previous="c0",
        captured_at=datetime(2021, 3, 5, 6, 30, tzinfo=UTC), date="2021-03",
        origin="conversation", fidelity="transcription", source_path="diary.md", scope="me",
        external_id="c1", attrs={"x": 1, "mood": {"happy": True}},
    )  # fmt: skip


def test_a_record_has_every_field_of_its_line(tmp_path: Path) -> None:
    """A record's short date becomes days and a precision; its quotes become spans or words."""
    line = {
        "type": "record", "id": "r1", "kind": "event", "layer": "core", "title": "Move",
        "gist": "Moved to Taichung.", "detail": "By train.", "topics": ["home"],
        "aliases": ["搬家"], "salience": 65, "date": "2021-03-05..2021-04", "phase": "studies",
        "quotes": [{"capture": "c1", "text": "搬到"}, {"capture": "c2", "start": 0, "end": 4},
                   {"capture": "c3"}],
        "supersedes": ["r0"], "contradicts": ["r9"], "reason": "she said so", "extra": [1],
    }  # fmt: skip

    assert only(items_of(tmp_path, line)) == RecordItem(
        key="r1", external_id="r1", kind="event", layer="core", title="Move",
        gist="Moved to Taichung.", detail="By train.", topics=("home",), aliases=("搬家",),
        salience=65, date_start=date(2021, 3, 5), date_end=date(2021, 4, 30),
        date_precision="range", date_basis="stated", phase="studies",
        quotes=(Quote("c1", "搬到"), Quote("c2", None, 0, 4), Quote("c3")),
        supersedes=("r0",), contradicts=("r9",), reason="she said so", attrs={"extra": [1]},
    )  # fmt: skip


def test_a_line_says_what_it_is_by_its_fields(tmp_path: Path) -> None:
    """A text makes a capture, a kind makes a record; a lone title or gist serves for both."""
    capture, record = items_of(tmp_path, {"text": "a"}, {"kind": "entity", "title": "小美"})

    assert isinstance(capture, CaptureItem)
    assert isinstance(record, RecordItem)
    assert (record.title, record.gist, record.layer) == ("小美", "小美", "core")
    assert (record.salience, record.date_precision, record.status) == (None, "unknown", "active")


@pytest.mark.parametrize(
    ("given", "number"), [(0, 15), (1, 45), (2, 70), (3, 90), (4, 4), (100, 100), (60.0, 60)]
)
def test_salience_is_a_level_or_a_number(tmp_path: Path, given: float, number: int) -> None:
    """0 to 3 are the four levels, each in the middle of its band; above that it is the number."""
    record = only(items_of(tmp_path, {"kind": "fact", "title": "t", "salience": given}))

    assert record.salience == number


def test_a_session_links_its_captures_in_file_order(tmp_path: Path) -> None:
    """Without `previous` a capture follows the one before it in its session; null starts anew."""
    a, other, b, new = captures(
        items_of(
            tmp_path,
            {"id": "a", "session": "s", "text": "1"},
            {"id": "x", "session": "t", "text": "2"},
            {"id": "b", "session": "s", "text": "3"},
            {"id": "c", "session": "s", "text": "4", "previous": None},
        )
    )

    assert [a.previous, other.previous, b.previous, new.previous] == [None, None, "a", None]
    assert a.origin == "conversation"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]", "not an object"),
        (b"{", "not JSON"),
        (b'{"text": "a"} x', "not JSON"),
        (b'{"text": "\xff"}', "not UTF-8"),
        (b'{"text": "\\ud800"}', "half a surrogate"),
        (b'{"text": "a", "\\udc00": 1}', "half a surrogate"),
        (b'{"text": "a", "text": "b"}', "twice"),
        (b'{"text": "a", "x": {"y": 1, "y": 1}}', "twice"),
        (b'{"text": "a", "x": NaN}', "NaN"),
        (b'{"text": "a", "x": -Infinity}', "NaN"),
        (b'{"text": "a", "x": 1e999}', "NaN"),
        (b'{"text": "a", "x": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"text": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}", "nested"),
        (b'{"text": "a", "x": ' + b"[" * 90_000 + b"]" * 90_000 + b"}", "nested"),
        ({"text": ""}, "empty"),
        ({"text": " \n\u3000"}, "empty"),
        ({"text": 5}, "text is a text, not a number"),
        ({"type": "capture"}, "has a text"),
        ({"type": "memo", "text": "a"}, "type is"),
        ({"foo": 1}, "type is"),
        ({"text": "a", "id": True}, "id is a text"),
        ({"text": "a", "id": ""}, "id is a text of 1 to 512"),
        ({"text": "a", "id": "x" * 513}, "id is a text of 1 to 512"),
        ({"text": "a", "speaker": ["b"]}, "speaker is a text, not a list"),
        ({"text": "a", "session": {}}, "session is a text, not an object"),
        ({"text": "a", "captured_at": "2021-02-30T00:00:00Z"}, "2021-02-30"),
        ({"text": "a", "captured_at": False}, "captured_at is a time"),
        ({"text": "a", "captured_at": 1e300}, "years 1 to 9999"),
        ({"text": "a", "date": "2021-02-30"}, "2021-02-30"),
        ({"text": "a", "date": 2021}, "date in quotes"),
        ({"text": "a", "origin": "dream"}, "origin is one of"),
        ({"text": "a", "fidelity": []}, "fidelity is one of"),
        ({"text": "a", "attrs": 3}, "attrs is an object"),
        ({"kind": "wish", "title": "t"}, "kind is one of"),
        ({"type": "record", "title": "t"}, "kind is one of"),
        ({"kind": "fact", "layer": "attic", "title": "t"}, "layer is one of"),
        ({"kind": "fact"}, "title or a gist"),
        ({"kind": "fact", "title": 5}, "title is a text"),
        ({"kind": "fact", "title": "t", "salience": 101}, "salience is a level"),
        ({"kind": "fact", "title": "t", "salience": -1}, "salience is a level"),
        ({"kind": "fact", "title": "t", "salience": 0.5}, "salience is a whole number"),
        ({"kind": "fact", "title": "t", "salience": "high"}, "salience is a whole number"),
        ({"kind": "fact", "title": "t", "topics": "home"}, "topics is a list"),
        ({"kind": "fact", "title": "t", "topics": [1]}, "topics is a list of texts"),
        ({"kind": "fact", "title": "t", "date": "2021", "date_start": "2021"}, "not both"),
        ({"kind": "fact", "title": "t", "date_end": "2021"}, "needs a date_start"),
        ({"kind": "fact", "title": "t", "date_start": "2021", "date_end": "2020"}, "before"),
        ({"kind": "fact", "title": "t", "date_precision": "exact"}, "date_precision is one of"),
        ({"kind": "fact", "title": "t", "status": "gone"}, "status is one of"),
        ({"kind": "fact", "title": "t", "quotes": ["c1"]}, "quotes is a list of objects"),
        ({"kind": "fact", "title": "t", "quotes": [{}]}, "names its capture"),
        ({"kind": "fact", "title": "t", "quotes": [{"capture": "c", "start": 1}]}, "both"),
        (
            {"kind": "fact", "title": "t", "quotes": [{"capture": "c", "start": 4, "end": 4}]},
            "after its start",
        ),
        ({"kind": "fact", "title": "t", "supersedes": [{}]}, "supersedes is a text"),
    ],
)
def test_a_bad_line_says_why_and_stops_nothing(tmp_path: Path, line: Any, reason: str) -> None:
    """The line before and the line after are read; the bad one is named with one reason."""
    before, error, after = items_of(tmp_path, {"text": "one"}, line, {"text": "two"})

    assert isinstance(before, CaptureItem)
    assert isinstance(after, CaptureItem)
    assert isinstance(error, LineError)
    assert reason in error.reason
    assert str(error).startswith(f"{tmp_path}/memories.jsonl:2: ")


def test_an_error_never_repeats_the_stored_text(tmp_path: Path) -> None:
    """Whatever field is wrong, its content stays out of the message."""
    secret = "hunter2"
    lines = [
        {"text": "a", name: secret}
        for name in ("type", "origin", "fidelity", "date", "captured_at", "attrs")
    ]
    lines += [{"kind": secret, "title": secret}, {"kind": "fact", "title": "t", "layer": secret}]

    items = items_of(tmp_path, *lines, f'{{"text": "{secret}'.encode())

    assert all(isinstance(item, LineError) and secret not in str(item) for item in items)
    assert len(items) == 9


@pytest.mark.parametrize(
    "text",
    ["a\0b", "\x01\x1b[31m", "a\r\nb\tc", "\u2028\u202e\ufeff", "😀👨‍👩‍👧", "  x  \n", "Ａ①ﬁ"],
)
def test_words_are_kept_exactly(tmp_path: Path, text: str) -> None:
    """NUL, control characters, line ends and white space are the person's."""
    assert only(items_of(tmp_path, {"text": text})).text == text


def test_a_raw_control_character_is_kept_too(tmp_path: Path) -> None:
    """A writer that forgot to escape a tab does not lose its line."""
    assert only(items_of(tmp_path, b'{"text": "a\tb\x00c"}')).text == "a\tb\0c"


def test_blank_lines_a_bom_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    """What editors add around the lines is not an error; numbers still count every line."""
    items = items_of(tmp_path, b'\xef\xbb\xbf{"text": "a"}\r', b"", b"  \r", b"x")

    assert captures(items)[0].text == "a"
    assert [one.line for one in items if isinstance(one, LineError)] == [4]


def test_equal_lines_without_an_id_are_two_captures(tmp_path: Path) -> None:
    """Saying the same twice is saying it twice; reading the file again is not."""
    said = {"text": "ok", "session": "s"}

    first = [one.key for one in captures(items_of(tmp_path, said, said))]
    again = [one.key for one in captures(items_of(tmp_path, said, said, said))]

    assert len(set(again)) == 3
    assert again[:2] == first


def test_an_id_stands_for_one_content(tmp_path: Path) -> None:
    """The same line again is counted; another text under the same id is refused."""
    items = items_of(
        tmp_path, {"id": "a", "text": "1"}, {"id": "a", "text": "1"}, {"id": "a", "text": "2"}
    )

    assert [type(item) for item in items] == [CaptureItem, LineError, Skipped]
    assert items[2] == Skipped("the same line again", 1)


def test_a_record_said_again_otherwise_is_a_new_version(tmp_path: Path) -> None:
    """Records may change: a later line with the same id is read, an equal one is not."""
    lines = [{"id": "r", "kind": "fact", "title": title} for title in ("a", "b", "b", "a")]

    items = items_of(tmp_path, *lines)

    assert [one.title for one in items if isinstance(one, RecordItem)] == ["a", "b", "a"]
    assert items[-1] == Skipped("the same line again", 1)


def test_a_folder_is_read_captures_first(tmp_path: Path) -> None:
    """captures.jsonl comes before the records that quote it."""
    (tmp_path / "records.jsonl").write_text('{"kind": "fact", "title": "t"}', "utf-8")
    (tmp_path / "captures.jsonl").write_text('{"text": "a"}', "utf-8")
    (tmp_path / "other.jsonl").write_text('{"text": "b"}', "utf-8")
    (tmp_path / "qrels.tsv").write_text("q\td\t1", "utf-8")

    capture, record, left_out = read(tmp_path)

    assert isinstance(capture, CaptureItem)
    assert capture.source_path == "captures.jsonl"
    assert isinstance(record, RecordItem)
    assert left_out == Skipped("a file beside captures and records, such as labels", 2)


def test_a_folder_moved_elsewhere_has_the_same_keys(tmp_path: Path) -> None:
    """Where a file lies says nothing about what it holds."""
    lines = [{"text": "a"}, {"text": "b", "session": "s"}, {"kind": "fact", "title": "t"}]
    (tmp_path / "elsewhere").mkdir()

    here = items_of(tmp_path, *lines)
    there = items_of(tmp_path / "elsewhere", *lines, name="renamed.jsonl")

    assert [one.key for one in here] == [one.key for one in there]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"rel": "about", "dst": "b"}, "two ends"),
        ({"src": "a", "rel": "likes", "dst": "b"}, "rel"),
        ({"src": "a", "rel": "quotes", "dst": "c", "start": 1}, "both start and end"),
        ({"src": "a", "rel": "about", "dst": "b", "attrs": 3}, "attrs"),
    ],
)
def test_a_link_names_both_ends(tmp_path: Path, link: dict[str, Any], said: str) -> None:
    """A line of type link says what it lacks."""
    (item,) = items_of(tmp_path, {"type": "link", **link})

    assert isinstance(item, LineError)
    assert said in item.reason


def test_a_link_is_read_with_its_span_and_attrs(tmp_path: Path) -> None:
    """What a link does not know is kept in its attrs."""
    line = {"type": "link", "src": "a", "rel": "quotes", "dst": "c", "start": 0, "end": 2, "x": 1}

    (item,) = items_of(tmp_path, line)

    assert item == LinkItem(src="a", rel="quotes", dst="c", start=0, end=2, attrs={"x": 1})
