"""LoCoMo, LongMemEval and TREC's columns, in small sets invented here."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import Dataset
from shiyi.eval.load import load_dataset
from shiyi.eval.readers import strict
from shiyi.eval.readers.files import Files
from shiyi.eval.readers.trec import read_run

Sample = dict[str, Any]
Load = Callable[[object], Dataset]


def locomo() -> list[Sample]:
    return [
        {
            "sample_id": "conv-1",
            "conversation": {
                "speaker_a": "Ada", "speaker_b": "Bo",
                "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "The kiln arrived."}],
                "session_2_date_time": "in the evening",
                "session_1": [
                    {"speaker": "Ada", "dia_id": "D1:1", "text": "I ordered a kiln."},
                    {"speaker": "Bo", "dia_id": "D1:2", "text": "At last!", "img_url": ["x"]},
                ],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_3_date_time": "2:00 am on 1 June, 2023",
            },
            "qa": [
                {"question": "What was ordered?", "answer": "a kiln", "evidence": ["D1:1"],
                 "category": 4},
                {"question": "And then?", "answer": 2, "evidence": ["D1:1; D:2:01", "D9:9"],
                 "category": 1},
                {"question": "Who sold it?", "adversarial_answer": "Cy", "evidence": ["D1:1"],
                 "category": 5},
                {"question": "Lost key?", "answer": "?", "evidence": ["D"], "category": 2},
            ],
        }
    ]  # fmt: skip


def longmemeval() -> list[Sample]:
    turns = [{"role": "user", "content": "I keep bees."},
             {"role": "assistant", "content": "How many hives?"}]  # fmt: skip
    marked = [{"role": "user", "content": "Three hives.", "has_answer": True},
              {"role": "assistant", "content": " "},
              {"role": "assistant", "content": "Fine."}]  # fmt: skip

    def question(name: str, answers: list[str]) -> Sample:
        return {
            "question_id": name, "question_type": "single-session-user", "question": "How many?",
            "answer": "three", "question_date": "2023/05/30 (Tue) 23:40",
            "haystack_session_ids": ["s1", "s2", "s1"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21", "soon"],
            "haystack_sessions": [turns, marked, turns], "answer_session_ids": answers,
        }  # fmt: skip

    return [question("a", ["s1", "s2"]), question("b", ["s1"]), question("c_abs", ["s1"]),
            question("d", ["gone"])]  # fmt: skip


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a value as the JSON file of a set, and load it."""

    def write_and_load(value: object) -> Dataset:
        file = tmp_path / "set.json"
        file.write_text(json.dumps(value, ensure_ascii=False, indent=1), "utf-8")
        return load_dataset(file)

    return write_and_load


def test_locomo(load: Load) -> None:
    """A sample is a scope, its turns are documents in order of sessions."""
    found = load(locomo())

    assert [one.id for one in found.documents] == ["conv-1:D1:1", "conv-1:D1:2", "conv-1:D2:1"]
    first, second, third = found.documents
    assert (first.scope, first.speaker, first.session) == ("conv-1", "Ada", "session_1")
    assert (first.date, third.date) == ("2023-05-08T13:56:00", "in the evening")
    assert [one.previous for one in (first, second, third)] == [None, "conv-1:D1:1", None]
    assert first.order is not None
    assert third.order is not None
    assert first.order < third.order


def test_locomo_questions(load: Load) -> None:
    """Evidence is gold, several turns in one text too; adversarial ones have no answer."""
    found = load(locomo())
    (view,) = found.views

    assert [one.category for one in view.queries] == ["single-hop", "multi-hop", "adversarial"]
    assert all(one.scope == "conv-1" and one.order is None for one in view.queries)
    assert view.queries[0].attributes["answer"] == "a kiln"
    assert view.judgements == {
        "conv-1:q1": {"conv-1:D1:1": 1},
        "conv-1:q2": {"conv-1:D1:1": 1, "conv-1:D2:1": 1},
        "conv-1:q3": {},
    }
    assert found.notes == ("1 questions were left out: their evidence names no turn.",)


def test_locomo_with_other_names_of_turns(load: Load) -> None:
    """A set made after LoCoMo's pattern may name its turns as it likes."""
    made = changed(locomo(), [0, "conversation", "session_1", 0, "dia_id"], "first")
    made = changed(made, [0, "qa"], [{"question": "?", "evidence": ["first"], "category": 1}])

    assert load(made).views[0].judgements == {"conv-1:q1": {"conv-1:first": 1}}


def test_longmemeval(load: Load) -> None:
    """A question is a scope; its haystack's turns are documents, each session once."""
    found = load(longmemeval())
    mine = [one for one in found.documents if one.scope == "a"]

    assert [one.id for one in mine] == ["a:s1:1", "a:s1:2", "a:s2:1", "a:s2:3"]
    assert [one.previous for one in mine] == [None, "a:s1:1", None, "a:s2:1"]
    assert (mine[0].speaker, mine[0].date) == ("user", "2023-05-20T02:21:00+00:00")
    assert found.notes == (
        "1 questions were left out: no turn of the haystack answers them.",
        "4 sessions were left out: they stand twice in one haystack.",
        "4 turns were left out: they are empty.",
    )


def test_longmemeval_questions(load: Load) -> None:
    """Marked turns are gold, else whole answering sessions; _abs questions have no answer."""
    (view,) = load(longmemeval()).views

    assert view.judgements == {
        "a": {"a:s2:1": 1}, "b": {"b:s1:1": 1, "b:s1:2": 1}, "c_abs": {},
    }  # fmt: skip
    assert view.queries[0].now == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert view.queries[0].category == "single-session-user"
    assert "haystack_sessions" not in view.queries[0].attributes


def changed(value: list[Sample], path: list[Any], new: Any) -> list[Sample]:
    """Return the value with one part replaced."""
    place: Any = value
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = new
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (changed(locomo(), [0, "sample_id"], None), r":2: element 1: There is no sample_id\."),
        (changed(locomo(), [0, "conversation"], []), "element 1: conversation is an object"),
        (changed(locomo(), [0, "qa"], ["x"]), "element 1: qa is a list of objects"),
        (changed(locomo(), [0, "qa", 1, "category"], 6), "element 1: qa 2: category is a number"),
        (changed(locomo(), [0, "qa", 1, "category"], [1]), "element 1: qa 2: category is a number"),
        (changed(locomo(), [0, "qa", 0, "question"], ""), "element 1: qa 1: question is a text"),
        (changed(locomo(), [0, "qa", 0, "evidence"], [1]), "qa 1: evidence is a list of texts"),
        (changed(locomo(), [0, "conversation", "session_1", 0, "text"], 1), "session_1: text is"),
        (changed(locomo(), [0, "conversation", "session_1", 0, "dia_id"], "D2:1"), "stands twice"),
        (locomo() * 2, "element 2: The sample_id 'conv-1' stands twice"),
        (changed(locomo(), [0, "qa"], []), "holds no queries"),
        (changed(longmemeval(), [0, "question"], None), "element 1: There is no question"),
        (changed(longmemeval(), [1, "question_id"], "a"), "element 2: .*stands twice"),
        (changed(longmemeval(), [0, "haystack_session_ids"], ["s1"]), "not as many ids"),
        (changed(longmemeval(), [0, "haystack_session_ids", 2], "s2"), "'s2' stands twice, with"),
        (changed(longmemeval(), [0, "haystack_sessions", 0, 0], 1), "turn 1: A turn is an object"),
        (changed(longmemeval(), [0, "haystack_sessions", 0, 0, "content"], None), "no content"),
        ([{"_id": "x"}], "neither a sample of LoCoMo nor of LongMemEval"),
        ([1], r"set\.json:2: element 1: This is valid JSON but not an object"),
        ([], "This holds no documents"),
        ({}, r"set\.json:1: This is not a JSON array"),
    ],
)
def test_a_malformed_set_is_refused(load: Load, value: object, message: str) -> None:
    """Each mistake is refused with its file, line and element."""
    with pytest.raises(UsageError, match=message):
        load(value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[\n{"a": 1},\n{"b": }]', ":3: This is not JSON"),
        (b'[\n{"a": 1}\n{"b": 2}]', ":3: This array has no comma after element 1"),
        (b'[{"a": 1}', ":1: This array has no comma"),
        (b'[{"a": "', ":1: This is not JSON"),
        (b'[\n\n{"a": "\xff"}]', ":3: This is not UTF-8"),
        (b'[{"a": NaN}]', ":1: NaN and infinities"),
        (b'[\n{"a": "\\udc00"}]', ":2: .*half a surrogate pair"),
        (b'[{"a": 1}]\n!', ":2: Something stands after the end"),
        (b'[{"a": 1},]', ":1: This is not JSON"),
        (b"", ":1: This is not a JSON array"),
    ],
)
def test_an_array_is_read_strictly(tmp_path: Path, content: bytes, message: str) -> None:
    """Whatever is wrong with the JSON has its line."""
    file = tmp_path / "x.json"
    file.write_bytes(content)

    with pytest.raises(UsageError, match=rf"x\.json{message}"):
        list(strict.parse_elements(file, Files()))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_an_array_is_read_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Where a piece ends, also within a character or an escape, changes nothing."""
    monkeypatch.setattr("shiyi.eval.readers.files._CHUNK", size)
    rows = [{"a": '記\\"憶'}, {"b": [1.5, {"c": "}]"}]}, {"d": "\U00020bb7"}]
    file = tmp_path / "x.json"
    file.write_text(json.dumps(rows, indent=1, ensure_ascii=size % 2 == 0), "utf-8")

    found = list(strict.parse_elements(file, Files()))

    assert [one.content for one in found] == rows
    assert [one.place.split(":")[-2:] for one in found] == [
        ["2", " element 1"], ["5", " element 2"], ["13", " element 3"],
    ]  # fmt: skip


def test_a_long_element_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An element beyond the limit is refused, however long it goes on."""
    monkeypatch.setattr(strict, "MAX_BYTES", 1000)
    monkeypatch.setattr("shiyi.eval.readers.files._CHUNK", 100)
    file = tmp_path / "x.json"
    file.write_text(json.dumps([{"a": "b" * 5000}]))

    with pytest.raises(UsageError, match=r"x\.json:1: This is longer than"):
        list(strict.parse_elements(file, Files()))


def test_a_directory_may_hold_one_json_file(tmp_path: Path, load: Load) -> None:
    """The README beside it then tells the licence."""
    load(locomo())
    (tmp_path / "README.md").write_text("- Licence: CC BY-NC 4.0\n")

    found = load_dataset(tmp_path)

    assert (found.name, found.licence) == (tmp_path.name, "CC BY-NC 4.0")
    with pytest.raises(UsageError, match="no view 'hant'"):
        load_dataset(tmp_path, ["hant"])


def test_a_run_goes_by_its_scores(tmp_path: Path) -> None:
    """Best first, whatever the order of lines and ranks; where scores tie, as in the file."""
    file = tmp_path / "run"
    file.write_text(
        "q1 Q0 low 1 0.5 me\nq1 Q0 high 2 1e3 me\nq1 Q0 z 3 .5 me\nq2 Q0 x 1 -1 me\nq1 Q0 a 4 0.5\n"
    )

    assert read_run(file, Files()) == {"q1": ["high", "low", "z", "a"], "q2": ["x"]}


def test_a_run_in_three_columns(tmp_path: Path) -> None:
    """The form of our judgements serves for runs too."""
    file = tmp_path / "run.tsv"
    file.write_text("query-id\tcorpus-id\tscore\nq\ta b\t1\nq\tc\t2\n")

    assert read_run(file, Files()) == {"q": ["c", "a b"]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 d 1 nan me", ":2: The score nan is not finite"),
        ("q Q0 d 1 -inf me", ":2: The score -inf is not finite"),
        ("q Q0 d 1 1e999 me", ":2: The score 1e999 is not finite"),
        ("q Q0 d 1 high me", ":2: The score 'high' is not a number"),
        ("q Q0 d 1 1_0 me", ":2: The score '1_0' is not a number"),
        ("q d", ":2: A result is query, document and score"),
        ("q\td\t", ":2: A column is empty"),
    ],
)
def test_a_malformed_run_is_refused(tmp_path: Path, line: str, message: str) -> None:
    """Each mistake is refused with its file, its line and the reason."""
    file = tmp_path / "run"
    file.write_text(f"q Q0 first 1 1.0 me\n{line}\n")

    with pytest.raises(UsageError, match=f"run{message}"):
        read_run(file, Files())


def test_a_session_of_too_many_digits_is_none(load: Load) -> None:
    """A number that Python does not take is no number of a session."""
    strange = changed(locomo(), [0, "conversation", f"session_{'9' * 5000}"], [])

    assert load(strange).documents == load(locomo()).documents
