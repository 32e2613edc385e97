"""The words of the interface: one catalogue, in English and Chinese, both scripts."""

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import opencc

from shiyi.service.dashboard.sentences import Said, said_in

LANGUAGES = ("en", "zh-Hant", "zh-Hans")
_HANT = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")
_MOST_WISHES = 20


class Words:
    """The catalogue in one language."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self.texts = texts

    def __call__(self, key: str, **values: object) -> str:
        """Return the words of a key with the values put in; raises KeyError for an unknown one."""
        text = self.texts[key]
        return text.format(**values) if values else text

    def said(self, sentence: str) -> Said:
        """Return what an operation said, in the language of the page if it is known there."""
        return said_in(self.language, sentence)

    def label(self, group: str, value: object) -> str:
        """Return what a value of the store is called, or the value when it has no name here."""
        return self.texts.get(f"{group}.{value}", str(value))


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Words]:
    """Return the catalogue by language; Simplified that is not given is made from Traditional."""
    content = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
    pairs = {
        f"{group}.{name}": pair for group, names in content.items() for name, pair in names.items()
    }
    simplify = opencc.OpenCC("t2s").convert
    return {
        "en": Words("en", {key: pair[0] for key, pair in pairs.items()}),
        "zh-Hant": Words("zh-Hant", {key: pair[1] for key, pair in pairs.items()}),
        "zh-Hans": Words(
            "zh-Hans",
            {key: pair[2] if pair[2:] else simplify(pair[1]) for key, pair in pairs.items()},
        ),
    }


def words_for(accept_language: str) -> Words:
    """Return the words in the language that a browser likes best of those that we have."""
    wishes: list[tuple[float, int, str]] = []
    for place, part in enumerate(accept_language.split(",")[:_MOST_WISHES]):
        tag, _, weight = part.partition(";")
        found = _language_of(tag.strip().lower())
        if found is not None:
            wishes.append((-_weight(weight), place, found))
    wished = [language for minus, _, language in sorted(wishes) if minus < 0]
    return catalogue()[wished[0] if wished else "en"]


def _language_of(tag: str) -> str | None:
    if tag == "en" or tag.startswith("en-"):
        return "en"
    if tag.startswith(_HANT) or (tag.startswith("zh-") and "hant" in tag):
        return "zh-Hant"
    return "zh-Hans" if tag == "zh" or tag.startswith("zh-") else None


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(max(float(value), 0.0), 1.0)
    except ValueError:
        return 0.0
