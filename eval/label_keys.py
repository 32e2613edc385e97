"""Judging one document after the other by keys. Where keys come from is the caller's business."""

import re
from collections.abc import Callable

from shiyi.core.text import visible
from shiyi.eval.label import Item, LabelSession, Progress

HELP = """\
0  does not help      1  helps somewhat      2  answers it
s  skip this one      u  undo the last       m  show the whole text
q  quit; what was judged is kept             ?  this help"""
_SHOWN = 4_000
_LINE_BREAKS = re.compile(r"\r\n?")


def run_labelling(
    session: LabelSession, show: Callable[[str], None], ask: Callable[[], str]
) -> Progress:
    """Show what is to be judged and do what the keys say, until all is done or `q` comes.

    `ask` returns what was typed; its end (EOFError) is as `q`.
    """
    for note in session.notes:
        show(note)
    show(HELP)
    item = session.next()
    if item is not None:
        show(_shown(item, session.progress))
    while item is not None:
        try:
            key = ask().strip().lower()
        except EOFError:
            break
        if key == "q":
            break
        if key in {"0", "1", "2", "s", "u"}:
            _do(session, key, show)
            item = session.next()
            if item is not None:
                show(_shown(item, session.progress))
        elif key == "m":
            show(_escaped(item.document.text))
        else:
            show(HELP)
    progress = session.progress
    what = "All is judged" if progress.done == progress.total else "Kept"
    show(f"{what}: {progress.done} of {progress.total}.")
    return progress


def _do(session: LabelSession, key: str, show: Callable[[str], None]) -> None:
    if key != "u":
        session.judge(None if key == "s" else int(key))
    elif not session.undo():
        show("There is nothing to undo.")


def _shown(item: Item, progress: Progress) -> str:
    text = _escaped(item.document.text[:_SHOWN])
    rest = len(item.document.text) - _SHOWN
    more = f"\n… {rest} more characters; m shows them" if rest > 0 else ""
    return (
        f"── {progress.done + 1} of {progress.total}\n"
        f"Query: {_escaped(item.query.text[:_SHOWN])}\n\n{text}{more}\n"
    )


def _escaped(text: str) -> str:
    return visible(_LINE_BREAKS.sub("\n", text))
