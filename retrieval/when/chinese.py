"""Chinese phrases: an anchor, what narrows it, and a part of the day, each of them optional."""

import re
from dataclasses import replace

from shiyi.retrieval.when import words
from shiyi.retrieval.when.chinese_counts import away, read_ago, read_past
from shiyi.retrieval.when.chinese_rules import yearly
from shiyi.retrieval.when.chinese_years import read_year
from shiyi.retrieval.when.lex import AHEAD
from shiyi.retrieval.when.phrase import Found, Phrase, Reader, day_in_month, one, part
from shiyi.retrieval.when.rules import Day, Either, Part, month_rule
from shiyi.retrieval.when.spans import Days, back, day, month, week, years

_MONTHS = 12
_YEARS = range(1000, 2200)
_WEEKDAYS = {c: n for n, c in enumerate("一二三四五六日")} | {"天": 6}
_STARTS = frozenset({
    "short", "date", "yearaway", "era", "ad", "number", "some", "half1", "monthaway", "weekaway",
    "weekday", "dayaway", "past", "lastof", "thisof", "semester", "quarteraway", "monthedge",
    "festival", "season", "holiday", "half", "yearedge", "eve", "nth", "lunar", "lunarmonth",
})  # fmt: skip
_CENTURIES = range(10, 22)
_HUNDRED = 100  # below it, the century is not said
_UP_TO_2020 = 20


def phrase(at: Reader, i: int) -> Found:
    """Return the phrase that starts at token `i` and the token after it."""
    if at.kind(i) not in _STARTS:
        return None
    found = _core(at, i)
    if found is None:
        return None
    meaning, j = found
    k = at.skip(j, "de") if at.kind(at.skip(j, "de")) == "part" else j
    if at.kind(k) == "part":
        j = at.skip(k, "part")
    if at.kind(j) == "thatweek" and meaning.grain == "day":
        return replace(
            meaning, days=tuple(week(d.first) for d in meaning.days), grain="week"
        ), j + 1
    if at.kind(j) == "during" and at.value(j)[:1] in "期假长连黄":  # days off, not the day alone
        longest = sorted(meaning.days, key=lambda d: d.first - d.last)
        meaning = replace(meaning, days=tuple(longest))
    return meaning, at.skip(j, "during")


def _core(at: Reader, i: int) -> Found:
    for read in (_date, read_year, _month, _week, _day, read_past, _again, _decade):
        found = read(at, i)
        if found is not None:
            return found
    return _bare(at, i)


def _date(at: Reader, i: int) -> Found:
    if at.kind(i) == "short":
        return _short_date(at, i)
    if at.kind(i) != "date":
        return None
    parts = [int(number) for number in re.split("[-/.]", at.value(i))]
    if len(parts) > len(("year", "month")):
        found = at.named(Day(parts[1], parts[2]), (parts[0],))
    elif parts[1] > _MONTHS or "." in at.value(i):
        return None
    else:
        season = parts[1] == parts[0] % 100 + 1  # 2010-11 may be two years
        found = at.named(month_rule(parts[1]), (parts[0],), certain=not season)
    return None if found is None else (found, i + 1)


def _short_date(at: Reader, i: int) -> Found:
    """Read 12/25 where something says that it is a date, and 12/25/2023."""
    numbers = [int(number) for number in at.value(i).split("/")]
    rules = [Day(numbers[0], numbers[1]), Day(numbers[1], numbers[0])]
    rules = [rule for rule in rules if rule.month <= _MONTHS]
    if not rules or numbers[0] == numbers[1]:
        rules = rules[:1]
    if len(numbers) > len(rules[:1]) + 1 and rules:
        found = at.named(Either(tuple(rules)), (numbers[2],))
        return None if found is None else (found, i + 1)
    placed = i > 0 and (at.kind(i - 1) in {"en on", "en since"} or at.value(i - 1).endswith("在"))
    if not rules or not (
        placed or at.kind(i + 1) in {"during", "part"} or len(at.tokens) == 1 + AHEAD
    ):
        return None
    meaning = at.bare(Either(tuple(rules)) if len(rules) > 1 else rules[0])
    return None if meaning is None else (meaning, i + 1)


def _month(at: Reader, i: int) -> Found:
    if at.kind(i) == "monthaway":
        whole = one(month(at.today.year, at.today.month + away(at.value(i))), "month")
        j = i + 1
    else:
        ago = read_ago(at, i)
        if ago is None or ago[0].grain != "month":
            return None
        whole, j = ago
    k = at.skip(j, "de")
    if at.kind(k) in {"edge", "monthedge"}:
        return part(
            whole, words.EDGES[at.value(k)[-1:] if at.kind(k) == "monthedge" else at.value(k)]
        ), k + 1
    if at.kind(k) == "number" and at.kind(k + 1) == "daynumber":
        found = day_in_month(whole, at.number(k))
        return None if found is None else (found, k + 2)
    return whole, j


def _week(at: Reader, i: int) -> Found:
    if at.kind(i) == "weekaway":
        word = at.value(i)
        whole = week(at.today, -away(word))
        if word[-1] in _WEEKDAYS and word[-2:] != "一周":
            number = _WEEKDAYS[word[-1]]
            return one(day(back(whole.first, "day", -number)), "day"), i + 1
        if word[-1] == "末":
            return one(Days(back(whole.first, "day", -5), whole.last), "range"), i + 1
        return one(whole, "week"), i + 1
    ago = read_ago(at, i)
    if ago is None or ago[0].grain != "week":
        return None
    k = at.skip(ago[1], "de")
    if at.kind(k) == "weekday" and at.value(k)[-1] != "末":
        number = _WEEKDAYS[at.value(k)[-1]]
        days = tuple(day(back(d.first, "day", -number)) for d in ago[0].days)
        return Phrase(days, "day", certain=False), k + 1
    return ago


def _day(at: Reader, i: int) -> Found:
    if at.kind(i) == "dayaway":
        return one(day(back(at.today, "day", -words.DAYS_AWAY[at.value(i)])), "day"), i + 1
    ago = read_ago(at, i)
    return ago if ago is not None and ago[0].grain in {"day", "range"} else None


def _again(at: Reader, i: int) -> Found:
    """Read 上个春节, 这个夏天."""
    if at.kind(i) not in {"lastof", "thisof"}:
        return None
    k = at.skip(i + 1, "de")
    if at.kind(k) not in {"season", "holiday", "festival"}:
        return None
    rule = yearly(at, k)
    if rule is None:
        return None
    found = at.last(rule[0]) if at.kind(i) == "lastof" else at.this(rule[0])
    return None if found is None else (found, rule[1])


def _decade(at: Reader, i: int) -> Found:
    """Read 九十年代, 上世纪八十年代, 2010年代, 20世纪."""
    j, century = i, None
    if at.kind(i) == "lastof" and at.kind(i + 1) == "century":
        j, century = i + 2, at.today.year // 100 - 1
    elif at.kind(i) == "number" and at.kind(i + 1) == "century" and at.number(i) in _CENTURIES:
        j, century = i + 2, at.number(i) - 1
    if i > 0 and at.kind(i - 1) == "century":
        return None  # 4世纪50年代
    k = at.skip(j, "de")
    if at.kind(k) == "number" and at.kind(k + 1) == "decade" and at.number(k) % 10 == 0:
        value = at.number(k)
        if value < _HUNDRED:
            own = (19 if value > _UP_TO_2020 else 20) if century is None else century
            value += own * 100
        if value not in _YEARS:
            return None
        whole, j = one(years(value, value + 9), "decade"), k + 2
    elif century is not None:
        whole = one(years(century * 100 + 1, century * 100 + 100), "century")
    else:
        return None
    if at.kind(j) == "edge" and at.value(j) != "中":  # 1950年代中苏
        return part(whole, words.EDGES[at.value(j)]), j + 1
    return whole, j


def _bare(at: Reader, i: int) -> Found:
    if at.kind(i) == "weekday" and at.value(i)[-1] != "末":
        ahead = (at.today.weekday() - _WEEKDAYS[at.value(i)[-1]]) % 7
        return one(day(back(at.today, "day", ahead)), "day", kind="weekday"), i + 1
    if at.kind(i) == "semester":
        found = _semester(at, at.value(i))
        return None if found is None else (found, i + 1)
    if at.kind(i) == "quarteraway":
        first = (at.today.month - 1) // 3 * 3 + 1 + 3 * away(at.value(i))
        start = month(at.today.year, first).first
        return one(Days(start, month(start.year, start.month + 2).last), "quarter"), i + 1
    if at.kind(i) == "monthedge":
        edge = words.EDGES[at.value(i)[-1]]
        days = [
            Part(d.month, edge).in_year(d.year)[0] for d in (at.today, back(at.today, "month", 1))
        ]
        started = [d for d in days if d.first <= at.today]
        return (one(started[0], "range", certain=False), i + 1) if started else None
    found_rule = yearly(at, i)
    if found_rule is None or (at.value(i)[:1].isalpha() and at.value(i).isascii()):
        return None
    meaning = at.bare(found_rule[0])
    if meaning is None or meaning.grain == "quarter":
        return None
    return meaning, found_rule[1]


def _semester(at: Reader, word: str) -> Phrase | None:
    terms = sorted(
        days
        for year in range(at.today.year - 2, at.today.year + 1)
        for rule in words.SEMESTERS
        for days in rule.in_year(year)
        if days.first <= at.today
    )
    wanted = -1 + min(away(word), 0)
    return None if away(word) > 0 else one(terms[wanted], "range", certain=False)
