"""Counted time in Chinese: 三个月前, 十几天前, 过去两年, 前几天."""

from shiyi.retrieval.when.numerals import approximate
from shiyi.retrieval.when.phrase import Found, Reader, one
from shiyi.retrieval.when.spans import Days, back, unit_back

_MONTHS = 12
_UNIT = {"天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_FAR = 200  # more of a unit than a person may mean
_ROUND = 10  # from here on a count of days is a round number
_FEW = 4
_SIX = 6
_MANY = 7  # the last few days are not more
_SEVERAL = 9  # and a few days ago is not longer ago


def counted(at: Reader, i: int) -> tuple[int, bool, str, int] | None:
    """Return how many, whether about, of which unit, and the token after them."""
    about = at.kind(i) == "some"
    count = _FEW if about else at.number(i)
    j = i + 1
    if at.kind(i) == "half1":
        if at.kind(j) == "year":
            return 6, False, "month", j + 1
        return (2, True, "week", j + 1) if at.kind(j) == "countmonth" else None
    if at.kind(i) not in {"number", "some"}:
        return None
    if at.kind(j) == "some":  # 十几
        about, count, j = True, count + _FEW, j + 1
    if at.kind(j) == "more":
        about, j = True, j + 1
    if at.kind(j) not in {"unit", "countmonth", "year"}:
        return None
    about = about or at.value(j)[1:2] in {"多", "半"}
    unit = _UNIT[at.value(j).lstrip("个多半")]
    if unit == "year" and at.kind(j + 1) == "half1":
        return count * _MONTHS + 6, False, "month", j + 2
    if at.kind(j + 1) == "more":
        about, j = True, j + 1
    if not 1 <= count <= _FAR:
        return None
    return count, about, unit, j + 1


def read_ago(at: Reader, i: int) -> Found:
    found = counted(at, i)
    if found is None or at.kind(found[3]) != "ago":
        return None
    count, about, unit, j = found
    if at.kind(i) == "some":
        low, high = approximate(at.value(i)) or (2, _SEVERAL)
        days = Days(unit_back(at.today, unit, high).first, unit_back(at.today, unit, low).last)
        return one(days, "range", certain=False), j + 1
    if at.kind(i + 1) == "some":
        days = Days(back(at.today, unit, count + _SIX), back(at.today, unit, count - _FEW + 1))
        return one(days, "range", certain=False), j + 1
    if about:
        far, near = back(at.today, unit, count + 1), back(at.today, unit, count)
        return one(Days(far, near), "range", certain=False), j + 1
    sure = unit == "day" and count < _ROUND
    return one(unit_back(at.today, unit, count), unit, certain=sure, kind="offset"), j + 1


def read_past(at: Reader, i: int) -> Found:
    if at.kind(i) != "past":
        return None
    j = at.skip(i + 1, "de")
    if at.kind(j) == "past":
        j += 1
    found = counted(at, j)
    if found is None:
        return None
    count, about, unit, k = found
    word = at.value(i)
    if at.kind(k) == "ago" or (word in {"前", "这"} and count == 1):
        return None
    if at.kind(j) == "some":
        count, about = _MANY, True
    begins = back(at.today, unit, count)
    ends = at.today if word == "前" else back(at.today, "day", -1)
    return one(Days(begins, ends), "range", certain=not about and word not in {"前", "这"}), k


def away(word: str) -> int:
    return word.count("下") - word.count("上")
