"""Export: plain files, whole, private, and taken back without loss."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiyi
from shiyi.core.errors import NotFoundError, UsageError
from tests.examples import few

SAMPLE = Path(__file__).resolve().parents[2] / "eval" / "data" / "sample"
FILES = ("captures.jsonl", "records.jsonl", "structure.jsonl")

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: not text.isspace()
)
statements = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["fact", "rule", "entity", "followup"]),
        "layer": st.sampled_from(["core", "self", "note"]),
        "title": texts,
        "gist": texts,
        "detail": texts,
        "topics": st.lists(texts, max_size=3),
        "aliases": st.lists(texts, max_size=3),
        "salience": st.integers(0, 100),
        "date": st.sampled_from(["2021", "2021-02", "2021-03-05", "2021-03-05..2022"]),
        "phase": texts.map(lambda text: text[:200]),
        "session": st.sampled_from(["s1", "s2"]),
        "speaker": texts.map(lambda text: text[:200]),
        "said_at": st.sampled_from(["2021-03-05T14:30:00+08:00", "1999-12-31T23:59:59.123456Z"]),
    },
)


@contextmanager
def homes(blank: Path) -> Iterator[Path]:
    """Give a place with two empty homes, a and b."""
    with tempfile.TemporaryDirectory() as name:
        for home in ("a", "b"):
            shutil.copytree(blank, Path(name) / home)
        yield Path(name)


def exported(home: Path, scope: str, out: Path, source: Path | None = None) -> list[bytes]:
    """Return the exported files of a scope, after an import where a source is given."""
    with shiyi.open(home, model="none") as memory:
        me = memory.scope(scope)
        if source is not None:
            report = me.import_(str(source), allow_secret=True)
            assert (report.failed, report.errors) == (0, [])
        me.export(str(out))
    return [(out / name).read_bytes() for name in FILES]


def test_sample_comes_back_byte_for_byte(tmp_path: Path) -> None:
    """Export, import in a new home, export: the same bytes."""
    first = exported(tmp_path / "a", "me", tmp_path / "out1", SAMPLE)
    second = exported(tmp_path / "b", "me", tmp_path / "out2", tmp_path / "out1")

    assert first == second
    assert first[0].count(b"\n") == 460


@settings(
    max_examples=few(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(texts, statements), min_size=1, max_size=8), texts)
def test_anything_comes_back_byte_for_byte(
    blank: Path, said: list[tuple[str, dict[str, Any]]], title: str
) -> None:
    """Whatever the words are, and also after an edit and an archive."""
    with homes(blank) as place:
        with shiyi.open(place / "a", model="none") as memory:
            me = memory.scope("me")
            kept = [me.remember(text, **fields) for text, fields in said]
            assert kept[0].record_id is not None
            me.edit(kept[0].record_id, title=title, reason="更正")
            me.archive(kept[0].record_id)
            me.export(str(place / "out1"))
        first = [(place / "out1" / file).read_bytes() for file in FILES]

        assert exported(place / "b", "me", place / "out2", place / "out1") == first


def test_ids_hold_in_another_scope(tmp_path: Path) -> None:
    """What is exported from one scope keeps its ids and links in another."""
    first = exported(tmp_path / "a", "me", tmp_path / "out1", SAMPLE)
    second = exported(tmp_path / "b", "別處", tmp_path / "out2", tmp_path / "out1")

    assert first == second


def test_older_versions_are_written_too(me: shiyi.Scope, tmp_path: Path) -> None:
    """history.jsonl holds what a record said before."""
    id_ = me.remember("住台北").record_id
    assert id_ is not None
    me.edit(id_, gist="住台南")

    me.export(tmp_path / "out")

    lines = (tmp_path / "out" / "history.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(one)["gist"] for one in lines] == ["住台北"]


def test_an_export_counts_as_the_status_does(memory: shiyi.Memory, tmp_path: Path) -> None:
    """Links that a record names itself count too, as do newest versions; a turn counts once."""
    me = memory.scope("me")
    first, second = me.remember("住台北"), me.remember("我也喜歡台南")
    assert first.record_id is not None
    assert second.record_id is not None
    me.edit(first.record_id, gist="住台南")
    me.link(second.record_id, "supports", first.record_id)

    counts = me.export(tmp_path / "out").counts

    [scope] = memory.status().scopes
    status = {name: getattr(scope, name) for name in ("captures", "records", "versions", "links")}
    assert counts == {**status, "turns": 2}
    assert status == {"captures": 2, "records": 2, "versions": 3, "links": 3}


def test_markdown_is_for_people(tmp_path: Path) -> None:
    """One file for each record and capture; the words stand as they were said."""
    with shiyi.open(tmp_path / "home", model="none") as memory:
        me = memory.scope("me")
        words = "# 標題\r\n---\n正文 👍\x00 尾"
        kept = me.remember(words, title="../../x: [y]", topics=["甲"], date="2021-03")
        me.export(str(tmp_path / "out"), format="markdown")

    note = next((tmp_path / "out" / "captures").rglob("*.md")).read_bytes()
    card = next((tmp_path / "out" / "records").rglob("*.md"))
    assert note.endswith(words.encode())
    assert card.parent == tmp_path / "out" / "records" / "fact"
    front = yaml.safe_load(card.read_text("utf-8").split("---\n")[1])
    assert front["title"] == "../../x: [y]"
    assert front["sources"] == [kept.capture_id]


def test_export_is_private(me: shiyi.Scope, tmp_path: Path) -> None:
    """Nobody else may read what is written."""
    me.remember("祕密")
    me.export(tmp_path / "out")

    assert (tmp_path / "out").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "out").iterdir())


def test_a_folder_in_use_is_left_alone(me: shiyi.Scope, tmp_path: Path) -> None:
    """Export writes into a new or empty folder only, and only what is there."""
    me.remember("甲")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", "utf-8")

    with pytest.raises(UsageError, match="not empty"):
        me.export(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_no_scope_no_folder(memory: shiyi.Memory, tmp_path: Path) -> None:
    """A scope that is not there is named before a folder is made."""
    with pytest.raises(NotFoundError):
        memory.scope("x").export(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


RELATED = ("contradicts", "supports", "alternative_to", "precedes", "promoted_to", "merged_into",
           "about")  # fmt: skip


@settings(
    max_examples=few(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*RELATED, "mentions", "member_of", "quotes", "supersedes"]),
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        max_size=20,
    ),
    st.dictionaries(  # no name for how things stand, such as status, which an entity refuses
        st.text(st.characters(exclude_categories=["Cs"])).map("k{}".format), st.integers() | texts
    ),
)
def test_every_link_and_attr_comes_back(
    blank: Path, said: list[tuple[Any, int, int]], attrs: dict[str, Any]
) -> None:
    """All relations that can be said, and whatever attrs, survive the way out and in again."""
    with homes(blank) as place:
        with shiyi.open(place / "a", model="none") as memory:
            me = memory.scope("me")
            kept = [me.remember(f"話{n}", words_only=True).capture_id for n in range(4)]
            own = {**attrs, "entity_type": "concept"}
            ids = [
                me.add_record(kind="entity", title=f"{n}", attrs=own, summary_only=True).record_id
                for n in range(4)
            ]
            event = me.add_record(kind="event", title="事", summary_only=True).record_id
            for entity in ids[:2]:
                me.link(event, "mentions", entity)
            attrs = {"entities": ids[:2], "events": [event]}
            facet = me.add_record(
                kind="facet", title="交會", attrs=attrs, summary_only=True
            ).record_id
            for rel, a, b in said:
                target = {"quotes": kept[b], "member_of": facet}.get(rel, ids[b])
                if rel in {"supersedes", "merged_into"} and a <= b:
                    continue  # it could close a circle
                if rel == "supersedes":
                    me.supersede(ids[b], ids[a])
                elif target != ids[a]:
                    me.link(event if rel == "member_of" else ids[a], rel, target)
            me.export(place / "out1")
            links = [sorted(map(str, me.show(one).links)) for one in [*ids, facet]]
        with shiyi.open(place / "b", model="none") as memory:
            me = memory.scope("me")
            assert me.import_(place / "out1").errors == []
            assert [sorted(map(str, me.show(one).links)) for one in [*ids, facet]] == links
            me.export(place / "out2")

        for file in FILES:
            assert (place / "out1" / file).read_bytes() == (place / "out2" / file).read_bytes()
