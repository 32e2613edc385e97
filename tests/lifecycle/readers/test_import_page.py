"""docs/import.md: its examples are read as it says, and it leaves nothing out."""

import re
from pathlib import Path

import pytest

from shiyi.lifecycle.readers import FORMATS, CaptureItem, LineError, RecordItem, read
from shiyi.store.kinds import (
    DATE_BASES,
    DATE_PRECISIONS,
    FIDELITIES,
    KINDS,
    LAYERS,
    ORIGINS,
    STATUSES,
)

PAGE = (Path(__file__).parents[3] / "docs" / "import.md").read_text("utf-8")
FILES = {
    "jsonl": "captures.jsonl", "markdown": "note.md", "chatgpt": "conversations.json",
    "claude": "conversations.json", "claude-code": "s.jsonl", "beir": "corpus.jsonl",
}  # fmt: skip


def section(form: str) -> str:
    found = re.search(rf"^## {form}\b(?!-).*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("form", FILES)
def test_the_example_of_each_format_is_read(tmp_path: Path, form: str) -> None:
    """Copying an example into a file and importing it works, in the format it is shown for."""
    example = re.search(r"```\w+\n(.*?)```", section(form), re.DOTALL)
    assert example is not None
    (tmp_path / FILES[form]).write_text(example[1], "utf-8")

    items = list(read(tmp_path))

    assert items == list(read(tmp_path, format=form))
    assert not any(isinstance(item, LineError) for item in items)
    captures = [item for item in items if isinstance(item, CaptureItem)]
    texts = "".join(item.text for item in captures)
    assert "台中" in texts or "Taichung" in texts or "登入" in texts or "書桌" in texts
    assert len([item for item in items if isinstance(item, RecordItem)]) == (form == "jsonl")


def test_every_format_and_every_word_has_its_place() -> None:
    """Formats and allowed words are listed; a new one fails here until it is documented."""
    words = {*KINDS, *LAYERS, *STATUSES, *FIDELITIES, *ORIGINS, *DATE_PRECISIONS, *DATE_BASES}

    assert [form for form in FORMATS if section(form) == ""] == []
    assert sorted(word for word in words if f"`{word}`" not in section("jsonl")) == []
