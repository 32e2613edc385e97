"""The one door: find the time words of a text and say what they mean."""

import re
from datetime import date, datetime

from shiyi.indexer.fold import fold_with_spans
from shiyi.retrieval.when import words
from shiyi.retrieval.when.guards import is_time
from shiyi.retrieval.when.lex import tokens
from shiyi.retrieval.when.phrase import Reader
from shiyi.retrieval.when.ranges import Meaning, meaning
from shiyi.retrieval.when.reading import Reading
from shiyi.retrieval.when.spans import Interval

# Every time word has one of these, in either script, or begins with these letters; most texts
# have none.
_MAYBE = re.compile(
    "[年月日天周週號号期禮礼拜春夏秋冬節节夜昨今明前後后晚暑寒季旬夕旦午除清重陽阳元跨耶聖圣誕诞國国雙双"
    "五六二八立至分降種种蛰蟄代世紀纪去近假０-９Ａ-Ｚａ-ｚ]"
    "|[0-9]{4}|[0-9]0['’]?s|[0-9][-/.][0-9]|[qhQH][1-4]"
)
_WORD = re.compile("[A-Za-z]+")
_LETTERS = 3
_BEGINNINGS = frozenset(
    name[:_LETTERS]
    for names in (words.MONTHS, words.WEEKDAYS, words.SEASONS, words.UNITS, words.EN_DAYS,
                  words.EN_PARTS, words.HOLIDAYS, words.FESTIVALS)
    for name in names if name.isascii()
)  # fmt: skip


def read_times(text: str, now: datetime, *, region: str = "both") -> list[Reading]:
    """Return the times that `text` names, in its order, resolved against `now`.

    `now` is aware: the day is that of its zone. `region` is cn, tw or both, for names that mean
    different days in China and in Taiwan. What is doubtful is left unread.
    """
    if not may_have_times(text):
        return []
    folded = fold_with_spans(text)
    found = tokens(folded.text)
    capitals = frozenset(
        number
        for number, token in enumerate(found)
        if token.kind in {"monthname", "weekdayname"} and text[folded.starts[token.start]].isupper()
    )
    reader = Reader(found, now.date(), region, capitals)
    readings = []
    at = 0
    while at < len(found):
        said = _meaning(reader, at)
        if said is None:
            at += 1
            continue
        at = said.end
        if is_time(reader, folded.text, said):
            start = folded.starts[found[said.start].start]
            end = folded.ends[found[said.end - 1].end - 1]
            readings.append(_reading(text, start, end, said))
    return readings


def may_have_times(text: str) -> bool:
    """Tell quickly whether `text` is worth a closer look."""
    if _MAYBE.search(text) is not None:
        return True
    return any(word[:_LETTERS].lower() in _BEGINNINGS for word in _WORD.findall(text))


def _meaning(reader: Reader, at: int) -> Meaning | None:
    if reader.kind(at) == "other":
        return None
    try:
        found = meaning(reader, at)
    except (ValueError, OverflowError):  # outside the years that a date can have
        return None
    if found is None or not all(_is_span(one) for one in found.intervals):
        return None
    return found


def _is_span(one: Interval) -> bool:
    return (one.first or date.min) < (one.last or date.max)


def _reading(text: str, start: int, end: int, said: Meaning) -> Reading:
    rule = said.phrase.rule
    return Reading(
        start=start,
        end=end,
        text=text[start:end],
        intervals=said.intervals,
        grain=said.phrase.grain,
        certain=said.phrase.certain and len(said.intervals) == 1,
        recurring=None if rule is None else rule.recurring,
        again=rule,
    )
