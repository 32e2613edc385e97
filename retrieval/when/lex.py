"""Cut folded text into tokens, the longest match first."""

import re
from typing import NamedTuple

from shiyi.retrieval.when import words
from shiyi.retrieval.when.numerals import HAN, approximate, han_value

_LONGEST_NUMBER = 4


AHEAD = 8  # tokens of nothing at the end, for a grammar that looks ahead


class Token(NamedTuple):
    """A piece of folded text; `other` is everything that is no time word."""

    kind: str
    value: str
    number: int
    start: int
    end: int


def _any(names: object) -> str:
    assert isinstance(names, tuple | list | dict | frozenset)
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def _guarded(name: str) -> str:
    after = words.AWAY_NOT_AFTER.get(name)
    before = words.AWAY_NOT_BEFORE.get(name, "") + (
        words.AWAY_NOT_BEFORE["年"] if name.endswith("年") else ""
    )
    return (f"(?<![{after}])" if after else "") + name + (f"(?![{before}])" if before else "")


def _aways(names: dict[str, int]) -> str:
    return "|".join(_guarded(name) for name in sorted(names, key=len, reverse=True))


def _festivals() -> str:
    han = [name for name in words.FESTIVALS if not name.isascii()]
    latin = [name for name in words.FESTIVALS if name.isascii()]
    spaced = _any(latin).replace(r"\ ", r"\s+").replace("'", "['’]")
    return (
        rf"(?:{words.FESTIVAL_NOT_AFTER}(?:{_any(han)})|\b(?:{spaced})\b)"
        rf"(?!{words.FESTIVAL_NOT_BEFORE})"
    )


_NOT_NEXT = "龄亮球色光饼台嫂经子牙"  # 月亮, 月色 and so on
_WEEK = "(?:周|星期|礼拜)"
_NO_WEEKDAY = (  # 上周一起 is 上周, 一起
    "(?!一[起直般样些下次定共边块点个切旦同齐家]|[二两三四五六][次个遍节位人本岁]"
    "|一?日[常记报程子]|天[气空使才])"
)
_WEEKDAY = f"{_NO_WEEKDAY}[一二三四五六日天末]"
_BACK = (
    "(?:(?<![早晚马路网身桌天海线赶遇碰看爱心事以之])上{1,3}|这|(?<![日基])本|(?<![天以上])下{1,2})"
)
_CLOCK = (
    rf"(?:\d{{1,2}}|[{HAN}]{{1,3}})(?:点|时)(?!都|儿|也)"
    rf"(?:半|整|钟|一刻|三刻|(?:\d{{1,2}}|[{HAN}]{{1,3}})分?)?"
    r"|\d{1,2}[:：]\d{2}"
)
_PART = (
    "大清早|一大早|早上|早晨|清晨|上午|中午|正午|午后|下午"
    "|傍晚|黄昏|晚上|晚间|夜里|夜晚|半夜|深夜|凌晨|夜间|[早晚](?![期年点餐饭])"
)
_APART = r"(?<![\w.+#$¥€£/-])"  # not within a number, a price, a version or a code
_DATE = _APART + (
    r"(?:1[0-9]|20|21)\d\d(?P<mark>[-/.])\d{1,2}(?:(?P=mark)\d{1,2})?(?![0-9a-su-z]|[-/.][0-9a-z])"
)
_SHORT = _APART + r"\d{1,2}/\d{1,2}(?:/(?:19|20)\d\d)?(?![\d]|[-/.]\d)"

_KINDS = {
    "stop": _any(words.NO_TIMES),
    "date": _DATE,
    "short": _SHORT,
    "festival": _festivals(),
    "eve": "大年初|年初(?=[一二三四五六七八九十])",
    "yearaway": _aways(words.YEARS_AWAY),
    "dayaway": _aways(words.DAYS_AWAY),
    "semester": rf"{_BACK}一?个?学期(?!末)",
    "quarteraway": rf"{_BACK}一?个?季度",
    "monthaway": rf"{_BACK}(?:一?个)?月(?![{_NOT_NEXT}])",
    "weekaway": rf"{_BACK}(?:一?个|一)?{_WEEK}(?![期边围密到转易年杰刊报])(?:{_WEEKDAY})?",
    "weekday": rf"{_WEEK}{_WEEKDAY}",
    "same": "同一天|这一天|这个时候|这时候|这时",
    "thatweek": "那一?个?(?:周(?!末)|星期|礼拜)(?![一二三四五六日天])",
    "during": "期间|假期|长假|连假|黄金周|那天|当天|那一天|这天|的时候|那会儿",
    "lastof": "上一?个|上次|上回|上一次",
    "thisof": "这个",
    "season": "|".join(k for k in words.SEASONS if not k.isascii()),
    "holiday": "|".join(k for k in words.HOLIDAYS if not k.isascii())
    + "|"
    + "|".join(rf"\b{k}\b" for k in words.HOLIDAYS if k.isascii()).replace(" ", r"\s+"),
    "half": "[上前]半年(?!前)|[下后]半年",
    "yearedge": r"年[初底末尾]|年中(?=$|[\s的时我你他她，,。、？?！!到至之以前后])",
    "monthedge": "月[初底末]|月中(?![旬间])",
    "lunarmonth": _any(words.LUNAR_MONTHS),
    "lunar": "农历|阴历|旧历",
    "era": "民国",
    "ad": "西元(?!前)|公元(?!前)",
    "century": "世纪",
    "decade": "年代",
    "countmonth": "个[多半]?月",
    "unit": "个?(?:多)?(?:星期|礼拜)|周(?![围边期年到密])|天(?![气空使才津])",
    "year": f"年(?![{words.AWAY_NOT_BEFORE['年']}])",
    "month": f"月份?(?![{_NOT_NEXT}刊供]|薪(?!水)|考(?![试完上了过的]))",
    "quarter": "季度|季",
    "nth": "第",
    "daynumber": "日(?![本常记报])|号(?![码称召线楼])",
    "part": rf"(?:{_PART})(?:的?(?:{_CLOCK}))?|(?:{_CLOCK})",
    "edge": _any(words.EDGES),
    "past": "过去|最近|近(?![代视])|这(?=[两三四五六七八九十几])"
    "|前(?=[一二两三四五六七八九十几]{1,3}[天年个周])",
    "ago": "之前|以前|前(?![面任男女期后端往进台途提景妻夫半所辈言列线几])",
    "later": "之后|以后|后(?![来面天的我期边院台悔续半者背果])",
    "around": "前后",
    "since": "以来|至今|到现在|到今天为止|开始|起(?![来床飞码])",
    "ending": "为止",
    "from": "自从|从(?![前来小不此])|自(?=从|去|今|前|[0-9])",
    "upto": "直到|截至|截止到?",
    "half1": "半",
    "more": "多|来(?=[年天个])",
    "some": "几|数(?=[年天月周个])",
    "de": "的",
    "dash": "[-–—~至到]+",
    "amid": "之间|间(?!接)",
    "with": "和|与|跟",
    "decades": r"\b(?:1[0-9]|20)?[0-9]0['’]?s\b",
    "partyear": r"\b[qh][1-4](?![0-9a-z_])",
    "digits": r"\d+(?:st|nd|rd|th)?(?![a-z_])",
    "han": f"[{HAN}]+",
    "word": "[a-z]+",
    "poss": "['’]s\\b",
    "comma": "[,，]",
    "space": r"\s+",
    "other": ".",
}
# Most characters begin no token, and need not be tried against each form.
_MARKS = {c for form in _KINDS.values() for c in form if not c.isascii()}
_KINDS = {"nothing": rf"[^\x00-\x7f{''.join(sorted(_MARKS))}]+"} | _KINDS
_TOKEN = re.compile(
    "|".join(f"(?P<{kind}>{form})" for kind, form in _KINDS.items())
    .replace("\\1", "(?P=_s)")
    .replace("([-/.])", "(?P<_s>[-/.])"),
    re.DOTALL,
)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")

_ENGLISH: dict[str, tuple[str, int]] = (
    {name: ("number", n) for name, n in words.EN_NUMBERS.items()}
    | {name: ("ordinal", n) for name, n in words.ORDINALS.items()}
    | {name: ("monthname", n) for name, n in words.MONTHS.items()}
    | {name: ("weekdayname", n) for name, n in words.WEEKDAYS.items()}
    | dict.fromkeys(filter(str.isascii, words.SEASONS), ("season", 0))
    | {name: ("enday", n) for name, n in words.EN_DAYS.items()}
    | {name: ("relative", n) for name, n in words.EN_RELATIVE.items()}
    | dict.fromkeys(words.UNITS, ("enunit", 0))
    | dict.fromkeys(words.EN_EDGES, ("enedge", 0))
    | dict.fromkeys(words.EN_PARTS, ("enpart", 0))
    | {name: (f"en {name}", 0) for name in (
        "the", "of", "in", "on", "ago", "before", "after", "since", "until", "till", "from", "to",
        "through", "between", "and", "during", "past", "half", "few", "couple", "several", "same",
        "time", "by", "over", "throughout", "now")}
| {"present": ("en now", 0)}
)  # fmt: skip


def tokens(text: str) -> list[Token]:
    """Return the tokens of folded text, without its spaces."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        if kind == "space":
            continue
        start, end = match.span()
        value, number = match.group(), 0
        if kind == "digits":
            kind, number = _digits(value)
        elif kind == "han":
            kind, number = _han(value)
        elif kind == "word":
            kind, number = _ENGLISH.get(value, ("other", 0))
        elif kind in {"stop", "nothing"}:
            kind = "other"
        if kind == "other" and found and found[-1].kind == "other":
            found[-1] = found[-1]._replace(end=end, value=value)
        else:
            found.append(Token(kind, value, number, start, end))
    return found + [Token("other", "", 0, len(text), len(text))] * AHEAD


def _digits(value: str) -> tuple[str, int]:
    ordinal = _ORDINAL.fullmatch(value)
    text = ordinal[1] if ordinal else value
    if len(text) > _LONGEST_NUMBER or not text.isascii():
        return "other", 0
    return ("ordinal" if ordinal else "number"), int(text)


def _han(value: str) -> tuple[str, int]:
    if approximate(value) is not None:
        return "some", 0
    number = han_value(value)
    return ("other", 0) if number is None else ("number", number)
