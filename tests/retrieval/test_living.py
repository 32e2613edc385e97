"""What is kept of a scope from one answer to the next is what a fresh look would find."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import ShiyiError
from shiyi.core.ids import derived_id
from shiyi.service.invoke import invoke
from tests.examples import few
from tests.retrieval.mapping import NOW, Archive

NAMES = [f"名{n}" for n in range(5)]
NAME = st.sampled_from(NAMES)
CAPTURE = st.sampled_from(NAMES[:2])
ENTITY = st.sampled_from(["甲君", "乙君", "丙君"])
ANYONE = st.one_of(NAME, ENTITY)
SAID = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(
            ["event", "state", "followup", "promise", "feeling", "hypothesis", "facet", "boundary"]
        ),
        "layer": st.sampled_from(["core", "core", "self", "note"]),
        "status": st.sampled_from(["active", "active", "active", "superseded", "archived"]),
        "title": st.sampled_from(["去年的雨", "coffee", "說過的話"]),
        "phase": st.sampled_from([None, "甲", "乙", "丙"]),
        "topics": st.sampled_from([(), ("話題",), ("話題", "雨"), ("雨", "雨")]),
        "salience": st.integers(0, 100),
        "date_start": st.sampled_from([None, date(2021, 5, 1), date(2022, 7, 8)]),
        "expires_at": st.sampled_from([None, NOW + timedelta(days=1)]),
        "attrs": st.sampled_from(
            [{}, {"block": "load"}, {"due": "2026-12-01", "context": "x"}, {"state": "answered"}]
        ),
    }
)
RELATION = st.sampled_from(["contradicts", "mentions", "about", "quotes", "supersedes"])
MAPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("survey", {}), ("survey", {"query": "去年的雨"}), ("survey", {"window": "乙"}),
    ("survey", {"now": (NOW + timedelta(days=2)).isoformat()}), ("survey", {"as_of": "2099"}),
    ("survey", {"as_of": "2026-12-01"}), ("routing", {"about": "甲君"}),
    ("routing", {"about": "話題"}), ("catalog", {}), ("catalog", {"by": "phase"}),
    ("recall", {"about": "甲君"}), ("review", {"deep": True}), ("starters", {}),
    ("probe", {"queries": ["去年的雨 coffee"]}),
)  # fmt: skip
ASK = st.tuples(st.just("ask"), st.integers(0, len(MAPS) - 1))
STEP = st.one_of(
    ASK,
    ASK,
    st.tuples(st.just("version"), NAME, SAID),
    st.tuples(st.just("entity"), ENTITY, st.booleans()),
    st.tuples(st.just("link"), ANYONE, RELATION, ANYONE),
    st.tuples(
        st.just("say"), st.sampled_from(["名0", "名1"]), st.sampled_from(["下雨了", "coffee"])
    ),
    st.tuples(st.just("quote"), NAME, CAPTURE),
    st.tuples(st.just("edit"), ANYONE, st.sampled_from(["去年的雨", "改了"])),
    st.tuples(st.just("put_away"), ANYONE),
    st.tuples(st.just("supersede"), NAME, NAME),
    st.tuples(st.just("merge"), ENTITY, ENTITY),
    st.tuples(st.just("split"), ENTITY),
    st.tuples(st.just("undo"), st.integers(1, 6)),
    st.tuples(st.just("purge"), ANYONE),
    st.tuples(st.just("remember"), st.sampled_from(["我記得去年的雨", "甲君愛喝 coffee"])),
    st.tuples(st.just("elsewhere")),
)


class Player:
    """Does steps to a memory; what makes no sense yet is refused, and changes nothing."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.versions: dict[str, int] = {}

    def do(self, step: tuple[Any, ...]) -> None:
        what, *given_ = step
        doing: Callable[..., object] = getattr(self, what)
        with suppress(ShiyiError):
            doing(*given_)

    def _row(self, name: str, **given_: Any) -> None:
        found = self.archive.session.store.versions("me", derived_id("me", name))
        at = datetime.now(UTC)
        self.archive.records({"name": name, "version": len(found) + 1, "at": at, **given_})

    def version(self, name: str, said: dict[str, Any]) -> None:
        self._row(name, **{key: value for key, value in said.items() if value is not None})

    def entity(self, name: str, other: bool) -> None:
        aliases = (f"{name}兒",) if other else ()
        attrs = {"entity_type": "person"}
        self._row(name, kind="entity", title=name, aliases=aliases, attrs=attrs)

    def link(self, src: str, rel: str, dst: str) -> None:
        self.archive.links((src, rel, dst))

    def say(self, name: str, text: str) -> None:
        self.archive.capture(f"c{name}", text)

    def quote(self, record: str, capture: str) -> None:
        self.archive.links((record, "quotes", f"c{capture}"), span_start=0, span_end=9)

    def ask(self, number: int) -> None:
        told(self.archive, number)

    def edit(self, name: str, gist: str) -> None:
        self._do("edit", id=_id(name), gist=gist, topic=["話題"], phase="丁", salience=77)

    def put_away(self, name: str) -> None:
        self._do("archive", id=_id(name))

    def supersede(self, old: str, new: str) -> None:
        self._do("supersede", old=_id(old), new=_id(new))

    def merge(self, old: str, into: str) -> None:
        self._do("entity merge", old=_id(old), into=_id(into))

    def split(self, name: str) -> None:
        self._do("entity split", id=_id(name))

    def undo(self, back: int) -> None:
        self._do("undo", to=str(max(0, self.archive.session.store.last_seq - back)))

    def purge(self, name: str) -> None:
        self._do("purge", ids=[_id(name)], confirm=True)

    def remember(self, text: str) -> None:
        self._do("remember", text=text)

    def elsewhere(self) -> None:
        self.archive.record("名0", scope="other", title=str(self.archive.session.store.last_seq))

    def _do(self, operation: str, **values: Any) -> None:
        invoke(self.archive.session, operation, values, scope="me")


def _id(name: str) -> str:
    return derived_id("me", name)


def told(archive: Archive, number: int) -> dict[str, Any] | str:
    operation, values = MAPS[number]
    try:
        return dict(archive.ask(operation, **values).model_dump(exclude={"trace"}))
    except ShiyiError as error:
        return str(error)


@settings(max_examples=few(8), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(steps=st.lists(STEP, min_size=4, max_size=24))
def test_what_is_kept_follows_every_write(steps: list[tuple[Any, ...]]) -> None:
    """Adding, editing, linking, merging, undoing, purging, asked in between or not."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        archive = Archive(home)
        player = Player(archive)
        for step in steps:
            player.do(step)
        living = [told(archive, number) for number in range(len(MAPS))]
        archive.close()
        archive = Archive(home)
        fresh = [told(archive, number) for number in range(len(MAPS))]
        archive.close()
        for one, other, asked in zip(living, fresh, MAPS, strict=True):
            assert one == other, asked
