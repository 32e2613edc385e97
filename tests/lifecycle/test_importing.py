"""Import: what is read goes in once, and what cannot go in is named."""

import hashlib
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiyi
from shiyi.core.errors import UsageError
from tests.examples import few

Source = Callable[..., Path]
SAMPLE = Path(__file__).resolve().parents[2] / "eval" / "data" / "sample"


def line(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


def capture(id_: str, text: str, **fields: Any) -> str:
    return line(type="capture", id=id_, text=text, **fields)


def record(id_: str, title: str, **fields: Any) -> str:
    return line(type="record", id=id_, kind="fact", title=title, **fields)


def all_items(scope: shiyi.Scope, what: Any = "records") -> list[Any]:
    return scope.list(what=what, limit=1000).items


def test_second_import_adds_nothing_and_says_so(me: shiyi.Scope) -> None:
    """The same files again meet what is there."""
    first, second = (me.import_(SAMPLE, allow_secret=True) for _ in range(2))

    assert (first.captures, first.records, first.unchanged, first.failed) == (460, 388, 0, 0)
    assert first.skipped == {"a file beside captures and records, such as labels": 5}
    assert (first.links, second.links) == (632, 0)
    assert (second.captures, second.records, second.versions) == (0, 0, 0)
    assert (second.unchanged, second.failed, second.waiting) == (1480, 0, 0)


ITEM = st.one_of(
    st.builds(
        capture,
        st.sampled_from("abcdef"),
        st.text(min_size=1, max_size=20).filter(str.strip),
        session=st.none() | st.sampled_from("xy"),
    ),
    st.builds(record, st.sampled_from("pqr"), st.sampled_from(["茶", "咖啡", "tea"])),
    st.sampled_from(["{broken", "[]", "", '{"type": "capture"}']),
)
SCOPES = count()


@settings(
    max_examples=few(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(lines=st.lists(ITEM, max_size=12))
def test_any_import_repeated_changes_nothing(
    memory: shiyi.Memory, source: Source, lines: list[str]
) -> None:
    """Whatever a file holds, a second import leaves the scope as the first did."""
    scope, path = memory.scope(f"s{next(SCOPES)}"), str(source(*lines))
    first = scope.import_(path)
    before = contents(scope)

    second = scope.import_(path)

    assert contents(scope) == before
    assert (second.captures, second.records, second.versions) == (0, 0, 0)
    assert second.failed == first.failed


def contents(scope: shiyi.Scope) -> list[dict[str, Any]]:
    return [
        item.model_dump()
        for what in ("captures", "records")
        for item in scope.list(what=what, limit=1000).items
    ]


def test_order_of_import_decides_nothing(memory: shiyi.Memory, source: Source) -> None:
    """Ids follow from the source's own names, whatever comes first."""
    lines = [capture(f"c{number}", f"第 {number} 句") for number in range(5)]

    memory.scope("a").import_(str(source(*lines)))
    memory.scope("b").import_(str(source(*lines[3:])))
    memory.scope("b").import_(str(source(*lines[:3])))

    names = [
        {memory.scope(scope).show(f"c{n}").capture.text for n in range(5)}  # type: ignore[union-attr]
        for scope in ("a", "b")
    ]
    assert names[0] == names[1]


def test_a_bad_line_is_named_and_the_rest_goes_in(me: shiyi.Scope, source: Source) -> None:
    """file:line: reason, without what the line says."""
    path = source(capture("1", "甲"), "{broken", capture("2", " "), capture("3", "乙"))

    report = me.import_(str(path))

    assert (report.captures, report.failed) == (2, 2)
    assert report.errors[0].startswith(f"{path}:2: ")
    assert report.errors[1].startswith(f"{path}:3: ")


def test_only_the_first_errors_are_listed(me: shiyi.Scope, source: Source) -> None:
    """A file of nonsense is counted whole but listed in part."""
    report = me.import_(str(source(*["x"] * 250)))

    assert report.failed == 250
    assert len(report.errors) == 100


def test_words_never_change_under_an_id(me: shiyi.Scope, source: Source) -> None:
    """An id that stands for other words is refused, within a file and later."""
    within = me.import_(str(source(capture("1", "甲"), capture("1", "乙"))))
    later = me.import_(str(source(capture("1", "丙"))))
    same = me.import_(str(source(capture("1", "甲"))))

    assert (within.captures, within.failed) == (1, 1)
    assert (later.captures, later.failed) == (0, 1)
    assert "words never change" in later.errors[0]
    assert (same.unchanged, same.failed) == (1, 0)
    shown = me.show("1").capture
    assert shown is not None
    assert shown.text == "甲"


def test_words_that_do_not_fit_their_hash_are_refused(me: shiyi.Scope, source: Source) -> None:
    """An export that was edited by hand does not pass for the original."""
    digest = hashlib.sha256("原話".encode()).hexdigest()

    changed = me.import_(str(source(capture("1", "改過的話", shiyi={"utf8_sha256": digest}))))
    whole = me.import_(str(source(capture("1", "原話", shiyi={"utf8_sha256": digest}))))

    assert (changed.captures, changed.failed) == (0, 1)
    assert "SHA-256" in changed.errors[0]
    assert whole.captures == 1


def test_a_changed_record_is_a_new_version(me: shiyi.Scope, source: Source) -> None:
    """What the source corrects is corrected here; what it said before stays readable."""
    me.import_(str(source(record("1", "住台北"))))
    report = me.import_(str(source(record("1", "住台南"))))
    again = me.import_(str(source(record("1", "住台北"))))

    shown = me.show("1", versions=True)
    assert (report.records, report.versions) == (0, 1)
    assert again.unchanged == 1  # an old file imported again does not undo what came later
    assert shown.record is not None
    assert (shown.record.title, shown.record.reason) == ("住台南", "imported again")
    assert [version.title for version in shown.versions] == ["住台北"]


@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ({"capture": "none"}, "a capture that is not there"),
        ({"capture": "1", "text": "住台北"}, "word for word"),
        ({"capture": "1", "start": 2, "end": 99}, "at that place"),
        ({"capture": "1", "start": 0, "end": 2, "text": "台南"}, "at that place"),
    ],
)
def test_a_record_quotes_what_was_said(
    quote: dict[str, Any], reason: str, me: shiyi.Scope, source: Source
) -> None:
    """A quote that is not in the words is refused with its record."""
    report = me.import_(str(source(capture("1", "我住台南"), record("2", "住處", quotes=[quote]))))

    assert (report.captures, report.records, report.failed) == (1, 0, 1)
    assert reason in report.errors[0]


def test_quotes_count_in_code_points(me: shiyi.Scope, source: Source) -> None:
    """Emoji and rare characters are one each."""
    text = "👍🏽 𠮷田老師說：做碗"
    path = source(capture("1", text), record("2", "碗", quotes=[{"capture": "1", "text": "做碗"}]))

    me.import_(str(path))

    link = me.show("2").links[0]
    assert link.start is not None
    assert text[link.start : link.end] == "做碗"


def test_links_between_records(me: shiyi.Scope, source: Source) -> None:
    """supersedes and contradicts lead from record to record, in any order of lines."""
    path = source(record("new", "甲", supersedes=["old"], contradicts=["other"]),
                  record("old", "乙", status="superseded"), record("other", "丙"))  # fmt: skip

    me.import_(str(path))

    links = {(link.rel, link.dst) for link in me.show("new").links}
    ids = {name: me.show(name).record.record_id for name in ("old", "other")}  # type: ignore[union-attr]
    assert links == {("supersedes", ids["old"]), ("contradicts", ids["other"])}


def test_dialogue_keeps_its_order(me: shiyi.Scope, source: Source) -> None:
    """Each turn knows the one before it, over batches and over imports."""
    turns = [capture(f"t{n}", f"第 {n} 句", session="s") for n in range(1200)]
    me.import_(str(source(*turns)))

    shown = [me.show(f"t{n}").capture for n in (0, 1, 499, 500, 1199)]

    assert shown[0] is not None
    assert shown[0].previous is None
    for number, one in zip((1, 499, 500, 1199), shown[1:], strict=True):
        before = me.show(f"t{number - 1}").capture
        assert one is not None
        assert before is not None
        assert one.previous == before.capture_id


def test_beir_set_fills_scopes_of_its_own(
    memory: shiyi.Memory, source: Source, tmp_path: Path
) -> None:
    """Each scope that a set names lies below the one it is imported into."""
    source(line(_id="d1", title="", text="甲", metadata={"scope": "a"}),
           line(_id="d2", title="", text="乙", metadata={"scope": "b"}),
           name="set/corpus.jsonl")  # fmt: skip

    report = memory.scope("eval").import_(str(tmp_path / "set"))

    assert report.failed == 0
    assert report.scopes == ["eval.a", "eval.b"]
    assert [item.title for item in all_items(memory.scope("eval.b"), "captures")] == ["乙"]


def test_a_scope_name_that_is_none_is_refused(me: shiyi.Scope, source: Source) -> None:
    """A line cannot write outside its place."""
    report = me.import_(str(source(capture("1", "甲", scope="../x"), capture("2", "乙"))))

    assert (report.captures, report.failed) == (1, 1)


def test_an_empty_folder_says_so(memory: shiyi.Memory, tmp_path: Path) -> None:
    """Nothing to read is said before anything is made."""
    (tmp_path / "empty").mkdir()

    with pytest.raises(UsageError):
        memory.scope("me").import_(str(tmp_path / "empty"))
    with pytest.raises(UsageError):
        memory.scope("me").import_(str(tmp_path / "nowhere"))
    assert memory.status().scopes == []


def test_imported_words_are_data(me: shiyi.Scope, source: Source) -> None:
    """Attributes of a source stay attributes, whatever they are called."""
    me.import_(str(source(capture("1", "甲", place="家", shiyi="x", attrs={"mood": "好"}))))

    shown = me.show("1").capture
    assert shown is not None
    assert shown.attrs["place"] == "家"
    assert shown.attrs["mood"] == "好"


def test_what_is_refused_late_names_its_line_too(me: shiyi.Scope, source: Source) -> None:
    """A quote that does not stand, or words that do not fit their hash, are said with the line."""
    forged = {"utf8_sha256": "0" * 64}
    own = {"utf8_sha256": hashlib.sha256("己".encode()).hexdigest()}
    path = source(
        capture("1", "甲"),
        record("r1", "乙", quotes=[{"capture": "1", "text": "丙"}]),
        capture("2", "丁", shiyi=forged),
        capture("3", "戊"),
        capture("4", "己", shiyi={**own, "turn_id": "two\nlines"}),
        capture("5", "己", shiyi={**own, "turn_id": " t-17 "}),
    )

    report = me.import_(str(path))

    assert (report.captures, report.records, report.failed) == (3, 0, 3)
    places = sorted(error.split(": ")[0] for error in report.errors)
    assert places == [f"{path}:2", f"{path}:3", f"{path}:5"]
    assert any("A turn is named by" in error for error in report.errors)
    me.export(path.parent / "out")
    lines = (path.parent / "out" / "captures.jsonl").read_text("utf-8").splitlines()
    assert '"turn_id":"t-17"' in next(one for one in lines if '"己"' in one).replace(" ", "")


@pytest.mark.parametrize(
    "block",
    [
        "my own field",
        {"salience": 99999},
        {"created_at": "2020-01-01T00:00:00Z", "salience": 99999},
        {"created_at": "2020-01-01T00:00:00Z", "external_id": {"a": 1}},
        {"utf8_sha256": 5},
    ],
)
def test_a_field_of_our_exports_name_is_only_data(
    me: shiyi.Scope, source: Source, block: Any
) -> None:
    """What is not a block of our own export is kept like any unknown field and harms nothing."""
    path = source(capture("1", "甲乙", shiyi=block), record("r1", "丙丁", shiyi=block))

    report = me.import_(str(path))

    assert (report.captures, report.records, report.failed) == (1, 1, 0)
    shown = me.show("r1").record
    assert shown is not None
    assert shown.attrs["shiyi"] == block
    assert me.search("丙丁", channel="keyword").hits
