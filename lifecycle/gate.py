"""What counts as personal material: a documented heuristic that errs towards capture.

The rules are data (`gate_rules.toml`); this is the small interpreter that applies them. A text is
folded (one list serves both scripts), what is plainly code, log or address is taken out, and each
clause of the rest is shown to each rule. A context may veto a rule; what was vetoed is reported.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shiyi.indexer.fold import fold
from shiyi.lifecycle.gate_rules import Rules, load_rules

Signal = Literal["explicit", "clear", "weak", "none"]

# A message is read this far. What is longer and shows nothing until there is captured all the
# same: nobody can say that the rest is not personal.
READ_CHARACTERS = 20_000
UNREAD = "unread-rest"

_STRENGTHS: tuple[Signal, ...] = ("explicit", "clear", "weak", "none")
_SENTENCE_END = re.compile(r"[。！？!?;；\n\r…~～]|\.(?=\s|$)|(?<=[\u4e00-\u9fff])\.")
_CLAUSE_END = re.compile(r"[，,、:：()（）]|\s[-–—]\s|——")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a message must be captured, and why.

    `reasons` names the rules that speak for it, strongest first; `suppressed` names each rule that
    fired and was vetoed, and what vetoed it ("feeling-word: technical-context").
    """

    tier: Literal["full", "skip"]
    signal: Signal
    reasons: tuple[str, ...]
    suppressed: tuple[str, ...]


def judge(text: str) -> Verdict:
    """Judge one message, of any length and content; never raises for a text."""
    rules = load_rules()
    kept: set[str] = set()
    vetoed: set[tuple[str, str]] = set()
    message = _prose(fold(text[:READ_CHARACTERS]), rules)
    of_message = _Contexts(rules, {"message": message})
    for sentence in _pieces(_SENTENCE_END, message):
        asked = message[sentence.end : sentence.end + 1] == "?"
        body = sentence.text + "?" if asked else sentence.text
        of_sentence = _Contexts(rules, {"sentence": body}, of_message)
        clauses = [("clause", one.text) for one in _pieces(_CLAUSE_END, body)]
        for scope, said in [("sentence", body), *clauses]:
            contexts = _Contexts(rules, {"clause": said}, of_sentence)
            for rule in rules.rules_of(scope):
                if rule.name not in kept and rule.fires(said):
                    vetoes = {name for name in rule.vetoed_by if contexts.hold(name)}
                    vetoed.update((rule.name, name) for name in vetoes)
                    if not vetoes:
                        kept.add(rule.name)
    return _verdict(rules, kept, vetoed, unread=len(text) > READ_CHARACTERS)


class _Contexts:
    """What holds for a message, a sentence or a clause; each is looked for once, when asked for."""

    def __init__(
        self, rules: Rules, texts: dict[str, str], outer: "_Contexts | None" = None
    ) -> None:
        self._rules = rules
        self._texts = texts
        self._outer = outer
        self._known: dict[str, bool] = {}

    def hold(self, name: str) -> bool:
        """Tell whether the context of that name holds here or around."""
        context = self._rules.contexts[name]
        if context.scope not in self._texts:
            return self._outer is not None and self._outer.hold(name)
        if name not in self._known:
            self._known[name] = context.fires(self._texts[context.scope])
        return self._known[name]


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    end: int


def _verdict(
    rules: Rules, kept: set[str], vetoed: set[tuple[str, str]], *, unread: bool
) -> Verdict:
    """Put what was found in the order of the rules: strongest first."""
    found = [rule for rule in rules.rules if rule.name in kept]
    reasons = tuple(
        rule.name for strength in _STRENGTHS for rule in found if rule.strength == strength
    )
    signals: list[Signal] = [s for s in _STRENGTHS if any(r.strength == s for r in found)]
    signal: Signal = signals[0] if signals else "none"
    if unread and not found:
        reasons, signal = (UNREAD,), "weak"
    suppressed = tuple(
        f"{rule.name}: {context}"
        for rule in rules.rules
        for context in rule.vetoed_by
        if (rule.name, context) in vetoed
    )
    return Verdict("skip" if signal == "none" else "full", signal, reasons, suppressed)


def _prose(folded: str, rules: Rules) -> str:
    """Return what somebody said: without blocks of code, lines of logs, addresses, quoted works."""
    text = folded.translate(rules.characters)
    for mask in rules.masks:
        if mask.only_in is None or mask.only_in.search(mask.pattern.sub(" ", text)):
            text = mask.pattern.sub(mask.leaves, text)
    return text


def _pieces(separator: re.Pattern[str], text: str) -> Iterator[_Piece]:
    start = 0
    for found in separator.finditer(text):
        if text[start : found.start()].strip():
            yield _Piece(text[start : found.start()].strip(), found.start())
        start = found.end()
    if text[start:].strip():
        yield _Piece(text[start:].strip(), len(text))
