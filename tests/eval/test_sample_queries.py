"""The labelled queries of the sample archive keep their form: whole, resolvable, halved, honest."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from shiyi.indexer.analyze import terms

FOLDER = Path(__file__).resolve().parents[2] / "eval" / "data" / "sample"
KINDS = frozenset(
    {"name-number", "paraphrase", "other-script", "wording", "alias", "time", "several"}
    | {"current", "cross-language", "typo", "remark", "none"}
)
HALVES = ("tune", "confirm")
LANGUAGES = frozenset({"zh-Hans", "zh-Hant", "mixed", "en"})
VIEWS = ("hant", "hans")
LEAST, LEAST_OF_A_KIND, LEAST_OF_A_HALF = 250, 20, 9
LEAST_OF_FOREIGN_SUBJECTS = 15
COMMON = 1 / 20  # of the documents; a term in more than that carries no content
HAN = re.compile(r"[\u4e00-\u9fff]")
OF_BOTH_SCRIPTS = frozenset("糬着")  # in one old national set only, and written in both scripts

Rows = list[dict[str, Any]]
Grades = dict[str, dict[str, int]]


def rows(name: str) -> Rows:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def queries() -> Rows:
    return rows("queries.jsonl")


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for name in ("captures", "records") for row in rows(f"{name}.jsonl")}


@pytest.fixture(scope="module")
def grades() -> Grades:
    header, *lines = (FOLDER / "qrels.tsv").read_text("utf-8").splitlines()
    assert header.split("\t") == ["query-id", "corpus-id", "score"]
    found: Grades = defaultdict(dict)
    for line in lines:
        query, document, grade = line.split("\t")
        assert document not in found[query], f"{query} grades {document} twice"
        found[query][document] = int(grade)
    return dict(found)


def of_kind(queries: Rows, kind: str) -> Rows:
    return [query for query in queries if query["metadata"]["category"] == kind]


def text_of(row: dict[str, Any]) -> str:
    if row["type"] == "capture":
        return str(row["text"])
    parts = [row["title"], row["gist"], row.get("detail", ""), *row.get("aliases", [])]
    return " ".join(parts)


def known_on(row: dict[str, Any]) -> date:
    """Return a day on which a document was known; the start of time for one without a date."""
    text = row.get("captured_at") or row.get("date") or row.get("date_start") or "0001"
    return date.fromisoformat((text[:10] + "-01-01")[:10])


def encodable(character: str, codec: str) -> bool:
    try:
        character.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def scripts(text: str) -> set[str]:
    """Return the scripts of the characters that only one of the two old national sets knows."""
    found = set()
    for character in set(HAN.findall(text)) - OF_BOTH_SCRIPTS:
        traditional, simplified = encodable(character, "big5"), encodable(character, "gb2312")
        if traditional != simplified:
            found.add("zh-Hant" if traditional else "zh-Hans")
    return found


def test_queries_are_many_whole_and_different(queries: Rows) -> None:
    assert len(queries) >= LEAST
    assert len({query["_id"] for query in queries}) == len(queries)
    assert len({query["text"] for query in queries}) == len(queries)
    for query in queries:
        metadata = query["metadata"]
        assert re.fullmatch(r"q\d{3}", query["_id"])
        assert query["text"].strip() == query["text"] != ""
        assert metadata["category"] in KINDS
        assert metadata["lang"] in LANGUAGES
        assert date.fromisoformat(metadata["date"]) <= date(2026, 11, 30)


def test_half_follows_from_the_id(queries: Rows) -> None:
    for query in queries:
        odd = int(hashlib.sha256(query["_id"].encode()).hexdigest(), 16) % 2
        assert query["metadata"]["half"] == HALVES[odd], query["_id"]


def test_every_kind_has_enough_in_each_half(queries: Rows) -> None:
    kinds = Counter(query["metadata"]["category"] for query in queries)
    cells = Counter((q["metadata"]["category"], q["metadata"]["half"]) for q in queries)
    assert kinds.keys() == KINDS
    assert min(kinds.values()) >= LEAST_OF_A_KIND
    assert min(cells[kind, half] for kind in KINDS for half in HALVES) >= LEAST_OF_A_HALF


def test_language_is_what_the_characters_say(queries: Rows) -> None:
    for query in queries:
        found, told = scripts(query["text"]), query["metadata"]["lang"]
        assert (told == "en") == (not HAN.search(query["text"])), query
        if len(found) == 2:
            assert told == "mixed", query
        elif found and told != "mixed":
            assert told in found, query


def test_every_label_resolves(
    queries: Rows, grades: Grades, documents: dict[str, dict[str, Any]]
) -> None:
    assert grades.keys() <= {query["_id"] for query in queries}
    for given in grades.values():
        assert given.keys() <= documents.keys()
        assert set(given.values()) <= {1, 2}
        # what is superseded or archived is not searched, and cannot be asked for
        assert all(documents[one].get("status", "active") == "active" for one in given)


def test_only_the_unanswerable_have_no_answer(queries: Rows, grades: Grades) -> None:
    for query in queries:
        given = grades.get(query["_id"], {})
        if query["metadata"]["category"] == "none":
            assert not given, query
        else:
            assert 2 in given.values(), query


def test_unanswerable_queries_say_what_is_missing(queries: Rows) -> None:
    missing = Counter(q["metadata"].get("missing") for q in of_kind(queries, "none"))
    assert missing.keys() == {"subject", "fact"}
    assert missing["subject"] >= LEAST_OF_FOREIGN_SUBJECTS
    others = (query for query in queries if query["metadata"]["category"] != "none")
    assert not any("missing" in query["metadata"] for query in others)


def test_queries_for_several_need_several(queries: Rows, grades: Grades) -> None:
    for query in of_kind(queries, "several"):
        assert list(grades[query["_id"]].values()).count(2) >= 2, query


def test_no_answer_comes_after_the_question(
    queries: Rows, grades: Grades, documents: dict[str, dict[str, Any]]
) -> None:
    for query in queries:
        now = date.fromisoformat(query["metadata"]["date"])
        for one in grades.get(query["_id"], {}):
            assert known_on(documents[one]) <= now, (query["_id"], one)


def test_superseded_is_superseded_or_older(
    queries: Rows, grades: Grades, documents: dict[str, dict[str, Any]]
) -> None:
    for query in queries:
        old = query["metadata"].get("superseded", [])
        assert bool(old) == (query["metadata"]["category"] == "current"), query
        given = grades.get(query["_id"], {})
        assert not given.keys() & set(old), query
        latest = max((known_on(documents[one]) for one in given), default=date.max)
        for one in old:
            row = documents[one]
            replaced = row.get("status") == "superseded"
            assert replaced or known_on(row) <= latest, (query["_id"], one)


def test_other_script_is_the_other_script(
    queries: Rows, grades: Grades, documents: dict[str, dict[str, Any]]
) -> None:
    for query in of_kind(queries, "other-script"):
        own = scripts(query["text"])
        answers = [one for one, grade in grades[query["_id"]].items() if grade == 2]
        assert len(own) == 1, query
        found = [scripts(text_of(documents[one])) for one in answers]
        assert any(one - own for one in found), query
        assert not any(one and one <= own for one in found if len(answers) == 1), query


def test_paraphrases_share_no_content_with_their_answers(
    queries: Rows, grades: Grades, documents: dict[str, dict[str, Any]]
) -> None:
    words = {one: set(terms(text_of(row))) for one, row in documents.items()}
    spread = Counter(term for own in words.values() for term in own)
    for query in of_kind(queries, "paraphrase"):
        asked = {one for one in terms(query["text"]) if spread[one] <= COMMON * len(documents)}
        for one, grade in grades[query["_id"]].items():
            assert grade < 2 or not asked & words[one], (query["_id"], one, asked & words[one])


def test_cross_language_asks_in_english_about_chinese(
    queries: Rows, grades: Grades, documents: dict[str, dict[str, Any]]
) -> None:
    for query in of_kind(queries, "cross-language"):
        assert query["metadata"]["lang"] == "en"
        answers = [one for one, grade in grades[query["_id"]].items() if grade == 2]
        assert any(HAN.search(text_of(documents[one])) for one in answers), query


def test_no_query_repeats_its_answer(
    queries: Rows, grades: Grades, documents: dict[str, dict[str, Any]]
) -> None:
    for query in queries:
        if query["metadata"]["category"] == "name-number":
            continue
        for one in grades.get(query["_id"], {}):
            assert query["text"] not in text_of(documents[one]), (query["_id"], one)


@pytest.mark.parametrize("view", VIEWS)
def test_views_have_the_same_queries(view: str, queries: Rows) -> None:
    viewed = rows(f"queries.{view}.jsonl")
    told = [(query["_id"], query["metadata"]) for query in queries]
    assert [(query["_id"], query["metadata"]) for query in viewed] == told
    for query, other in zip(queries, viewed, strict=True):
        if query["metadata"]["lang"] == "en":
            assert other["text"] == query["text"]
        other_script = "zh-Hans" if view == "hant" else "zh-Hant"
        assert other_script not in scripts(other["text"]), other


def test_associations_resolve(documents: dict[str, dict[str, Any]]) -> None:
    associations = rows("associations.jsonl")
    assert len(associations) >= 30
    assert len({one["_id"] for one in associations}) == len(associations)
    words = {one: set(terms(text_of(row))) for one, row in documents.items()}
    spread = Counter(term for own in words.values() for term in own)
    for one in associations:
        assert re.fullmatch(r"a\d{3}", one["_id"])
        assert one["path"].strip()
        assert one["answers"]
        asked = {term for term in terms(one["text"]) if spread[term] <= COMMON * len(documents)}
        for answer in one["answers"]:
            assert documents[answer].get("status", "active") == "active"
            assert not asked & words[answer], (one["_id"], answer, asked & words[answer])
