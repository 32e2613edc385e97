"""English phrases from today on: last spring, three weeks ago, the week before last."""

from dataclasses import replace

from shiyi.retrieval.when import words
from shiyi.retrieval.when.phrase import Found, Phrase, Reader, one
from shiyi.retrieval.when.rules import Day, Rule, month_rule
from shiyi.retrieval.when.spans import Days, back, day, month, unit_back, week, years

_YEARS = range(1900, 2100)
_DAYS = 31
_YEARLY = frozenset({"season", "holiday", "festival", "monthname"})
_FAR = 200  # more of a unit than a person may mean
_ROUND = 10  # from here on a count of days is a round number
_COUPLE = 2
_FEW = 4
_MANY = 7  # the last few days are not more
_SEVERAL = 9  # and a few days ago is not longer ago


def yearly_rule(at: Reader, i: int) -> tuple[Rule, int] | None:
    kind = at.kind(i)
    if kind == "festival":
        return at.festival(i), i + 1
    if kind == "season" and at.value(i).isascii():
        return words.SEASONS[at.value(i)], i + 1
    if kind == "holiday":
        return words.HOLIDAYS[" ".join(at.value(i).split())], i + 1
    if kind != "monthname":
        return None
    j = at.skip(i + 1, "en the")
    if at.kind(j) == "ordinal" or (at.kind(j) == "number" and at.value(j).isdigit() and j == i + 1):
        number = at.number(j)
        if 1 <= number <= _DAYS and (at.kind(j) == "ordinal" or _alone(at, i, j)):
            return Day(at.number(i), number), j + 1
        if number not in _YEARS:
            return None
    return month_rule(at.number(i)), i + 1


def _alone(at: Reader, i: int, j: int) -> bool:
    """Tell a day of the month from a number of something: "May 2," from "may 2 people"."""
    if at.value(i) in words.DOUBTFUL_MONTHS and i not in at.capitals:
        return i > 0 and at.kind(i - 1) in {"en on", "en of", "en from", "en since", "en between"}
    return at.kind(j + 1) != "enunit"


def read_relative(at: Reader, i: int) -> Found:
    kind, way = at.kind(i), at.number(i)
    if kind not in {"relative", "en past"}:
        return None
    rolling = _rolling(at, i)
    if rolling is not None or kind == "en past":
        return rolling
    j = i + 1
    if at.kind(j) == "enunit":
        return _relative_unit(at, j, way)
    if at.kind(j) == "enpart":
        if way > 0 or (way < 0 and at.value(j) != "night"):
            return None
        return one(day(back(at.today, "day", -way)), "day"), j + 1
    if at.kind(j) == "weekdayname":
        return relative_weekday(at, j, way), j + 1
    rule = yearly_rule(at, j) if at.kind(j) in _YEARLY else None
    if rule is None:
        return None
    if way > 0:
        ahead = [d for y in (0, 1) for d in rule[0].in_year(at.today.year + y)]
        ahead = [d for d in ahead if d.first > at.today][:1]
        meaning = Phrase(tuple(ahead), rule[0].grain, certain=False) if ahead else None
    else:
        meaning = at.last(rule[0]) if way else at.this(rule[0])
    return None if meaning is None else (meaning, rule[1])


def _relative_unit(at: Reader, j: int, way: int) -> Found:
    unit, today = words.UNITS[at.value(j)], at.today
    if at.value(j) != unit:
        return None
    if unit in {"week", "month", "year"}:
        meaning = one(unit_back(today, unit, -way), unit)
    elif unit == "weekend":
        meaning = _weekend(at, way)
    elif unit == "quarter":
        start = month(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * way).first
        meaning = one(Days(start, month(start.year, start.month + 2).last), "quarter")
    elif unit == "decade":
        first = today.year // 10 * 10 + 10 * way
        meaning = one(years(first, first + 9), "decade", certain=False)
    else:
        return None
    k = at.skip(j + 1, "poss", "comma", "en on", "en in", "en the", "en around")
    if unit == "week" and at.kind(k) == "weekdayname":
        days = day(back(meaning.days[0].first, "day", -at.number(k)))
        return one(days, "day"), k + 1
    if unit == "year" and at.kind(k) in _YEARLY and at.kind(j + 1) != "comma":
        rule = yearly_rule(at, k)
        named = None if rule is None else at.named(rule[0], (meaning.days[0].first.year,))
        if rule is not None and named is not None:
            return named, rule[1]
    return meaning, j + 1


def _weekend(at: Reader, way: int) -> Phrase:
    saturday = back(week(at.today).first, "day", -5)
    if way < 0 and saturday <= at.today:  # on a weekend, the one before it
        return one(Days(back(saturday, "week", 1), back(saturday, "day", 5)), "range")
    first = back(saturday, "week", -way)
    return one(Days(first, back(first, "day", -2)), "range")


def relative_weekday(at: Reader, j: int, way: int) -> Phrase:
    number = at.number(j)
    of_week = back(week(at.today, -way).first, "day", -number)
    if way == 0:
        return one(day(of_week), "day")
    if way > 0:
        return one(day(of_week), "day", certain=False)
    ahead = (at.today.weekday() - number) % 7 or 7
    nearest = back(at.today, "day", ahead)
    days = tuple(dict.fromkeys((day(nearest), day(of_week))))
    return Phrase(days, "day", len(days) == 1)


def read_count(at: Reader, i: int) -> tuple[int, bool, str, int] | None:
    """Return how many, whether about, of which unit, and the token after them."""
    j, about = i, False
    if at.kind(j) == "number":
        count, j = at.number(j), j + 1
        if count == 1 and at.kind(j) in {"en few", "en couple"}:
            count = 0
    elif at.kind(j) == "en half" and at.value(j + 1) == "a" and at.value(j + 2) == "year":
        return 6, False, "month", j + 3
    else:
        count = 0
    if count == 0:
        if at.kind(j) not in {"en few", "en couple", "en several"}:
            return None
        count, about = (_COUPLE if at.kind(j) == "en couple" else _FEW), True
        j = at.skip(j + 1, "en of")
    if at.kind(j) != "enunit" or not 1 <= count <= _FAR:
        return None
    unit = words.UNITS[at.value(j)]
    if unit == "fortnight":
        return 2 * count, about, "week", j + 1
    if unit not in {"day", "week", "month", "year"}:
        return None
    return count, about, unit, j + 1


def _rolling(at: Reader, i: int) -> Found:
    """Read the last three months, the past year."""
    if at.kind(i) == "relative" and at.number(i) >= 0:
        return None
    found = read_count(at, i + 1)
    if found is None and at.kind(i) == "en past" and at.kind(i + 1) == "enunit":
        unit = words.UNITS[at.value(i + 1)]
        found = (1, False, unit, i + 2) if unit in {"week", "month", "year"} else None
    if found is None:
        return None
    count, about, unit, j = found
    begins = back(at.today, unit, _MANY if about and count > _COUPLE else count)
    return one(Days(begins, back(at.today, "day", -1)), "range", certain=not about), j


def read_ago(at: Reader, i: int) -> Found:
    found = read_count(at, i)
    if found is None or at.kind(found[3]) != "en ago":
        return None
    count, about, unit, j = found
    k = j + 1
    if at.kind(k) == "enday" and at.value(k) == "today" and unit in {"year", "month", "week"}:
        return one(day(back(at.today, unit, count)), "day", certain=not about), k + 1
    if i > 0 and at.kind(i - 1) == "en over":
        days = Days(back(at.today, unit, count + 1), back(at.today, unit, count))
        return one(days, "range", certain=False), k
    if about and count != _COUPLE:
        days = Days(back(at.today, unit, _SEVERAL), back(at.today, unit, _COUPLE))
        return one(days, "range", certain=False), k
    whole = unit_back(at.today, unit, count)
    if unit == "week" and at.kind(k) == "weekdayname":
        return one(day(back(whole.first, "day", -at.number(k))), "day", certain=False), k + 1
    sure = unit == "day" and count < _ROUND and not about
    return one(whole, unit, certain=sure, kind="offset"), k


def before_last(at: Reader, i: int) -> Found:
    if at.kind(i + 1) != "en before" or at.value(i + 2) != "last":
        return None
    end = i + 3
    if at.kind(i) == "enunit":
        unit = words.UNITS[at.value(i)]
        if unit == "weekend":
            first = _weekend(at, -1).days[0].first
            return one(Days(back(first, "week", 1), back(first, "day", 5)), "range"), end
        known = unit in {"week", "month", "year"}
        return (one(unit_back(at.today, unit, 2), unit), end) if known else None
    if at.kind(i) == "enpart":
        return one(day(back(at.today, "day", 2)), "day"), end
    if at.kind(i) == "weekdayname":
        last = relative_weekday(at, i, -1)
        return replace(last, days=tuple(day(back(d.first, "week", 1)) for d in last.days)), end
    rule = yearly_rule(at, i)
    last_time = None if rule is None else at.last(rule[0])
    if rule is None or last_time is None:
        return None
    before = tuple(e for d in last_time.days for e in rule[0].in_year(d.first.year - 1))
    return Phrase(before, last_time.grain, certain=False), end
