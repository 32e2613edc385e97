"""What recall put into a conversation, marked, so that it is never taken in as new words.

A hook shows an agent what is remembered, between two marks; the client's transcript then holds it
beside what was really said. Words with such a block are refused where somebody gives them, and lose
it where a transcript is read.
"""

import re

from shiyi.core.errors import UsageError

_NAME = "shiyi-recall"
_OPEN = re.compile(rf"<{_NAME}\b[^>]*>", re.IGNORECASE)
_BLOCK = re.compile(rf"\s*<{_NAME}\b[^>]*>.*?(?:</{_NAME}>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rf"<(?=\s*/?\s*{_NAME}\b)", re.IGNORECASE)


def mark(text: str, trace: str | None) -> str:
    """Return a text between marks that name the trace of the answer; none of its own ends it."""
    named = f' trace="{trace}"' if trace else ""
    return f"<{_NAME}{named}>\n{_TAG.sub('‹', text)}\n</{_NAME}>"


def without_recalled(text: str) -> str:
    r"""Return a text without what recall put into it; the same text when there is nothing.

    >>> without_recalled("before\n" + mark("remembered", "7") + "\nafter")
    'before\nafter'
    """
    if _OPEN.search(text) is None:
        return text
    return _BLOCK.sub("\n", text).strip("\n")


def refuse_recalled(text: str) -> None:
    """Raise UsageError when a text holds what recall showed."""
    if _OPEN.search(text) is not None:
        raise UsageError(
            "These words hold a block that recall showed, which is remembered already; leave it "
            "out and give only what was said. Nothing was kept."
        )
