"""Large files: bounded memory, bounded lines, and arrays cut by their brackets alone."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.lifecycle.readers import CaptureItem, LineError, read
from shiyi.lifecycle.readers import json_array as json_array_module
from shiyi.lifecycle.readers import source as source_module
from shiyi.lifecycle.readers.json_array import split_array

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text() | st.text(alphabet='"\\[]{},:\n'),
    lambda children: st.lists(children, max_size=4)
    | st.dictionaries(st.text(alphabet='a"\\[]{},', max_size=4), children, max_size=4),
    max_leaves=20,
)  # fmt: skip


class Dribble(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def __init__(self, content: bytes, step: int) -> None:
        super().__init__(content)
        self._step = step

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(self._step, size or 0))


@given(st.lists(JSON, max_size=5), st.integers(1, 40), st.booleans(), st.sampled_from([None, 2]))
def test_an_array_is_cut_into_its_elements(
    values: list[Any], step: int, ascii_only: bool, indent: int | None
) -> None:
    """Wherever the chunks fall, the elements are those of the array, and every byte is reported."""
    content = json.dumps(values, ensure_ascii=ascii_only, indent=indent).encode()
    steps: list[int] = []

    elements = list(split_array(Dribble(content, step), steps.append))

    assert [json.loads(one.content or b"") for one in elements] == values
    assert [one.position for one in elements] == list(range(len(values)))
    assert sum(steps) == len(content)


@given(st.binary(max_size=200), st.integers(1, 40))
def test_any_bytes_are_cut_or_refused(content: bytes, step: int) -> None:
    """Whatever comes in, the cutter ends and every byte is reported."""
    steps: list[int] = []

    elements = list(split_array(Dribble(content, step), steps.append))

    assert all((one.content is None) == (one.reason is not None) for one in elements)
    assert sum(steps) == len(content)


def test_a_line_beyond_the_limit_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One endless line is one error; the lines around it are read."""
    monkeypatch.setattr(source_module, "MAX_UNIT_BYTES", 1024 * 1024)
    file = tmp_path / "a.jsonl"
    with file.open("wb") as out:
        out.write(b'{"text": "a"}\n{"text": "')
        for _ in range(64):
            out.write(b"x" * 1024 * 1024)
        out.write(b'"}\n{"text": "b"}\n')
    steps: list[int] = []

    tracemalloc.start()
    first, error, last = read(file, format="jsonl", on_bytes=steps.append)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert isinstance(first, CaptureItem)
    assert isinstance(last, CaptureItem)
    assert str(error) == (
        f"{file}:2: This is longer than 1 MB, the most that one item may hold; split it."
    )
    assert sum(steps) == file.stat().st_size
    assert peak < 8 * 1024 * 1024


def test_a_note_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file too long for one capture is named, not cut."""
    monkeypatch.setattr("shiyi.lifecycle.readers.folder.MAX_UNIT_BYTES", 1000)
    (tmp_path / "long.md").write_text("x" * 1001, "utf-8")
    (tmp_path / "short.md").write_text("x" * 1000, "utf-8")

    error, capture = read(tmp_path)

    assert isinstance(error, LineError)
    assert isinstance(capture, CaptureItem)


def test_many_lines_stream_in_bounded_memory(tmp_path: Path) -> None:
    """What is remembered of a line is its name, not its words."""
    file = tmp_path / "a.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for number in range(20_000):
            out.write(f'{{"id": "c{number}", "session": "s{number % 7}", "text": "{"字" * 50}"}}\n')

    tracemalloc.start()
    count = sum(isinstance(item, CaptureItem) for item in read(file))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 20_000
    assert peak < 8 * 1024 * 1024


def test_an_array_of_many_conversations_streams(tmp_path: Path) -> None:
    """Only one conversation is held at a time."""
    file = tmp_path / "conversations.json"
    with file.open("w", encoding="utf-8") as out:
        out.write("[")
        for number in range(2000):
            said = [{"uuid": "m", "sender": "human", "text": "字" * 5000}]
            chat = {"uuid": f"u{number}", "chat_messages": said}
            out.write("," * (number > 0) + json.dumps(chat, ensure_ascii=False))
        out.write("]")

    tracemalloc.start()
    count = sum(isinstance(item, CaptureItem) for item in read(file))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 2000
    assert peak < 8 * 1024 * 1024
    assert json_array_module.MAX_ELEMENT_BYTES >= 32 * 1024 * 1024
