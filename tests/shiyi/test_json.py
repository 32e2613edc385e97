"""--json: one object on standard output, whatever happens."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.retrieval.packing import Budgeted
from shiyi.service import responses
from shiyi.service.table.operations import OPERATIONS, Operation
from tests.eval.results_builder import build_result
from tests.eval.sets import write_set

Run = Callable[..., Any]
ARGUMENTS: dict[str, list[str]] = {
    "remember": ["甲"],
    "preflight": ["甲", "--turn", "t"],
    "capture": ["丁", "--turn", "judged"],
    "capture-attachment": ["{source}", "--turn", "judged"],
    "finalize": ["{capture}", "derived"],
    "timeline": ["judged"],
    "import": ["{source}"],
    "search": ["甲"],
    "absence": ["甲"],
    "show": ["{record}"],
    "edit": ["{record}", "--title", "乙"],
    "routing": ["甲"],
    "probe": ["甲"],
    "deep": ["甲"],
    "add-record": ["--kind", "fact", "--gist", "乙", "--summary-only"],
    "link": ["{record}", "about", "{other}"],
    "supersede": ["{record}", "{other}", "--reason", "乙"],
    "contradict": ["{record}", "{other}", "--reason", "乙"],
    "footprint": ["跑步"],
    "feedback": ["{record}", "helpful", "--evidence", '{{"capture": "{capture}"}}'],
    "followup close": ["{followup}", "answered", "--note", "乙"],
    "entity merge": ["{entity}", "{entity2}"],
    "entity split": ["{entity}"],
    "archive": ["{record}"],
    "origins": ["{record}"],
    "token revoke": ["t"],
    "export": ["{new}"],
    "purge": ["{record}", "--confirm"],
    "undo": ["--to", "1"],
    "restore": ["{backup}", "--into", "{new}"],
    "eval run": ["{set}", "--system", "grep", "--out", "{new}"],
    "eval compare": ["{result}", "{result}"],
    "eval gate": ["{result}", "--baseline", "{new}", "--write"],
    "eval label": ["{texts}", "--in", "{new}"],
    "calibrate": ["--passages", "{texts}", "--queries", "{texts}", "--model", "hashing"],
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A home with a little of everything, made once to be copied, and what is in and beside it."""
    place = tmp_path_factory.mktemp("world")
    (place / "a.md").write_text("一段筆記", "utf-8")
    (place / "texts").write_text("\n".join(f"第{n}句 words {n}" for n in range(50)), "utf-8")
    result = build_result({"a": ["main"]}, queries=4)
    (place / "result.json").write_text(result.model_dump_json(), "utf-8")
    with shiyi.open(place / "home", model="none") as memory:
        me = memory.scope("me")
        names = {
            "record": me.remember("甲").record_id, "other": me.remember("丙").record_id,
            "followup": me.remember("問", kind="followup").record_id,
            "entity": me.remember("戊", kind="entity").record_id,
            "entity2": me.remember("己", kind="entity").record_id,
            "capture": me.remember("丁").capture_id,
            "source": place / "a.md", "texts": place / "texts", "set": write_set(place / "set"),
            "result": place / "result.json", "backup": place / "backup",
        }  # fmt: skip
        memory.token_create(name="t")
        memory.backup(str(place / "backup"))
        me.preflight("丁", turn="judged")
    return place / "home", names


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_command_answers_with_one_object(
    operation: Operation,
    run: Run,
    home: Path,
    world: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is printed is the response model and nothing else."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    shutil.copytree(world[0], home)
    names = {**world[1], "new": tmp_path / "new"}
    rest = [word.format(**names) for word in ARGUMENTS.get(operation.name, [])]
    words = [*operation.name.split(" "), *rest]

    answer = run(*words, "--json")

    assert answer.err == "" or operation.name == "eval label"  # what is to be judged
    model = getattr(responses, operation.response)
    if issubclass(model, Budgeted):  # what was budgeted is printed as it is, an item a line
        assert answer.json["outcome"] in {"found", "empty"}
        assert answer.json["tokens"] > 0
    else:
        assert answer.out.count("\n") == 1
        assert model.model_validate_json(answer.out)


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["frobnicate"], "usage", 2),
        (["search"], "usage", 2),
        (["search", "x", "--frob"], "usage", 2),
        (["search", "x", "--limit", "many"], "usage", 2),
        (["search", "x", "--kind", "poem"], "usage", 2),
        (["search", "x", "--limit", "0"], "usage", 2),
        (["remember", " "], "usage", 2),
        (["show", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"], "not_found", 1),
        (["import", "nowhere"], "usage", 2),
        (["--scope", "a/b", "list"], "usage", 2),
    ],
)
def test_errors_are_one_object(
    arguments: list[str], code: str, exit_code: int, run: Run, kept: Run
) -> None:
    """An error has a code and a sentence, on standard output where the caller reads."""
    kept("甲")

    answer = run(*arguments, "--json")

    assert answer.code == exit_code
    assert answer.err == ""
    error = json.loads(answer.out)["error"]
    assert error["code"] == code
    assert error["outcome"] is None  # nothing was asked
    assert error["message"].endswith((".", "`"))


def test_no_home_is_an_object_too(run: Run) -> None:
    """A home that is not there is not made by reading."""
    answer = run("list", "--json")

    assert answer.code == 66
    assert answer.json["error"]["code"] == "home"
    assert answer.json["error"]["outcome"] == "failed"
    assert "shiyi init" in answer.json["error"]["message"]


def test_words_that_look_like_the_option_are_words(run: Run) -> None:
    """After `--` everything is text: the error is then for people."""
    answer = run("search", "--", "--json")

    assert answer.err.startswith("shiyi: ")
    assert answer.out == ""
