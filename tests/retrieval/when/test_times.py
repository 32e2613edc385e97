"""Time words are read right, and what is doubtful is left unread."""

import json
import time
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import opencc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiyi.retrieval.when import Interval, Reading, read_times, words
from shiyi.retrieval.when.door import may_have_times

HERE = Path(__file__).parent
NOW = datetime(2026, 6, 17, 15, 30, tzinfo=ZoneInfo("Asia/Taipei"))
TO_TRADITIONAL = opencc.OpenCC("s2t")
PIECES = (
    "去年", "前年", "上个月", "三", "十五", "月", "号", "年", "周五", "上上", "礼拜三",
    "之前", "到",
    "从", "前", "后", "一", "天", "的", "中秋", "除夕", "夏天", "底", "民國", "112", "2023", "個月",
    "last ", "week ", "two ", "ago ", "May ", "2nd ", "before ", "the ", "of ", "Christmas ",
    "between ", "and ", "2024 ", "early ", "Friday ", "9999", "-", "/", "12", "農曆", "初", "，",
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))
NOWS = st.datetimes(
    datetime(1900, 1, 1),  # noqa: DTZ001 - the zone comes with the strategy
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(ZoneInfo("UTC")),
)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def one(text: str, now: datetime = NOW, region: str = "both") -> Reading:
    (reading,) = read_times(text, now, region=region)
    return reading


def day(reading: Reading) -> str:
    first, last = reading.intervals[0]
    assert first is not None
    assert last == first + timedelta(days=1)
    return first.isoformat()


def overlap(interval: Interval, expected: list[str | None]) -> float:
    """Return the common days over all days of both; 1.0 when they are the same."""
    first, last = interval.first or date.min, interval.last or date.max
    begins = date.fromisoformat(expected[0]) if expected[0] else date.min
    ends = date.fromisoformat(expected[1]) if expected[1] else date.max
    common = max((min(last, ends) - max(first, begins)).days, 0)
    return common / ((last - first).days + (ends - begins).days - common)


def verdict(row: dict[str, Any]) -> str:
    """Return ok, wrong (and certain of it), unsure (wrong, but not certain) or none."""
    found = read_times(row["text"], datetime.fromisoformat(row["now"]))
    if not found:
        return "none" if row["expected"] else "ok"
    least = 0.5 if row.get("fuzzy") else 1.0
    best = found[0].intervals[0]
    right = any(overlap(best, expected) >= least for expected in row["expected"])
    if right and len(found) == 1:
        return "ok"
    return "wrong" if any(reading.certain for reading in found) else "unsure"


@pytest.mark.parametrize(
    ("name", "least", "false_friends"), [("labelled.jsonl", 0.95, 30), ("held_out.jsonl", 0.7, 10)]
)
def test_expressions(name: str, least: float, false_friends: int) -> None:
    """Nearly all are read, and hardly any is read wrong without a doubt."""
    verdicts = {row["text"]: verdict(row) for row in rows(name)}

    counts = Counter(verdicts.values())
    bad = {text: said for text, said in verdicts.items() if said != "ok"}
    assert sum(not row["expected"] for row in rows(name)) >= false_friends
    assert counts["ok"] >= least * len(verdicts), bad
    assert counts["wrong"] <= 0.02 * len(verdicts), bad


@pytest.mark.parametrize("name", ["labelled.jsonl", "held_out.jsonl"])
def test_both_scripts_are_one(name: str) -> None:
    """The same words in the other script have the same readings."""
    for row in rows(name):
        text = row["text"]
        other = TO_TRADITIONAL.convert(text)
        if len(other) == len(text):
            assert bare(read_times(other, NOW)) == bare(read_times(text, NOW)), text


def bare(readings: list[Reading]) -> list[tuple[object, ...]]:
    return [(r.start, r.end, r.intervals, r.grain, r.certain, r.recurring) for r in readings]


def test_the_span_is_of_the_original() -> None:
    """Full-width digits and Traditional characters stay as they were written."""
    text = "她說，民國１１２年 5 月 3 日 早上的會議"

    reading = one(text)

    assert reading.text == "民國１１２年 5 月 3 日 早上" == text[reading.start : reading.end]
    assert day(reading) == "2023-05-03"


def test_several_times_in_one_text() -> None:
    """Each is read, in the order of the text."""
    found = read_times("去年三月和今年五月，还有 last Friday", NOW)

    assert [reading.text for reading in found] == ["去年三月", "今年五月", "last Friday"]


def test_national_day_is_two_days() -> None:
    """國慶 is in October, on the 1st in China and on the 10th in Taiwan."""
    assert day(one("國慶那天", region="cn")) == "2025-10-01"
    assert day(one("國慶那天", region="tw")) == "2025-10-10"
    both = one("國慶那天").intervals
    assert {Interval(date(2025, 10, n), date(2025, 10, n + 1)) for n in (1, 10)} < set(both)


def test_a_day_without_a_year_may_be_of_any() -> None:
    """The last one fits best, the same day of other years fits as well, other days do not."""
    reading = one("我在5月2号去了博物馆")

    assert reading.recurring == (5, 2)
    assert reading.certain
    assert reading.covers(date(2026, 5, 2), date(2026, 5, 2)) == 1.0
    assert reading.covers(date(2023, 5, 2), date(2023, 5, 2)) == 0.5
    assert reading.covers(date(2023, 5, 3), date(2023, 5, 3)) == 0.0
    assert reading.covers(date(2026, 1, 1), date(2026, 12, 31)) == 0.5
    assert reading.covers(date(2023, 1, 1), date(2023, 12, 31)) == 0.25


def test_a_festival_of_the_moon_may_be_of_any_year() -> None:
    """It has no fixed day, so that each year is looked up."""
    reading = one("中秋節")

    assert reading.recurring is None
    assert reading.covers(date(2025, 10, 6), date(2025, 10, 6)) == 1.0
    assert reading.covers(date(2024, 9, 17), date(2024, 9, 17)) == 0.5
    assert reading.covers(date(2024, 10, 6), date(2024, 10, 6)) == 0.0


def test_a_month_covers_what_lies_in_it() -> None:
    """A memory that is only dated 2024 may be of that May, and may not."""
    reading = one("2024年5月")

    assert reading.covers(date(2024, 5, 1), date(2024, 5, 31)) == 1.0
    assert reading.covers(date(2024, 5, 31), date(2024, 6, 1)) == 0.5
    assert reading.covers(date(2024, 1, 1), date(2024, 12, 31)) == 0.5
    assert reading.covers(date(2024, 6, 1), date(2024, 6, 30)) == 0.0
    assert reading.covers(date(2023, 5, 2), date(2023, 5, 2)) == 0.0
    assert one("in March").recurring == 3


def test_alternatives_fit_less() -> None:
    """Last spring is this year's or last year's."""
    reading = one("last spring")

    assert not reading.certain
    assert reading.covers(date(2026, 4, 1), date(2026, 4, 1)) == 1.0
    assert reading.covers(date(2025, 4, 1), date(2025, 4, 1)) == 0.5


def test_open_sides() -> None:
    """What lies before or since a time has no other end."""
    assert one("before 2022").covers(date(1990, 1, 1), date(1990, 1, 1)) == 1.0
    assert one("自從2022年").covers(date(2022, 1, 1), date(2030, 1, 1)) == 1.0


def test_today_is_the_day_of_the_zone() -> None:
    """At the same instant it may be tomorrow elsewhere."""
    instant = datetime(2026, 6, 17, 20, 0, tzinfo=ZoneInfo("UTC"))

    assert day(one("昨天", instant)) == "2026-06-16"
    assert day(one("昨天", instant.astimezone(ZoneInfo("Asia/Taipei")))) == "2026-06-17"


@given(TEXTS, NOWS)
@settings(deadline=None, max_examples=300)
def test_any_text_is_read(text: str, now: datetime) -> None:
    """Nothing raises; spans lie in the text, in order and apart; no interval is empty."""
    at = 0
    for reading in read_times(text, now):
        assert at <= reading.start < reading.end <= len(text)
        assert reading.text == text[reading.start : reading.end]
        assert reading.intervals
        assert not (reading.certain and len(reading.intervals) > 1)
        for first, last in reading.intervals:
            assert (first or date.min) < (last or date.max)
        assert 0.0 <= reading.covers(now.date(), now.date()) <= 1.0
        at = reading.end


@given(st.lists(st.sampled_from(PIECES)).map("".join), NOWS)
@settings(deadline=None)
def test_any_script_is_read_alike(text: str, now: datetime) -> None:
    """Converting a text to Traditional characters changes no reading."""
    other = TO_TRADITIONAL.convert(text)

    assert bare(read_times(other, now)) == bare(read_times(text, now))


@given(NOWS, st.integers(-200, 200))
@settings(deadline=None, max_examples=50)
def test_weeks_move_with_today(now: datetime, weeks: int) -> None:
    """Whole weeks later, last week and all its days are as many weeks later."""
    move = timedelta(weeks=weeks)
    texts = ("上周", "上上個禮拜", "這禮拜三", "last week", "last Friday", "周五", "两周前", "昨天")
    for text in texts:
        before, after = one(text, now).intervals, one(text, now + move).intervals
        moved = tuple((first and first + move, last and last + move) for first, last in before)
        assert moved == after


def test_long_texts_take_linear_time() -> None:
    """Twenty times the text takes about twenty times as long, whatever it repeats."""
    for piece in ("去年三月", "三", "2023-", "the week before ", "end of ", "从", "1", "一月到"):
        short, long = piece * (200 // len(piece)), piece * (4000 // len(piece))
        assert seconds(long) < 60 * max(seconds(short), 0.0005), piece


def seconds(text: str) -> float:
    """Return the least time of this thread of several, which other processes hardly touch."""
    best = 1.0
    for _ in range(7):
        start = time.thread_time()
        read_times(text, NOW)
        best = min(best, time.thread_time() - start)
    return best


def test_the_quick_look_passes_every_word() -> None:
    """No name in the vocabulary is dropped before it is read, in either script."""
    names = [*words.FESTIVALS, *words.SEASONS, *words.HOLIDAYS, *words.YEARS_AWAY]
    names += [*words.DAYS_AWAY, *words.LUNAR_MONTHS, *words.MONTHS, *words.WEEKDAYS]

    assert [
        name
        for name in names
        for text in (name, TO_TRADITIONAL.convert(name))
        if not may_have_times(text)
    ] == []


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("April 5-17, 2025", "2025-04-05", "2025-04-18"),
        ("3-5 May 2024", "2024-05-03", "2024-05-06"),
        ("the first Monday of May", "2026-05-04", "2026-05-05"),
        ("the week of Christmas", "2025-12-22", "2025-12-29"),
        ("聖誕節那週", "2025-12-22", "2025-12-29"),
        ("國慶連假", "2025-10-01", "2025-10-08"),
        ("自1981年起至2012年6月", "1981-01-01", "2012-07-01"),
        ("12世紀到18世紀的油畫", "1101-01-01", "1801-01-01"),
    ],
)
def test_what_real_texts_taught(text: str, first: str, last: str) -> None:
    """Forms that were first read by half."""
    best = one(text).intervals[0]

    assert best == Interval(date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "text",
    [
        "by Friday",
        "周五前交报告",
        "結婚前三天",
        "《神圣十月》",
        "1967年中共",
        "since today is our first",
    ],
)
def test_half_of_it_is_not_read(text: str) -> None:
    """What would be a wrong part of a longer whole is left out; 1967 itself may stay."""
    assert [r.text for r in read_times(text, NOW)] in ([], ["1967年"])


@pytest.mark.parametrize("when", [date.min, date.max])
def test_any_document_may_be_asked_about(when: date) -> None:
    """The first and the last of all days fit nothing, and do no harm."""
    for text in ("冬天的時候", "跨年夜", "春節", "in winter", "5月2號"):
        assert one(text).covers(when, when) == 0.0


def test_only_months_have_thirds() -> None:
    """上旬 of a year is nothing that anybody says."""
    assert read_times("今年上旬", NOW) == []
