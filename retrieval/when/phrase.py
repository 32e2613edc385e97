"""What a phrase means before its direction is known, and the tokens it is read from."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from shiyi.retrieval.when import words
from shiyi.retrieval.when.lex import Token
from shiyi.retrieval.when.rules import THIRDS, Either, Rule, part_of
from shiyi.retrieval.when.spans import Days, day

_DIGITS_OF_A_YEAR = 4
_FILLERS = 3  # a text may repeat them without end


@dataclass(frozen=True, slots=True)
class Phrase:
    """Days, best first; the rule they come from, when no year was named.

    `bare` phrases (a weekday, a month, a festival without anything that places it) need more care.
    """

    days: tuple[Days, ...]
    grain: str
    certain: bool
    rule: Rule | None = None
    named: Rule | None = None  # the rule, when a year was named with it
    kind: str = ""  # weekday, number, offset: what may follow depends on it

    @property
    def bare(self) -> bool:
        """Whether nothing says which year or week is meant."""
        return self.rule is not None or self.kind == "weekday"


Found = tuple[Phrase, int] | None


@dataclass(frozen=True, slots=True)
class Reader:
    """Tokens with what is needed to read them."""

    tokens: list[Token]
    today: date
    region: str
    capitals: frozenset[int] = frozenset()  # tokens that are written with a capital

    def kind(self, at: int) -> str:
        """Return the kind of a token; beyond the last one of the text it is `other`."""
        return self.tokens[at].kind

    def number(self, at: int) -> int:
        """Return the number of a token."""
        return self.tokens[at].number

    def value(self, at: int) -> str:
        """Return the folded text of a token."""
        return self.tokens[at].value

    def is_year(self, at: int, among: range) -> bool:
        """Tell whether a token is a year, written out with all its digits."""
        written = len(self.value(at)) == _DIGITS_OF_A_YEAR and self.kind(at) == "number"
        return written and self.number(at) in among

    def skip(self, at: int, *kinds: str) -> int:
        """Return where the tokens of these kinds that start here end, after a few at most."""
        for _ in range(_FILLERS):
            if self.kind(at) not in kinds:
                break
            at += 1
        return at

    def touching(self, at: int) -> bool:
        """Tell whether no space parts a token from the one before it."""
        return self.tokens[at - 1].end == self.tokens[at].start

    def festival(self, at: int) -> Rule:
        """Return the rule of a festival token."""
        name = " ".join(self.value(at).replace("’", "'").split())
        found = words.FESTIVALS[name]
        if isinstance(found, Rule):
            return found
        if self.region == "both":
            return Either((found.cn, found.tw))
        return found.cn if self.region == "cn" else found.tw

    def bare(self, rule: Rule) -> Phrase | None:
        """Return the last time that something yearly started."""
        found = rule.latest(self.today)
        if not found:
            return None
        return Phrase(found, rule.grain, len(found) == 1 and not rule.fuzzy, rule)

    def named(self, rule: Rule, years: Iterable[int], *, certain: bool = True) -> Phrase | None:
        """Return something yearly in given years."""
        found = tuple(dict.fromkeys(days for year in years for days in rule.named_in(year)))
        if not found:
            return None
        sure = certain and len(found) == 1 and not rule.fuzzy
        return Phrase(found, rule.grain, sure, named=rule)

    def last(self, rule: Rule) -> Phrase | None:
        """Return the last time that something yearly was over, or that of last year."""
        this_year = self.today.year
        over = [
            days
            for year in range(this_year - 8, this_year + 1)
            for days in rule.in_year(year)
            if days.last <= self.today
        ]
        if not over:
            return None
        best = max(over)
        others = [d for d in rule.in_year(this_year - 1) if d.last <= self.today and d != best]
        found = (best, *others)
        return Phrase(found, rule.grain, len(found) == 1 and not rule.fuzzy)

    def this(self, rule: Rule) -> Phrase | None:
        """Return something yearly in this year, or what is going on."""
        year = self.today.year
        found = [d for y in (year - 1, year) for d in rule.in_year(y)]
        found = [d for d in found if d.last > self.today or d.first.year == year]
        if not found:
            return None
        found.sort(key=lambda d: (d.first > self.today, d))
        return Phrase(tuple(found), rule.grain, len(found) == 1 and not rule.fuzzy)


def one(days: Days, grain: str, *, certain: bool = True, kind: str = "") -> Phrase:
    """Return a phrase of one meaning."""
    return Phrase((days,), grain, certain, kind=kind)


def part(phrase: Phrase, name: str) -> Phrase:
    """Return the early, middle, late part or the n-th third of it."""
    days = tuple(part_of(one, phrase.grain, name) for one in phrase.days)
    exact = name in THIRDS and phrase.certain
    return Phrase(days, "range", exact)


def day_in_month(phrase: Phrase, number: int) -> Phrase | None:
    """Return the n-th day of a month."""
    days = []
    for one_month in phrase.days:
        try:
            days.append(day(one_month.first.replace(day=number)))
        except ValueError:
            continue
    return Phrase(tuple(days), "day", phrase.certain) if days else None
