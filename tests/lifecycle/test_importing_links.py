"""Import of links, quotes and numbers: each is held to the words and the chains that are there."""

import json
from collections.abc import Callable
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiyi
from shiyi.lifecycle import importing
from shiyi.lifecycle.correct import supersede
from shiyi.lifecycle.importing import import_path
from shiyi.lifecycle.names import record_id_of
from shiyi.store import Store
from shiyi.store.kinds import CHAINS, RELATIONS
from tests.examples import few
from tests.lifecycle.test_circles import ahead

Source = Callable[..., Path]
Line = dict[str, Any]
WORDS = "我搬到台中了，很開心。"  # 11 characters
ENDS = (-(10**12), -9, -5, -1, 0, 5, 11, 12, 900, 2**31, 10**400)
FORMS: dict[str, Callable[[int, Any], Line]] = {
    "link": lambda n, span: {
        "type": "link", "src": "r0", "rel": "quotes", "dst": "c0", "n": n, **span,
    },
    "record": lambda n, span: {
        "type": "record", "id": f"q{n}", "kind": "fact", "title": "甲",
        "quotes": [{"capture": "c0", **span}],
    },
    "feedback": lambda n, span: {
        "type": "feedback", "id": f"f{n}", "verdict": "helpful", "target": "r0", "capture": "c0",
        "at": "2021-03-05", **span,
    },
}  # fmt: skip
SCOPES = count()


def capture(id_: str, **fields: Any) -> Line:
    return {"type": "capture", "id": id_, "text": WORDS, **fields}


def record(id_: str, **fields: Any) -> Line:
    return {"type": "record", "id": id_, "kind": "fact", "title": id_, **fields}


def link(src: str, rel: str, dst: str, **fields: Any) -> Line:
    return {"type": "link", "src": src, "rel": rel, "dst": dst, **fields}


def imported(scope: shiyi.Scope, source: Source, *lines: Line) -> tuple[Any, dict[int, str]]:
    """Return the report of an import, and the reason for each line that was refused."""
    path = source(*(json.dumps(line, ensure_ascii=False) for line in lines))
    report = scope.import_(str(path))
    reasons = (error.removeprefix(f"{path}:").partition(": ") for error in report.errors)
    return report, {int(number): reason for number, _, reason in reasons}


def sound(memory: shiyi.Memory, *names: str) -> bool:
    return all(check.state == "ok" for check in memory.validate().checks if check.name in names)


@pytest.mark.parametrize("form", FORMS)
def test_a_span_lies_in_the_words_it_quotes(
    memory: shiyi.Memory, source: Source, form: str
) -> None:
    """Whatever the span, the line alone is refused when its words are not there."""
    me = memory.scope("me")
    spans = list(product(ENDS, repeat=2))
    bad = [n for n, (start, end) in enumerate(spans) if not 0 <= start < end <= len(WORDS)]
    good = [n for n in range(len(spans)) if n not in bad]
    for part in (bad[:60], bad[60:], good):  # an import lists a hundred errors
        lines = [FORMS[form](n, dict(zip(("start", "end"), spans[n], strict=True))) for n in part]
        report, refused = imported(me, source, capture("c0"), record("r0"), *lines, record("z"))

        assert sorted(refused) == ([] if part is good else list(range(3, 3 + len(part))))
        assert report.failed == len(refused)

    assert me.show("z").record is not None
    assert sound(memory, "spans", "links")
    assert me.deep("台中").fragments


def test_a_link_without_a_span_quotes_all(memory: shiyi.Memory, source: Source) -> None:
    """It goes in, out and in again."""
    me, again = memory.scope("me"), memory.scope("again")
    lines = (capture("c0"), record("r0"), link("r0", "quotes", "c0", n=1))
    assert imported(me, source, *lines)[1] == {}
    out = me.export(source().parent / "out")

    assert again.import_(out.path).errors == []
    assert again.deep("台中").fragments == me.deep("台中").fragments != []
    assert sound(memory, "spans", "links")


@pytest.mark.parametrize("rel", [rel for rel in RELATIONS if rel != "quotes"])
def test_only_quotes_has_a_span(me: shiyi.Scope, source: Source, rel: str) -> None:
    lines = (record("a"), record("b"), link("a", rel, "b", start=0, end=2), link("b", "about", "a"))
    report, refused = imported(me, source, *lines)

    assert "leave them out" in refused.pop(3)
    assert (refused, report.links) == ({}, 1)


FAR: tuple[Any, ...] = (
    10**12, -(10**12), 2**31, -(2**31) - 1, 2**63, 10**400, -(10**400), 1e308, -1e308, 0.5, -1,
    253402300800, -62135596801, "0001-01-01", "9999-12-31", "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001..9999", [10**400],
    {"x": 10**400}, {"created_at": "0001-01-01", "updated_at": "9999-12-31", "salience": 10**400},
)  # fmt: skip
WHOLE: dict[str, tuple[Line, str]] = {
    "capture": (
        capture("n", session="s", captured_at="2021-03-05"), "date previous source attrs shiyi x",
    ),
    "record": (
        record("n", date="2021", salience=50, quotes=[], supersedes=["a"]),
        "date_start date_end phase reason detail topics attrs shiyi version order uses confidence",
    ),
    "procedure": ({**record("n"), "kind": "procedure"}, "uses attrs steps"),
    "entity": (record("n", kind="entity", entity_type="person"), "redirects_to attrs"),
    "link": (link("a", "supports", "b"), "start end attrs order"),
    "quote": (FORMS["link"](0, {"start": 0, "end": 2}), "attrs"),
    "feedback": (FORMS["feedback"](0, {"start": 0, "end": 2}), "trace note"),
}  # fmt: skip


@pytest.mark.parametrize("form", WHOLE)
def test_no_number_or_date_stops_an_import(memory: shiyi.Memory, source: Source, form: str) -> None:
    """Whatever stands in one field of a line, that line alone is in doubt, and the home sound."""
    me, again = memory.scope("me"), memory.scope("again")
    base, more = WHOLE[form]
    doubtful = [
        {**base, **({"id": f"n{number}"} if "id" in base else {}), name: value}
        for number, (name, value) in enumerate(product([*base, *more.split()], FAR))
        if name not in {"scope", "type"}
    ]
    first = [capture("c0"), record("r0"), record("a"), record("b")]

    report, _ = imported(me, source, *first, *doubtful, record("z"), capture("z"))

    assert report.records >= 4
    assert report.failed <= len(doubtful)
    assert me.show("z").record is not None
    me.search("台中", channel="keyword")
    me.list(what="captures", limit=500)
    assert again.import_(me.export(source().parent / "out").path).errors == []
    assert sound(memory, "rows", "spans", "chains", "versions")


STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=24)


@settings(
    max_examples=few(12), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(steps=STEPS, rel=st.sampled_from(CHAINS), size=st.sampled_from([1, 3, 100]))
def test_the_line_that_closes_a_circle_is_refused(
    memory: shiyi.Memory, source: Source, steps: list[tuple[int, int]], rel: str, size: int
) -> None:
    """It is the last of its links, whether they come in one batch, in several or in two files."""
    scope = memory.scope(f"s{next(SCOPES)}")
    imported(scope, source, *(record(f"r{n}") for n in range(6)))
    half, stand = len(steps) // 2, set[tuple[int, int]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "_BATCH", size)
        for part in (steps[:half], steps[half:]):
            wrong = set()
            for number, (src, dst) in enumerate(part, 1):
                if src in ahead(stand, dst):
                    wrong.add(number)
                else:
                    stand.add((src, dst))
            lines = (link(f"r{src}", rel, f"r{dst}") for src, dst in part)
            assert imported(scope, source, *lines)[1].keys() == wrong
    assert sound(memory, "chains")


def test_a_record_that_closes_a_circle_is_refused(memory: shiyi.Memory, source: Source) -> None:
    """Its whole line is: itself, each other, or over others; what it names besides stays free."""
    me = memory.scope("me")
    lines = (
        record("a", supersedes=["a"]),
        record("b", contradicts=["b"]),
        record("c", supersedes=["d"]),
        record("d", supersedes=["e", "c"]),
        record("e", supersedes=["d"]),
        record("f", supersedes=["e"]),
        record("g", kind="entity", entity_type="person", redirects_to=record_id_of("me", "g")),
    )

    _, refused = imported(me, source, *lines)
    later = imported(me, source, record("d", supersedes=["f"]), record("d"), record("b"))[1]

    assert sorted(refused) == [1, 2, 4, 7]
    assert "itself" in refused[1]
    assert "circle" in refused[4]
    assert list(later) == [1]
    assert sound(memory, "chains")


def test_what_others_write_meanwhile_counts(tmp_path: Path, source: Source) -> None:
    """A link that came in between two batches closes no circle with a later line either."""
    first = [record(f"r{n}") for n in range(3)]
    lines = [*first, link("r1", "supersedes", "r0"), link("r2", "supersedes", "r1"),
             link("r0", "supersedes", "r3"), record("r4")]  # fmt: skip
    path = source(*(json.dumps(line) for line in [record("r3"), *lines]))
    read = count(1)
    with Store(tmp_path / "home", create=True) as store:

        def meanwhile(_: int) -> None:
            if next(read) == 6:  # the first link is in
                supersede(store, "me", record_id_of("me", "r2"), record_id_of("me", "r3"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(importing, "_BATCH", 1)
            report = import_path(store, "me", path, on_bytes=meanwhile)

    assert [error.split(": ")[0] for error in report.errors] == [f"{path}:7"]
    assert report.records == 5
