"""The sample archive keeps its own promises: whole, traceable, dated and truly bilingual."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "eval" / "data" / "sample"
KINDS = frozenset(
    {"event", "experience", "feeling", "state", "decision", "fact", "preference", "value"}
    | {"rule", "promise", "boundary", "relationship", "insight", "entity", "method"}
)
LAYERS = frozenset({"core", "self", "procedure", "capability"})
PRECISIONS = frozenset({"day", "month", "year", "range", "phase", "relative", "unknown"})
BASES = frozenset({"stated", "source", "inferred", "unknown"})
DATES = ("date", "date_start", "date_end")
LONGEST_LINE = 20_000


def rows(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def partial_date(text: str) -> date:
    """Read a year, a month or a day; a missing part is the first of its unit."""
    if not re.fullmatch(r"\d{4}(-\d{2}){0,2}", text):
        raise ValueError(f"not a year, month or day: {text!r}")
    return date.fromisoformat((text + "-01-01")[:10])


def encodable(character: str, codec: str) -> bool:
    try:
        character.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def scripts(text: str) -> Iterator[str]:
    """Name the script of each Han character that only one of the two old national sets knows."""
    for character in re.findall(r"[\u4e00-\u9fff]", text):
        traditional, simplified = encodable(character, "big5"), encodable(character, "gb2312")
        if traditional != simplified:
            yield "traditional" if traditional else "simplified"


@pytest.fixture(scope="module")
def captures() -> list[dict[str, Any]]:
    return rows("captures.jsonl")


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return rows("records.jsonl")


def test_it_is_large_enough(captures: list[dict[str, Any]], records: list[dict[str, Any]]) -> None:
    """At least 320 captures and 220 records, each of the type its file promises."""
    assert len(captures) >= 320
    assert len(records) >= 220
    assert {row["type"] for row in captures} == {"capture"}
    assert {row["type"] for row in records} == {"record"}


def test_no_line_is_too_long() -> None:
    """A line stays under 20 kB, and is written without escapes."""
    for name in ("captures.jsonl", "records.jsonl"):
        data = (FOLDER / name).read_bytes()
        assert data.endswith(b"\n")
        assert rb"\u" not in data
        assert max(map(len, data.splitlines())) <= LONGEST_LINE


def test_ids_are_unique_and_in_order(
    captures: list[dict[str, Any]], records: list[dict[str, Any]]
) -> None:
    """Captures and records are numbered from one, without a gap."""
    assert [row["id"] for row in captures] == [f"c{n:04d}" for n in range(1, len(captures) + 1)]
    assert [row["id"] for row in records] == [f"r{n:04d}" for n in range(1, len(records) + 1)]


def test_captures_are_well_formed(captures: list[dict[str, Any]]) -> None:
    """Every capture has words, a speaker, an origin and a fidelity; only talk has a session."""
    for row in captures:
        assert row["text"].strip(), row["id"]
        assert row["speaker"].strip(), row["id"]
        assert row["origin"] in {"conversation", "note", "import"}, row["id"]
        assert row["fidelity"] in {"verbatim", "transcription", "ocr"}, row["id"]
        assert ("session" in row) or row["origin"] != "conversation", row["id"]


def test_captures_are_in_time_order(captures: list[dict[str, Any]]) -> None:
    """Times carry an offset, never go back, and span six years or more."""
    times = [datetime.fromisoformat(row["captured_at"]) for row in captures]

    assert all(time.tzinfo for time in times)
    assert times == sorted(times)
    assert (times[-1] - times[0]).days >= 6 * 365


def test_sessions_are_contiguous(captures: list[dict[str, Any]]) -> None:
    """The turns of one session stand together, and there are two or more."""
    sessions = [row.get("session") for row in captures]
    runs = [now for before, now in zip([None, *sessions], sessions, strict=False) if now != before]
    begun = Counter(session for session in runs if session)
    turns = Counter(session for session in sessions if session)

    assert max(begun.values()) == 1
    assert min(turns.values()) >= 2


def test_both_scripts_are_present(captures: list[dict[str, Any]]) -> None:
    """Of the captures in Chinese, at least a quarter show each script, and some show both."""
    chinese = [row["text"] for row in captures if re.search(r"[\u4e00-\u9fff]", row["text"])]
    shown = [set(scripts(text)) for text in chinese]

    assert sum("traditional" in each for each in shown) >= len(chinese) / 4
    assert sum("simplified" in each for each in shown) >= len(chinese) / 4
    assert sum(len(each) == 2 for each in shown) >= 10


def test_records_are_well_formed(records: list[dict[str, Any]]) -> None:
    """Every record has a known kind and layer, words of its own and a salience in range."""
    for row in records:
        assert row["kind"] in KINDS, row["id"]
        assert row["layer"] in LAYERS, row["id"]
        assert row.get("status", "active") in {"active", "superseded", "archived"}, row["id"]
        assert row["title"].strip(), row["id"]
        assert row["gist"].strip(), row["id"]
        assert row["topics"], row["id"]
        assert 0 <= row["salience"] <= 100, row["id"]


def test_every_quote_is_exact(
    captures: list[dict[str, Any]], records: list[dict[str, Any]]
) -> None:
    """A record rests on one quote or more, each an exact substring of its capture."""
    texts = {row["id"]: row["text"] for row in captures}
    for row in records:
        assert row["quotes"], row["id"]
        for quote in row["quotes"]:
            assert quote["text"].strip(), row["id"]
            assert quote["text"] in texts[quote["capture"]], row["id"]


def test_every_reference_resolves(records: list[dict[str, Any]]) -> None:
    """Superseded records exist, say so, and are never superseded by themselves."""
    status = {row["id"]: row.get("status", "active") for row in records}
    superseded = {old for row in records for old in row.get("supersedes", [])}
    contradicted = {other for row in records for other in row.get("contradicts", [])}

    assert superseded == {key for key, value in status.items() if value == "superseded"}
    assert contradicted <= status.keys()
    for row in records:
        assert row["id"] not in row.get("supersedes", []) + row.get("contradicts", [])
        if row.get("supersedes") or row.get("contradicts"):
            assert row["reason"].strip(), row["id"]


def test_dates_parse(records: list[dict[str, Any]]) -> None:
    """Dates are years, months or days; a range does not end before it starts."""
    for row in records:
        given = {name: partial_date(row[name]) for name in DATES if name in row}
        assert row.get("date_precision", "unknown") in PRECISIONS, row["id"]
        assert row.get("date_basis", "unknown") in BASES, row["id"]
        assert not ("date" in given and "date_start" in given), row["id"]
        if "date_start" in given and "date_end" in given:
            assert given["date_start"] <= given["date_end"], row["id"]
