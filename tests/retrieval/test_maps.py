"""Maps: inside the budget, monotone, without words of captures, each scope for itself."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.ids import derived_id
from shiyi.models.tokens import get_counter
from shiyi.service.invoke import invoke
from tests.examples import few
from tests.retrieval.mapping import Archive

SECTIONS = (
    "phases", "timeline", "state", "entities", "facets", "hypotheses", "followups", "gaps",
    "groups", "records",
)  # fmt: skip
MAPS = ("survey", "routing", "catalog", "recall")
MARKER, FOREIGN = "逐字密語QX7", "別處密語ZK9"
ODD = [
    "今天",
    "下雨",
    "計程車",
    "coffee",
    '"',
    "\\",
    "\n## x",
    "\u202e",
    "👨‍👩‍👧",
    "𠮷",
    "/",
    "e\u0301",
]
KINDS = (
    "event", "experience", "feeling", "state", "decision", "fact", "preference", "promise",
    "boundary", "entity", "facet", "hypothesis", "followup", "value", "insight", "checkpoint",
)  # fmt: skip


def fill(archive: Archive, scope: str, marker: str, count: int = 160) -> None:
    """Write records of every kind, dated and not, with odd characters; captures hold a marker."""
    rows: list[dict[str, Any]] = []
    for n in range(count):
        kind = KINDS[n % len(KINDS)]
        words = "".join(ODD[(n * k) % len(ODD)] for k in range(1, 4 + n % 5))
        row: dict[str, Any] = {
            "name": f"r{n}", "kind": kind, "title": f"{words}第{n}個", "salience": n * 37 % 101,
            "gist": f"{words * (1 + 9 * (n % 7 == 0))}說了{n}次",
            "topics": tuple(ODD[n % 5 : n % 5 + 2]),
            "layer": "self" if n % 13 == 0 else "core",
            "status": ("superseded", "archived")[n % 2] if n % 11 == 5 else "active",
            "phase": (None, "上海", "深圳", "台北")[n % 4],
        }  # fmt: skip
        if n % 5:
            row["date_start"] = date(2019, 1, 1) + timedelta(days=n * 17)
        if kind == "followup":
            row["attrs"] = {"due": f"2026-{11 + n % 2}-{1 + n % 28:02}", "context": f"{words}為何"}
        if kind == "state" and n % 3 == 0:
            row["attrs"] = {"block": ("load", "tensions", "core")[n % 9 // 3]}
        rows.append(row)
    archive.records(*rows, scope=scope)
    for n in range(0, count, 9):
        text = f"{marker}說的話{n}"
        archive.capture(f"c{n}", text, scope)
        archive.links((f"r{n}", "quotes", f"c{n}"), scope=scope, span_start=0, span_end=len(text))
    archive.links(
        ("r0", "contradicts", "r1"), ("r2", "mentions", "r9"), ("r3", "mentions", "r9"),
        ("r9", "contradicts", "r4"), scope=scope,
    )  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    made = Archive(tmp_path_factory.mktemp("maps") / "home")
    fill(made, "me", MARKER)
    fill(made, "other", FOREIGN, 48)
    # A record whose gist is the words themselves, as `remember` makes them.
    words = f"{MARKER}整句都是原話，一字不差"
    made.capture("whole", words)
    made.record("whole", title="原話", gist=words, salience=100, date_start=date(2020, 2, 2))
    made.links(("whole", "quotes", "whole"), span_start=0, span_end=len(words))
    made.records({"name": "far", "title": FOREIGN, "salience": 100}, scope="other")
    yield made
    made.close()


def asked(operation: str, about: str | None) -> dict[str, Any]:
    if operation == "routing":
        return {"about": about or "上海"}
    if operation == "survey" and about:
        return {"query": about}
    return {}


def shown(answer: Any) -> dict[tuple[str, str], int]:
    """How much is shown of each item: the number of fields that are not null."""
    found: dict[tuple[str, str], int] = {}
    for name in SECTIONS:
        for one in getattr(answer, name, []):
            filled = sum(value is not None for value in one.model_dump().values())
            assert (name, one.id) not in found
            found[name, one.id] = filled
    return found


@settings(max_examples=few(30))
@given(
    operation=st.sampled_from(MAPS),
    budget=st.one_of(st.integers(200, 600), st.integers(200, 9000)),
    more=st.integers(0, 4000),
    format_=st.sampled_from(["json", "markdown"]),
    about=st.sampled_from([None, "上海", "今天下雨", "coffee", "計程車 第7個"]),
    window=st.sampled_from([None, "2020", "2021-03:2023", ":2022", "深圳"]),
)
def test_an_answer_fits_and_a_larger_one_shows_more(
    archive: Archive, operation: str, budget: int, more: int, format_: str, about: Any, window: Any
) -> None:
    """Used is what is said, at most the budget; again the same; more budget only adds."""
    values = {**asked(operation, about), "format": format_, "window": window}
    found = archive.ask(operation, budget=budget, **values)

    assert get_counter().count(found.text) <= found.tokens <= budget
    assert MARKER not in found.text
    assert FOREIGN not in found.text
    assert archive.ask(operation, budget=budget, **values).text == found.text
    larger = shown(archive.ask(operation, budget=budget + more, **values))
    small = shown(found)
    assert all(larger.get(key, 0) >= size for key, size in small.items())


@settings(max_examples=few(15))
@given(operation=st.sampled_from(MAPS), budget=st.integers(200, 3000))
def test_json_and_typed_answers_say_the_same(archive: Archive, operation: str, budget: int) -> None:
    """What a program parses is what Python gets."""
    found = archive.ask(operation, budget=budget, format="json", **asked(operation, None))
    parsed = json.loads(found.text)

    for name in SECTIONS:
        typed = [one.model_dump(exclude_none=True) for one in getattr(found, name, [])]
        assert parsed.get(name, []) == typed
    assert parsed["tokens"] == found.tokens
    assert parsed["truncated"] == found.truncated.model_dump()


def pages_of(archive: Archive, operation: str, between: Callable[[int], object]) -> list[str]:
    """Read a map page by page and do something between two pages; return what was shown."""
    values, seen, resume = asked(operation, None), list[str](), None
    for number in count():
        page = archive.ask(operation, budget=900, resume=resume, **values)
        assert page.tokens <= 900
        assert (page.as_of is None) == (number == 0)
        seen += [one.id for name in SECTIONS for one in getattr(page, name, [])]
        resume = page.truncated.resume
        if resume is None:
            return seen
        between(number)
    raise AssertionError


@pytest.mark.parametrize("operation", MAPS)
def test_a_cursor_goes_on_while_others_write(tmp_path: Path, operation: str) -> None:
    """It shows what was there when the first page was, once, whatever comes in between."""
    archive = Archive(tmp_path / "home")
    fill(archive, "me", MARKER, 64)
    quiet = archive.ask(operation, budget=1_000_000, **asked(operation, None))
    there = [one.id for name in SECTIONS for one in getattr(quiet, name, [])]

    def write(number: int) -> None:
        row: dict[str, Any] = {"kind": KINDS[number % len(KINDS)], "at": datetime.now(UTC)}
        archive.record(f"new{number}", date_start=date(2018, 1, 1), **row)
        archive.record("r8", version=number + 2, title=f"改成{number}", salience=100, **row)
        archive.links(("r5", "mentions", f"new{number}"))

    seen = pages_of(archive, operation, write)

    assert sorted(seen) == sorted(there)
    archive.close()


def test_a_cursor_is_refused_when_its_time_cannot_be_shown(tmp_path: Path) -> None:
    """What was purged was there then and is no more; a query leans by what stands today."""
    archive = Archive(tmp_path / "home")
    fill(archive, "me", MARKER, 64)
    first = archive.ask("catalog", budget=300).truncated.resume
    leaning = archive.ask("survey", budget=300, query="下雨").truncated.resume
    archive.record("new", title="下雨 下雨", salience=100, at=datetime.now(UTC))

    with pytest.raises(UsageError, match="has changed since"):
        archive.ask("survey", budget=300, query="下雨", resume=leaning)
    assert archive.ask("catalog", budget=300, resume=first).records
    invoke(archive.session, "purge", {"ids": [derived_id("me", "r1")], "confirm": True}, scope="me")
    with pytest.raises(UsageError, match="has changed since"):
        archive.ask("catalog", budget=300, resume=first)
    archive.close()


@pytest.mark.parametrize("operation", MAPS)
@pytest.mark.parametrize("budget", [200, 650])
def test_cursors_go_through_everything_once(archive: Archive, operation: str, budget: int) -> None:
    """Page after page, every item is shown once, and nothing is left out in the end."""
    values = asked(operation, None)
    whole = archive.ask(operation, budget=1_000_000, **values)
    assert whole.truncated.resume is None
    assert not whole.truncated.omitted
    seen: list[tuple[str, str]] = []
    resume = None
    while True:
        page = archive.ask(operation, budget=budget, resume=resume, **values)
        assert page.tokens <= budget
        seen += shown(page)
        resume = page.truncated.resume
        if resume is None:
            break
    named = {key[1] for key in seen}

    assert len(seen) >= len(shown(whole))
    assert named == {key[1] for key in shown(whole)}
    assert len(seen) == len(shown(whole))


def test_no_words_of_captures_at_any_size(archive: Archive) -> None:
    """A gist that is the words themselves is left out; its title stands."""
    for operation in MAPS:
        for format_ in ("json", "markdown"):
            found = archive.ask(
                operation, budget=1_000_000, format=format_, **asked(operation, None)
            )
            assert MARKER not in found.text
    assert "原話" in archive.ask("survey", budget=1_000_000).text


def test_scopes_do_not_meet(archive: Archive) -> None:
    """An id of another scope is as absent as one that never was."""
    foreign = derived_id("other", "far")
    never = derived_id("me", "nothing")
    answers = [archive.ask("recall", about=id_, budget=500) for id_ in (foreign, never)]

    assert answers[0].text == answers[1].text
    assert answers[0].outcome == "empty"
    assert FOREIGN in archive.ask("catalog", "other", budget=1_000_000).text


def test_what_holds_no_longer_is_counted(archive: Archive) -> None:
    """Superseded and archived records are left out and counted, and shown when asked for."""
    survey = archive.ask("survey", budget=1_000_000)
    superseded = archive.ask("catalog", budget=1_000_000, status="superseded")
    archived = archive.ask("catalog", budget=1_000_000, status=["archived"])

    assert survey.held_back == {
        "superseded": len(superseded.records), "archived": len(archived.records),
    }  # fmt: skip
    listed = {one.id for one in superseded.records + archived.records}
    current = {one.id for name in SECTIONS for one in getattr(survey, name, [])}
    assert listed
    assert not listed & current
    assert {one.status for one in superseded.records} == {"superseded"}


def test_the_catalog_lists_every_title(archive: Archive) -> None:
    """Every active record, by kind or by phase, each once, as many as the groups say."""
    by_kind = archive.ask("catalog", budget=1_000_000)
    by_phase = archive.ask("catalog", budget=1_000_000, by="phase")

    assert sorted(one.id for one in by_kind.records) == sorted(one.id for one in by_phase.records)
    assert sum(one.records for one in by_kind.groups) == len(by_kind.records)
    kinds = [one.kind for one in by_kind.records]
    assert kinds == sorted(kinds, key=kinds.index)
    dated = [one.date for one in by_phase.records if one.phase == "上海" and one.date]
    assert dated == sorted(dated)


def test_the_state_has_five_blocks_of_at_most_three(archive: Archive) -> None:
    """The named states stand in their blocks; a record stands once."""
    state = archive.ask("survey", budget=1_000_000).state
    blocks = [one.block for one in state]

    assert list(dict.fromkeys(blocks)) == ["core", "situation", "load", "tensions", "next"]
    assert all(1 <= blocks.count(block) <= 3 for block in blocks)
    assert len({one.id for one in state}) == len(state)


def test_followups_come_with_their_context(tmp_path: Any) -> None:
    """Overdue, due today and within three days, in order; later, closed and undated ones not."""
    archive = Archive(tmp_path / "home")
    for name, attrs in {
        "old": {"due": "2026-10-01", "context": "因為上次沒問"},
        "today": {"due": "2026-11-30"},
        "soon": {"due": "2026-12-03"},
        "later": {"due": "2026-12-04"},
        "closed": {"due": "2026-11-29", "state": "answered"},
        "rule": {"rule": "every spring"},
        "bad": {"due": "whenever"},
    }.items():
        archive.record(name, kind="followup", attrs=attrs)
    found = archive.ask("survey").followups

    assert [(one.title, one.when) for one in found] == [
        ("old", "overdue"), ("today", "today"), ("soon", "soon"),
    ]  # fmt: skip
    assert found[0].context == "因為上次沒問"
    assert archive.ask("survey", as_of="2020").followups == []
    archive.close()


def test_hypotheses_are_stubs_until_asked_for(tmp_path: Any) -> None:
    """Only a title, unless the query's words hit it."""
    archive = Archive(tmp_path / "home")
    archive.record("h", kind="hypothesis", title="咖啡與心悸", gist="喝咖啡會讓她心悸")
    plain = archive.ask("survey").hypotheses
    hit = archive.ask("survey", query="咖啡").hypotheses
    missed = archive.ask("survey", query="火車時刻").hypotheses

    assert [one.gist for one in plain + missed] == [None, None]
    assert hit[0].gist == "喝咖啡會讓她心悸"
    archive.close()


def test_contradictions_and_gaps_are_named(tmp_path: Any) -> None:
    """What contradicts stands side by side; what is undated or unsourced is counted."""
    archive = Archive(tmp_path / "home")
    archive.record("a", kind="fact", title="價錢 880", date_start=date(2020, 1, 1))
    archive.record("b", kind="fact", title="價錢 860", date_start=date(2021, 1, 1))
    archive.record("c", title="不知何時")
    archive.links(("a", "contradicts", "b"))
    found = archive.ask("survey")
    tension = next(one for one in found.state if one.block == "tensions")
    gaps = {one.id: one.records for one in found.gaps}

    assert {tension.title, tension.context.removeprefix("but: ")} == {"價錢 880", "價錢 860"}
    assert gaps == {"undated": 1, "unsourced": 3, "unresolved": 2}
    archive.close()


def test_early_turning_points_stay(tmp_path: Any) -> None:
    """Five early records are on the trunk however many thousand come later."""
    archive = Archive(tmp_path / "home")
    early = [
        {"name": f"早{n}", "phase": "童年", "salience": 90, "kind": "decision",
         "date_start": date(2001, 1 + n, 1)} for n in range(5)
    ]  # fmt: skip
    late = [
        {"name": f"晚{n}", "phase": ("中年", "老年")[n % 2], "salience": 95,
         "date_start": date(2020, 1, 1) + timedelta(days=n % 900)} for n in range(6000)
    ]  # fmt: skip
    hub = {"name": "樞紐", "kind": "entity", "title": "樞紐"}
    archive.records(*early, *late, hub)
    archive.links(*((f"晚{n}", "mentions", "樞紐") for n in range(6000)))
    found = archive.ask("survey", budget=1500)
    titles = {one.title for one in found.timeline}

    assert found.tokens <= 1500
    assert {f"早{n}" for n in range(5)} <= titles
    assert any(title and title.startswith("晚") for title in titles)
    assert archive.ask("survey").entities[0].records == 6000
    assert archive.ask("routing", about="樞紐", budget=2000).outcome == "found"
    page = archive.ask("catalog", budget=3000)
    assert page.truncated.omitted["records"] + len(page.records) == 6006
    archive.close()


def test_nothing_yet_and_nowhere(archive: Archive, tmp_path: Any) -> None:
    """An empty scope, and one that is not there, are empty with a sentence."""
    fresh = Archive(tmp_path / "home")
    fresh.capture("c", "只有原話")
    for operation in MAPS:
        found = fresh.ask(operation, budget=200, **asked(operation, None))
        assert (found.outcome, bool(found.notes)) == ("empty", True)
        assert found.tokens <= 200
        nowhere = archive.ask(operation, "nowhere", budget=200, **asked(operation, None))
        assert nowhere.outcome == "empty"
    fresh.close()


@pytest.mark.parametrize(
    "values",
    [
        {"budget": 0}, {"budget": 199}, {"budget": "much"}, {"budget": 10**9},
        {"window": "2025-08:2025-03"}, {"window": "2025-08..2025-03"}, {"window": ":"},
        {"window": "2025-13"}, {"window": "no such phase"}, {"as_of": "soon"}, {"now": "later"},
        {"resume": "123456789012"}, {"resume": "x"}, {"resume": "0"}, {"resume": "9"},
        {"resume": "9" * 5000}, {"format": "html"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("operation", MAPS)
def test_bad_input_is_one_sentence(
    archive: Archive, operation: str, values: dict[str, Any]
) -> None:
    """It is refused, whatever stands in it."""
    with pytest.raises(UsageError) as refused:
        archive.ask(operation, **{**asked(operation, None), **values})
    assert str(refused.value).count("\n") == 0
    assert "no such phase" not in str(refused.value)


def test_recall_walks_before_and_after(archive: Archive) -> None:
    """From a topic before a day, newest first; after a day or a record, oldest first."""
    before = archive.ask("recall", about="上海", before="2022", budget=100_000).records
    after = archive.ask("recall", about="上海", after="2022", budget=100_000).records
    between = archive.ask("recall", after="2020", before="2022", budget=100_000).records

    dates = [one.date for one in before]
    assert dates == sorted(dates, reverse=True)
    assert max(dates) < "2022"
    dates = [one.date for one in after]
    assert dates == sorted(dates)
    assert min(dates) > "2022"
    assert all("2020-12-31" < one.date < "2022" for one in between)
    record = archive.ask("recall", after=derived_id("me", "whole"), budget=100_000).records
    assert min(one.date for one in record) > "2020-02-02"
    beside = archive.ask("recall", about=derived_id("me", "whole"), budget=400).records
    assert "原話" in [one.title for one in beside]
    with pytest.raises(UsageError):
        archive.ask("recall", before="2020", after="2022")
    with pytest.raises(NotFoundError):
        archive.ask("recall", before="nobody knows")


def test_a_domain_has_what_names_it(tmp_path: Any) -> None:
    """Of an entity are those linked to it, those that name it, and those filed under it."""
    archive = Archive(tmp_path / "home")
    archive.record("e", kind="entity", title="阿嬤（闕林玉霞）", aliases=("奶奶", "Grandma"))
    archive.record("linked", title="連過來的")
    archive.record("named", title="去看奶奶")
    archive.record("latin", title="Dinner", gist="With grandma at home")
    archive.record("part", title="Other", gist="grandmaster of chess")
    archive.record("filed", title="過年", topics=("阿嬤",))
    archive.record("apart", title="修相機")
    archive.links(("linked", "mentions", "e"))
    wanted = ["Dinner", "去看奶奶", "過年", "連過來的", "阿嬤（闕林玉霞）"]
    for name in ("阿嬤", "闕林玉霞", "奶奶", "阿嬷", "GRANDMA", "e", derived_id("me", "e")):
        found = archive.ask("recall", about=name, budget=5000)
        if name == "e":
            continue
        assert sorted(one.title for one in found.records) == sorted(wanted), name
        assert found.about == "entity"
    query = archive.ask("routing", about="相機修好了沒")
    assert query.about == "query"
    archive.close()


def test_a_small_survey_keeps_what_turned_in_each_phase(archive: Archive) -> None:
    """Names and topics do not crowd out the weightiest event of a phase, however early."""
    for budget in (400, 800, 1500):
        small = archive.ask("survey", budget=budget)
        named = [one for one in small.phases if one.kind == "phase"]
        first, last = small.timeline[0].date, small.timeline[-1].date

        assert len(small.timeline) >= len(named) == 3
        assert first is not None
        assert last is not None
        assert first[:4] < last[:4]
