"""What a run rests on: budgets, order in time, scopes, and that labels never reach an index."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import UsageError
from shiyi.eval.load import SAMPLE, load_dataset
from shiyi.eval.results import Cell
from shiyi.eval.run import Plan, run
from shiyi.eval.shelf import Shelf
from shiyi.eval.systems import SYSTEMS
from shiyi.models.tokens import get_counter
from shiyi.retrieval.pack import pack
from shiyi.retrieval.results import SearchResult
from shiyi.service.invoke import invoke
from shiyi.service.trial import Trial, open_trial
from tests.eval.sets import write_set

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SCOPE = "set"
OpenTrial = Callable[[], AbstractContextManager[Trial]]


@pytest.fixture
def opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenTrial:
    """How to open a memory with the encoder for tests, and a cache of its own."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    return partial(open_trial, "hashing")


@pytest.fixture
def found(opens: OpenTrial, tmp_path: Path) -> Callable[[Path], dict[str, Cell]]:
    """Have all systems answer a set, and return the main view by system."""

    def answers(directory: Path) -> dict[str, Cell]:
        plan = Plan(systems=tuple(SYSTEMS), by=())
        result, _ = run(
            plan, [load_dataset(directory)], opens, tmp_path / "out", lambda *_: None
        )  # fmt: skip
        return {cell.system: cell for cell in result.cells if cell.view == "main"}

    return answers


# --- budgets ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """The sample archive in a memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHIYI_CACHE", str(tmp_path_factory.mktemp("cache")))
        with open_trial("hashing") as trial:
            Shelf(load_dataset(SAMPLE), trial, together=False).add([])
            trial.index([SCOPE])
            yield trial


@pytest.mark.parametrize(
    "text", ["花生過敏", "瓦片翻修报价", "finger injury while climbing", "㊙㊙"]
)
@pytest.mark.parametrize("channel", ["hybrid", "keyword", "dense"])
def test_a_packed_answer_is_the_answer_for_that_budget(
    text: str, channel: Any, sample: Trial
) -> None:
    """Cutting one unbounded answer to a budget gives what a search with that budget gives."""
    counter = get_counter(sample._session.settings.tokens)
    full = sample.search(SCOPE, text, channel=channel, limit=50, now=NOW)

    for budget in (200, 300, 500, 1000, 2000, 4000, 20_000):
        asked = {
            "text": text, "limit": 50, "budget": budget, "weak": True, "channel": channel,
            "now": NOW.isoformat(),
        }  # fmt: skip
        direct = invoke(sample._session, "search", asked, scope=SCOPE)
        assert isinstance(direct, SearchResult)
        assert pack(full, budget, counter) == direct, budget
        assert counter.count(direct.model_dump_json()) <= budget


# --- order in time ---------------------------------------------------------------------


def others(scope: str | None = None, prefix: str = "f") -> dict[str, Mapping[str, Any]]:
    """Return documents about something else: a word that most documents have counts for little."""
    things = "燈橋船碗鐘傘筆鞋琴鏡梯爐箱帆鼓釘繩杯桌椅門窗瓦磚"
    return {
        f"{prefix}{n}": {"text": f"{thing}子壞了", "metadata": {"scope": scope} if scope else {}}
        for n, thing in enumerate(things)
    }


def seen_by(cell: Cell) -> dict[str, set[str]]:
    """Return what each query found, the documents about something else aside."""
    return {
        query.id: {name for name in query.found if not name.startswith("f")}
        for query in cell.queries
    }


def in_order(numbers: Sequence[int]) -> dict[str, Mapping[str, Any]]:
    return {
        f"d{n}": {
            "text": f"第 {n} 天在市場買了花生 peanuts",
            "metadata": {"seq": n, "session": "s"},
        }
        for n in numbers
    }


def test_a_query_never_sees_what_came_later(found: Any, tmp_path: Path) -> None:
    """A query with an order finds what came before it, all of that, and nothing else."""
    orders = {"q1": 1, "q2": 3, "q3": 7, "q4": 100}
    directory = write_set(
        tmp_path / "set",
        {**in_order(range(1, 13)), **others()},
        {q: ("花生 peanuts", {"d1": 1}) for q in orders},
        metadata={q: {"seq": n} for q, n in orders.items()},
    )  # fmt: skip

    for system, cell in found(directory).items():
        for query, names in seen_by(cell).items():
            seen = {int(name[1:]) for name in names}
            assert all(n < orders[query] for n in seen), (system, query)
            assert seen == {n for n in range(1, 13) if n < orders[query]}, (system, query)


def test_a_query_before_everything_finds_nothing(found: Any, tmp_path: Path) -> None:
    """Before the first document there is nothing, for any system."""
    directory = write_set(
        tmp_path / "set", in_order([4, 5]), {"q": ("花生", {})}, metadata={"q": {"seq": 4}}
    )

    for system, cell in found(directory).items():
        assert (cell.queries[0].found, cell.queries[0].outcome) == ([], "empty"), system


def test_documents_without_order_were_always_there(found: Any, tmp_path: Path) -> None:
    """What has no order is seen by all; a query without order sees everything."""
    always = {"old": {"text": "花生 peanuts 是早就有的"}}
    documents = {**in_order([5]), **others(), **always}
    directory = write_set(
        tmp_path / "set", documents, {q: ("花生 peanuts", {"old": 1}) for q in ("early", "any")},
        metadata={"early": {"seq": 2}},
    )  # fmt: skip

    for system, cell in found(directory).items():
        assert seen_by(cell) == {"early": {"old"}, "any": {"old", "d5"}}, system


# --- scopes ----------------------------------------------------------------------------


def scoped(*names: str) -> dict[str, Mapping[str, Any]]:
    documents: dict[str, Mapping[str, Any]] = {}
    for scope in names:
        documents |= {
            f"{scope}-{n}": {"text": f"{n} 號的花生 peanuts", "metadata": {"scope": scope}}
            for n in (1, 2)
        }
        documents |= others(scope, f"f-{scope}-")
    return documents


def test_a_query_with_a_scope_searches_only_that(found: Any, tmp_path: Path) -> None:
    """Two people's memories do not mix."""
    directory = write_set(
        tmp_path / "set", scoped("anna", "bo"), {q: ("花生 peanuts", {}) for q in ("a", "b")},
        metadata={"a": {"scope": "anna"}, "b": {"scope": "bo"}},
    )  # fmt: skip

    for system, cell in found(directory).items():
        assert seen_by(cell) == {"a": {"anna-1", "anna-2"}, "b": {"bo-1", "bo-2"}}, system


def test_a_query_without_scope_searches_them_all(found: Any, tmp_path: Path) -> None:
    """Over documents with scopes, a query that names none is asked of all together."""
    directory = write_set(
        tmp_path / "set", scoped("anna", "bo"), {"all": ("花生 peanuts", {"bo-1": 1})}
    )  # fmt: skip

    for system, cell in found(directory).items():
        assert seen_by(cell) == {"all": {"anna-1", "anna-2", "bo-1", "bo-2"}}, system
        assert cell.queries[0].measures["recall@5"] == 1.0


def test_queries_with_and_without_a_scope_stand_in_one_view(found: Any, tmp_path: Path) -> None:
    """Each is asked where it belongs, whatever the others of its view do."""
    directory = write_set(
        tmp_path / "set", scoped("anna", "bo"),
        {q: ("花生 peanuts", {}) for q in ("a", "all", "nobody")},
        metadata={"a": {"scope": "anna"}, "nobody": {"scope": "eve"}},
    )  # fmt: skip

    for system, cell in found(directory).items():
        assert seen_by(cell) == {
            "a": {"anna-1", "anna-2"},
            "all": {"anna-1", "anna-2", "bo-1", "bo-2"},
            "nobody": set(),
        }, system


def test_an_unknown_scope_is_not_the_documents_without_one(found: Any, tmp_path: Path) -> None:
    """A query whose scope has no documents finds nothing."""
    loose = {"d1": "花生 peanuts", "d2": "另外的花生 peanuts"}
    directory = write_set(
        tmp_path / "set", {**scoped("anna"), **loose}, {"nobody": ("花生 peanuts", {})},
        metadata={"nobody": {"scope": "eve"}},
    )  # fmt: skip

    for system, cell in found(directory).items():
        assert seen_by(cell) == {"nobody": set()}, system


def test_an_archive_has_scopes_too(found: Any, tmp_path: Path) -> None:
    """Its lines go into the scopes that they name, or all into one for queries without."""
    directory = write_set(
        tmp_path / "set", {"unused": "x"}, {q: ("花生 peanuts", {}) for q in ("a", "all")},
        metadata={"a": {"scope": "anna / 家"}},
    )  # fmt: skip
    (directory / "corpus.jsonl").unlink()
    captures = [
        {"type": "capture", "id": name, "text": f"{name} 的花生 peanuts", "scope": scope}
        for name, scope in (("c1", "anna / 家"), ("c2", "bo"), ("c3", None))
    ]
    filler = [
        {"type": "capture", "id": name, **one, "scope": scope}
        for scope in ("anna / 家", "bo")
        for name, one in others(prefix=f"f-{scope[0]}-").items()
    ]
    lines = (json.dumps(one, ensure_ascii=False) for one in [*captures, *filler])
    content = "\ufeff" + "\n\n".join(lines)
    (directory / "captures.jsonl").write_text(content, "utf-8")

    for system, cell in found(directory).items():
        assert seen_by(cell) == {"a": {"c1"}, "all": {"c1", "c2", "c3"}}, system


def test_one_id_in_two_scopes_is_refused_where_all_are_searched(found: Any, tmp_path: Path) -> None:
    """A judgement could mean either."""
    documents = {"d1": {"text": "花生", "metadata": {"scope": "anna"}}}
    directory = write_set(tmp_path / "set", documents, {"q": ("花生", {})})
    with (directory / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d1", "text": "b", "metadata": {"scope": "bo"}}\n')

    with pytest.raises(UsageError, match="set: The id 'd1' stands in two scopes"):
        found(directory)


# --- what an index sees ----------------------------------------------------------------


def test_labels_and_speakers_are_not_searched(found: Any, tmp_path: Path) -> None:
    """What stands beside a text, such as an answer or who spoke, finds nothing by its words."""
    beside = {
        "answer": "zweihander", "category": "quodlibet", "keywords": ["xylophone"],
        "speaker": "Wilhelmina", "session": "vestibule", "note": {"deep": "marzipan"},
    }  # fmt: skip
    words = ("zweihander", "quodlibet", "xylophone", "Wilhelmina", "vestibule", "marzipan")
    directory = write_set(
        tmp_path / "set", {"d1": {"text": "今天買了花生", "metadata": beside}},
        {**{word: (word, {}) for word in words}, "control": ("花生", {"d1": 1})},
    )  # fmt: skip

    cells = found(directory)

    for system in ("bm25", "grep", "okapi"):
        answered = {query.id: query.found for query in cells[system].queries}
        assert answered.pop("control") == ["d1"] or system == "okapi"  # one document has no idf
        assert set(answered) == set(words)
        assert not any(answered.values()), system
