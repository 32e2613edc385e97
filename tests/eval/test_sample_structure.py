"""The structure of the sample: its own fields, its links, and words that stand where they say."""

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.core.dates import parse_day_range
from shiyi.store.kinds import RELATIONS
from shiyi.store.shapes import check_attrs, references_of
from shiyi.store.shapes.persons import STATE_BLOCKS

FOLDER = Path(__file__).resolve().parents[2] / "eval" / "data" / "sample"
LEAST = {"facet": 15, "state": 12, "hypothesis": 8, "followup": 15, "entity": 20}
TODAY = date(2026, 11, 30)
SHORTEST_SECRET = 12  # a quote shorter than this may stand in a text by chance


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def captures() -> dict[str, str]:
    return {row["id"]: row["text"] for row in rows("captures.jsonl")}


@pytest.fixture(scope="module")
def older() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows("records.jsonl")}


@pytest.fixture(scope="module")
def added() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows("structure.jsonl") if row["type"] == "record"}


@pytest.fixture(scope="module")
def links() -> list[dict[str, Any]]:
    return [row for row in rows("structure.jsonl") if row["type"] == "link"]


def test_there_is_enough_of_each_kind(added: dict[str, dict[str, Any]]) -> None:
    """Facets, states, guesses, follow-ups, and what serves as a door; all of the layer core."""
    counts = Counter(row["kind"] for row in added.values())

    assert all(counts[kind] >= least for kind, least in LEAST.items())
    assert {row["layer"] for row in added.values()} == {"core"}
    assert all(row["aliases"] for row in added.values() if row["kind"] == "entity")
    assert max(row["salience"] for row in added.values()) <= 40


def test_each_fits_its_kind(
    added: dict[str, dict[str, Any]], older: dict[str, dict[str, Any]]
) -> None:
    """Attrs fit, entities, states and follow-ups are whole, and what attrs name is there."""
    known = added.keys() | older.keys()
    for row in added.values():
        check_attrs(row["kind"], row["attrs"], whole=row["kind"] in {"entity", "state", "followup"})
        for ids in references_of(row["kind"], row["attrs"]).values():
            assert set(ids) <= known, row["id"]


def test_ids_are_new_and_links_resolve(
    added: dict[str, dict[str, Any]],
    older: dict[str, dict[str, Any]],
    links: list[dict[str, Any]],
) -> None:
    """Each link stands once between two records that are there; mentions lead to entities."""
    assert not added.keys() & older.keys()
    every = {**older, **added}
    edges = [(one["src"], one["rel"], one["dst"]) for one in links]
    assert len(set(edges)) == len(edges)
    for src, rel, dst in edges:
        assert src in every, src
        assert dst in every, dst
        assert rel in RELATIONS
        wanted = {"mentions": "entity", "member_of": "facet"}.get(rel)
        assert wanted in {None, every[dst]["kind"]}, (src, rel, dst)
    assert Counter(rel for _, rel, _ in edges)["mentions"] >= 250
    assert {"member_of", "about", "supports", "contradicts", "alternative_to", "precedes"} <= {
        rel for _, rel, _ in edges
    }


def test_quotes_are_exact(added: dict[str, dict[str, Any]], captures: dict[str, str]) -> None:
    """Each quote stands in its capture word for word."""
    for row in added.values():
        for quote in row.get("quotes", []):
            assert quote["text"] in captures[quote["capture"]], row["id"]


def test_what_precedes_is_earlier(
    older: dict[str, dict[str, Any]], links: list[dict[str, Any]]
) -> None:
    """Of two dated records, the one that precedes does not begin later."""
    for one in links:
        if one["rel"] == "precedes":
            first, then = (
                older[one[end]].get("date") or older[one[end]].get("date_start")
                for end in ("src", "dst")
            )
            if first and then:
                assert parse_day_range(first).start <= parse_day_range(then).end, one


def test_states_form_chains_in_every_block(added: dict[str, dict[str, Any]]) -> None:
    """One state of a block holds at a time; what it replaced came before and is superseded."""
    states = {id_: row for id_, row in added.items() if row["kind"] == "state"}
    for row in states.values():
        for old in row.get("supersedes", []):
            before = states[old]
            assert before["status"] == "superseded"
            assert before["date"] < row["date"]
            assert before["attrs"]["of"] == row["attrs"]["of"]
    own = [row["attrs"]["block"] for row in states.values()
           if row["attrs"]["of"] == "self" and "status" not in row]  # fmt: skip
    assert sorted(own) == sorted(STATE_BLOCKS)


def test_followups_stand_in_every_state(added: dict[str, dict[str, Any]]) -> None:
    """Some are due soon, some overdue, some wait for an occasion, some are over."""
    found = [row["attrs"] for row in added.values() if row["kind"] == "followup"]
    still = [attrs for attrs in found if attrs["state"] == "open"]
    days = [parse_day_range(attrs["due"]).start - TODAY for attrs in still if "due" in attrs]

    assert {attrs["state"] for attrs in found} == {"open", "answered", "declined", "resolved"}
    assert any(0 <= left.days <= 3 for left in days)
    assert any(left.days < 0 for left in days)
    assert any(left.days > 3 for left in days)
    assert any("rule" in attrs for attrs in still)


def test_nothing_is_copied_from_the_labelled_questions(added: dict[str, dict[str, Any]]) -> None:
    """No text of the structure repeats a labelled query or remark."""
    asked = [row["text"] for name in ("queries.jsonl", "associations.jsonl") for row in rows(name)]
    for row in added.values():
        said = [row["title"], row["gist"], *map(str, row["attrs"].values())]
        for question in asked:
            assert not any(
                question in text or (len(text) >= SHORTEST_SECRET and text in question)
                for text in said
            ), (row["id"], question)


def test_an_import_takes_it_in(tmp_path: Path, links: list[dict[str, Any]]) -> None:
    """The folder is read with its structure, and names in attrs become ids."""
    with shiyi.open(tmp_path / "home", model="none") as memory:
        me = memory.scope("me")
        report = me.import_(FOLDER, allow_secret=True)  # it has a made-up Wi-Fi password
        assert (report.failed, report.links) == (0, len(links))
        facet = me.show("f01").record
        grandmother = me.show("r0001").record
        assert facet is not None
        assert grandmother is not None
        assert grandmother.record_id in facet.attrs["entities"]
