"""What comes back every year, in Chinese: 三月五号, 中秋节, 農曆八月十五, 第三季度, 上半年."""

from shiyi.retrieval.when import words
from shiyi.retrieval.when.phrase import Reader
from shiyi.retrieval.when.rules import (
    Day,
    Lunar,
    LunarMonth,
    Part,
    Rule,
    Window,
    month_rule,
    year_part,
)

_MONTHS = 12
_DAYS = 31
_LUNAR_DAYS = 30
_EARLY_DAYS = 10  # 初一 to 初十
_QUARTERS = 4

RuleFound = tuple[Rule, int] | None


def yearly(at: Reader, i: int) -> RuleFound:
    """Return what comes back every year and starts at token `i`."""
    kind = at.kind(i)
    if kind == "festival":
        return at.festival(i), i + 1
    if kind == "season" and not at.value(i).isascii():
        return words.SEASONS[at.value(i)], i + 1
    if kind == "holiday":
        return words.HOLIDAYS[" ".join(at.value(i).split())], i + 1
    if kind == "half":
        first = at.value(i)[0] in "上前"
        return Window((1 if first else 7, 1), (7 if first else 1, 1), "half"), i + 1
    if kind == "yearedge":
        if at.value(i)[0] == "年" and at.kind(i + 1) == "edge":
            return None
        return year_part(words.EDGES[at.value(i)[-1]]), i + 1
    if kind == "eve" and at.kind(i + 1) == "number" and 1 <= at.number(i + 1) <= _EARLY_DAYS:
        return Lunar(1, at.number(i + 1)), i + 2
    if kind in {"quarter", "nth", "number"}:
        found = _quarter(at, i)
        if found is not None:
            return found
    return _lunar(at, i) or _month_rule(at, i)


def _quarter(at: Reader, i: int) -> RuleFound:
    j = i + 1 if at.kind(i) == "nth" else i
    if at.kind(j) != "number" or at.kind(j + 1) != "quarter" or not 1 <= at.number(j) <= _QUARTERS:
        return None
    first = at.number(j) * 3 - 2
    return Window((first, 1), ((first + 2) % _MONTHS + 1, 1), "quarter"), j + 2


def _lunar(at: Reader, i: int) -> RuleFound:
    j = at.skip(i, "lunar")
    told = j > i
    if at.kind(j) == "lunarmonth":
        number, told, j = words.LUNAR_MONTHS[at.value(j)], True, j + 1
        early = False
    elif (
        at.kind(j) == "number"
        and at.kind(j + 1) in {"month", "monthedge"}
        and 1 <= at.number(j) <= _MONTHS
    ):
        early = at.value(j + 1) == "月初"
        if at.kind(j + 1) == "monthedge" and not early:
            return None
        number, j = at.number(j), j + 2
    else:
        return None
    if at.value(j) == "初" and at.kind(j) == "edge":
        early, j = True, j + 1
    if at.kind(j) == "number" and at.touching(j):
        tens = at.number(j)
        if early and 1 <= tens <= _EARLY_DAYS and not at.value(j).isdigit():
            return Lunar(number, tens), at.skip(j + 1, "daynumber")
        if told and not early and 1 <= tens <= _LUNAR_DAYS:
            return Lunar(number, tens), at.skip(j + 1, "daynumber")
        return None
    return (LunarMonth(number), j) if told and not early else None


def _month_rule(at: Reader, i: int) -> RuleFound:
    if at.kind(i) != "number" or not 1 <= at.number(i) <= _MONTHS:
        return None
    number = at.number(i)
    if at.kind(i + 1) == "monthedge":
        return Part(number, words.EDGES[at.value(i + 1)[-1]]), i + 2
    if at.kind(i + 1) != "month":
        return None
    k = at.skip(i + 2, "de")
    if at.kind(k) == "number" and k == i + 2:
        return _day_rule(at, number, k)
    if at.kind(k) in {"edge", "yearedge"}:
        return Part(number, words.EDGES[at.value(k)]), k + 1
    return month_rule(number), i + 2


def _day_rule(at: Reader, number: int, k: int) -> RuleFound:
    """Read the day after a month; without its 日 or 号 only at the end of the words."""
    value = at.number(k)
    if at.kind(k + 1) == "daynumber":
        return (Day(number, value), k + 2) if 1 <= value <= _DAYS else None
    if at.kind(k + 1) == "dash" and at.kind(k + 2) == "number" and at.kind(k + 3) == "daynumber":
        return Day(number, value), k + 1
    last = at.tokens[k + 1].end == at.tokens[k].end
    if at.value(k).isdigit() and (last or at.kind(k + 1) in {"part", "comma"}) and value <= _DAYS:
        return Day(number, value), k + 1
    return None
