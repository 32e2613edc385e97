"""`shiyi eval`: measuring, comparing, holding a baseline and judging, as a person types it."""

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi import interrupt
from tests.eval.sets import DOCUMENTS, QUERIES, write_set
from tests.shiyi.conftest import SHIYI

Run = Callable[..., Any]
HELD = {"mean": 1.0, "imperfect": {}}
QUICK = ("--system", "bm25,grep", "--k", "1,5,10", "--budget", "500")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a directory of one's own, without sets from outside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHIYI_DATASETS", raising=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A set of five documents and five queries, with another view."""
    return write_set(tmp_path / "sets" / "small", views={"hant": list(QUERIES)})


def test_run_says_what_it_found_and_where(
    run: Run, small: Path, tmp_path: Path, home: Path
) -> None:
    """A table on the screen, three private files, and no trace of the user's home."""
    answer = run("eval", "run", small, *QUICK)

    assert (answer.code, answer.err) == (0, "")
    assert "small · main: 5 queries, 4 with an answer" in answer.out
    assert "small · hant: 5 queries" in answer.out
    out = tmp_path / "shiyi-eval"
    assert out.stat().st_mode & 0o777 == 0o700
    for name in ("result.json", "timings.json", "report.html"):
        assert str(out / name) in answer.out
        assert (out / name).stat().st_mode & 0o777 == 0o600
    assert DOCUMENTS["d2"] not in (out / "report.html").read_text("utf-8")
    assert not home.exists()


def test_run_writes_where_the_dashboard_looks(run: Run, small: Path, home: Path) -> None:
    """In the home, when there is one; `--out` says another place."""
    assert run("remember", "花生過敏").code == 0

    assert str(home / "eval" / "result.json") in run("eval", "run", small, *QUICK).out
    assert run("doctor").code == 0
    assert str(home / "eval") not in run("eval", "run", small, *QUICK, "--out", "other").out


def test_what_another_engine_found_is_measured_beside(
    run: Run, small: Path, tmp_path: Path
) -> None:
    """A TREC run of what bm25 found gets the figures of bm25; another file is another result."""
    assert run("eval", "run", small, *QUICK, "--view", "main", "--out", "ours").code == 0
    cells = json.loads((tmp_path / "ours" / "result.json").read_text("utf-8"))["cells"]
    bm25 = next(cell for cell in cells if cell["system"] == "bm25")
    lines = [
        f"{query['id']} Q0 {document} {rank} {-rank} me"
        for query in bm25["queries"]
        for rank, document in enumerate(query["found"], 1)
    ]
    (tmp_path / "lucene.run").write_text("\n".join(reversed(lines)), "utf-8")

    asked = ("eval", "run", small, *QUICK, "--view", "main", "--run", "lucene.run", "--json")
    answer = run(*asked).json

    rows = {row["system"]: row["measures"] for row in answer["rows"]}
    assert list(rows) == ["bm25", "grep", "lucene"]
    ranked = [name for name in rows["bm25"] if "@" in name and not name.endswith("t")]
    assert [rows["lucene"][name] for name in ranked] == [rows["bm25"][name] for name in ranked]
    assert rows["lucene"]["recall@500t"] > 0

    (tmp_path / "lucene.run").write_text("\n".join(lines[:1]), "utf-8")
    assert run(*asked).json["fingerprint"] != answer["fingerprint"]
    (tmp_path / "lucene.run").write_text("q1 d1\n", "utf-8")
    assert run(*asked).code == 2
    assert "lucene.run:1: A result is query" in run(*asked[:-1]).err
    (tmp_path / "bm25.run").write_text(lines[0], "utf-8")
    refused = run("eval", "run", small, "--run", "bm25.run")
    assert (refused.code, "Two systems are called bm25" in refused.err) == (2, True)
    assert run("eval", "run", small, "--run", "absent.run").code == 2


def test_run_as_json_is_a_summary(run: Run, small: Path) -> None:
    """A row for each system, not every query."""
    rows = run("eval", "run", small, *QUICK, "--view", "main", "--json").json["rows"]

    assert [(one["dataset"], one["view"], one["system"]) for one in rows] == [
        ("small", "main", "bm25"), ("small", "main", "grep"),
    ]  # fmt: skip
    assert rows[0]["queries"] == 5
    assert rows[0]["answerable"] == 4
    assert rows[0]["measures"]["recall@5"] == 1.0
    assert rows[0]["measures"]["false_answers"] == 0.0


def test_same_run_same_bytes(run: Run, small: Path, tmp_path: Path) -> None:
    """Once more, and into another directory, the result has the same bytes."""
    results = []
    for out in ("a", "a", "b"):
        assert run("eval", "run", small, *QUICK, "--out", out).code == 0
        results.append((tmp_path / out / "result.json").read_bytes())

    assert results[0] == results[1] == results[2]


def test_values_by_commas_or_repeated(run: Run, small: Path) -> None:
    """`--k 1,5`, `--k 1 --k 5` and a value given twice are the same."""
    ways = (
        ["--system", "grep", "--k", "1,5"],
        ["--system", "grep,grep", "--k", "1", "--k", "5"],
    )
    answers = [run("eval", "run", small, *way, "--json").json for way in ways]

    assert answers[0]["fingerprint"] == answers[1]["fingerprint"]


def test_several_sets_by_name(run: Run, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SHIYI_DATASETS holds, and the sample, are known by their names."""
    monkeypatch.setenv("SHIYI_DATASETS", os.pathsep.join(["/nowhere", str(small.parent)]))
    options = ("--system", "grep", "--most", 2, "--json")

    both = run("eval", "run", "small", "sample", *options).json
    joined = run("eval", "run", "small,sample", *options).json

    assert {row["dataset"] for row in both["rows"]} == {"small", "sample"}
    assert both["fingerprint"] == joined["fingerprint"]


def test_texts_stand_in_the_report_when_asked(run: Run, tmp_path: Path) -> None:
    """Documents are personal, so a report has their texts only on request."""
    # In the other script grep finds nothing, so that the two systems disagree.
    write_set(tmp_path / "hard", queries={**QUERIES, "q": ("四位数的密码锁", {"d5": 1})})

    for options, shown in (([], False), (["--texts"], True)):
        assert run("eval", "run", "hard", "--system", "bm25,grep", *options).code == 0
        page = (tmp_path / "shiyi-eval" / "report.html").read_text("utf-8")
        assert ("四位數的密碼鎖" in page) == shown


def test_python_measures_too(run: Run, small: Path, tmp_path: Path) -> None:
    """The same operations have the same names in Python."""
    del run
    with shiyi.open(tmp_path / "mine", model="none") as memory:
        found = memory.eval_run(small, system=["grep"], out=tmp_path / "out")
        compared = memory.eval_compare(tmp_path / "out", found.files.result)
        held = memory.eval_gate(tmp_path / "out", baseline=tmp_path / "b.json", write=True)

    assert found.rows[0].system == "grep"
    assert compared.cells[0].measures[0].verdict == "no difference shown"
    assert held.passed


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["nosuch"], "There is no set 'nosuch'"),
        (["x" * 300], "There is no set 'xxx"),
        (["{small},nosuch"], "There is no set 'nosuch'"),
        (["{small}", "--system", "bm26"], "system.0: input should be 'hybrid'"),
        (["{small}", "--system", ","], "system: list should have at least 1 item"),
        (["{small}", "--view", "hans"], "There is no view 'hans', only 'main', 'hant'"),
        (["{small}", "--by", "colour"], "by.0: input should be 'category'"),
        (["{small}", "--k", "5,1"], "k: the numbers go up"),
        (["{small}", "--k", "0"], "k.0: input should be greater"),
        (["{small}", "--k", "101"], "k.0: input should be less"),
        (["{small}", "--k", "many"], "k.0: input should be a valid integer"),
        (["{small}", "--budget", "199"], "budget.0: input should be greater than or equal to 200"),
        (["{small}", "--without", "sense"], "There is no part 'sense' to leave out"),
        (["{small}", "{small}"], "Two sets are called small"),
        (["{small}", "--most", "0"], "most: input should be greater"),
        ([], "Missing argument"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(
    options: list[str], sentence: str, run: Run, small: Path
) -> None:
    """One clear sentence, before anything was measured."""
    answer = run("eval", "run", *(option.format(small=small) for option in options))

    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("corpus.jsonl", "", "corpus.jsonl: This holds no documents"),
        ("corpus.jsonl", '{"_id": "d1", "text": "x"}\n{"_id": 2\n', "corpus.jsonl:2: "),
        ("queries.jsonl", "", "queries.jsonl: This holds no queries"),
        ("qrels.tsv", "q1\td99\t1\n", "qrels.tsv:1: There is no document 'd99'"),
        ("queries.hant.jsonl", '{"_id": "q1", "text": "花生"}\n', "This view lacks queries of"),
    ],
)
def test_a_malformed_set_is_named_with_its_place(
    file: str, content: str, sentence: str, run: Run, small: Path
) -> None:
    """File, line and reason; an empty corpus, or a view that lacks queries, counts as malformed."""
    (small / file).write_text(content, "utf-8")

    answer = run("eval", "run", small, *QUICK)

    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_a_view_with_judgements_of_its_own_may_have_half(run: Run, tmp_path: Path) -> None:
    """With its own qrels a view has whatever queries it likes."""
    place = write_set(tmp_path / "set", views={"short": ["q1", "q2"]})
    (place / "qrels.short.tsv").write_text("q1\td1\t1\nq2\td2\t1\n", "utf-8")

    rows = run("eval", "run", place, *QUICK, "--json").json["rows"]

    assert {(row["view"], row["queries"]) for row in rows} == {("main", 5), ("short", 2)}


def test_output_that_cannot_be_written(run: Run, small: Path, tmp_path: Path) -> None:
    """A file in the way, or a place where nothing can be made, is said before anything is run."""
    (tmp_path / "file").write_text("x", "utf-8")

    for out in ("file", "file/below", "/proc/here"):
        answer = run("eval", "run", small, *QUICK, "--out", out)
        assert answer.code == 73, out
        assert "cannot be written" in answer.err
        assert answer.err.count("\n") == 1


def test_settings_of_the_home_hold(run: Run, small: Path, home: Path) -> None:
    """What is measured is the model with its prompts as the home has them."""
    options = ("--system", "dense", "--view", "main", "--json", "--model", "hashing")
    plain = run("eval", "run", small, *options).json["fingerprint"]
    home.mkdir()
    (home / "settings.toml").write_text('query_prompt = "question: "\n', "utf-8")

    assert run("eval", "run", small, *options).json["fingerprint"] != plain
    assert [one.name for one in home.iterdir()] == ["settings.toml"]


def test_without_a_model_it_is_said(run: Run, small: Path) -> None:
    """Figures of a search by meaning that had no model are marked as such."""
    answer = run("eval", "run", small, "--system", "hybrid,dense")

    assert "no embedding model, so hybrid and dense went without meaning" in answer.out


# --- stopping and going on -------------------------------------------------------------


def begun(out: Path) -> int:
    """Return how many answers are kept so far."""
    return sum(file.read_bytes().count(b"\n") for file in out.glob("parts/*/*.jsonl"))


def test_stopped_and_gone_on(run: Run, home: Path, tmp_path: Path) -> None:
    """Ctrl-C in the middle keeps what was answered, and the same command completes it."""
    documents = {f"d{n}": f"第{n}則：今天去了市場，買了 {n} 顆花生。" for n in range(300)}
    queries = {f"q{n}": (f"第{n}則 花生", {f"d{n}": 1}) for n in range(70)}
    many = write_set(tmp_path / "many", documents, queries)
    command = ["eval", "run", many, "--system", "bm25,okapi"]
    stopped = subprocess.Popen(
        [SHIYI, *map(str, command), "--out", "stopped"], cwd=tmp_path,
        env={**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "none"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while begun(tmp_path / "stopped") < 20 and stopped.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    stopped.send_signal(signal.SIGINT)
    _, error = stopped.communicate(timeout=120)
    kept = begun(tmp_path / "stopped")

    assert (stopped.returncode, error.strip()) == (130, f"shiyi: {interrupt.SENTENCE}")
    assert 20 <= kept < 2 * 70
    assert not (tmp_path / "stopped" / "result.json").exists()
    for out in ("stopped", "whole"):
        assert run(*command, "--out", out).code == 0
    results = [(tmp_path / out / "result.json").read_bytes() for out in ("stopped", "whole")]
    assert results[0] == results[1]
    assert begun(tmp_path / "stopped") == begun(tmp_path / "whole") == 2 * 70
    assert not home.exists()


# --- comparing -------------------------------------------------------------------------


@pytest.fixture
def result(run: Run, small: Path) -> Path:
    """A result of two systems."""
    assert run("eval", "run", small, *QUICK, "--out", "out").code == 0
    return Path("out/result.json")


def test_compare_says_when_there_is_no_difference(run: Run, result: Path, home: Path) -> None:
    """A result is no better than itself, and few queries show nothing."""
    answer = run("eval", "compare", result, result.parent)
    assert not home.exists()

    assert answer.code == 0
    assert "small · main: a = bm25, b = bm25, 5 queries" in answer.out
    assert "no difference shown" in answer.out
    assert "better" not in answer.out.replace("lower is better", "")


def test_compare_two_systems_of_one_result(run: Run, result: Path) -> None:
    """With --system the first is taken from a and the second from b."""
    cells = run("eval", "compare", result, result, "--system", "bm25,grep", "--json").json["cells"]

    assert {(one["system_a"], one["system_b"]) for one in cells} == {("bm25", "grep")}


def test_compare_shorter_runs_by_what_they_share(run: Run, small: Path, result: Path) -> None:
    """Queries that only one result has are refused, or left out when asked."""
    run("eval", "run", small, *QUICK, "--most", 2, "--out", "few")

    refused = run("eval", "compare", result, "few")
    shared = run("eval", "compare", result, "few", "--common", "--json")

    assert refused.code == 2
    assert "not the same in both results" in refused.err
    assert shared.json["cells"][0]["queries"] == 2
    assert shared.json["cells"][0]["left_out"] == 3


def test_a_link_to_a_result_is_followed(run: Run, result: Path) -> None:
    """The newest result may have a name of its own."""
    Path("newest.json").symlink_to(result)

    assert run("eval", "compare", result, "newest.json").code == 0


def damaged(result: Path) -> Iterator[tuple[str, str]]:
    """Yield files that are no results, with what is said of them."""
    content = json.loads(result.read_text("utf-8"))
    for name, text, said in (
        ("empty.json", "", "is not a result of `shiyi eval run`"),
        ("torn.json", result.read_text("utf-8")[:-20], "is not a result"),
        ("list.json", "[1]", "is not a result"),
        ("newer.json", json.dumps({**content, "format": 2}), "has format 2; this version reads"),
        ("other.json", json.dumps({"format": 1}), "is not a result"),
        ("endless.json", result.read_text("utf-8").replace("1.0", "NaN"), "that is no number"),
        ("strange.json", json.dumps({**content, "datasets": []}), "does not say what that is"),
    ):
        Path(name).write_text(text, "utf-8")
        yield name, said
    yield "nowhere.json", "cannot be read"
    yield "x" * 300, "cannot be read"
    yield "sets", "cannot be read"


def test_compare_refuses_what_is_no_result(run: Run, result: Path) -> None:
    """One sentence for each, with the name of the file and none of its content."""
    for name, said in damaged(result):
        answer = run("eval", "compare", result, name)
        assert answer.code == 2, name
        assert said in answer.err
        assert answer.err.count("\n") == 1
        assert name in answer.err


# --- the gate --------------------------------------------------------------------------


def test_gate_holds_and_falls(run: Run, result: Path) -> None:
    """What was reached holds itself; a better past does not."""
    wrote = run("eval", "gate", result, "--baseline", "deep/base.json", "--write")
    held = run("eval", "gate", result, "--baseline", "deep/base.json")
    assert wrote.code == held.code == 0
    assert "Wrote " in wrote.out
    assert "Held: " in held.out

    content = json.loads(result.read_text("utf-8"))
    for cell in content["cells"]:
        if cell["system"] == "grep":
            cell["overall"]["measures"]["recall@5"] = 0.25
    Path("worse.json").write_text(json.dumps(content), "utf-8")
    baseline = json.loads(Path("deep/base.json").read_text("utf-8"))
    for cell in baseline["cells"]:
        cell["measures"] = {"recall@5": {"mean": 0.9, "imperfect": {}}}
    Path("deep/base.json").write_text(json.dumps(baseline), "utf-8")

    fell = run("eval", "gate", "worse.json", "--baseline", "deep/base.json")
    assert fell.code == 1
    assert "fell: small / main / grep recall@5 0.9000 → 0.2500 (-0.6500)" in fell.out
    assert "Not held: of 4 means, 2 fell by more than 0.005." in fell.out


def test_gate_runs_what_its_baseline_names(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """Sets are found by name; one that is not here is skipped, unless it must be."""
    other = write_set(small.parent / "other")
    assert run("eval", "run", small, other, "--system", "bm25,grep", "--out", "both").code == 0
    assert run("eval", "gate", "both", "--baseline", "b.json", "--write").code == 0
    monkeypatch.setenv("SHIYI_DATASETS", str(small))

    answer = run("eval", "gate", "--baseline", "b.json", "--out", "again")
    strict = run("eval", "gate", "--baseline", "b.json", "--out", "again", "--strict", "--json")

    assert answer.code == 0, answer
    assert "other: skipped, this set is not here." in answer.out
    assert "Held: " in answer.out
    assert strict.code == 1
    assert strict.json["failures"] == ["other: This set is not here."]
    assert Path("again/report.html").exists()
    assert not home.exists()


def test_gate_notices_a_changed_set(
    run: Run, small: Path, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures on another content are not compared."""
    run("eval", "run", small, "--system", "grep", "--out", "out")
    run("eval", "gate", result, "--baseline", "b.json", "--write")
    with (small / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_id": "d9", "text": "新的"}\n')
    monkeypatch.setenv("SHIYI_DATASETS", str(small))

    answer = run("eval", "gate", "--baseline", "b.json")

    assert answer.code == 1
    assert "The set has changed since the baseline was made" in answer.out


def test_gate_without_what_it_needs(run: Run, result: Path) -> None:
    """A missing baseline, a wrong file, a baseline from nothing: a sentence each."""
    cases = [
        (["--baseline", "nowhere.json"], "cannot be read"),
        (["--baseline", str(result)], "is not a baseline"),
        (["--baseline", "b.json", "--write"], "Name the result"),
        ([], "Missing option '--baseline'"),
    ]
    for options, said in cases:
        answer = run("eval", "gate", *options)
        assert answer.code == 2, options
        assert said in answer.err


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda cell: cell.update(measures={}), 2, "holds no figure"),
        (lambda cell: cell["measures"]["recall@10"].update(mean=float("nan")), 2, "finite number"),
        (lambda cell: cell["measures"].update({f"recall@{'9' * 5000}t": HELD}), 1, "not measure"),
        (lambda cell: cell["measures"].update({"recall@5t": HELD}), 1, "not measure recall@5t"),
        (lambda cell: cell["measures"].update({"recall@101": HELD}), 1, "not measure recall@101"),
    ],
)
def test_a_baseline_changed_by_hand_holds_nothing_by_mistake(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch, change: Any, code: int, said: str
) -> None:
    """What says nothing, or what nobody can measure, never passes."""
    run("eval", "run", small, "--system", "grep", "--view", "main", "--out", "out")
    run("eval", "gate", "out", "--baseline", "b.json", "--write")
    baseline = json.loads(Path("b.json").read_text("utf-8"))
    change(baseline["cells"][0])
    Path("b.json").write_text(json.dumps(baseline), "utf-8")
    monkeypatch.setenv("SHIYI_DATASETS", str(small))

    for given in ((), ("out",)):
        answer = run("eval", "gate", *given, "--baseline", "b.json")
        assert answer.code == code, answer
        assert said in answer.out + answer.err


def test_out_is_no_place_of_somebody_else(run: Run, small: Path, home: Path) -> None:
    """A home of memories, and files that no run wrote, stay as they are."""
    run("init")
    Path("theirs").mkdir()
    Path("theirs/report.html").write_text("mine")

    for out, said in ((home, "a home of memories"), ("theirs", "has a report.html that is not")):
        answer = run("eval", "run", small, *QUICK, "--out", out)
        assert answer.code == 2, answer
        assert said in answer.err
    assert [one.name for one in Path("theirs").iterdir()] == ["report.html"]
    assert not (home / "result.json").exists()


def test_what_cannot_be_kept_is_named(run: Run, small: Path) -> None:
    """A file where a directory belongs: a sentence with the place, which is not the home."""
    Path("out").mkdir()
    Path("out/parts").write_text("")

    answer = run("eval", "run", small, *QUICK, "--out", "out")

    assert answer.code == 73
    assert "out/parts" in answer.err
    assert "cannot be written" in answer.err


# --- judging ---------------------------------------------------------------------------


@pytest.fixture
def asked(home: Path, tmp_path: Path) -> Path:
    """A home with some memories, and a file of queries."""
    with shiyi.open(home) as memory:
        for text in DOCUMENTS.values():
            memory.scope("me").remember(text, words_only=True)
    file = tmp_path / "asked.txt"
    file.write_text("花生過敏\n鑰匙 書架\n", "utf-8")
    return file


def test_label_judges_blind_and_goes_on(run: Run, asked: Path, tmp_path: Path) -> None:
    """One answer a line; what was judged is kept, and not asked again."""
    first = run("eval", "label", asked, "--in", "judged", stdin=b"2\n")
    assert first.code == 0
    assert "Query: 花生過敏" in first.out
    assert DOCUMENTS["d1"] in first.out
    assert "Judged 1 of " in first.out
    assert "bm25" not in first.out

    rest = run(
        "eval", "label", asked, "--in", "judged", "--export", "set", "--texts",
        stdin=b"2\n" * 20,
    )  # fmt: skip
    assert rest.code == 0
    assert "All is judged" in rest.out
    assert "of 2 queries to " in rest.out

    measured = run("eval", "run", "set", "--system", "bm25", "--json")
    assert measured.json["rows"][0]["answerable"] == 2
    assert measured.json["rows"][0]["measures"]["success@5"] == 1.0
    assert (tmp_path / "judged" / "judgements.jsonl").stat().st_mode & 0o777 == 0o600


def test_label_takes_keys_on_a_terminal(asked: Path, home: Path, tmp_path: Path) -> None:
    """On a terminal a key is enough, without a line end; q ends it."""
    terminal, inner = pty.openpty()
    environment = {**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "none"}
    process = subprocess.Popen(
        [SHIYI, "eval", "label", asked, "--in", "judged"], stdin=inner, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment, cwd=tmp_path, text=True,
    )  # fmt: skip
    os.close(inner)
    deadline = time.monotonic() + 120
    while process.poll() is None:  # what is typed before it asks is thrown away
        assert time.monotonic() < deadline
        judged = (tmp_path / "judged" / "judgements.jsonl").exists()
        os.write(terminal, b"q" if judged else b"1")
        time.sleep(0.1)
    out, error = process.communicate()
    os.close(terminal)

    assert (process.returncode, error) == (0, "")
    assert "Judged " in out
    assert "Query: 花生過敏" in out


def test_label_changes_no_memory(run: Run, asked: Path) -> None:
    """The home is read only."""
    before = run("status", "--json").json["last_change"]

    run("eval", "label", asked, "--in", "judged", stdin=b"1\n0\nq\n")

    assert run("status", "--json").json["last_change"] == before


def test_label_takes_what_was_searched_for(run: Run, asked: Path) -> None:
    """The word traces stands for the searches of this scope, each once; the judging leaves none."""
    del asked  # only for the memories that it makes
    none = run("eval", "label", "traces", "--in", "judged", stdin=b"q\n")
    for text in ("花生過敏", "花生過敏", "鑰匙 書架"):
        run("search", text)

    first = run("eval", "label", "traces", "--in", "judged", "--json", stdin=b"1\n")
    again = run("eval", "label", "traces", "--in", "judged", "--json", stdin=b"1\n")

    assert (none.code, first.code) == (1, 0)
    assert "left a trace" in none.err
    assert "花生過敏" in first.err + again.err
    assert (first.json["done"], again.json["done"]) == (1, 2)


def test_label_takes_what_was_typed(run: Run, asked: Path) -> None:
    """A query is given on the command line, alone or beside a file; one of blanks is refused."""
    alone = run("eval", "label", "--query", " 鑰匙 書架 ", "--in", "a", "--json", stdin=b"q\n")
    beside = run("eval", "label", asked, "--query", "宮保雞丁", "--in", "b", "--json", stdin=b"q\n")
    none = run("eval", "label", "--in", "c")

    assert "Query: 鑰匙 書架\n" in alone.err
    assert "Query: 宮保雞丁" in beside.err
    assert beside.json["total"] > alone.json["total"]
    assert (none.code, "--query" in none.err) == (2, True)
    assert run("eval", "label", "--query", " ", "--in", "c").code == 2


def test_label_takes_what_a_person_said_of_answers(run: Run, asked: Path, tmp_path: Path) -> None:
    """What was asked, and beside what is found now the memory that was missed, each once."""
    del asked
    none = run("eval", "label", "feedback", "--in", "judged")
    said = run("remember", "少了那張發票", "--words-only", "--json").json["capture_id"]
    missed = run("list", "--what", "captures", "--json").json["items"][0]["id"]
    trace = run("search", "壽司郎", "--json").json["trace"]
    evidence = json.dumps({"capture": said, "text": "少了"})
    run("feedback", missed, "missed", "--trace", trace, "--evidence", evidence)
    run("feedback", trace, "unclear", "--evidence", evidence)
    run("search", "花生過敏")

    listed = run("trace", "--feedback", "--json").json["traces"]
    shown = run("trace", "--feedback")
    judged = run("eval", "label", "feedback", "--in", "judged", "--json", stdin=b"2\n" * 9)

    assert (none.code, "feedback" in none.err) == (1, True)
    assert [one["text"] for one in listed] == ["壽司郎"]
    assert listed[0]["feedback"] == [
        {"verdict": "missed", "target": missed}, {"verdict": "unclear", "target": trace},
    ]  # fmt: skip
    assert f"missed {missed}" in shown.out
    assert "花生過敏" not in shown.out
    assert "Query: 壽司郎" in judged.err
    kept = (tmp_path / "judged" / "judgements.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["document"] for line in kept].count(missed) == 1
    assert run("trace", trace, "--feedback").code == 2


def test_label_as_json_shows_on_the_other_stream(run: Run, asked: Path) -> None:
    """The answer is one object; what is to be judged goes to standard error."""
    answer = run("eval", "label", asked, "--in", "judged", "--json", stdin=b"1\n")

    assert answer.json["done"] == 1
    assert "Query: " in answer.err


def test_label_without_what_it_needs(run: Run, asked: Path, home: Path) -> None:
    """No such file, no such scope, no model for what was named, a place that cannot be made."""
    assert run("eval", "label", "nowhere.txt", "--in", "j").code == 1
    assert run("eval", "label", asked, "--in", "j", "--scope", "other").code == 1
    assert run("eval", "label", asked, "--in", "j", "--system", "grep").code == 2
    unwritable = run("eval", "label", asked, "--in", "/proc/here")
    assert (unwritable.code, "cannot be written" in unwritable.err) == (73, True)
    nowhere = run("eval", "label", asked, "--in", "j", "--export", "/proc/here", stdin=b"q\n")
    assert (nowhere.code, "/proc/here cannot be written" in nowhere.err) == (73, True)
    taken = run("eval", "label", asked, "--in", "j", "--export", ".", stdin=b"2\n")
    assert (taken.code, "not an empty directory" in taken.err) == (2, True)
    assert "Query: " not in taken.out
    missing = run("eval", "label", asked, "--in", "j", "--home", f"{home}2")
    assert missing.code == 66
    assert not Path(f"{home}2").exists()


# --- what there is ---------------------------------------------------------------------


def test_datasets_are_listed(run: Run, small: Path, home: Path) -> None:
    """The sample is always there; others with their counts, or why they cannot be used."""
    broken = write_set(small.parent / "broken")
    (broken / "qrels.tsv").unlink()

    answer = run("eval", "datasets", small.parent)
    listed = run("eval", "datasets", small.parent, "--json").json["datasets"]

    assert answer.code == 0
    assert [one["name"] for one in listed] == ["sample", "broken", "small"]
    assert listed[2]["views"] == ["main", "hant"]
    assert "qrels.tsv" in listed[1]["problem"]
    assert "main, hans, hant" in answer.out
    assert run("eval", "datasets", "--json").json["datasets"][0]["documents"] == 848
    assert not home.exists()


def test_the_group_says_what_there_is(run: Run) -> None:
    """`shiyi eval` alone helps, as `shiyi` alone does."""
    alone, wrong = run("eval"), run("eval", "frobnicate")

    assert alone.code == wrong.code == 2
    for name in ("run", "compare", "gate", "label", "datasets"):
        assert f"  {name} " in alone.out
    assert "See `shiyi eval --help`" in wrong.err
