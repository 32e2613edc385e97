"""Years in Chinese, and what they place: 去年三月, 民國112年, 2023年底, 三年前的夏天."""

from shiyi.retrieval.when import words
from shiyi.retrieval.when.chinese_counts import read_ago
from shiyi.retrieval.when.chinese_rules import yearly
from shiyi.retrieval.when.phrase import Found, Phrase, Reader, one, part
from shiyi.retrieval.when.rules import Day
from shiyi.retrieval.when.spans import Days, back, month, years

_MONTHS = 12
_ROC = 1911
_ROC_YEARS = range(60, 200)
_LATE_ROC_YEARS = range(100, 200)  # three digits are of no other count of years
_YEARS = range(1000, 2200)


def read_year(at: Reader, i: int) -> Found:
    found = _year_anchor(at, i)
    if found is None:
        return None
    numbers, j, whole = found
    k = at.skip(j, "de", "comma") if at.kind(j) != "comma" else j
    if len(numbers) == 1 and whole is not None and at.kind(k) == "same":
        return _same_day(at, numbers[0], k)
    if whole is not None and at.kind(k) == "dayaway" and at.value(k) in {"今天", "今日"}:
        same = at.named(Day(at.today.month, at.today.day), numbers)
        return None if same is None else (same, k + 1)
    if whole is not None and at.value(k) == "前" and at.kind(k + 1) == "number":
        first_months = _first_months(at, numbers[0], k + 1)
        if first_months is not None:
            return first_months
    rule = yearly(at, k)
    if rule is not None:
        in_years = at.named(rule[0], numbers, certain=whole is None or whole.certain)
        if in_years is not None:
            return in_years, rule[1]
    if whole is None:
        return None
    if at.kind(k) == "edge" and at.value(k) != "中":  # 1967年中共
        return part(whole, words.EDGES[at.value(k)]), k + 1
    return whole, j


def _year_anchor(at: Reader, i: int) -> tuple[tuple[int, ...], int, Phrase | None] | None:
    """Return the years, where their word ends, and its own meaning if it stands by itself."""
    if at.kind(i) == "yearaway":
        year = at.today.year + words.YEARS_AWAY[at.value(i)]
        return (year,), i + 1, one(years(year, year), "year")
    ago = read_ago(at, i)
    if ago is not None:
        if ago[0].grain != "year":
            return None
        return tuple(d.first.year for d in ago[0].days), ago[1], ago[0]
    era = at.kind(i) == "era"
    j = i + 1 if at.kind(i) in {"era", "ad"} else i
    if era and at.value(j) == "元":
        return None
    if at.kind(j) != "number":
        return None
    value, text = at.number(j), at.value(j)
    edge = at.kind(j + 1) == "yearedge"
    if not (at.kind(j + 1) == "year" or edge):
        if at.is_year(j, _YEARS) and yearly(at, j + 1) is not None:  # 2023圣诞
            return (value,), j + 1, None
        return None
    end = j + 1 if edge else j + 2
    if era:
        return (value + _ROC,), end, one(years(value + _ROC, value + _ROC), "year")
    if at.is_year(j, _YEARS):
        return (value,), end, one(years(value, value), "year")
    return _short_year(at, value, text, j + 2)


def _short_year(
    at: Reader, value: int, text: str, end: int
) -> tuple[tuple[int, ...], int, None] | None:
    """Read 112年5月 as of the Republic and 23年5月 as of this century, but never alone."""
    rule = yearly(at, end)
    if rule is None or rule[0].recurring is None:
        return None
    if value in _LATE_ROC_YEARS:
        return (value + _ROC,), end, None
    if len(text) != len("23") or not text.isdigit():
        return None
    century = 2000 if 2000 + value <= at.today.year + 1 else 1900
    options = [century + value] if at.region != "tw" else []
    if at.region != "cn" and value in _ROC_YEARS:
        options.append(value + _ROC)
    return (tuple(options), end, None) if options else None


def _same_day(at: Reader, year: int, k: int) -> Found:
    middle = at.named(Day(at.today.month, min(at.today.day, 28)), (year,))
    if middle is None:
        return None
    if at.value(k).endswith("天"):
        return middle, k + 1
    first = middle.days[0].first
    return one(Days(back(first, "day", 15), back(first, "day", -16)), "range", certain=False), k + 1


def _first_months(at: Reader, year: int, k: int) -> Found:
    if at.kind(k + 1) != "countmonth" or not 1 <= at.number(k) <= _MONTHS:
        return None
    first = month(year, 1).first
    return one(Days(first, month(year, at.number(k)).last), "range"), k + 2
