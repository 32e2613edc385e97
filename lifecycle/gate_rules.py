"""The rules of the gate, read from `gate_rules.toml`.

A rule or a context has patterns: regular expressions over folded text (Simplified, lower case),
in which `<name>` stands for any word of the list of that name. They repeat nothing without a
bound, so a search takes time linear in the text.
"""

import importlib.resources
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

_LIST = re.compile(r"<(?P<name>[a-z_]+)>")


@dataclass(frozen=True, slots=True)
class Context:
    """What may veto a rule: it holds for a clause, a sentence, or the whole message."""

    name: str
    scope: Literal["clause", "sentence", "message"]
    means: str
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    fires_on: str
    silent_on: str

    def fires(self, text: str) -> bool:
        """Tell whether the context holds for a piece of folded text."""
        if self.unless is not None and self.unless.search(text):
            return False
        return self.pattern.search(text) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """What speaks for keeping a message, shown one clause or one sentence at a time."""

    name: str
    strength: Literal["explicit", "clear", "weak"]
    scope: Literal["clause", "sentence"]
    means: str
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    vetoed_by: tuple[str, ...]
    fires_on: str
    silent_on: str

    def fires(self, text: str) -> bool:
        """Tell whether the rule speaks for a clause of folded text."""
        found = self.pattern.search(text)
        return found is not None and not (self.unless is not None and self.unless.search(text))


@dataclass(frozen=True, slots=True)
class Mask:
    """What is no prose; `only_in` must be found in the rest of the message, if it is given."""

    name: str
    means: str
    pattern: re.Pattern[str]
    only_in: re.Pattern[str] | None
    leaves: str


@dataclass(frozen=True, slots=True)
class Rules:
    """All of it, in the order of the file."""

    characters: dict[int, str]
    masks: tuple[Mask, ...]
    contexts: dict[str, Context]
    rules: tuple[Rule, ...]

    def rules_of(self, scope: str) -> tuple[Rule, ...]:
        """Return the rules that look at a clause or at a sentence."""
        return tuple(rule for rule in self.rules if rule.scope == scope)


@cache
def load_rules() -> Rules:
    """Read the rules once; a fault in them is a fault of the program."""
    data = rules_data()
    lists = {name: _alternatives(words) for name, words in data["lists"].items()}
    return Rules(
        characters=str.maketrans(data["characters"]),
        masks=tuple(
            Mask(
                one["name"],
                one["means"],
                _compiled(one["any"], lists),
                _compiled(one["only_in"], lists) if "only_in" in one else None,
                one["leaves"],
            )
            for one in data["masks"]
        ),
        contexts={
            one["name"]: Context(scope=one["scope"], **_common(one, lists))
            for one in data["contexts"]
        },
        rules=tuple(
            Rule(
                strength=one["strength"],
                scope=one.get("scope", "clause"),
                vetoed_by=tuple(one.get("vetoed_by", ())),
                **_common(one, lists),
            )
            for one in data["rules"]
        ),
    )


def rules_data() -> dict[str, Any]:
    """Return the file as it is written."""
    file = importlib.resources.files("shiyi.lifecycle").joinpath("gate_rules.toml")
    return tomllib.loads(file.read_text("utf-8"))


def _common(one: dict[str, Any], lists: dict[str, str]) -> dict[str, Any]:
    return {
        "name": one["name"],
        "means": one["means"],
        "pattern": _compiled(one["any"], lists),
        "unless": _compiled(one["unless"], lists) if "unless" in one else None,
        "fires_on": one["fires"],
        "silent_on": one["silent"],
    }


def _compiled(patterns: list[str], lists: dict[str, str]) -> re.Pattern[str]:
    written = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(_LIST.sub(lambda found: lists[found["name"]], written), re.MULTILINE)


def _alternatives(words: list[str]) -> str:
    """Join the words; one that is only of Latin letters is met as a whole word."""
    latin = "|".join(re.escape(word) for word in words if word.isascii())
    others = "|".join(re.escape(word) for word in words if not word.isascii())
    parts = [rf"(?<![a-z0-9_])(?:{latin})(?![a-z0-9_])"] if latin else []
    return "(?:" + "|".join([*parts, *([others] if others else [])]) + ")"
