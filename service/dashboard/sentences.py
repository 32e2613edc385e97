"""Sentences of operations in the language of a page, found by what they look like.

Operations speak English, in sentences that hold names, numbers and paths. Pages know those that
they may show; one that is not known is shown as it came, and marked as English.
"""

import re
import tomllib
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import opencc

_PLACES = re.compile(r"\{([a-z]+)\}|\(s\)")
_NUMBER, _IDS, _ANY = r"[0-9,]+", r"[0-9A-Z, …]+", r".+?"
_FORMS = {"n": _NUMBER, "m": _NUMBER, "ids": _IDS}
_NESTED = "sentence"
_MOST = 1000  # characters of a sentence that is looked at


class Said(NamedTuple):
    """A sentence as a page shows it. lang: its language, when that is not the page's."""

    text: str
    lang: str | None = None


class _Known(NamedTuple):
    pattern: re.Pattern[str]
    hant: str
    hans: str


def said_in(language: str, sentence: str) -> Said:
    """Return a sentence in the language of a page."""
    if language == "en":
        return Said(sentence)
    for known in catalogue() if len(sentence) <= _MOST else ():
        found = known.pattern.fullmatch(sentence)
        if found is not None:
            values = found.groupdict()
            if _NESTED in values:
                values[_NESTED] = said_in(language, values[_NESTED]).text
            form = known.hant if language == "zh-Hant" else known.hans
            return Said(form.format(**values))
    return Said(sentence, "en")


@lru_cache(maxsize=1)
def catalogue() -> tuple[_Known, ...]:
    """Return what is known, in the order in which it is tried."""
    simplify = opencc.OpenCC("t2s").convert
    return tuple(_known(english, chinese, simplify) for english, chinese in pairs().items())


def pairs() -> dict[str, list[str]]:
    """Return the forms in Chinese of each English sentence: Traditional, perhaps Simplified."""
    content = tomllib.loads(files(__package__).joinpath("sentences.toml").read_text("utf-8"))
    groups = (group.items() for group in content.values())
    return {
        english: [forms] if isinstance(forms, str) else forms
        for group in groups
        for english, forms in group
    }


def _known(english: str, forms: list[str], simplify: Callable[[str], str]) -> _Known:
    pattern, at = "", 0
    for place in _PLACES.finditer(english):
        pattern += re.escape(english[at : place.start()])
        name = place.group(1)
        pattern += "s?" if name is None else f"(?P<{name}>{_FORMS.get(name, _ANY)})"
        at = place.end()
    pattern += re.escape(english[at:])
    hans = forms[1] if forms[1:] else simplify(forms[0])
    return _Known(re.compile(pattern, re.DOTALL), forms[0], hans)
