"""Labelled sets in directories: what is read from them, and what is refused and where."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import half_of
from shiyi.eval.load import SAMPLE, known_datasets, load_dataset
from shiyi.eval.readers import files

CORPUS = [
    {
        "_id": "d1",
        "text": "一",
        "metadata": {"scope": "u", "seq": 1, "session": "s", "date": "2024"},
    },
    {"_id": "d2", "text": "二", "metadata": {"scope": "u", "seq": 2, "session": "s"}},
    {"_id": "d1", "text": "三", "title": "題", "metadata": {"scope": "v", "speaker": "me"}},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "?", "metadata": {
        "scope": "u", "seq": 7, "date": "2024-06-16", "category": "c", "answer": "secret"}},
    {"_id": "q2", "text": "??", "metadata": {"half": "confirm"}},
]  # fmt: skip
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-1\n"


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a small set that is read without complaint."""
    path = tmp_path / "small"
    path.mkdir()
    (path / "corpus.jsonl").write_text(lines(CORPUS), "utf-8")
    (path / "queries.jsonl").write_text(lines(QUERIES), "utf-8")
    (path / "qrels.tsv").write_text(QRELS, "utf-8")
    return path


def add_view(folder: Path, rows: list[dict[str, Any]] = QUERIES, name: str = "hant") -> None:
    (folder / f"queries.{name}.jsonl").write_text(lines(rows), "utf-8")


def test_documents(folder: Path) -> None:
    """Scope, order, speaker, date and session have fields; an id is unique within its scope."""
    first, second, third = load_dataset(folder).documents

    assert (first.id, first.scope, first.order, first.date) == ("d1", "u", 1, "2024")
    assert (first.previous, second.previous) == (None, "d1")
    assert (third.id, third.scope, third.text, third.speaker) == ("d1", "v", "題\n三", "me")


def test_queries(folder: Path) -> None:
    """A query knows when it was asked, at the end of that day, and keeps the rest aside."""
    (view,) = load_dataset(folder).views
    first, second = view.queries

    assert (view.name, first.scope, first.order, first.category) == ("main", "u", 7, "c")
    assert first.now == datetime(2024, 6, 16, 23, 59, 59, tzinfo=UTC)
    assert first.attributes["answer"] == "secret"
    assert (first.half, second.half, second.now) == (half_of("q1"), "confirm", None)
    assert view.judgements == {"q1": {"d1": 2, "d2": 0}, "q2": {}}


@pytest.mark.parametrize(
    "content",
    [
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-2\nq2\td1\t0\nq1\td1\t2\n",
        "q1\t0\td1\t2\nq1\t0\td2\t-2\n\nq2\tQ0\td1\t0\n",
        "q1 0 d1 2\nq1 0 d2 -2\nq2 Q0 d1 0\n",
    ],
)
def test_judgements(folder: Path, content: str) -> None:
    """Ours with its header and TREC's four columns; a negative grade counts as 0."""
    (folder / "qrels.tsv").write_text(content, "utf-8")

    (view,) = load_dataset(folder).views

    assert view.judgements == {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 0}}


def test_an_id_may_hold_blanks_between_tabs(folder: Path) -> None:
    """Where a line has tabs, only they part its columns."""
    more = {"_id": "b c", "text": "四", "metadata": {"scope": "u"}}
    (folder / "corpus.jsonl").write_text(lines([*CORPUS, more]), "utf-8")
    (folder / "qrels.tsv").write_text("q1\t0\tb c\t1\n", "utf-8")

    (view,) = load_dataset(folder).views

    assert view.judgements["q1"] == {"b c": 1}


@pytest.mark.parametrize(
    ("written", "now"),
    [
        ("2024-02", datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)),
        ("2024-06-16T01:02:03+08:00", datetime(2024, 6, 15, 17, 2, 3, tzinfo=UTC)),
        ("last spring", None),
    ],
)
def test_dates_of_other_forms(folder: Path, written: str, now: datetime | None) -> None:
    """A month ends with its last day, an instant is itself, and words are kept as they are."""
    add_view(folder, [{**QUERIES[0], "metadata": {"date": written}}, QUERIES[1]])

    query = load_dataset(folder).views[1].queries[0]

    assert query.now == now
    assert query.attributes["date"] == written


def test_halves_are_even_and_odd() -> None:
    """Without a word of its own, a query falls by the digest of its id, about half and half."""
    halves = [half_of(f"q{number}") for number in range(1000)]

    assert half_of("a") == "confirm"  # sha256("a") ends in bb
    assert half_of("b") == "confirm"  # in 9d
    assert half_of("c") == "tune"  # in c6
    assert 450 < halves.count("tune") < 550


def test_views(folder: Path) -> None:
    """A view has other words for the same queries; with judgements of its own, any queries."""
    add_view(folder)
    add_view(folder, [{"_id": "x", "text": "!"}], "own")
    (folder / "qrels.own.tsv").write_text("x 0 d2 1\n")

    found = load_dataset(folder)

    assert [view.name for view in found.views] == ["main", "hant", "own"]
    assert found.views[1].judgements == found.views[0].judgements
    assert found.views[2].judgements == {"x": {"d2": 1}}
    assert [view.name for view in load_dataset(folder, ["own"]).views] == ["own"]


def test_the_view_global_knows_no_scopes(folder: Path) -> None:
    """Its queries search everything, whatever scope stands beside them."""
    add_view(folder, name="global")

    main, everywhere = load_dataset(folder).views

    assert (main.queries[0].scope, everywhere.queries[0].scope) == ("u", None)


def test_the_digest_is_of_the_contents(folder: Path, tmp_path: Path) -> None:
    """A copy has the same, whatever view is asked for; any other byte or name has another."""
    add_view(folder)
    before = load_dataset(folder).sha256
    copy = folder.rename(tmp_path / "copy")

    assert load_dataset(copy).sha256 == load_dataset(copy, ["main"]).sha256 == before
    (copy / "queries.hant.jsonl").rename(copy / "queries.hans.jsonl")
    renamed = load_dataset(copy).sha256
    (copy / "qrels.tsv").write_text(QRELS + "\n")
    assert len({before, renamed, load_dataset(copy).sha256}) == 3


def test_an_archive(folder: Path) -> None:
    """Without a corpus, captures and records are the documents, for the archive to import."""
    (folder / "corpus.jsonl").unlink()
    captures = [{"type": "capture", "id": "d1", "text": "一", "captured_at": "2024-01-01"}]
    records = [{"type": "record", "id": "d2", "gist": "二", "title": "題", "status": "superseded"}]
    (folder / "captures.jsonl").write_text(lines(captures), "utf-8")
    (folder / "records.jsonl").write_text(lines(records), "utf-8")

    found = load_dataset(folder)

    assert found.archive
    assert [(one.id, one.text) for one in found.documents] == [("d1", "一"), ("d2", "二")]
    assert found.documents[0].date == "2024-01-01"
    assert found.documents[1].attributes["status"] == "superseded"


def document(**fields: Any) -> str:
    return lines([*CORPUS, {"_id": "d9", "text": "九", **fields}])


def query(**fields: Any) -> str:
    return lines([*QUERIES, {"_id": "q9", "text": "?", **fields}])


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("corpus.jsonl", lines(CORPUS) + "{", ":4: This is not JSON at character 1"),
        ("corpus.jsonl", lines(CORPUS) + "[]", ":4: This is valid JSON but not an object."),
        ("corpus.jsonl", lines(CORPUS) + '{"a": 1, "a": 2}', ":4: A key stands twice"),
        ("corpus.jsonl", lines(CORPUS) + '{"a": NaN}', ":4: NaN and infinities"),
        ("corpus.jsonl", lines(CORPUS) + '{"a": 1e999}', ":4: NaN and infinities"),
        ("corpus.jsonl", lines(CORPUS) + '{"a": ' + "9" * 5000 + "}", ":4: .*too many digits"),
        ("corpus.jsonl", lines(CORPUS) + "[" * 90_000, ":4: This is nested too deeply."),
        ("corpus.jsonl", document(_id=None), ":4: There is no _id."),
        ("corpus.jsonl", document(_id=" "), ":4: _id is a text that is not empty."),
        ("corpus.jsonl", document(_id="d" * 513), ":4: _id has over 512 characters."),
        ("corpus.jsonl", document(metadata={"speaker": "a" * 513}), ":4: speaker has over 512"),
        ("corpus.jsonl", document(metadata={"thread": 1, "dialogue": "a" * 513}),
         ":4: session has over 512"),
        ("corpus.jsonl", document(text=None), ":4: There is no text."),
        ("corpus.jsonl", document(text="  "), ":4: text is a text that is not empty."),
        ("corpus.jsonl", document(text=["a"]), ":4: text is a text that is not empty."),
        ("corpus.jsonl", document(title="t", text=1), ":4: There is no text."),
        ("corpus.jsonl", document(metadata=[]), ":4: metadata is an object."),
        ("corpus.jsonl", document(metadata={"seq": "1"}), ":4: seq is a number."),
        ("corpus.jsonl", document(metadata={"scope": {}}), ":4: scope is a text"),
        ("corpus.jsonl", document(_id="d1", metadata={"scope": "u"}), ":4: The id 'd1' .*twice"),
        ("corpus.jsonl", '{"_id": "d", "text": "\\ud800"}', ":1: .*half a surrogate pair"),
        ("corpus.jsonl", b'\n\n{"_id": "d", "text": "\xff"}', ":3: The line is not UTF-8"),
        ("corpus.jsonl", "\n \n", ": This holds no documents."),
        ("queries.jsonl", "", ": This holds no queries."),
        ("queries.jsonl", query(_id=None), ":3: There is no _id."),
        ("queries.jsonl", query(text=""), ":3: text is a text that is not empty."),
        ("queries.jsonl", query(_id="q1"), ":3: The id 'q1' stands twice."),
        ("qrels.tsv", QRELS + "q1\td9\t1\n", ":4: There is no document 'd9'."),
        ("qrels.tsv", QRELS + "q9\td1\t1\n", ":4: There is no query 'q9'."),
        ("qrels.tsv", QRELS + "q1\td2\t1.0\n", ":4: The grade '1.0' is not a whole number"),
        ("qrels.tsv", QRELS + "q2\td2\t1000\n", ":4: The grade '1000' is not .* up to 999."),
        ("qrels.tsv", QRELS + "q2\td2\t１\n", ":4: The grade '１' is not a whole number"),
        ("qrels.tsv", QRELS + "q1\td1\t1\n", ":4: 'd1' has another grade for 'q1' before."),
        ("qrels.tsv", QRELS + "q1\t\t1\n", ":4: A column is empty."),
        ("qrels.tsv", QRELS + "q1 d1\n", ":4: A judgement is query, document and grade"),
        ("queries.v.jsonl", lines(QUERIES[:1]),
         ": This view lacks queries of queries.jsonl, 1 in all: 'q2'."),
        ("queries.v.jsonl", query(),
         ": This view has queries beside queries.jsonl, 1 in all: 'q9'."),
        ("qrels.v.tsv", QRELS, "queries.v.jsonl: This cannot be read"),
    ],
)  # fmt: skip
def test_a_malformed_set_is_refused(
    folder: Path, file: str, content: str | bytes, message: str
) -> None:
    """Each mistake is refused with its file, its line and the reason."""
    whole = content if isinstance(content, bytes) else content.encode()
    (folder / file).write_bytes(whole)

    where = "" if file == "qrels.v.tsv" else file.replace(".", r"\.")
    with pytest.raises(UsageError, match=where + message):
        load_dataset(folder)


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_refused(folder: Path, data: st.DataObject) -> None:
    """Whatever bytes a file holds, the set is read or refused with its place, never a crash."""
    name = data.draw(st.sampled_from(["corpus.jsonl", "queries.jsonl", "qrels.tsv"]))
    whole = (folder / name).read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 20)))
    (folder / name).write_bytes(whole[:start] + data.draw(st.binary(max_size=8)) + whole[end:])

    reason = None
    try:
        load_dataset(folder)
    except UsageError as error:
        reason = str(error)
    (folder / name).write_bytes(whole)

    assert reason is None or reason.startswith(f"{folder}/")


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    """A set needs its three files."""
    (folder / file).unlink()

    with pytest.raises(UsageError, match="holds no set" if file[0] == "c" else file):
        load_dataset(folder)


def test_an_unknown_view_is_refused(folder: Path) -> None:
    """The message lists the views there are."""
    with pytest.raises(UsageError, match="no view 'x', only 'main'"):
        load_dataset(folder, ["x"])


def test_a_file_of_a_set_is_not_the_set(folder: Path) -> None:
    """A hint says to give the directory."""
    with pytest.raises(UsageError, match="Give the directory"):
        load_dataset(folder / "corpus.jsonl")


def test_a_long_line_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond the limit is refused after that many bytes."""
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    (folder / "corpus.jsonl").write_text(lines([{"_id": "d1", "text": "a" * 200}]))

    with pytest.raises(UsageError, match=r"corpus\.jsonl:1: This is longer than"):
        load_dataset(folder)


def test_only_regular_files_are_read(folder: Path, tmp_path: Path) -> None:
    """A link and a pipe are refused at once, and neither is followed or waited for."""
    file = folder / "qrels.tsv"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"qrels\.tsv: This is not a regular file"):
        load_dataset(folder)

    file.unlink()
    os.mkfifo(file)
    with pytest.raises(UsageError, match=r"qrels\.tsv: This is not a regular file"):
        load_dataset(folder)


def test_a_byte_order_mark_and_other_line_ends_are_no_mistake(folder: Path) -> None:
    """Files from other systems are read as they are meant."""
    (folder / "corpus.jsonl").write_bytes(
        b"\xef\xbb\xbf" + lines(CORPUS).replace("\n", "\r\n").encode()
    )
    (folder / "qrels.tsv").write_bytes(QRELS.replace("\n", "\r\n").encode())

    assert load_dataset(folder).views[0].judgements["q1"] == {"d1": 2, "d2": 0}


@pytest.mark.parametrize(
    ("readme", "licence", "expected"),
    [
        ("# x\n\n- Licence: MIT (see there)\n- License: other\n", None, "MIT (see there)"),
        ("**License**: CC0-1.0\n", None, "CC0-1.0"),
        ("Nothing of the kind.\n", "Apache License\n\nmore\n", "Apache License"),
        (None, None, "unknown"),
    ],
)
def test_the_licence_is_what_the_readme_says(
    folder: Path, readme: str | None, licence: str | None, expected: str
) -> None:
    """The first line that names it, else the licence's own first line."""
    for name, content in (("README.md", readme), ("LICENSE", licence)):
        if content is not None:
            (folder / name).write_text(content)

    assert load_dataset(folder).licence == expected


def test_the_shipped_sample_is_an_archive() -> None:
    """The sample is read whole, in its main view and in both scripts."""
    found = load_dataset(SAMPLE)

    assert found.archive
    assert (found.name, found.licence) == ("sample", "CC0-1.0")
    assert [view.name for view in found.views] == ["main", "hans", "hant"]
    assert len({len(view.queries) for view in found.views}) == 1


def test_known_sets(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped sample and every set in the directories, a broken one with its problem."""
    add_view(folder)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "queries.jsonl").write_text("")
    (tmp_path / "no set").mkdir()
    monkeypatch.setenv("SHIYI_DATASETS", f"{tmp_path}{os.pathsep}{tmp_path / 'gone'}")

    first, *found = known_datasets()

    assert (first.name, first.path) == ("sample", str(SAMPLE))
    assert [one.name for one in found] == ["broken", "small", "gone"]
    assert "This holds no set" in (found[0].problem or "")
    assert (found[1].documents, found[1].queries, found[1].views) == (3, 2, ["main", "hant"])
    assert found[1].problem is None
    assert "cannot be read" in (found[2].problem or "")
    assert [one.name for one in known_datasets([folder])] == ["sample", "small"]


def public_sets() -> Path:
    given = os.environ.get("SHIYI_DATASETS")
    beside = Path(__file__).resolve().parents[3] / "shared" / "datasets"
    return Path(given) if given else beside


def test_public_sets_are_read() -> None:
    """Every public set at hand is read whole, and each main view has gold that it can find."""
    if not public_sets().is_dir():
        pytest.skip("no public sets: name their directory in SHIYI_DATASETS")

    for known in known_datasets([public_sets()])[1:]:
        assert known.problem is None
        found = load_dataset(Path(known.path), ["main"])
        scopes = {document.id: document.scope for document in found.documents}
        (view,) = found.views
        for one in view.queries:
            gold = [name for name, grade in view.judgements[one.id].items() if grade]
            assert all(one.scope in {None, scopes[name]} for name in gold)
