"""Text to terms, the same way for documents and queries.

Chinese gives jieba's search-mode words and every pair of neighbouring characters, so that a name
the dictionary does not know is still found. Latin words are stemmed, stop words dropped. Numbers
and identifiers (e-mail, phone, code, version) are kept whole and in parts.
"""

import hashlib
import importlib.metadata
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import NamedTuple

from shiyi.indexer.fold import Folded, fold, forget_texts, is_traditional, to_mainland_words
from shiyi.indexer.lexicon import segmenter, stemmer, stop_words

VERSION = 4

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
_SYLLABIC = "\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af\u3105-\u312f"
# Every pattern is linear: an address may only begin where its first part does, quantifiers give
# nothing back where that could repeat, and no look-ahead is without a bound.
_EMAIL = re.compile(
    r"(?<![a-z0-9._%+-])[._%+-]*+([a-z0-9][a-z0-9._%+-]*+@[a-z0-9-]++(?:\.[a-z0-9-]++)+)"
)
_PIECES = re.compile(
    rf"""
      (?P<date>  \d{{4}}(?P<dash>[-/.])\d{{1,2}}(?P=dash)\d{{1,2}}(?!\d) )
    | (?P<phone> (?:
          (?=(?:\W{{0,2}}\d){{8}}) (?: \+\d{{1,3}}(?:[-.\ ]\(?\d{{1,8}}\)?){{1,5}}
            | \(\+?\d{{2,4}}\)[-.\ ]?\d{{2,8}}(?:[-.\ ]\d{{2,4}}){{0,3}}
            | 0\d{{1,4}}[-.\ ]\d{{2,8}}(?:[-.\ ]\d{{2,4}}){{0,3}}
            | 1[3-9]\d[-.\ ]\d{{8}} )
        | (?!\d{{4}}(?:\ \d{{4}}){{1,4}}(?!\d))  # not a list of years
          \d{{1,4}}(?:[-.\ ]\(?\d{{2,4}}\)?){{2,4}}
        | \+?\d{{7,15}}
      )(?!\d|\.\d) )
    | (?P<number> \d+(?:,\d{{3}})+(?:\.\d+)?(?!\d) )
    | (?P<code>  [a-z0-9]++(?:[-_./:\#][a-z0-9]++)+ | \d++[a-z]++\d[a-z0-9]*+ )
    | (?P<amount> \d++[a-z]++(?:['’][a-z]+)?(?![^\W{_HAN}{_SYLLABIC}]) )
    | (?P<word>  [^\W\d_{_HAN}{_SYLLABIC}][^\W_{_HAN}{_SYLLABIC}]*
                 (?:[\u0300-\u036f]+[^\W_{_HAN}{_SYLLABIC}]*)*(?:['’][a-z]+)? )
    | (?P<digits> \d+ )
    | (?P<han> [{_HAN}]+ )
    | (?P<syllabic> [{_SYLLABIC}]+ )
    | (?P<sign> [\u2600-\u27bf\U0001f000-\U0001faff] )
    """,
    re.VERBOSE,
)
_MIXED_RUN = re.compile(rf"[{_HAN}a-z0-9+#&._%-]+")
_HAS_HAN, _HAN_RUN = re.compile(f"[{_HAN}]"), re.compile(f"[{_HAN}]+")
_LATIN_RUN = re.compile(r"[A-Za-z]+")
_PARTS = re.compile(r"[a-z]+|\d+")
_SEPARATORS = re.compile(r"[-_#:/]")
_SEGMENTS = re.compile(r"[^:/#]+")  # tel:0912-345-678, books/scp-820
_NOT_DIGITS = re.compile(r"\D+")
# What follows the country code at home, for a number of so many digits without it.
_TRUNKS = (("886", 0, "0"), ("852", 0, ""), ("853", 0, ""), ("86", 11, ""), ("86", 0, "0"))
_MIN_IDENTIFIER_DIGITS = 5
_SEGMENTED_AT_ONCE = 512  # characters; jieba's time grows with the square of an unbroken run
_left_out: frozenset[str] = frozenset()
_MAX_TERM = 64  # characters; a longer run is no word that anyone searches for


class Term(NamedTuple):
    """One term and where it stands in the folded text. An identifier is exact by nature."""

    text: str
    start: int
    end: int
    identifier: bool = False


def terms(text: str) -> list[str]:
    """Return the terms of `text`, repeats included, in no particular order.

    Traditional text also gives the terms of its mainland wording (計程車 → 出租车), beside its own.
    """
    if "fold" in _left_out:
        return [term.text for term in locate(text.lower())]
    own = [term.text for term in locate(fold(text))]
    if not is_traditional(text):
        return own
    mainland = Counter(term.text for term in locate(fold(to_mainland_words(text))))
    mainland.subtract(own)
    return own + list((+mainland).elements())


def words(text: str) -> list[str]:
    """Return the folded words of `text` in order, as they are cut, without those that say little.

    Of Chinese, jieba's words of two characters and more.
    """
    found: list[str] = []
    for piece in _MIXED_RUN.findall(fold(text)):
        for word in segmenter().lcut(piece[:_SEGMENTED_AT_ONCE]):
            short = len(word) < len("两字") and _HAS_HAN.search(word)
            if not short and word not in stop_words() and any(map(str.isalnum, word)):
                found.append(word)
    return found


def name_terms(name: str) -> set[str]:
    """Return the terms that every text with this name in it has, however its words are cut."""
    return {term.text for term in _locate_uncut(fold(name))}


def locate(folded: str) -> Iterator[Term]:
    """Yield the terms of a folded text with their places."""
    yield from _locate_uncut(folded)
    for run in _MIXED_RUN.finditer(folded):
        if _HAS_HAN.search(run.group()):
            yield from _chinese_words(run.group(), run.start())


def _locate_uncut(folded: str) -> Iterator[Term]:
    """Yield all terms but the words of Chinese, which take most of the time."""
    end = 0
    for address in _EMAIL.finditer(folded) if "@" in folded else ():
        yield from _locate_pieces(folded, end, address.start(1))
        end = address.end(1)
        yield Term(address.group(1)[:_MAX_TERM], *address.span(1), identifier=True)
        yield from _parts(address.group(1), address.start(1))
    yield from _locate_pieces(folded, end, len(folded))


def _locate_pieces(folded: str, first: int, last: int) -> Iterator[Term]:
    for piece in _PIECES.finditer(folded, first, last):
        kind, start, end = piece.lastgroup, piece.start(), piece.end()
        text = piece.group()
        if kind == "han":
            yield from _pairs(text, start) if "bigrams" not in _left_out else ()
        elif kind == "syllabic":
            yield from _pairs(text, start, singles=True)
        elif kind == "sign" or (kind == "digits" and len(text) <= _MAX_TERM):
            yield Term(text, start, end)
        elif kind in _READERS:
            yield from _READERS[kind](text, start)


def identifiers(text: str) -> set[str]:
    """Return the e-mails, phone numbers and codes of `text`, in their one form."""
    folded = fold(text)
    if not _may_identify(folded):
        return set()
    return {term.text for term in _locate_uncut(folded) if term.identifier}


def only_identifiers(text: str) -> bool:
    """Tell whether `text` holds identifiers and no other letter or digit."""
    folded = fold(text)
    if not _may_identify(folded):
        return False
    covered = {
        place
        for term in _locate_uncut(folded)
        if term.identifier
        for place in range(term.start, term.end)
    }
    return bool(covered) and all(
        place in covered for place, character in enumerate(folded) if character.isalnum()
    )


def _may_identify(folded: str) -> bool:
    """Tell quickly whether a folded text may hold an identifier; most texts have none."""
    return "@" in folded or any(map(str.isdigit, folded))


def locate_in_original(folded: Folded, wanted: set[str]) -> list[tuple[int, int]]:
    """Return where in the original the wanted terms of a text stand, as sorted half-open spans.

    The terms are known to be in the text, so Chinese words are looked for as strings, which
    takes a hundredth of the time of cutting. Single characters, which are part of many words,
    are looked for only when nothing else is there to be shown.
    """
    text = folded.text
    chinese = {term for term in wanted if _is_cut(term)}
    found = {
        (place, place + len(term))
        for term in chinese
        if len(term) > 1
        for place in _places(text, term)
    }
    rest = wanted - chinese
    if rest:
        found |= {(term.start, term.end) for term in _locate_uncut(text) if term.text in rest}
        found |= _cut_places(text, {term for term in rest if _HAS_HAN.search(term)})
    if not found:
        found = {(place, place + 1) for term in chinese for place in _places(text, term)}
    return sorted({(folded.starts[start], folded.ends[end - 1]) for start, end in found})


def _cut_places(text: str, wanted: set[str]) -> set[tuple[int, int]]:
    """Return where cutting into words finds the wanted ones."""
    return {
        (term.start, term.end)
        for run in (_MIXED_RUN.finditer(text) if wanted else ())
        if any(term in run.group() for term in wanted)
        for term in _chinese_words(run.group(), run.start())
        if term.text in wanted
    }


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _is_cut(term: str) -> bool:
    """Tell whether a term is made of characters that jieba cuts into words, and no others."""
    return all(map(_in_jieba_range, term))


def han_share(text: str) -> float:
    """Return Han characters / (Han characters + Latin words); 0 when there is neither."""
    han = sum(map(len, _HAN_RUN.findall(text)))
    latin = len(_LATIN_RUN.findall(text))
    return han / (han + latin) if han + latin else 0.0


@lru_cache(maxsize=1 << 18)
def term_key(term: str) -> int:
    """Return the 64 bits by which the index knows a term (BLAKE2b)."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def forget_words() -> None:
    """Empty what this process remembers of the texts that it analysed."""
    term_key.cache_clear()
    forget_texts()


@contextmanager
def leaving_out(parts: Collection[str]) -> Iterator[None]:
    """Analyse without `fold` or `bigrams` in this process, to measure what they are worth."""
    global _left_out
    before, _left_out = _left_out, frozenset(parts)
    try:
        yield
    finally:
        _left_out = before


def analyzer_fingerprint() -> str:
    """Return a name for everything that decides the terms of a text."""
    return _fingerprint(_left_out)


@cache
def _fingerprint(left_out: frozenset[str]) -> str:
    parts = [
        *sorted(left_out),
        str(VERSION),
        importlib.metadata.version("jieba"),
        importlib.metadata.version("opencc"),
        importlib.metadata.version("PyStemmer"),
        unicodedata.unidata_version,
        " ".join(sorted(stop_words())),
    ]
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]


def _pairs(run: str, start: int, *, singles: bool = False) -> Iterator[Term]:
    for i in range(len(run) - 1):
        yield Term(run[i : i + 2], start + i, start + i + 2)
    if len(run) == 1 and (singles or not _in_jieba_range(run)):
        yield Term(run, start, start + 1)


def _in_jieba_range(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fd5"


def _chinese_words(run: str, start: int) -> Iterator[Term]:
    position = start
    for first in range(0, len(run), _SEGMENTED_AT_ONCE):
        for word in segmenter().lcut(run[first : first + _SEGMENTED_AT_ONCE]):
            if _HAS_HAN.search(word):
                yield from _search_words(word, position)
            position += len(word)


def _search_words(word: str, start: int) -> Iterator[Term]:
    """Yield a word and the dictionary words inside it, as jieba's search mode does."""
    known = segmenter().FREQ
    for size in (2, 3):
        if len(word) > size:
            for i in range(len(word) - size + 1):
                part = word[i : i + size]
                if known.get(part):
                    yield Term(part, start + i, start + i + size)
    if len(word) <= _MAX_TERM:
        yield Term(word, start, start + len(word))


def _word(text: str, start: int) -> Iterator[Term]:
    plain = _without_accents(text)
    bare = re.split("['’]", plain)[0]
    if bare in stop_words() or plain in stop_words() or len(text) > _MAX_TERM:
        return
    end = start + len(text)
    if any(c.isdigit() for c in bare):
        yield from _identifier(bare, start)
        return
    yield Term(stemmer().stemWord(bare), start, end)


def _date(text: str, start: int) -> Iterator[Term]:
    """Yield a date in one form, and its year, month and day, however it is written."""
    found = list(_PARTS.finditer(text))
    year, month, day = (int(part.group()) for part in found)
    yield Term(f"{year:04}{month:02}{day:02}", start, start + len(text))
    for part, value in zip(found, (year, month, day), strict=True):
        yield Term(str(value), start + part.start(), start + part.end())


def _phone(text: str, start: int) -> Iterator[Term]:
    """Yield a phone number as it is dialled at home, with the country code, and in parts."""
    end, digits = start + len(text), _NOT_DIGITS.sub("", text)
    home = digits
    if "+" in text:
        for code, size, trunk in _TRUNKS:
            rest = digits.removeprefix(code)
            if rest != digits and size in {0, len(rest)}:
                home = trunk + rest.removeprefix("0") if trunk else rest
                yield Term(digits, start, end)
                break
    yield Term(home, start, end, identifier=True)
    if digits != text.lstrip("+"):
        yield from _parts(text, start)


def _number(text: str, start: int) -> Iterator[Term]:
    """Yield a number with separators of thousands as the same number has without them."""
    whole, end = text.replace(",", ""), start + len(text)
    units, point, decimals = whole.partition(".")
    yield Term(whole, start, end, identifier=bool(point))
    if point:
        yield Term(units, start, end - len(decimals) - 1)
        yield Term(decimals, end - len(decimals), end)


def _amount(text: str, start: int) -> Iterator[Term]:
    """Yield a number with its unit, such as 10k, and each of them as if they stood apart."""
    figures = next(place for place, one in enumerate(text) if one.isalpha())
    bare = re.split("['’]", text)[0]
    if len(bare) <= _MAX_TERM:
        yield Term(bare, start, start + len(text))
    if figures <= _MAX_TERM:
        yield Term(text[:figures], start, start + figures)
    yield from _word(text[figures:], start + figures)


def _identifier(text: str, start: int) -> Iterator[Term]:
    """Yield a code whole, by the segments that are codes themselves, and in parts."""
    whole = _SEPARATORS.sub("", text)
    segments = [
        Term(_SEPARATORS.sub("", s.group()), start + s.start(), start + s.end(), identifier=True)
        for s in _SEGMENTS.finditer(text)
        if len(s.group()) < len(text) and not _PARTS.fullmatch(s.group())
    ]
    exact = [s for s in segments if len(s.text) <= _MAX_TERM and _is_exact(s.text)]
    yield from exact
    if len(whole) <= _MAX_TERM:
        yield Term(whole, start, start + len(text), identifier=not exact and _is_exact(whole))
    yield from _parts(text, start)


def _parts(text: str, start: int) -> Iterator[Term]:
    """Yield the words and numbers of an identifier that has more than one."""
    parts = list(_PARTS.finditer(text))
    if len(parts) == 1:
        return
    for part in parts:
        word = part.group()
        if len(word) > _MAX_TERM:
            continue
        if word.isdigit():
            yield Term(word, start + part.start(), start + part.end())
        elif len(word) > 1 and word not in stop_words():
            stem = stemmer().stemWord(word)
            yield Term(stem, start + part.start(), start + part.end())


_READERS: dict[str | None, Callable[[str, int], Iterator[Term]]] = {
    "word": _word, "date": _date, "phone": _phone, "number": _number, "amount": _amount,
    "code": _identifier,
}  # fmt: skip


def _is_exact(whole: str) -> bool:
    digits = sum(c.isdigit() for c in whole)
    return digits >= _MIN_IDENTIFIER_DIGITS or 0 < digits < len(whole)


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
