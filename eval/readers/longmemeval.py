"""LongMemEval: a haystack of chat sessions for each question, and the turns that answer it.

Wu et al., LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory, ICLR 2025.
A question is a scope, a turn a document. Where no turn of the answering sessions is marked, all
of their turns are gold. Questions whose id ends in _abs have no answer in the haystack.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.eval.dataset import MAIN, Document, Query, View, half_of
from shiyi.eval.readers.fields import Parts, end_of, id_of, linked, list_of, text_of, words_of
from shiyi.eval.readers.strict import Object

_ABSTENTION = "_abs"
_LEFT_OUT = "{} questions were left out: no turn of the haystack answers them."
_EMPTY = "{} turns were left out: they are empty."
_AGAIN = "{} sessions were left out: they stand twice in one haystack."
_OWN = frozenset({"question_id", "question", "haystack_sessions", "haystack_dates"})


def read_longmemeval(questions: Iterable[Object]) -> Parts:
    """Return the turns of all haystacks and the questions.

    Raises UsageError, naming the place, for anything malformed.
    """
    documents: list[Document] = []
    queries: list[Query] = []
    judgements: dict[str, dict[str, int]] = {}
    left_out: Counter[str] = Counter()
    scopes: set[str] = set()
    for place, content in questions:
        query = _query(content, place)
        if query.id in scopes:
            raise UsageError(f"{place}: The question_id {query.id!r} stands twice.")
        scopes.add(query.id)
        turns = list(_turns(content, query.id, place, left_out))
        documents += turns
        gold = _gold(content, turns, place)
        if query.id.endswith(_ABSTENTION):
            gold = {}
        elif not gold:
            left_out[_LEFT_OUT] += 1
            continue
        queries.append(query)
        judgements[query.id] = gold
    view = View(name=MAIN, queries=tuple(queries), judgements=judgements)
    notes = tuple(sentence.format(count) for sentence, count in sorted(left_out.items()))
    return Parts(documents=linked(documents), views=(view,), notes=notes)


def _query(content: dict[str, Any], place: str) -> Query:
    name = id_of(content, "question_id", place)
    return Query(
        id=name,
        text=text_of(content, "question", place),
        scope=name,
        now=end_of(words_of(content, "question_date")),
        category=words_of(content, "question_type"),
        half=half_of(name),
        attributes={key: value for key, value in content.items() if key not in _OWN},
    )


def _turns(
    content: dict[str, Any], scope: str, place: str, left_out: Counter[str]
) -> Iterator[Document]:
    sessions = list_of(content, "haystack_sessions", list, place)
    names = list_of(content, "haystack_session_ids", str, place)
    dates = list_of(content, "haystack_dates", str, place)
    if len(names) != len(sessions) or len(dates) not in {0, len(sessions)}:
        raise UsageError(f"{place}: There are not as many ids and dates as sessions.")
    written = dates or [None] * len(sessions)
    seen: dict[str, list[Any]] = {}
    order = 0
    for name, date, turns in zip(names, written, sessions, strict=True):
        if name in seen:
            if seen[name] != turns:
                raise UsageError(f"{place}: The session {name!r} stands twice, with other turns.")
            left_out[_AGAIN] += 1
            continue
        seen[name] = turns
        for number, turn in enumerate(turns, 1):
            order += 1
            at = f"{place}: session {name!r}, turn {number}"
            if not isinstance(turn, dict):
                raise UsageError(f"{at}: A turn is an object.")
            if isinstance(turn.get("content"), str) and not turn["content"].strip():
                left_out[_EMPTY] += 1
                continue
            yield Document(
                id=f"{scope}:{name}:{number}",
                text=text_of(turn, "content", at),
                scope=scope,
                order=order,
                speaker=words_of(turn, "role"),
                date=_iso(date),
                session=name,
                attributes={"has_answer": turn.get("has_answer") is True, "haystack_date": date},
            )


def _gold(content: dict[str, Any], turns: list[Document], place: str) -> dict[str, int]:
    sessions = set(list_of(content, "answer_session_ids", str, place))
    answering = [turn for turn in turns if turn.session in sessions]
    marked = [turn for turn in answering if turn.attributes["has_answer"]]
    return {turn.id: 1 for turn in marked or answering}


def _iso(written: str | None) -> str | None:
    """Return `2023/05/20 (Sat) 02:21` as 2023-05-20T02:21:00+00:00, other words as they are."""
    if written is None:
        return None
    try:
        return parse_timestamp(written).isoformat()
    except UsageError:
        return written
