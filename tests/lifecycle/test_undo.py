"""Undo: records as they stood, by new versions; and back again."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.core.ids import derived_id
from shiyi.lifecycle.correct import supersede
from shiyi.lifecycle.edit import edit
from shiyi.lifecycle.relate import link
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.undo import moment_of, undo
from shiyi.lifecycle.validate import validate, verdict
from shiyi.lifecycle.write import Words
from shiyi.models.encoder import Encoder
from shiyi.store import Record, Store
from tests.conftest import Memory
from tests.examples import few

Statement = tuple[Any, ...]


def statements(store: Store, ids: list[str] | None = None) -> dict[str, Statement]:
    """Return what each record says; times, versions and reasons are not what it says."""
    found = {}
    for head in store.iterate_heads("me"):
        if ids is None or head.record_id in ids:
            found[head.record_id] = said(head)
    return found


def said(head: Record) -> Statement:
    apart = {"version", "updated_at", "reason"}
    return tuple(
        str(getattr(head, name)) for name in Record.__dataclass_fields__ if name not in apart
    )


def links(store: Store, ids: list[str]) -> set[Statement]:
    return {
        (k.src, k.rel, k.dst, k.span_start, k.span_end, str(k.attrs))
        for k in store.iterate_links("me")
        if k.src in ids or k.dst in ids
    }


@pytest.fixture(name="memory")
def memory_fixture(make_memory: Callable[..., Memory], hashing: Callable[[], Encoder]) -> Memory:
    return make_memory(hashing)


def test_records_say_what_they_said(memory: Memory) -> None:
    """Edited, superseded and linked since: all is as then; what came since is archived."""
    store = memory.store
    one, two = memory.say("我住在台南")["record_id"], memory.say("我養貓")["record_id"]
    edit(store, "me", one, {"salience": 70})
    then, tied, moment = statements(store), links(store, [one, two]), store.last_seq
    edit(store, "me", one, {"gist": "我住在高雄", "topics": ["家"], "date": "2021"})
    link(store, "me", one, "about", two)
    new = memory.say("我搬到台北")
    supersede(store, "me", one, new["record_id"], reason="moved")
    before = statements(store)

    result = undo(store, "me", moment)

    assert statements(store, [one, two]) == then
    assert links(store, [one, two]) == tied
    assert store.versions("me", new["record_id"])[-1].status == "archived"
    assert store.capture("me", new["capture_id"]) is not None
    assert (result["restored"], result["archived"], result["unlinked"]) == (1, 1, 2)
    assert verdict(validate(store)) == "clean"
    assert not undo(store, "me", moment)["changed"], "it is as it was already"

    back = undo(store, "me", result["before"])
    assert statements(store) == before
    assert back["relinked"] == 2
    assert ("supersedes", one) in {(k.rel, k.dst) for k in store.iterate_links("me")}
    assert verdict(validate(store)) == "clean"


def test_a_search_follows(memory: Memory) -> None:
    """The index that is open and one that is made anew know the same links and words."""
    store = memory.store
    one, two = memory.say("台南的豆花")["record_id"], memory.say("山上的湖水")["record_id"]
    memory.indexes.reindex("me")
    moment = store.last_seq
    link(store, "me", one, "about", two)
    edit(store, "me", two, {"gist": "海邊的燈塔", "title": "燈塔"})
    assert memory.search("燈塔").hits[0].why.terms
    index = memory.indexes.get("me")
    assert two in tied(index, store, one)

    undo(store, "me", moment)

    assert not any(hit.why.terms for hit in memory.search("燈塔").hits)
    assert memory.search("山上的湖水").hits[0].why.terms
    assert two not in tied(memory.indexes.get("me"), store, one)
    memory.reopen()
    assert two not in tied(memory.indexes.get("me"), store, one)


def tied(index: Any, store: Store, id_: str) -> set[str]:
    graph = index.graph(store)
    node = graph.find(id_)
    if node is None:
        return set()
    return {graph.id_of(target) for target, _ in graph._edges(node)}


def test_to_a_time_or_a_change(memory: Memory) -> None:
    store = memory.store
    memory.say("甲")
    now = datetime.now(UTC)
    assert moment_of(store, time=now, seq=None) == store.last_seq
    assert moment_of(store, time=datetime(2000, 1, 1, tzinfo=UTC), seq=None) == 0
    assert moment_of(store, time=None, seq=1) == 1
    for wrong in (-1, store.last_seq + 1):
        with pytest.raises(UsageError, match="from 0 to"):
            moment_of(store, time=None, seq=wrong)
    with pytest.raises(UsageError):
        moment_of(store, time=None, seq=None)


def test_a_repeat_is_the_first(memory: Memory) -> None:
    memory.say("甲")
    first = undo(memory.store, "me", 0, key="k")
    assert undo(memory.store, "me", 0, key="k") == first
    assert first["archived"] == 1


steps = st.lists(
    st.tuples(st.sampled_from(["say", "edit", "link", "supersede", "undo"]), st.integers(0, 5),
              st.integers(0, 5)), min_size=1, max_size=14,
)  # fmt: skip


@settings(max_examples=few(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_any_history_can_be_gone_back_in(
    tmp_path_factory: pytest.TempPathFactory, blank: Path, done: list[tuple[str, int, int]]
) -> None:
    """After whatever happened, any moment can be returned to, and that be taken back."""
    home = shutil.copytree(blank, tmp_path_factory.mktemp("undo") / "home")
    with Store(home) as store:
        moments: list[tuple[int, dict[str, Statement], set[Statement]]] = []
        ids: list[str] = []
        for number, (what, a, b) in enumerate(done):
            one, two = (ids[a % len(ids)], ids[b % len(ids)]) if ids else ("", "")
            if what == "say" or not ids:
                made = remember(store, "me", Words(text=f"t{number}"), {})
                ids.append(made["record_id"])
            elif what == "edit":
                edit(store, "me", one, {"gist": f"g{number}"})
            elif what == "undo":
                undo(store, "me", moments[a % len(moments)][0])
            elif one != two:
                try:
                    if what == "link":
                        link(store, "me", one, "about", two)
                    else:
                        supersede(store, "me", one, two)
                except UsageError:
                    pass
            moments.append((store.last_seq, statements(store), links(store, ids)))
        for seq, then, tied_then in [*moments[::3], moments[-1]]:
            undo(store, "me", seq)
            assert statements(store, list(then)) == then
            assert links(store, list(then)) == tied_then
            others = [head for head in store.iterate_heads("me") if head.record_id not in then]
            assert all(head.status == "archived" for head in others)
        assert verdict(validate(store)) == "clean" or not ids


def test_ids_do_not_matter(memory: Memory) -> None:
    """A record that was imported under its own name is undone like any other."""
    record = memory.record("r", "甲")
    assert record == derived_id("me", "r")
    moment = memory.store.last_seq
    memory.edit(record, gist="乙")
    undo(memory.store, "me", moment)
    assert memory.store.versions("me", record)[-1].gist == "甲"
