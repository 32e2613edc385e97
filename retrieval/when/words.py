"""The vocabulary, folded: Simplified characters and small letters. Everything else is grammar."""

from typing import NamedTuple

from shiyi.retrieval.when.rules import (
    Day,
    Easter,
    Either,
    Lunar,
    Rule,
    Term,
    Weekday,
    Window,
)


class Local(NamedTuple):
    """One name that means different days in China and in Taiwan."""

    cn: Rule
    tw: Rule


_NATIONAL_DAY = Either((Day(10, 1), Window((10, 1), (10, 8), "range", vague=True)))
_MOTHERS_DAY = Weekday(5, 2, 6)
_SPRING_FESTIVAL = Either((Lunar(1, 0, days=8), Lunar(1, 1)))
_MAY_DAYS = Either((Day(5, 1), Window((5, 1), (5, 6), "range", vague=True)))
_CHRISTMAS = Day(12, 25)

FESTIVALS: dict[str, Rule | Local] = {
    # Of the solar calendar
    "元旦": Day(1, 1), "情人节": Day(2, 14), "西洋情人节": Day(2, 14), "白色情人节": Day(3, 14),
    "二二八": Day(2, 28), "和平纪念日": Day(2, 28),
    "妇女节": Day(3, 8), "三八节": Day(3, 8), "三八妇女节": Day(3, 8), "植树节": Day(3, 12),
    "愚人节": Day(4, 1), "劳动节": Day(5, 1), "五一劳动节": Day(5, 1), "五一": _MAY_DAYS,
    "青年节": Local(Day(5, 4), Day(3, 29)), "五四青年节": Day(5, 4),
    "儿童节": Local(Day(6, 1), Day(4, 4)), "六一儿童节": Day(6, 1), "六一": Day(6, 1),
    "建军节": Day(8, 1), "教师节": Local(Day(9, 10), Day(9, 28)),
    "国庆": Local(_NATIONAL_DAY, Day(10, 10)), "国庆节": Local(_NATIONAL_DAY, Day(10, 10)),
    "十一国庆": _NATIONAL_DAY, "十一国庆节": _NATIONAL_DAY,
    **dict.fromkeys(("十一长假", "十一假期", "十一黄金周"),
                    Window((10, 1), (10, 8), "range", vague=True)),
    "双十": Day(10, 10), "双十节": Day(10, 10), "双十国庆": Day(10, 10), "光复节": Day(10, 25),
    "万圣节": Day(10, 31), "万圣夜": Day(10, 31), "万圣节前夜": Day(10, 31),
    "双十一": Day(11, 11), "双11": Day(11, 11), "光棍节": Day(11, 11),
    "双十二": Day(12, 12), "双12": Day(12, 12),
    "平安夜": Day(12, 24), "圣诞夜": Day(12, 24), "圣诞": _CHRISTMAS, "圣诞节": _CHRISTMAS,
    "耶诞节": _CHRISTMAS, "耶诞": _CHRISTMAS, "跨年": Day(12, 31), "跨年夜": Day(12, 31),
    "跨年晚会": Day(12, 31),
    "母亲节": _MOTHERS_DAY, "父亲节": Local(Weekday(6, 3, 6), Day(8, 8)),
    "感恩节": Weekday(11, 4, 3), "复活节": Easter(),
    # Of the lunar calendar, and solar terms
    "春节": _SPRING_FESTIVAL, "农历新年": _SPRING_FESTIVAL, "农历年": _SPRING_FESTIVAL,
    "旧历年": _SPRING_FESTIVAL, "过年": _SPRING_FESTIVAL, "除夕": Lunar(1, 0),
    "除夕夜": Lunar(1, 0), "大年三十": Lunar(1, 0), "年三十": Lunar(1, 0),
    "大年夜": Lunar(1, 0), "大年除夕": Lunar(1, 0), "年夜饭": Lunar(1, 0),
    "元宵": Lunar(1, 15), "元宵节": Lunar(1, 15), "端午": Lunar(5, 5), "端午节": Lunar(5, 5),
    "七夕": Lunar(7, 7), "七夕节": Lunar(7, 7), "七夕情人节": Lunar(7, 7),
    "中元": Lunar(7, 15), "中元节": Lunar(7, 15), "中元普渡": Lunar(7, 15),
    "中秋": Lunar(8, 15), "中秋节": Lunar(8, 15), "重阳": Lunar(9, 9), "重阳节": Lunar(9, 9),
    "腊八": Lunar(12, 8), "腊八节": Lunar(12, 8),
    "立春": Term(2), "惊蛰": Term(4), "春分": Term(5), "清明": Term(6), "清明节": Term(6),
    "立夏": Term(8), "芒种": Term(10), "夏至": Term(11), "立秋": Term(14), "秋分": Term(17),
    "霜降": Term(19), "立冬": Term(20), "冬至": Term(23),
    # English
    "new year's day": Day(1, 1), "new years day": Day(1, 1),
    "new year's eve": Day(12, 31), "new years eve": Day(12, 31),
    "valentine's day": Day(2, 14), "valentines day": Day(2, 14), "st patrick's day": Day(3, 17),
    "women's day": Day(3, 8), "april fools' day": Day(4, 1), "april fool's day": Day(4, 1),
    "good friday": Easter(-2), "easter": Easter(), "easter sunday": Easter(),
    "easter monday": Easter(1), "may day": Day(5, 1), "memorial day": Weekday(5, -1, 0),
    "mother's day": _MOTHERS_DAY, "mothers day": _MOTHERS_DAY, "father's day": Weekday(6, 3, 6),
    "fathers day": Weekday(6, 3, 6), "independence day": Day(7, 4), "fourth of july": Day(7, 4),
    "juneteenth": Day(6, 19), "labor day": Weekday(9, 1, 0), "halloween": Day(10, 31),
    "veterans day": Day(11, 11), "thanksgiving day": Weekday(11, 4, 3),
    "thanksgiving": Weekday(11, 4, 3), "black friday": Weekday(11, 4, 3, 1),
    "cyber monday": Weekday(11, 4, 3, 4), "christmas eve": Day(12, 24),
    "christmas day": _CHRISTMAS, "christmas": _CHRISTMAS, "xmas": _CHRISTMAS,
    "boxing day": Day(12, 26), "chinese new year": _SPRING_FESTIVAL,
    "lunar new year": _SPRING_FESTIVAL, "spring festival": _SPRING_FESTIVAL,
    "lunar new year's eve": Lunar(1, 0), "chinese new year's eve": Lunar(1, 0),
    "mid-autumn festival": Lunar(8, 15), "moon festival": Lunar(8, 15),
    "dragon boat festival": Lunar(5, 5), "lantern festival": Lunar(1, 15),
    "tomb sweeping day": Term(6), "qingming festival": Term(6), "double ten day": Day(10, 10),
}  # fmt: skip

# A festival is no day when the word goes on like this, or comes from there.
FESTIVAL_NOT_BEFORE = (
    r"快乐|礼物|礼盒|贺|老人|树|卡|帽|歌|岛|红|袜|颂|装饰|月饼|粽|上河|路|街|广场|大道|木|糕"
    r"|区|村|镇|县|站|货|度|底|初|末|轻|龄|[零一二三四五六七八九十百千0-9]|个|版|特辑|晚会|事件"
    r"|\s+(?:tree|card|carol|present|gift|song|movie|sweater|jumper|light|ornament|decoration|egg"
    r"|bunny|stocking|cookie|party|costume|album|market|list|cactus|island)s?\b"
)
FESTIVAL_NOT_AFTER = (
    "(?<![李王张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗"
    "不经通超度难没穿越太再零一二三四五六七八九十百千0-9])"
)

SEASONS: dict[str, Window] = {
    **dict.fromkeys(("春天", "春季", "spring", "springtime"),
                    Window((3, 1), (6, 1), "season", vague=True)),
    **dict.fromkeys(("夏天", "夏季", "summer", "summertime"),
                    Window((6, 1), (9, 1), "season", vague=True)),
    **dict.fromkeys(("秋天", "秋季", "autumn", "fall"),
                    Window((9, 1), (12, 1), "season", vague=True)),
    **dict.fromkeys(("冬天", "冬季", "winter", "wintertime"),
                    Window((12, 1), (3, 1), "season", vague=True, of_year_before=True)),
}  # fmt: skip
_SUMMER_HOLIDAYS = Window((7, 1), (9, 1), "range", vague=True)
HOLIDAYS: dict[str, Window] = {
    **dict.fromkeys(("暑假", "暑期", "summer vacation", "summer holidays", "summer holiday",
                     "summer break"), _SUMMER_HOLIDAYS),
    "寒假": Window((1, 15), (3, 1), "range", vague=True),
}  # fmt: skip
SEMESTERS = (  # approximate: second half of a school year, then first half of the next
    Window((2, 10), (7, 1), "range", vague=True),
    Window((9, 1), (1, 20), "range", vague=True),
)

YEARS_AWAY = {"大前年": -3, "前年": -2, "去年": -1, "上一年": -1, "今年": 0, "本年": 0,
              "明年": 1, "后年": 2}  # fmt: skip
DAYS_AWAY = {"大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "今天": 0, "今日": 0,
             "明天": 1, "明日": 1, "后天": 2, "大后天": 3, "昨晚": -1, "昨夜": -1, "前晚": -2,
             "今晚": 0, "今早": 0, "今晨": 0, "今夜": 0, "明晚": 1, "明早": 1}  # fmt: skip
# Characters before and after which such a word is part of another.
AWAY_NOT_AFTER = {"去年": "过回出", "前年": "以之从", "今年": "如现至", "明年": "元文",
                  "后年": "以之",
                  "前天": "以之从提目眼面跟", "前日": "以之从目", "今天": "如至", "今日": "如至",
                  "明天": "光文聪发证说声表透", "明日": "光文聪发证说声表透",
                  "后天": "以之今背最然先", "前晚": "以之从", "今晚": "如",
                  "本年": "日基", "今早": "如", "今夜": "如"}  # fmt: skip
AWAY_NOT_BEFORE = {"年": "龄纪轻级糕货", "后天": "性形培养失努环获免",
                   "明天": "皇", "今日": "头说", "明日": "香",
                   "前日": "本"}  # fmt: skip

EDGES = {"初": "early", "中": "middle", "底": "end", "末": "end", "尾": "end", "上旬": "first",
         "中旬": "second", "下旬": "third", "前半": "early", "早期": "early", "中期": "middle",
         "后期": "end", "晚期": "end"}  # fmt: skip
LUNAR_MONTHS = {"正月": 1, "冬月": 11, "腊月": 12}

MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
         "august aug", "september sept sep", "october oct", "november nov", "december dec"), 1)
    for name in names.split()
}  # fmt: skip
# Also names, verbs or the like: alone they need a word such as "in" before them.
DOUBTFUL_MONTHS = frozenset({"march", "april", "may", "june", "august", "jan", "mar", "apr",
                             "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"})  # fmt: skip
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        ("monday", "tuesday tues tue", "wednesday", "thursday thurs thur", "friday fri",
         "saturday", "sunday"))
    for name in names.split()
}  # fmt: skip
EN_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20,
    "thirty": 30,
}  # fmt: skip
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3,
            "4th": 4}  # fmt: skip
EN_DAYS = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
EN_RELATIVE = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
UNITS = {
    "day": "day", "days": "day", "week": "week", "weeks": "week", "month": "month",
    "months": "month", "year": "year", "years": "year", "fortnight": "fortnight",
    "weekend": "weekend", "quarter": "quarter", "decade": "decade", "semester": "semester",
}  # fmt: skip
EN_EDGES = {"early": "early", "beginning": "early", "start": "early", "mid": "middle",
            "middle": "middle", "late": "late", "end": "end"}  # fmt: skip
EN_PARTS = frozenset({"morning", "afternoon", "evening", "night", "noon", "midday", "lunchtime"})

# Words that only look like a time.
NO_TIMES = (
    "五月天", "五月花", "四月物语", "四月是你的谎言", "三月的狮子", "十月革命", "十月怀胎",
    "七月流火", "六月雪", "八月长安", "七月与安生", "三月街", "三月兔", "二月红", "八月瓜",
    "五月病", "三月不知肉味", "六月飞雪", "十月围城", "八月之光", "四月裂帛", "半夜鸡叫",
    "星期五餐厅", "明天会更好",
    "后天效应", "昨日重现", "昨日青空", "今日头条", "周一围", "周一鸣", "周一良", "周三多",
    "周六福", "周六夜现场", "周末画报",
)  # fmt: skip
