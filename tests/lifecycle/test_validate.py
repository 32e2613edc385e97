"""Validate names what does not fit, each fault by its own check."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.lifecycle.edit import edit
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.validate import validate, verdict
from shiyi.lifecycle.write import Words
from shiyi.store import Link, Store, Transaction
from tests.lifecycle.test_backup import attach


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "home", create=True) as opened:
        for text in ("甲👍甲", "乙", "丙"):
            edit(opened, "me", remember(opened, "me", Words(text=text), {})["record_id"],
                 {"salience": 60})  # fmt: skip
        attach(opened, b"picture")
        yield opened


def faults(store: Store, **how: Any) -> dict[str, str]:
    return {f.name: f.state for f in validate(store, **how) if f.state != "ok"}


def ids(store: Store) -> list[str]:
    return [head.record_id for head in store.iterate_heads("me")]


def tie(store: Store, src: str, rel: str, dst: str, start: int = -1, end: int = -1) -> None:
    def add(transaction: Transaction) -> dict[str, Any]:
        made = Link(scope="me", src=src, rel=rel, dst=dst, span_start=start, span_end=end)
        return {"added": transaction.add_links([made])}

    store.write("me", add)


def circle(store: Store) -> None:
    one, two, three = ids(store)
    for src, dst in ((one, two), (two, three), (three, one)):
        tie(store, src, "supersedes", dst)


def redirects(store: Store) -> None:
    """Let two records be entities that stand for each other, as no merge makes them."""
    one, two, _ = ids(store)
    for id_, other in ((one, two), (two, one)):
        query = "UPDATE records SET kind = 'entity', attrs = ? WHERE record_id = ? AND version = 2"
        store._database.rows(query, [f'{{"redirects_to":"{other}"}}', id_])


def run(statement: str) -> Callable[[Store], Any]:
    return lambda store: store._database.rows(statement)


FAULTS: dict[str, tuple[Callable[[Store], Any], dict[str, str]]] = {
    "other words": (run("UPDATE captures SET text = '丁' WHERE text = '乙'"), {"words": "failed"}),
    "a lost capture": (
        run("DELETE FROM captures WHERE text = '乙'"), {"rows": "failed", "links": "failed"},
    ),
    "a lost version": (
        run("DELETE FROM records WHERE version = 1 AND gist = '乙'"),
        {"rows": "failed", "versions": "failed"},
    ),
    "a lost change": (run("DELETE FROM changes WHERE seq = 5"), {"changes": "failed"}),
    "a change twice": (run("UPDATE changes SET seq = 4 WHERE seq = 5"), {"changes": "failed"}),
    "a link to nothing": (
        lambda store: tie(store, ids(store)[0], "about", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        {"links": "warning"},
    ),
    "a circle": (circle, {"chains": "failed"}),
    "a circle of redirects": (redirects, {"chains": "failed"}),
    "a span too long": (
        run("UPDATE links SET span_end = 4 WHERE span_end = 3"), {"spans": "failed"},
    ),
    "a span backwards": (
        run("UPDATE links SET span_start = 2, span_end = 1 WHERE span_end = 3"),
        {"spans": "failed"},
    ),
    "no bytes": (
        lambda store: next((store.home / "attachments").glob("*/*")).unlink(),
        {"attachments": "failed"},
    ),
    "other bytes": (
        lambda store: next((store.home / "attachments").glob("*/*")).write_bytes(b"pictura"),
        {"attachments": "failed"},
    ),
    "stray bytes": (
        lambda store: (store.home / "attachments" / "stray").touch(), {"attachments": "warning"},
    ),
    "a purge begun": (lambda store: store.keep_note("purge_pending", "{}"), {"purge": "failed"}),
    "risen": (
        run("INSERT INTO tombstones SELECT scope, capture_id, 'capture', recorded_at FROM captures "
            "LIMIT 1"),
        {"purged": "failed"},
    ),
}  # fmt: skip


def test_a_sound_home_is_clean(store: Store) -> None:
    assert faults(store) == {}
    assert verdict(validate(store, require_closed=True)) == "clean"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(store: Store, fault: str) -> None:
    """Each fault is found by the check made for it, and only by those that it concerns."""
    act, expected = FAULTS[fault]
    act(store)

    assert faults(store) == expected
    assert verdict(validate(store)) == ("warnings" if "warning" in expected.values() else "failed")


TANGLES: dict[str, tuple[list[tuple[int, int]], set[str]]] = {
    "two apart": ([(0, 1), (1, 0), (2, 3), (3, 4), (4, 2)], {"01", "234"}),
    "two that share a record": ([(0, 1), (1, 0), (1, 2), (2, 1)], {"01", "12"}),
    "two that share a link": ([(0, 1), (1, 2), (2, 0), (0, 2)], {"012", "02"}),
    "itself": ([(0, 0), (0, 1), (3, 3)], {"0", "3"}),
    "one after another": ([(0, 1), (1, 0), (1, 2), (2, 3), (3, 2)], {"01", "23"}),
}


@pytest.mark.parametrize("tangle", TANGLES)
def test_every_circle_is_named_once(store: Store, tangle: str) -> None:
    """Of each relation, whatever the circles have in common."""
    for text in "丁戊":
        remember(store, "me", Words(text=text), {})
    records, (steps, expected) = ids(store), TANGLES[tangle]
    for rel in ("supersedes", "merged_into"):
        for src, dst in steps:
            tie(store, records[src], rel, records[dst])

    found = [f.detail for f in validate(store) if f.name == "chains"]

    numbers = {id_: f"{number}" for number, id_ in enumerate(records)}
    named = [
        (rel, "".join(sorted(numbers[id_] for id_ in ids_.rstrip(".").split(", "))))
        for rel, ids_ in (one.removeprefix("A circle of ").split(": ") for one in found)
    ]
    assert sorted(named) == sorted(
        (rel, circle) for rel in ("supersedes", "merged_into") for circle in expected
    )


def test_a_great_tangle_is_named_in_part(store: Store) -> None:
    """Where each leads to each other one, some are named, and that there are more."""
    for number in range(13):
        remember(store, "me", Words(text=f"{number}"), {})
    for src in ids(store):
        for dst in ids(store):
            tie(store, src, "supersedes", dst)

    found = [f.detail for f in validate(store) if f.name == "chains"]

    assert len(set(found)) == len(found) == 101
    assert found[-1].startswith("More circles of supersedes among ")


def test_a_lost_tail_is_named(store: Store, tmp_path: Path) -> None:
    """What the watermark knows and the database does not is said in numbers."""
    store.close()
    last = 9
    log = tmp_path / "home" / "shiyi.duckdb.wal"
    assert not log.exists(), "closing emptied it"
    (tmp_path / "home" / "watermark").unlink()
    with Store(tmp_path / "home") as again:
        again._watermark.write(again.last_seq + last)
    with Store(tmp_path / "home") as again:
        found = [f.detail for f in validate(again) if f.name == "changes"]
        remember(again, "me", Words(text="later"), {})
        later = [f.detail for f in validate(again) if f.name == "changes"]

    assert found == later, "what is written afterwards hides nothing and adds nothing"
    assert len(found) == 1
    assert "are missing" in found[0]


def test_messages_hold_no_words(store: Store) -> None:
    for name in ("other words", "a lost version", "a circle", "a span too long", "no bytes"):
        FAULTS[name][0](store)
    assert not any(word in f.detail for f in validate(store) for word in "甲乙丙")
