"""Ranges and directions around phrases: from March to May, 去年夏天以来, before 2022."""

from dataclasses import dataclass, replace
from datetime import date

from shiyi.retrieval.when import chinese, chinese_counts, english, words
from shiyi.retrieval.when.phrase import Found, Phrase, Reader, day_in_month, one, part
from shiyi.retrieval.when.rules import Day, Rule, month_rule
from shiyi.retrieval.when.spans import Days, Interval, back, day, month, years

_YEARS = range(1900, 2100)
_MONTHS = 12
_DAYS = 31
_BEFORE = {"en before"}
_UNTIL = {"en until", "en till", "en by", "upto"}
_FROM = {"from", "en from", "en between"}
_TO = {"dash", "en to", "en through", "en until", "en till"}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a run of tokens from `start` up to `end` means."""

    intervals: tuple[Interval, ...]
    phrase: Phrase
    start: int
    end: int
    directed: bool = False


def meaning(at: Reader, i: int) -> Meaning | None:
    """Return what is said from token `i` on; None when that is no time."""
    kind = at.kind(i)
    if kind == "other":
        return None
    if kind in {"en before", "en after", "en since"} or kind in _UNTIL:
        return _before_it(at, i)
    if kind in _FROM:
        return _from(at, i)
    ranged = _numbers(at, i)
    if ranged is not None:
        return _plain(ranged, i)
    found = phrase(at, i)
    if found is None:
        return None
    joined = _joined(at, found, _TO, i)
    if joined is not None:
        return _plain(joined, i)
    between = _joined(at, found, {"with"}, i)
    if between is not None and at.kind(between[1]) == "amid":
        return _plain((between[0], between[1] + 1), i)
    return _after_it(at, found, i)


def phrase(at: Reader, i: int, *, placed: bool = False) -> Found:
    """Return the phrase in either language at token `i`."""
    return chinese.phrase(at, i) or english.phrase(at, i, placed=placed)


def _plain(found: tuple[Phrase, int], i: int) -> Meaning:
    intervals = tuple(Interval(*days) for days in found[0].days)
    return Meaning(intervals, found[0], i, found[1])


def _directed(found: Phrase, way: str, start: int, end: int) -> Meaning | None:
    if found.kind == "weekday" and way != "since":
        return None  # a Friday to come, as often as not
    intervals = tuple(dict.fromkeys(_open(days, way) for days in found.days))
    return Meaning(intervals, replace(found, grain="range", rule=None), start, end, directed=True)


def _open(days: Days, way: str) -> Interval:
    first, last = days
    return {
        "before": Interval(None, first),
        "until": Interval(None, last),
        "since": Interval(first, None),
        "after": Interval(last, None),
    }[way]


def _before_it(at: Reader, i: int) -> Meaning | None:
    found = phrase(at, i + 1, placed=True)
    if found is None:
        return None
    kind = at.kind(i)
    end = at.skip(found[1], "ending", "ago") if kind == "upto" else found[1]
    way = "until" if kind in _UNTIL else kind.removeprefix("en ")
    return _directed(found[0], way, i, end)


def _from(at: Reader, i: int) -> Meaning | None:
    numbers = _numbers(at, i + 1)
    if numbers is not None:
        return _plain(numbers, i)
    found = phrase(at, i + 1, placed=True)
    if found is None:
        return None
    joints = {"en and"} if at.kind(i) == "en between" else _TO
    now = _to_now(at, found[1])
    if now is not None:
        return _directed(found[0], "since", i, now)
    from_on = at.kind(found[1]) == "since" and at.kind(found[1] + 1) == "dash"  # 自1981年起至
    joined = _joined(at, (found[0], found[1] + from_on), joints, i + 1)
    if joined is not None:
        return _plain(joined, i)
    if at.kind(found[1]) == "since" or at.value(i) in {"自从", "自"}:
        return _directed(found[0], "since", i, at.skip(found[1], "since"))
    after = _after_it(at, found, i + 1)
    return None if after is None or at.kind(i) == "en between" else after


def _after_it(at: Reader, found: tuple[Phrase, int], i: int) -> Meaning | None:
    said, j = found
    now = _to_now(at, j)
    if now is not None:
        return _directed(said, "since", i, now)
    k = at.skip(j, "de")
    if at.kind(k) in {"past", "ago", "later"} and at.value(k)[0] in "前后" and said.grain != "year":
        near = _beside(at, said, k)
        if near is not None:
            return _plain(near, i)
    kind = at.kind(j)
    if kind == "around" and said.grain != "year":
        days = tuple(Days(back(d.first, "day", 7), back(d.last, "day", -7)) for d in said.days)
        return _plain((replace(said, days=days, grain="range", certain=False), j + 1), i)
    way = {"ago": "before", "later": "after", "since": "since"}.get(kind)
    if way is None:
        return _plain(found, i)
    if kind == "ago" and at.value(j) == "前" and said.grain == "year" and _round(at, i):
        return None  # 2000年前 is as well two thousand years ago
    if said.kind == "offset" and way == "before":
        return _plain(found, i)
    return _directed(said, way, i, j + 1)


def _to_now(at: Reader, j: int) -> int | None:
    """Return where the words "to the present" that start here end."""
    k = at.skip(j + 1, "en the")
    return k + 1 if at.kind(j) in _TO and at.kind(k) == "en now" else None


def _round(at: Reader, i: int) -> bool:
    return at.kind(i) == "number" and at.number(i) % 1000 == 0


def _beside(at: Reader, said: Phrase, k: int) -> Found:
    """Read 圣诞节前一周, 春节后三天, 中秋的前一天."""
    said_count = chinese_counts.counted(at, k + 1)
    if said_count is None:
        return None
    count, about, unit, end = said_count
    if at.value(k)[0] == "前":
        days = [Days(back(d.first, unit, count), d.first) for d in said.days]
        exact = [day(d.first) for d in days]
    else:
        days = [Days(d.last, back(d.last, unit, -count)) for d in said.days]
        exact = [day(back(d.last, "day", 1)) for d in days]
    days = exact if unit == "day" and count == 1 else days
    sure = said.certain and not about
    return Phrase(tuple(days), "day" if days is exact else "range", sure), end


def _numbers(at: Reader, i: int) -> Found:
    """Read 3-5月, 三到五月, 2019-2021年, 2019 to 2021: the unit is said once."""
    if at.kind(i) not in {"number", "ordinal"} or at.kind(i + 1) not in {"dash", "en to"}:
        return None
    if at.kind(at.skip(i + 3, "en of")) == "monthname":
        return _days_first(at, i)
    if at.kind(i) != "number" or at.kind(i + 2) != "number":
        return None
    low, high, unit = at.number(i), at.number(i + 2), at.kind(i + 3)
    if unit == "month" and 1 <= low <= _MONTHS and 1 <= high <= _MONTHS:
        return _months(at, low, high, i + 4)
    if at.is_year(i, _YEARS) and at.is_year(i + 2, _YEARS) and low < high:
        placed = i > 0 and at.kind(i - 1) in {"en from", "en in", "en during", "en between", "from"}
        if unit == "year" or placed:
            return one(years(low, high), "range"), i + 3 + (unit == "year")
    return None


def _days_first(at: Reader, i: int) -> Found:
    """Read 3-5 May 2024, 1st to 7th of June."""
    found = english.phrase(at, i + 2)
    if found is None or found[0].grain != "day":
        return None
    last = found[0].days[0]
    if not 1 <= at.number(i) < last.first.day:
        return None
    days = Days(last.first.replace(day=at.number(i)), last.last)
    return one(days, "range", certain=found[0].certain), found[1]


def _months(at: Reader, low: int, high: int, end: int) -> Found:
    if at.kind(end) == "number":
        return None
    first, last = month_rule(low), month_rule(high)
    found = _both(at, first, last)
    return None if found is None else (found, end)


def _joined(at: Reader, found: tuple[Phrase, int], joints: set[str], i: int) -> Found:
    said, j = found
    k = at.skip(j, "comma") if at.kind(at.skip(j, "comma")) in joints else j
    if at.kind(k) not in joints:
        return None
    k = at.skip(k, *joints, "en the")
    second = _second(at, said, k, i)
    if second is None:
        return None
    span = _span(at, said, second[0])
    return None if span is None else (span, second[1])


def _second(at: Reader, said: Phrase, k: int, i: int) -> Found:
    """Return the other end of a range: a phrase, or a number that goes on from the first."""
    if at.kind(k) in {"number", "ordinal"} and said.grain == "day":
        number, ends = at.number(k), at.kind(k + 1)
        han = ends == "daynumber"
        fits = number <= _DAYS and ends != "year"
        if (
            fits
            and (han or at.tokens[i].value.isascii())
            and ends not in {"monthname", "month", "enunit"}
        ):
            first = said.days[0].first
            whole = one(month(first.year, first.month), "month", certain=said.certain)
            found = day_in_month(whole, number) if number else None
            if found is not None and isinstance(said.rule, Day):
                return _same_month(at, found, Day(said.rule.month, number), k + 1 + han)
            return None if found is None else (found, k + 1 + han)
    if at.kind(k) == "edge" and said.grain == "range":  # 5月中旬至下旬
        first = said.days[0].first
        whole = one(month(first.year, first.month), "month", certain=said.certain)
        return part(whole, words.EDGES[at.value(k)]), k + 1
    if said.grain == "year" and at.is_year(k, _YEARS) and at.kind(k + 1) in {"other", "comma"}:
        return one(years(at.number(k), at.number(k)), "year"), k + 1
    return phrase(at, k, placed=True)


def _same_month(at: Reader, found: Phrase, rule: Day, end: int) -> Found:
    """Read the last day of April 5-17, 2026."""
    year = english.year_after(at, end)
    if year is None:
        return replace(found, rule=rule), end
    named = at.named(rule, year[0], certain=year[1])
    return None if named is None else (named, year[2])


def _span(at: Reader, said: Phrase, other: Phrase) -> Phrase | None:
    """Return the days from one phrase to another; a year that one of them names holds for both."""
    begins, ends = said.days[0], other.days[0]
    if other.kind == "weekday":
        if said.kind == "weekday":
            return None  # Monday to Friday, every week
        ahead = (ends.first.weekday() - begins.first.weekday()) % 7
        ends = day(back(begins.first, "day", -ahead))
    elif said.kind == "weekday":
        return None
    elif said.rule is not None and other.rule is not None:
        return _both(at, said.rule, other.rule)
    elif other.rule is not None:
        ends = _next(other.rule, begins.first) or ends
    elif said.rule is not None:
        earlier = [
            d
            for step in (1, 0)
            for d in said.rule.in_year(ends.last.year - step)
            if d.first < ends.last
        ]
        begins = max(earlier, default=begins)
    if not begins.first < ends.last:
        return None
    return one(Days(begins.first, ends.last), "range", certain=said.certain and other.certain)


def _both(at: Reader, first: Rule, last: Rule) -> Phrase | None:
    begins = first.latest(at.today)
    ends = _next(last, begins[0].first) if begins else None
    if ends is None:
        return None
    sure = len(begins) == 1 and not first.fuzzy and not last.fuzzy
    return one(Days(begins[0].first, ends.last), "range", certain=sure)


def _next(rule: Rule, after: date) -> Days | None:
    for year in range(after.year, after.year + 3):
        for days in rule.in_year(year):
            if days.last > after:
                return days
    return None
