"""A question as it is asked, and what it is read as."""

import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.indexer.analyze import only_identifiers, terms
from shiyi.indexer.index import Filter
from shiyi.retrieval.asking import is_remark
from shiyi.retrieval.when import Reading, read_times

MAX_LIMIT = 100  # hits
MAX_QUERY = 4000  # characters read; a longer query is refused, not cut
_SENTENCES = 4  # the last ones of a long text are also asked for one by one
_LEAST_SENTENCE = 12  # characters; shorter ones join the one before
_ENDS = re.compile(r"(?<=[。！？!?\n；;])|(?<=\.)\s")


_EVERYTHING = Filter()
_BOTH = frozenset({"lexical", "dense"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question. limit is 1 to 100; budget is in tokens of the answer's compact JSON.

    weak also returns what lies below the evidence floor, for recall that must not stay silent.
    channels may be narrowed to `lexical` or `dense` to measure one alone, and steps of the ranking
    left out. now is aware; time words are counted from it.
    """

    text: str
    limit: int = 8
    budget: int = 4000
    filter: Filter = _EVERYTHING
    weak: bool = False
    channels: frozenset[str] = _BOTH
    without: frozenset[str] = frozenset()
    now: datetime | None = None

    def told(self) -> list[Any]:
        """Return what tells this question from others, the same in every process."""
        given = [getattr(self.filter, one.name) for one in fields(self.filter)]
        seen = [sorted(one) if isinstance(one, frozenset) else str(one) for one in given]
        return [self.text, self.limit, self.weak, sorted(self.channels), seen]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question was read as.

    by_meaning is not set for identifiers alone, which have no meaning to be near to. times are
    those that a memory can be of, so they begin before today. A remark states something.
    """

    text: str
    terms: list[str]
    sentences: list[str]
    times: list[Reading]
    now: datetime
    by_meaning: bool
    remark: bool


def read_query(query: Query) -> Asked:
    """Read a question.

    Raises UsageError for a limit out of range, and for a query without a word, number or sign, or
    longer than MAX_QUERY.
    """
    if not 1 <= query.limit <= MAX_LIMIT:
        raise UsageError(f"The limit is {query.limit}; give 1 to {MAX_LIMIT}.")
    text = query.text
    if len(text) > MAX_QUERY:
        raise UsageError(
            f"The query has {len(text)} characters; give at most {MAX_QUERY}, "
            "or the part that matters."
        )
    wanted = terms(text)
    if not wanted and not any(c.isalnum() for c in text):
        raise UsageError("The query holds no word, number or sign to look for; add one.")
    now = query.now or datetime.now(UTC).astimezone()
    return Asked(
        text=text,
        terms=wanted,
        sentences=_sentences(text),
        times=[time for time in read_times(text, now) if _is_past(time, now)],
        now=now,
        by_meaning=not only_identifiers(text),
        remark=is_remark(text),
    )


def _sentences(text: str) -> list[str]:
    """Return the last sentences of a text that has more than one; short ones are joined."""
    joined: list[str] = []
    for sentence in filter(None, map(str.strip, _ENDS.split(text))):
        if joined and len(joined[-1]) < _LEAST_SENTENCE:
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined[-_SENTENCES:] if len(joined) > 1 else []


def _is_past(time: Reading, now: datetime) -> bool:
    first = time.intervals[0].first
    return first is None or first < now.date()
