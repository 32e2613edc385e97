"""Say how well the gate tells personal messages from others: `python tools/gate_figures.py`.

One table for each half of the labelled messages, by language; `--misses HALF` lists what is
judged wrongly in that half. Rules are written looking only at the half `write`.
"""

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from shiyi.indexer.fold import is_traditional
from shiyi.lifecycle.gate import judge

MESSAGES = Path(__file__).resolve().parents[1] / "eval" / "data" / "gate" / "messages.jsonl"
_HAN = re.compile("[\u4e00-\u9fff]")
_LINE = "{:8}{:10}{:>9}{:>6}{:>8}{:>8}{:>8}{:>8}{:>10}"
_LATIN = re.compile("[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Message:
    """A labelled message, and whether the gate keeps it."""

    id: str
    text: str
    personal: bool
    half: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Confusion:
    """How many messages were kept and skipped, rightly (true) or not (false)."""

    true_kept: int
    false_kept: int
    true_skipped: int
    false_skipped: int

    @property
    def recall(self) -> float:
        """The share of the personal messages that was kept; 1 when there is none."""
        return self.true_kept / ((self.true_kept + self.false_skipped) or 1)

    @property
    def precision(self) -> float:
        """The share of what was kept that is personal; 1 when nothing was kept."""
        return self.true_kept / ((self.true_kept + self.false_kept) or 1)


def main() -> int:
    """Print the tables, or the misses of one half."""
    messages = judged()
    if sys.argv[1:2] == ["--misses"]:
        _print_misses([one for one in messages if one.half in sys.argv[2:]])
        return 0
    print(_LINE.format("half", "language", "messages", "kept", "wrongly", "skipped", "wrongly",
                       "recall", "precision"))  # fmt: skip
    for half in sorted({one.half for one in messages}, reverse=True):
        of_half = [one for one in messages if one.half == half]
        for language in ("hans", "hant", "en", "mixed", "none", "all"):
            chosen = [one for one in of_half if language in {"all", language_of(one.text)}]
            c = confusion(chosen)
            print(_LINE.format(
                half, language, len(chosen), c.true_kept + c.false_kept, c.false_kept,
                c.true_skipped + c.false_skipped, c.false_skipped, f"{c.recall:.3f}",
                f"{c.precision:.3f}",
            ))  # fmt: skip
    return 0


def _print_misses(messages: Iterable[Message]) -> None:
    for one in messages:
        if one.kept != one.personal:
            verdict = judge(one.text)
            label = "missed" if one.personal else "kept"
            print(label, one.id, repr(one.text), verdict.reasons, verdict.suppressed, sep="  ")


def judged() -> list[Message]:
    """Return all labelled messages with what the gate says."""
    lines = map(json.loads, MESSAGES.read_text("utf-8").splitlines())
    return [
        Message(m["id"], m["text"], m["personal"], m["half"], judge(m["text"]).tier == "full")
        for m in lines
    ]


def confusion(messages: Iterable[Message]) -> Confusion:
    """Count."""
    pairs = [(one.kept, one.personal) for one in messages]
    return Confusion(
        true_kept=pairs.count((True, True)),
        false_kept=pairs.count((True, False)),
        true_skipped=pairs.count((False, False)),
        false_skipped=pairs.count((False, True)),
    )


def language_of(text: str) -> str:
    """Return hans, hant, en, mixed, or none for a text without words."""
    han, latin = _HAN.search(text), _LATIN.search(text)
    if han and latin:
        return "mixed"
    if han:
        return "hant" if is_traditional(text) else "hans"
    return "en" if latin else "none"


if __name__ == "__main__":
    sys.exit(main())
