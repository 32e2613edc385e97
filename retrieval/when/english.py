"""English phrases: May 2nd, March 2024, the first half of 2021, early 2023."""

from dataclasses import replace

from shiyi.retrieval.when import words
from shiyi.retrieval.when.english_relative import (
    before_last,
    read_ago,
    read_count,
    read_relative,
    yearly_rule,
)
from shiyi.retrieval.when.phrase import Found, Phrase, Reader, day_in_month, one, part
from shiyi.retrieval.when.rules import Day, Part, Weekday, Window
from shiyi.retrieval.when.spans import Days, back, day, unit_back, week, years

_YEARS = range(1900, 2100)
_DAYS = 31
_MONTHS = 12
_QUARTERS = 4
_FOUR_WEEKS = 4
_HUNDRED = 100  # below it, the century is not said
_FROM_1930 = 30
_YEARLY = frozenset({"season", "holiday", "festival", "monthname"})
_STARTS = _YEARLY | {"number", "en few", "en couple", "en several", "en half", "enunit", "relative",
                     "en past", "en same", "enday", "enedge", "ordinal", "partyear", "decades",
                     "weekdayname", "enpart"}  # fmt: skip
_PLACES = frozenset({"en in", "en since", "en until", "en till", "en before", "en after",
                     "en during", "en throughout", "en by", "en over", "en from",
                     "en between"})  # fmt: skip


def phrase(at: Reader, i: int, *, placed: bool = False, beside: bool = True) -> Found:
    """Return the phrase that starts at token `i` and the token after it.

    A month, season or year alone has to be `placed` by a word such as "in" before it.
    """
    j = at.skip(i, "en the")
    if at.kind(j) not in _STARTS:
        return None
    placed = placed or (i > 0 and at.kind(i - 1) in _PLACES)
    found = _core(at, j, placed=placed, the=j > i, beside=beside)
    if found is None:
        return None
    return found[0], at.skip(found[1], "enpart")


def _core(at: Reader, i: int, *, placed: bool, the: bool = False, beside: bool = False) -> Found:
    kind = at.kind(i)
    if kind in {"number", "en few", "en couple", "en several", "en half", "enunit"}:
        for read in (_day_words, read_ago, _day_first, _year_number):
            found = read(at, i)
            if found is not None:
                return found
        found = (_week_of(at, i) or _beside(at, i)) if beside else None
        if found is not None:
            return found
        if kind == "number":
            return _year_alone(at, i) if placed else None
        return before_last(at, i)
    if kind in {"relative", "ordinal"} and at.kind(i + 1) == "weekdayname":
        nth = _nth_weekday(at, i)
        if nth is not None or kind == "ordinal":
            return nth
    if kind in {"relative", "en past"}:
        return _same_time(at, i) or read_relative(at, i)
    if kind == "en same":
        return _same_time(at, i)
    if kind == "enday":
        return one(day(back(at.today, "day", -at.number(i))), "day"), i + 1
    if kind == "enedge":
        return _edge(at, i)
    if kind in {"ordinal", "partyear"}:
        return _part_year(at, i) or _day_first(at, i)
    if kind == "decades":
        return _decade(at, i) if the else None
    if kind == "weekdayname":
        return before_last(at, i) or _weekday(at, i)
    if kind == "enpart":
        return before_last(at, i)
    if kind in _YEARLY:
        return before_last(at, i) or _yearly(at, i, placed=placed, the=the)
    return None


def year_after(at: Reader, j: int) -> tuple[tuple[int, ...], bool, int] | None:
    """Read the year after something yearly: 2023; of last year; two years ago."""
    k = at.skip(j, "comma", "en of", "en in", "en the")
    if at.is_year(k, _YEARS):
        return (at.number(k),), True, k + 1
    found = (read_ago(at, k) or read_relative(at, k)) if at.kind(j) != "comma" else None
    if found is None or found[0].grain != "year":
        return None
    return tuple(d.first.year for d in found[0].days), found[0].certain, found[1]


def _yearly(at: Reader, i: int, *, placed: bool, the: bool) -> Found:
    found = yearly_rule(at, i)
    if found is None:
        return None
    rule, j = found
    year = year_after(at, j)
    if year is not None:
        named = at.named(rule, year[0], certain=year[1])
        return None if named is None else (named, year[2])
    if at.kind(i) == "monthname" and j == i + 1 and not placed:
        if at.value(i) in words.DOUBTFUL_MONTHS or i not in at.capitals:
            return None
    elif at.kind(i) == "monthname" and j == i + 1:
        if at.value(i) in {"may", "march"} and i not in at.capitals and at.kind(i - 1) != "en in":
            return None
    elif at.kind(i) == "season" and not placed:
        return None
    if the and at.kind(i) == "monthname":
        return None
    bare = at.bare(rule)
    return None if bare is None else (bare, j)


def _day_words(at: Reader, i: int) -> Found:
    """Read the day before yesterday, the day after tomorrow."""
    if at.value(i) != "day":
        return None
    if at.kind(i + 1) == "en before" and at.value(i + 2) == "yesterday":
        return one(day(back(at.today, "day", 2)), "day"), i + 3
    if at.kind(i + 1) == "en after" and at.value(i + 2) == "tomorrow":
        return one(day(back(at.today, "day", -2)), "day"), i + 3
    return None


def _beside(at: Reader, i: int) -> Found:
    """Read the week before Christmas, two days after the Mid-Autumn Festival."""
    counted = read_count(at, i)
    if counted is None and at.kind(i) == "enunit":
        unit = words.UNITS[at.value(i)]
        counted = (1, False, unit, i + 1) if unit in {"day", "week", "month"} else None
    if counted is None or at.kind(counted[3]) not in {"en before", "en after"}:
        return None
    count, about, unit, j = counted
    found = phrase(at, j + 1, placed=True, beside=False)
    if found is None or found[0].kind == "weekday":
        return None
    days = [_next_to(d, unit, count, before=at.kind(j) == "en before") for d in found[0].days]
    sure = found[0].certain and not about
    return Phrase(tuple(days), unit if count == 1 else "range", sure), found[1]


def _next_to(days: Days, unit: str, count: int, *, before: bool) -> Days:
    if unit == "day":  # that one day
        return day(back(days.first, unit, count) if before else back(days.last, unit, 1 - count))
    if before:
        return Days(back(days.first, unit, count), days.first)
    return Days(days.last, back(days.last, unit, -count))


def _weekday(at: Reader, i: int) -> Found:
    j = at.skip(i + 1, "en of")
    if at.kind(j) == "relative" and at.value(j + 1) == "week":
        whole = unit_back(at.today, "week", -at.number(j))
        return one(day(back(whole.first, "day", -at.number(i))), "day"), j + 2
    ago = read_ago(at, i + 1)
    if ago is not None and ago[0].grain == "week":
        of_week = day(back(ago[0].days[0].first, "day", -at.number(i)))
        return one(of_week, "day", certain=False), ago[1]
    k = at.skip(i + 1, "comma", "en the")
    dated = _day_first(at, k)
    if at.kind(k) == "monthname":
        dated = _yearly(at, k, placed=False, the=False)
    if dated is not None and dated[0].grain == "day":
        return dated
    if i not in at.capitals and (i == 0 or at.kind(i - 1) != "en on"):
        return None
    ahead = (at.today.weekday() - at.number(i)) % 7
    return one(day(back(at.today, "day", ahead)), "day", kind="weekday"), i + 1


def _nth_weekday(at: Reader, i: int) -> Found:
    """Read the first Monday of May, the last Friday in June 2023."""
    nth = at.number(i) if at.kind(i) == "ordinal" or at.value(i) == "last" else 0
    j = at.skip(i + 2, "en of", "en in")
    if nth == 0 or nth > _FOUR_WEEKS or j == i + 2 or at.kind(j) != "monthname":
        return None
    rule = Weekday(at.number(j), nth, at.number(i + 1))
    year = year_after(at, j + 1)
    meaning = at.bare(rule) if year is None else at.named(rule, year[0], certain=year[1])
    return None if meaning is None else (meaning, j + 1 if year is None else year[2])


def _week_of(at: Reader, i: int) -> Found:
    """Read the week of September 5."""
    if at.value(i) != "week" or at.kind(i + 1) != "en of":
        return None
    found = phrase(at, i + 2, beside=False)
    if found is None or found[0].grain != "day":
        return None
    days = tuple(week(d.first) for d in found[0].days)
    return replace(found[0], days=days, grain="week"), found[1]


def _same_time(at: Reader, i: int) -> Found:
    """Read this time last year, the same day two years ago."""
    if at.value(i) not in {"this", "same"} or at.value(i + 1) not in {"time", "day"}:
        return None
    found = read_relative(at, i + 2) or read_ago(at, i + 2)
    if found is None or found[0].grain != "year":
        return None
    that = back(at.today, "year", at.today.year - found[0].days[0].first.year)
    if at.value(i + 1) == "day":
        return one(day(that), "day"), found[1]
    return one(Days(back(that, "day", 15), back(that, "day", -16)), "range", certain=False), found[
        1
    ]


def _edge(at: Reader, i: int) -> Found:
    name = words.EN_EDGES[at.value(i)]
    needs_of = at.value(i) in {"beginning", "start", "end", "middle"}
    if needs_of and at.kind(i + 1) != "en of":
        return None
    j = at.skip(i + 1, "en of", "en in", "dash", "en the")
    if at.kind(j) == "enunit" and at.kind(j - 1) == "en the" and at.value(j) in {"year", "month"}:
        inner: Found = (one(unit_back(at.today, at.value(j), 0), at.value(j)), j + 1)
    else:
        again = at.kind(j) == "enedge"
        inner = None if again else _core(at, j, placed=True, the=at.kind(j) != "monthname")
    if inner is None or inner[0].grain in {"range", "day"}:
        return None
    meaning = part(inner[0], name)
    if inner[0].grain == "month" and isinstance(inner[0].rule, Window):
        meaning = replace(meaning, rule=Part(inner[0].rule.first[0], name))
    return meaning, inner[1]


def _part_year(at: Reader, i: int) -> Found:
    """Read the first half of 2021, Q3 2025, the third quarter of last year."""
    if at.kind(i) == "partyear":
        number, half, j = int(at.value(i)[1]), at.value(i)[0] == "h", i + 1
    elif at.kind(i + 1) == "en half" or at.value(i + 1) == "quarter":
        number, half, j = at.number(i), at.kind(i + 1) == "en half", i + 2
    else:
        return None
    if number > (_QUARTERS // 2 if half else _QUARTERS):
        return None
    length = 6 if half else 3
    first = (number - 1) * length + 1
    last = (first + length - 1) % _MONTHS + 1
    rule = Window((first, 1), (last, 1), "half" if half else "quarter")
    year = year_after(at, j)
    if year is None:
        k = at.skip(j, "en of", "en the")
        if at.value(k) != "year" or k == j:
            return None
        year = (at.today.year,), True, k + 1
    found = at.named(rule, year[0], certain=year[1])
    return None if found is None else (found, year[2])


def _day_first(at: Reader, i: int) -> Found:
    """Read 2 May 2023, the 2nd of May, the 15th of last month."""
    if at.kind(i) not in {"number", "ordinal"} or not 1 <= at.number(i) <= _DAYS:
        return None
    if not at.value(i)[0].isdigit():
        return None
    j = at.skip(i + 1, "en of")
    if at.kind(j) != "monthname":
        if at.kind(i) != "ordinal" or j == i + 1:
            return None
        found = read_relative(at, j)
        if found is None or found[0].grain != "month":
            return None
        named = day_in_month(found[0], at.number(i))
        return None if named is None else (named, found[1])
    year = year_after(at, j + 1)
    sure = at.kind(i) == "ordinal" or j in at.capitals or year is not None
    if not sure and at.value(j) in words.DOUBTFUL_MONTHS:
        return None
    rule = Day(at.number(j), at.number(i))
    meaning = at.bare(rule) if year is None else at.named(rule, year[0], certain=year[1])
    return None if meaning is None else (meaning, j + 1 if year is None else year[2])


def _year_number(at: Reader, i: int) -> Found:
    """Read 2023 Christmas, the year 2019."""
    if at.value(i) == "year" and at.kind(i + 1) == "number":
        return _year_alone(at, i + 1)
    if not at.is_year(i, _YEARS):
        return None
    if at.kind(i + 1) not in {"season", "festival", "holiday"}:
        return None
    rule = yearly_rule(at, i + 1)
    found = None if rule is None else at.named(rule[0], (at.number(i),))
    return None if rule is None or found is None else (found, rule[1])


def _year_alone(at: Reader, i: int) -> Found:
    value = at.number(i)
    if not at.is_year(i, _YEARS) or at.kind(i + 1) == "enunit":
        return None
    return one(years(value, value), "year"), i + 1


def _decade(at: Reader, i: int) -> Found:
    value = int(at.value(i).rstrip("s").rstrip("'’"))
    if value < _HUNDRED:
        value += 2000 if value < _FROM_1930 else 1900
    return one(years(value, value + 9), "decade"), i + 1
