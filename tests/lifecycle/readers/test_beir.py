"""Retrieval sets: documents come in, labels and answers stay out."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shiyi.lifecycle.readers import CaptureItem, Item, LineError, Skipped, read


def items_of(folder: Path, *documents: Any) -> list[Item]:
    lines = [json.dumps(one, ensure_ascii=False) for one in documents]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "question"}', "utf-8")
    return list(read(folder))


def captures(items: list[Item]) -> list[CaptureItem]:
    return [item for item in items if isinstance(item, CaptureItem)]


def turn(number: int, seq: Any, session: str = "s", **metadata: Any) -> dict[str, Any]:
    about = {"scope": "u1", "session": session, "seq": seq, "speaker": "User", **metadata}
    return {"_id": f"d{number}", "text": f"text {number}", "metadata": about}


def test_a_document_becomes_a_capture(tmp_path: Path) -> None:
    """Its _id is its name, its scope its scope, its date and speaker what they say."""
    document = {
        "_id": "mem-1", "title": "Party", "text": "Bart danced.",
        "metadata": {"scope": "user-1", "date": "2023-12-25", "speaker": "Bart"},
    }  # fmt: skip

    (only,) = items_of(tmp_path, document)

    assert only == CaptureItem(
        key="mem-1", external_id="mem-1", text="Bart danced.", scope="user-1", speaker="Bart",
        date="2023-12-25", captured_at=datetime(2023, 12, 25, tzinfo=UTC), origin="import",
        source_path="corpus.jsonl",
        attrs={"title": "Party", "date": "2023-12-25", "speaker": "Bart"},
    )  # fmt: skip


def test_nothing_that_gives_an_answer_away_is_kept(tmp_path: Path) -> None:
    """Labels in the metadata leave no trace in the capture."""
    secret = dict.fromkeys(("answer", "entity", "attribute", "key", "category", "emotion"), "LEAK")

    (only,) = items_of(tmp_path, turn(1, 0, **secret))

    assert "LEAK" not in repr(only)
    assert isinstance(only, CaptureItem)
    assert only.attrs == {"session": "s", "seq": 0, "speaker": "User"}


def test_a_session_in_strict_order_is_a_dialogue(tmp_path: Path) -> None:
    """Only where seq grows from document to document does one follow the other."""
    items = items_of(tmp_path, turn(1, 0), turn(2, 7), turn(3, 9), turn(9, 0, "t"), turn(4, 10))

    assert [one.previous for one in captures(items)] == [None, "d1", "d2", None, "d3"]


def test_documents_of_one_moment_do_not_follow_each_other(tmp_path: Path) -> None:
    """Equal, falling or missing seq means a pile of notes, not a dialogue."""
    piles = (
        [turn(1, 0), turn(2, 0)],
        [turn(1, 1), turn(2, 2), turn(3, 2)],
        [turn(1, 2), turn(2, 1)],
        [turn(1, "a"), turn(2, "b")],
        [turn(1, True), turn(2, 2)],
    )

    for pile in piles:
        assert {one.previous for one in captures(items_of(tmp_path, *pile))} == {None}


def test_a_document_without_metadata_is_read(tmp_path: Path) -> None:
    """Plain BEIR corpora have an id, a title and a text; nobody said them."""
    (only,) = captures(items_of(tmp_path, {"_id": 7, "title": "", "text": "x"}))

    assert (only.key, only.speaker, only.fidelity, only.attrs) == (
        "7",
        "document",
        "external_material",
        {},
    )


def test_a_date_in_other_words_is_kept_as_words(tmp_path: Path) -> None:
    """A date that is not understood is counted and costs nothing else."""
    items = items_of(
        tmp_path,
        turn(1, 0, date="1:56 pm on 8 May, 2023"),
        turn(2, 1, date="2023/05/20 (Sat) 02:21"),
    )
    first, second = captures(items)

    assert (first.captured_at, first.attrs["date"]) == (None, "1:56 pm on 8 May, 2023")
    assert second.captured_at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert [one.count for one in items if isinstance(one, Skipped)] == [1]


def test_a_bad_document_costs_only_itself(tmp_path: Path) -> None:
    """No id, no text, metadata of another kind, an id used twice: the rest is read."""
    good = [{"_id": "a", "text": "x"}, {"_id": "b", "text": "y"}]
    bad = [{"text": "x"}, {"_id": "c"}, {"_id": "d", "text": "x", "metadata": []},
           {"_id": "e", "text": "x", "metadata": {"scope": {}}},
           {"_id": "a", "text": "z"}]  # fmt: skip

    items = items_of(tmp_path, good[0], *bad, good[1])

    assert [one.key for one in captures(items)] == ["a", "b"]
    assert [one.line for one in items if isinstance(one, LineError)] == [2, 3, 4, 5, 6]
