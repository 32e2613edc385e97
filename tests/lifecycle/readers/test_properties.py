"""What holds for every reader, whatever the bytes: no crash, exact words, the same keys."""

import json
import random
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers import CaptureItem, Item, LineError, RecordItem, detect, read

UUID = "11111111-2222-4333-8444-{:012}"
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(
    lambda text: bool(text.strip())
)


def jsonl(words: list[str]) -> dict[str, bytes]:
    lines: list[dict[str, Any]] = [{"text": one, "session": "s"} for one in words]
    lines.append({"kind": "fact", "title": "t", "date": "2021-03", "quotes": [{"capture": "c"}]})
    return {"captures.jsonl": "\n".join(json.dumps(one) for one in lines).encode()}


def beir(words: list[str]) -> dict[str, bytes]:
    lines = [
        {
            "_id": f"d{number}",
            "text": one,
            "metadata": {"scope": "u", "session": "s", "seq": number},
        }
        for number, one in enumerate(words)
    ]
    return {"corpus.jsonl": "\n".join(json.dumps(one) for one in lines).encode()}


def markdown(words: list[str]) -> dict[str, bytes]:
    front = b"---\ntitle: T\ntags: [a, b]\ndate: 2021-03-05\n---\n"
    return {f"{number}.md": front + one.encode() for number, one in enumerate(words)}


def text(words: list[str]) -> dict[str, bytes]:
    return {
        f"{number}.txt": one.removeprefix("\ufeff").encode() for number, one in enumerate(words)
    }


def chatgpt(words: list[str]) -> dict[str, bytes]:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for number, one in enumerate(words):
        said = {
            "author": {"role": ("user", "assistant")[number % 2]},
            "create_time": 1767225601.5 + number,
            "content": {"content_type": "text", "parts": [one]},
        }
        name = UUID.format(number)
        mapping[name] = {"id": name, "message": said, "parent": parent}
        parent = name
    told = [{"id": "c", "title": "t", "current_node": parent, "mapping": mapping}]
    return {"conversations.json": json.dumps(told).encode()}


def claude(words: list[str]) -> dict[str, bytes]:
    said = [
        {
            "uuid": UUID.format(number),
            "sender": ("human", "assistant")[number % 2],
            "created_at": "2026-01-01T00:00:01.000000Z",
            "content": [{"type": "text", "text": one}],
            "attachments": [{"file_name": "a.txt", "extracted_content": ""}],
        }
        for number, one in enumerate(words)
    ]
    told = [{"uuid": "u", "name": "n", "chat_messages": said}]
    return {"conversations.json": json.dumps(told, ensure_ascii=False).encode()}


def claude_code(words: list[str]) -> dict[str, bytes]:
    lines = [
        {
            "type": ("user", "assistant")[number % 2],
            "uuid": UUID.format(number),
            "parentUuid": UUID.format(number - 1) if number else None,
            "sessionId": "s",
            "timestamp": "2026-06-07T05:43:00.000Z",
            "message": {"content": [{"type": "text", "text": one}]},
        }
        for number, one in enumerate(words)
    ]
    return {"p/s.jsonl": "\n".join(json.dumps(one) for one in lines).encode() + b"\n"}


SOURCES = {
    "jsonl": jsonl, "markdown": markdown, "text": text, "chatgpt": chatgpt, "claude": claude,
    "claude-code": claude_code, "beir": beir,
}  # fmt: skip
DIALOGUES = ("jsonl", "chatgpt", "claude", "claude-code", "beir")


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def items_of(files: dict[str, bytes], form: str = "auto") -> list[Item]:
    with tempfile.TemporaryDirectory() as folder:
        return list(read(put(Path(folder), files), format=form))


def captures(items: list[Item]) -> list[CaptureItem]:
    return [item for item in items if isinstance(item, CaptureItem)]


@pytest.mark.parametrize("form", SOURCES)
@given(words=st.lists(WORDS, min_size=1, max_size=5))
def test_words_come_out_as_they_went_in(form: str, words: list[str]) -> None:
    """Any text, in any format, is the same text afterwards, and links follow the dialogue."""
    if form == "text":
        words = [one.removeprefix("\ufeff") or "x" for one in words]
        words = [one if one.strip() else "x" for one in words]

    items = items_of(SOURCES[form](words))

    assert [one.text for one in captures(items)] == words
    assert not any(isinstance(item, LineError) for item in items)
    keys = [one.key for one in captures(items)]
    linked = [None, *keys[:-1]] if form in DIALOGUES else [None] * len(keys)
    assert [one.previous for one in captures(items)] == linked


@pytest.mark.parametrize("form", SOURCES)
@given(words=st.lists(WORDS, min_size=2, max_size=5))
def test_keys_are_stable_as_the_source_grows(form: str, words: list[str]) -> None:
    """Reading again gives the same items; a longer version keeps the keys of the shorter one."""
    if form == "text":
        words = [f"x{one}" for one in words]
    whole = captures(items_of(SOURCES[form](words)))
    again = captures(items_of(SOURCES[form](words)))
    shorter = captures(items_of(SOURCES[form](words[:-1])))

    assert whole == again
    assert [one.key for one in shorter] == [one.key for one in whole][:-1]
    assert len({one.key for one in whole}) == len(whole)


@pytest.mark.parametrize("form", SOURCES)
@given(seed=st.integers(0, 2**32), edits=st.integers(1, 12))
def test_damaged_files_never_crash_a_reader(form: str, seed: int, edits: int) -> None:
    """Bytes flipped, cut, doubled or put in: items and errors come out, and all can be stored."""
    source = random.Random(seed)
    files = {
        name: damaged(content, source, edits)
        for name, content in SOURCES[form](
            ["搬家", 'a "quote" \\ and 😀', "three\nlines\n"]
        ).items()
    }

    for item in items_of(files, form):
        if isinstance(item, (CaptureItem, RecordItem)):
            json.dumps(item.attrs, ensure_ascii=False).encode("utf-8")
            assert item.key.encode("utf-8")
        if isinstance(item, CaptureItem):
            assert item.text.strip()
            assert item.external_id in (None, item.key)
            for one in (item.text, item.speaker, item.session, item.previous, item.source_path):
                assert one is None or one.encode("utf-8")
            assert item.captured_at is None or item.captured_at.tzinfo is not None


@pytest.mark.parametrize("form", ["chatgpt", "claude"])
@given(seed=st.integers(0, 2**32), edits=st.integers(1, 12))
def test_damaged_zips_never_crash_a_reader(form: str, seed: int, edits: int) -> None:
    """A zip with any bytes wrong is refused, or read as far as it is whole."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in SOURCES[form](["搬家", "好" * 100]).items():
                archive.writestr(name, content)
        file.write_bytes(damaged(file.read_bytes(), random.Random(seed), edits))

        try:
            items = list(read(file, format=form))
        except UsageError:
            return

    assert all(isinstance(item, Item) for item in items)


@given(st.binary(max_size=300), st.sampled_from([".jsonl", ".md", ".txt", ".json", ".zip"]))
def test_any_bytes_are_detected_and_read_or_refused(content: bytes, suffix: str) -> None:
    """Whatever a file holds, the answer is items or one sentence."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"x{suffix}"
        file.write_bytes(content)
        try:
            form = detect(file)
            items = list(read(file, format=form))
        except UsageError:
            return

    assert all(isinstance(item, Item) for item in items)


@pytest.mark.parametrize("form", ["chatgpt", "claude", "claude-code", "jsonl", "beir"])
@given(data=st.data())
def test_any_json_in_any_place_never_crashes_a_reader(form: str, data: st.DataObject) -> None:
    """A field of another type than the vendor writes costs at most its message."""
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
        | st.sampled_from(["\ud800", UUID.format(0), "text", 10**30, -1]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )  # fmt: skip
    files = SOURCES[form](["a", "b"])
    ((name, content),) = files.items()
    lines = [content] if form in ("chatgpt", "claude") else content.splitlines()
    values = [json.loads(line) for line in lines]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(list(places(values))))
        holder, key = place
        holder[key] = data.draw(json_values)
    changed = "\n".join(json.dumps(value) for value in values).encode()

    items = items_of({name: changed}, form)

    assert all(isinstance(item, Item) for item in items)
    json.dumps([str(item) for item in items], ensure_ascii=False).encode("utf-8", "strict")


def places(value: Any) -> Any:
    """Yield every (holder, key) inside a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def damaged(content: bytes, source: random.Random, edits: int) -> bytes:
    """Return `content` with some of its bytes flipped, cut out, doubled or added."""
    changed = bytearray(content)
    for _ in range(edits):
        at = source.randrange(len(changed) + 1)
        piece = bytes(changed[at : at + source.randrange(20)])
        edit = source.randrange(4)
        if edit == 0:
            changed[at : at + 1] = bytes([source.randrange(256)])
        elif edit == 1:
            del changed[at : at + len(piece)]
        elif edit == 2:
            changed[at:at] = piece * source.randrange(1, 4)
        else:
            changed[at:at] = source.choice([b"\0", b"\xff", b'"', b"{", b"]", b"\n", b"\\ud800"])
    return bytes(changed)
