"""Judging by hand: nothing is lost, nothing comes twice, nothing leaves unasked."""

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import HomeBusyError, HomeUnwritableError, NotFoundError, UsageError
from shiyi.eval import label_queries
from shiyi.eval.agreement import agreement
from shiyi.eval.dataset import Document, Query
from shiyi.eval.label import JUDGEMENTS_FILE, LabelSession, Pool, Progress, build_pool
from shiyi.eval.label_keys import run_labelling
from shiyi.eval.label_queries import read_queries
from shiyi.eval.load import load_dataset

DOCUMENTS = {one: Document(id=one, text=f"文件 {one}") for one in "abcdef"}
QUERIES = [Query(id="q1", text="花生過敏嗎？"), Query(id="q2", text="Where did we go?")]
Act = int | None | str
ACTS = st.lists(st.sampled_from([0, 1, 2, None, "undo"]), max_size=14)


def docs(names: str) -> list[Document]:
    return [DOCUMENTS[one] for one in names]


POOLS = [
    build_pool("q1", {"bm25": docs("abc"), "dense": docs("cd")}),
    build_pool("q2", {"bm25": docs("ef")}),
]


def act(session: LabelSession, acts: Iterable[Act]) -> None:
    for one in acts:
        if one == "undo":
            session.undo()
        elif session.next():
            assert not isinstance(one, str)
            session.judge(one)


def seen(session: LabelSession) -> list[tuple[str, str]]:
    """Return all pairs in the order in which they come, skipping each."""
    found = []
    while item := session.next():
        found.append((item.query.id, item.document.id))
        session.judge(None)
    return found


def test_a_pool_is_what_any_system_ranked_high() -> None:
    """The union of the first n, each once, by id: who found what, and how high, does not show."""
    rankings = {"bm25": docs("cab"), "dense": docs("dcf")}

    pool = build_pool("q1", rankings, depth=2)

    assert [one.id for one in pool.documents] == ["a", "c", "d"]
    assert build_pool("q1", dict(reversed(rankings.items())), depth=2) == pool


def test_documents_come_in_an_order_of_the_seed(tmp_path: Path) -> None:
    """The same seed gives the same order; another one another order."""
    many = [Pool(query="q1", documents=tuple(Document(id=f"d{n}", text="x") for n in range(20)))]
    orders = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with LabelSession(tmp_path / name, QUERIES, many, seed) as session:
            orders.append(seen(session))

    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    assert orders[0] != sorted(orders[0])


@given(ACTS, st.integers(0, 14))
def test_stopping_anywhere_changes_nothing(acts: list[Act], stop: int) -> None:
    """A session that was closed and opened again is the one that was not."""
    with tempfile.TemporaryDirectory() as folder:
        whole, parted = Path(folder, "whole"), Path(folder, "parted")
        with LabelSession(whole, QUERIES, POOLS, 7) as session:
            act(session, acts)
            expected = session.grades, session.progress, session.next()
        with LabelSession(parted, QUERIES, POOLS, 7) as session:
            act(session, acts[:stop])
        with LabelSession(parted, QUERIES, POOLS, 7) as session:
            act(session, acts[stop:])
            found = session.grades, session.progress, session.next()
        texts = [(one / JUDGEMENTS_FILE) for one in (whole, parted)]
        contents = [one.read_bytes() if one.exists() else b"" for one in texts]

    assert found == expected
    assert contents[0] == contents[1]


@given(st.lists(st.sampled_from([0, 1, 2, None]), min_size=1, max_size=5), st.integers(0, 400))
def test_a_torn_line_is_dropped(grades: list[int | None], cut: int) -> None:
    """Wherever a crash cut the file, what was whole counts, and the session goes on."""
    with tempfile.TemporaryDirectory() as folder:
        with LabelSession(Path(folder), QUERIES, POOLS) as session:
            act(session, grades)
        file = Path(folder, JUDGEMENTS_FILE)
        content = file.read_bytes()
        torn = content[:cut]
        file.write_bytes(torn)

        with LabelSession(Path(folder), QUERIES, POOLS) as session:
            notes, done = session.notes, session.progress.done
            act(session, grades[done:])
        after = file.read_bytes()

    assert done == torn.count(b"\n")
    assert bool(notes) == (not torn.endswith(b"\n") and torn != b"")
    assert after == content


def test_new_queries_and_documents_come_after(tmp_path: Path) -> None:
    """Queries and documents that are added do not bring back what was judged."""
    with LabelSession(tmp_path, QUERIES, POOLS) as session:
        act(session, [2, 0, 1])
        before, waiting = session.grades, session.next()
    more = [*QUERIES, Query(id="q3", text="new")]
    pools = [*POOLS, build_pool("q3", {"bm25": docs("ab")})]

    with LabelSession(tmp_path, more, pools) as session:
        assert session.next() == waiting
        assert session.grades == before
        assert session.progress == Progress(done=3, total=8)


def test_undo_goes_back_to_the_beginning(tmp_path: Path) -> None:
    """Each undo shows what was judged last; before the first there is nothing."""
    with LabelSession(tmp_path, QUERIES, POOLS) as session:
        first = session.next()
        session.judge(1)
        second = session.next()
        session.judge(None)

        assert session.undo()
        assert session.next() == second
        assert session.undo()
        assert session.next() == first
        assert not session.undo()
        assert session.progress.done == 0


def test_files_are_their_owners_and_hold_no_text(tmp_path: Path) -> None:
    """The directory is 0700, its files 0600, and neither queries nor documents are in them."""
    with LabelSession(tmp_path / "new" / "session", QUERIES, POOLS) as session:
        seen(session)
    folder = tmp_path / "new" / "session"
    content = (folder / JUDGEMENTS_FILE).read_text("utf-8")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}
    assert "花生" not in content
    assert "文件" not in content


def test_one_session_at_a_time(tmp_path: Path) -> None:
    """A second one is refused while the first is open, and welcome afterwards."""
    with LabelSession(tmp_path, QUERIES, POOLS), pytest.raises(HomeBusyError):
        LabelSession(tmp_path, QUERIES, POOLS)

    LabelSession(tmp_path, QUERIES, POOLS).close()


def test_a_judgement_that_cannot_be_kept_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk the same document is shown again, and the file stays whole."""
    with LabelSession(tmp_path, QUERIES, POOLS) as session:
        session.judge(2)
        kept, waiting = (tmp_path / JUDGEMENTS_FILE).read_bytes(), session.next()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full_disk)
            with pytest.raises(HomeUnwritableError, match="counts as not given"):
                session.judge(1)

        assert session.next() == waiting
        assert (tmp_path / JUDGEMENTS_FILE).read_bytes() == kept
        session.judge(1)
        assert session.progress.done == 2


def full_disk(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "line",
    ["{}", "[]", "x", '{"query":"q1","document":"a","grade":3}',
     '{"query":"q1","document":"a","grade":true}', '{"query":"q1","document":"a","grade":1.0}',
     "[" * 100_000, ""],
)  # fmt: skip
def test_a_foreign_file_is_refused(line: str, tmp_path: Path) -> None:
    """What is no judgement is not guessed at; the file stays as it is."""
    file = tmp_path / JUDGEMENTS_FILE
    file.write_text(f"{line}\n", "utf-8")

    with pytest.raises(UsageError, match="Line 1"):
        LabelSession(tmp_path, QUERIES, POOLS)
    assert file.read_text("utf-8") == f"{line}\n"


@pytest.mark.parametrize("name", ["", "a\tb", "a\nb", "\ud800"])
def test_ids_that_cannot_be_exported_are_refused_at_once(name: str, tmp_path: Path) -> None:
    """Not after hours of judging."""
    pool = Pool(query="q1", documents=(Document(id=name, text="x"),))

    with pytest.raises(UsageError):
        LabelSession(tmp_path, QUERIES, [pool])


def test_grades_are_0_1_2(tmp_path: Path) -> None:
    """Another grade is refused, and so is one for nothing."""
    with LabelSession(tmp_path, QUERIES, POOLS) as session:
        with pytest.raises(UsageError, match="0, 1 or 2"):
            session.judge(3)
        seen(session)
        with pytest.raises(UsageError, match="Everything"):
            session.judge(1)


@given(st.lists(st.sampled_from([0, 1, 2, None]), max_size=6))
def test_export_gives_back_the_judgements(grades: list[int | None]) -> None:
    """The labels of each query that is judged to the end, and no text of a document."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "target")
        with LabelSession(Path(folder, "session"), QUERIES, POOLS) as session:
            act(session, grades)
            judged = session.grades
            exported = session.export(target)
        rows = [line.split("\t") for line in (target / "qrels.tsv").read_text("utf-8").split("\n")]
        names = {one.name for one in target.iterdir()}
        lines = (target / "queries.jsonl").read_text("utf-8").split("\n")
        queries = [json.loads(line) for line in lines[:-1]]

    found = {(query, document): int(grade) for query, document, grade in rows[1:-1]}
    kept = {query["_id"] for query in queries}
    assert rows[0] == ["query-id", "corpus-id", "score"]
    assert found == {pair: grade for pair, grade in judged.items() if pair[0] in kept}
    assert kept == {
        query
        for query, given in (("q1", grades[:4]), ("q2", grades[4:]))
        if len(given) == (4 if query == "q1" else 2) and (None not in given or any(given))
    }
    assert (exported.queries, exported.judgements) == (len(kept), len(found))
    assert exported.left_out == 2 - len(kept)
    assert names == {"queries.jsonl", "qrels.tsv"}


def test_texts_leave_when_asked(tmp_path: Path) -> None:
    """Then each document of the exported pools is there once, exactly, hostile text too."""
    hostile = Document(id="h", text="a\u2028b\x00c\u202e\ud800</script>\n")
    pools = [build_pool("q1", {"one": [*docs("ab"), hostile]}), POOLS[1]]
    with LabelSession(tmp_path / "session", QUERIES, pools) as session:
        act(session, [2, 0, 0])
        session.export(tmp_path / "target", texts=True)
        content = (tmp_path / "target" / "corpus.jsonl").read_text("utf-8")

        rows = [json.loads(line) for line in content.split("\n")[:-1]]
        assert {row["_id"]: row["text"] for row in rows} == {
            "a": "文件 a", "b": "文件 b", "h": hostile.text,
        }  # fmt: skip
        with pytest.raises(UsageError, match="not an empty directory"):
            session.export(tmp_path / "target")


def test_an_export_with_texts_is_a_labelled_set(tmp_path: Path) -> None:
    """What was judged can be evaluated on: the same queries, documents and grades."""
    with LabelSession(tmp_path / "session", QUERIES, POOLS) as session:
        act(session, [2, 0, 1, 0, 0, 0])
        session.export(tmp_path / "mine", texts=True)
        judged = session.grades

    dataset = load_dataset(tmp_path / "mine")

    view = dataset.views[0]
    read = {
        (query, document): grade
        for query, grades in view.judgements.items()
        for document, grade in grades.items()
    }
    assert [(query.id, query.text) for query in view.queries] == [
        (query.id, query.text) for query in QUERIES
    ]
    assert {one.id: one.text for one in dataset.documents} == {
        one.id: one.text for one in DOCUMENTS.values()
    }
    assert {pair: grade for pair, grade in read.items() if grade} == {
        pair: grade for pair, grade in judged.items() if grade
    }


def test_agreement_by_hand(tmp_path: Path) -> None:
    """Two people, six pairs, one skipped: two of five differ, by chance 17 of 25 would."""
    with (
        LabelSession(tmp_path / "a", QUERIES, POOLS) as one,
        LabelSession(tmp_path / "b", QUERIES, POOLS) as other,
    ):
        act(one, [0, 0, 1, 2, 2, 1])
        act(other, [0, 1, 1, 2, 0, None])

        found = agreement(one, other)

    # Rows 2, 1, 2; columns 2, 2, 1; by chance 25 - (4 + 2 + 2) = 17 of 25 differ.
    assert found.kappa == pytest.approx(1 - (2 / 5) / (17 / 25))
    # Steps of one count 1/2: seen (1/2 + 1) / 5, by chance a row times a column each.
    chance = (2 * 2 * 0.5 + 2 * 1 * 1 + 1 * 2 * 0.5 + 1 * 1 * 0.5 + 2 * 2 * 1 + 2 * 2 * 0.5) / 25
    assert found.weighted == pytest.approx(1 - (1.5 / 5) / chance)
    assert (found.pairs, found.same) == (5, 3)
    assert found.counts[0, 1] == 1


def test_agreement_without_a_ground(tmp_path: Path) -> None:
    """Nothing in common is an error; one grade throughout leaves kappa open."""
    with (
        LabelSession(tmp_path / "a", QUERIES, POOLS) as one,
        LabelSession(tmp_path / "b", QUERIES, POOLS) as other,
    ):
        with pytest.raises(UsageError, match="nothing in common"):
            agreement(one, other)
        act(one, [1, 1])
        act(other, [1, 1])

        assert agreement(one, other).kappa is None


def drive(session: LabelSession, keys: Sequence[str]) -> str:
    shown: list[str] = []
    waiting = iter(keys)

    def ask() -> str:
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    run_labelling(session, shown.append, ask)
    return "\n".join(shown)


def test_keys(tmp_path: Path) -> None:
    """0, 1, 2 grade, s skips, u takes back, q ends, all else helps; the end of input ends too."""
    with LabelSession(tmp_path, QUERIES, POOLS) as session:
        shown = drive(session, ["u", "2", "S", "u", " 0 ", "?", "x", "q", "2"])
        assert "nothing to undo" in shown
        assert "Kept: 2 of 6." in shown
        assert sorted(session.grades.values()) == [0, 2]

        assert "All is judged: 6 of 6." in drive(session, ["1"] * 4)
        assert "All is judged" in drive(session, [])


def test_hostile_texts_are_shown_escaped(tmp_path: Path) -> None:
    """Nothing in a text moves the cursor or turns the line; a long one is cut until asked for."""
    text = "\x1b[2Jgone\rover\u202e" + "長" * 5_000
    pool = build_pool("q1", {"one": [Document(id="h", text=text)]})
    with LabelSession(tmp_path, [Query(id="q1", text="\x1b]0;title\x07")], [pool]) as session:
        cut = drive(session, ["q"])
        whole = drive(session, ["m", "q"])

    assert all(char not in cut + whole for char in "\x1b\x07\r\u202e")
    assert "\\x1b[2Jgone\nover\\u202e" in cut
    assert "m shows them" in cut
    assert cut.count("長") < 4_000
    assert whole.count("長") > 8_000


def test_queries_from_text_and_from_json(tmp_path: Path) -> None:
    """The same question has the same id wherever it stands; ids of the file's own are kept."""
    plain, more, rows = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.jsonl"
    plain.write_text("\ufeff花生？\r\n\nWhere?\n花生？\n", "utf-8")
    more.write_text("first\nWhere?\n", "utf-8")
    rows.write_text('{"_id": "x", "text": "Where?"}\n{"text": "花生？"}\n', "utf-8")

    one, two, three = (read_queries(file) for file in (plain, more, rows))

    assert [query.text for query in one] == ["花生？", "Where?"]
    assert two[1] == one[1]
    assert [query.id for query in three] == ["x", one[0].id]


@pytest.mark.parametrize(
    "content",
    ['{"text": ""}', '{"text": 1}', "[1]", "{", '{"_id": 1, "text": "x"}', '{"text": "\\ud800"}',
     '{"_id": "x", "text": "a"}\n{"_id": "x", "text": "b"}', "\udcff"],
)  # fmt: skip
def test_lines_that_are_no_query_are_named(content: str, tmp_path: Path) -> None:
    """The message tells the line, and never its text."""
    file = tmp_path / "queries.jsonl"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))

    with pytest.raises(UsageError):
        read_queries(file)
    with pytest.raises(NotFoundError):
        read_queries(tmp_path / "missing.txt")


@pytest.mark.parametrize("name", ["asked.txt", "asked.jsonl"])
def test_a_file_of_queries_without_end_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only so much is read of it, and no depth of nesting breaks the reader."""
    monkeypatch.setattr(label_queries, "MAX_BYTES", 100)
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=f"{name}: This is longer than"):
        read_queries(tmp_path / name)

    monkeypatch.undo()
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    with pytest.raises(UsageError, match="Line 1 is no JSON object"):
        read_queries(tmp_path / "deep.jsonl")
