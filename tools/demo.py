"""The demo: import the sample archive, index it, and ask it what other searches find hard.

    make demo

Ends with 1 when a search does not find what it should, or finds something where nothing is.
"""

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

import shiyi
from shiyi.render import render
from shiyi.service.table.operations import find_operation

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "eval" / "data" / "sample"
HOME = ROOT / ".demo" / "home"
SHOWN = 2
LOOKED_AT = 3


@dataclass(frozen=True)
class Question:
    """A query, what is hard about it, and the names of memories of which one has to be found."""

    text: str
    point: str
    expected: tuple[str, ...] = ()


QUESTIONS = (
    Question("瓦片翻修报价", "a paraphrase without one word of the memory", ("c0422", "r0183")),
    Question("鄔昱霖的生日是哪一天", "Traditional asks, Simplified answers; a name that no "
             "dictionary knows", ("r0109",)),
    Question("地铁上弄丢的东西，失物招领处还有什么", "Simplified asks, Traditional answers; "
             "地铁 is 捷運 in Taipei", ("c0278", "r0234")),
    Question("離職前借用的滑鼠是什麼型號", "滑鼠 in Taiwan is 鼠标 on the mainland",
             ("r0229", "c0174")),
    Question("finger injury while climbing", "English asks, Chinese answers", ("r0113",)),
    Question("mergeShiftWindow 的 bug 后来 rollback 到哪版", "Chinese and code mixed",
             ("r0076", "c0180")),
    Question("0912-345-678", "a phone number, kept once with full-width digits",
             ("r0129", "c0291")),
    Question("量子色動力學的重整化群方程", "nothing was ever said about this"),
)  # fmt: skip


def main() -> int:
    """Run the demo."""
    shutil.rmtree(HOME, ignore_errors=True)
    print(f"Home: {HOME}\n")
    with shiyi.open(HOME, embedded=True) as memory:
        me = memory.scope("me")
        start = time.perf_counter()
        taken = me.import_(str(SAMPLE), allow_secret=True)  # it knows a Wi-Fi password
        print(
            f"Imported {taken.captures} messages and notes and {taken.records} records "
            f"in {time.perf_counter() - start:.1f} s."
        )
        start = time.perf_counter()
        memory.init()
        print(f"The embedding model was ready after {time.perf_counter() - start:.1f} s.")
        start = time.perf_counter()
        built = memory.reindex()
        seconds = time.perf_counter() - start
        for note in built.notes:
            print(note)
        for index in built.indexes:
            print(
                f"Indexed {index.documents} documents, {index.embedded} embedded, "
                f"{index.bytes / 1e6:.1f} MB, in {seconds:.1f} s.\n"
            )
        me.search("拾忆")  # the first search loads the dictionary and the model
        missed = [question for question in QUESTIONS if not ask(me, question)]
    command = f".venv/bin/shiyi --home {HOME.relative_to(ROOT)} search '…'"
    print(f"{len(QUESTIONS) - len(missed)} of {len(QUESTIONS)} as they should be.")
    print(f"Ask for yourself: {command}")
    return 1 if missed else 0


def ask(scope: shiyi.Scope, question: Question) -> bool:
    """Search, print what was found and how long it took, and tell whether it is right."""
    start = time.perf_counter()
    answer = scope.search(question.text, limit=LOOKED_AT)
    milliseconds = (time.perf_counter() - start) * 1000
    print(f"▸ {question.text}\n  ({question.point}; {milliseconds:.0f} ms)")
    found = [hit.external_id for hit in answer.hits]
    if question.expected:
        right = any(name in found for name in question.expected)
    else:
        right = not answer.hits
    shown = answer.model_copy(update={"hits": answer.hits[:SHOWN]})
    for line in render(find_operation("search"), shown).splitlines():
        click.echo(f"  {line}")
    if not right:
        print(f"  ✗ expected {' or '.join(question.expected) or 'nothing'}")
    print()
    return right


if __name__ == "__main__":
    sys.exit(main())
