"""Where a phrase that nothing places is no time: names, habits, counts, somebody's own year."""

import re

from shiyi.retrieval.when.phrase import Reader
from shiyi.retrieval.when.ranges import Meaning

_REACH = 16  # characters looked at on either side
_NUMERAL = "0-9零〇一二三四五六七八九十百千两几半整"
_BEFORE_BARE = re.compile(
    rf"""(?: 那一?年|那个?|每|每一?[个年]|有一?年|某个?|哪个?
        | 次年|同年|当年|翌年|隔年|年|历年|往年|来年
        | 小时候|大[一二三四]|高[一二三]|初[一二三]|年级|大学|高中|初中|小学|中学|毕业
        | 婚后|童年|当时 | [叫姓]|名字是 | 从[^，。,.到至]{{1,8}}[到至]
        | 第[{_NUMERAL}]+个? | [{_NUMERAL}]\s*[、,，/~-]?
        | \b(?:every|each|any|all|most|some|one|that|another|many|per|a|an|no|my\s+first)\s+
        )(?:的)?\s*$""",
    re.VERBOSE,
)
_BEFORE_WEEKDAY = re.compile(
    r"""(?: [名叫姓]|老 | (?:周|星期|礼拜)[一二三四五六日天][-–—~至到]
        | (?:before|after|by|until|till|on\s+a|my|the)\s+
        | day\s*(?:to|through|thru|[-–—~])\s*
        | \b(?:black|good|ash|freaky|casual|fat|ruby|super|bloody|palm|cyber|giving|girl|man
            |first|second|third|fourth|[1-4](?:st|nd|rd|th)|other
            |mr|ms|mrs|miss|named|called|name\s+is|i'm|i\s+am)[.]?\s+ )$""",
    re.VERBOSE,
)
_WEEKDAY = r"(?:周|星期|礼拜|mon|tue|wed|thu|fri|sat|sun)"
_TO = r"\s*(?:to|through|thru|[-–—~至到])\s*"  # Monday to Friday is every week
_AFTER_WEEKDAY = re.compile(
    rf"""(?: {_TO}{_WEEKDAY} )
        | (?: 先生|小姐|女士|老师|同学|说(?!好)|问|告诉|跟我|是谁|叔|哥|姐|的歌
            | [都总每]|通常|一般|例会 | 之?[前后]|以[前后] )
        | \s+night\s+(?:raw|football|live)
        | \s+(?:addams|times|weld|school|roast|best|telegraph|mirror|s\b|blues|said|says|told)
        | 's\s+(?!party|meeting|class|dinner|lunch|talk|lecture|game|show|news)""",
    re.VERBOSE,
)
_AFTER_BARE = re.compile(
    r"""[都总]|通常|一般|往往|每次 | 龄|桂花|飞雪|女神|里的小雨|作业|工(?!作)
        | [是叫].{0,6}名 | 酒店|饭店|集团|公司|路|街|牌|服饰
        | 's\b (?!\s*(?:eve|day|party|dinner))""",
    re.VERBOSE,
)
_PERSON = re.compile(
    r"""\s+(?:said|says|say|told|tells|asked|asks|came|comes|went|left|is|was|has|had
        |and\s+(?:i|her|his)\b|wants|wanted|likes|liked|called|gave|sent|wrote|thinks|thought
        |smith|jones|lee|chen|wang)\b""",
    re.VERBOSE,
)
_COUNTED = re.compile(
    r"""\s*(?:words|people|users|dollars|euros|pounds|miles|km|meters|metres|feet|steps|calories|times
        |pieces|items|points|cities|countries|units|copies|bytes|mb|gb|kg|pages|votes|%|rpm|mah|px)\b""",
    re.VERBOSE,
)
_BEFORE_PAST = re.compile(r"[在我你他她们是这那\W]$")
_BECAUSE = re.compile(r"\s+(?:is|was|are|were|has|had|will|would)\b")
_DOUBTFUL_NAMES = frozenset({"april", "may", "june", "august", "jan", "march"})
_NOT_ALONE = frozenset({"年中", "月中"})


def is_time(at: Reader, text: str, said: Meaning) -> bool:
    """Tell whether what was read at some place of the folded `text` is a time there."""
    first, last = at.tokens[said.start], at.tokens[said.end - 1]
    before = text[max(0, first.start - _REACH) : first.start]
    after = text[last.end : last.end + _REACH]
    if before.endswith(("公元前", "西元前", "纪元前")):
        return False
    if said.phrase.bare and before[-1:] and before[-1:] + after[:1] in {'""', "“”", "「」", "『』"}:
        return False  # a name
    if said.directed and first.kind == "en since" and _BECAUSE.match(after):
        return False
    if said.phrase.bare and before.rfind("《") > before.rfind("》"):
        return False  # a title
    if said.phrase.kind == "weekday":
        return not (
            _BEFORE_BARE.search(before)
            or _BEFORE_WEEKDAY.search(before)
            or _AFTER_WEEKDAY.match(after)
        )
    if first.value == "前" and before and not _BEFORE_PAST.search(before):
        return False  # 结婚前三天
    if said.phrase.grain == "year" and last.kind == "number" and _COUNTED.match(after):
        return False
    if said.phrase.grain == "year" and last.kind == "year" and _years_long(before, after):
        return False
    if first.kind in _DOUBTFUL or last.kind == "monthname":
        names = last.value in _DOUBTFUL_NAMES
        if names and (_PERSON.match(after) or after.startswith(("'s", "’s"))):
            return False
    if said.directed and first.kind in {"yearedge", "monthedge"}:
        return False  # 年底前 is a deadline
    if said.phrase.rule is None and first.kind not in {"monthedge", "holiday", "yearedge"}:
        return not (first.kind == "number" and before[-1:].isdigit())
    return _is_bare_time(at, said, before, after)


_DOUBTFUL = frozenset({"monthname"})


def _is_bare_time(at: Reader, said: Meaning, before: str, after: str) -> bool:
    first, last = at.tokens[said.start], at.tokens[said.end - 1]
    if _BEFORE_BARE.search(before) or _AFTER_BARE.match(after):
        return False
    if first.value in _NOT_ALONE and said.end == said.start + 1:
        return False
    if last.kind == "season" and after.startswith((" of ", " when ")):
        return False  # the summer of my junior year
    if first.kind == "season" and not first.value.isascii():
        placed = last.kind == "during" or before.endswith("在") or after.startswith(("时", "里"))
        return placed or not (before.strip() or after.strip())
    if first.value in {"元宵", "中元"}:
        return not before.endswith(tuple("吃煮买包做碗个颗粒卖")) and after[:1] not in tuple(
            "圆子汤节"
        )
    return True


def _years_long(before: str, after: str) -> bool:
    """Tell 有2000年历史 from the year 2000."""
    return after.startswith(("历史", "来", "的历史")) or before.endswith(
        ("长达", "近", "约", "距今")
    )
