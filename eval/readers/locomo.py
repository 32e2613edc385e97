"""LoCoMo: long conversations of two people, and questions about what was said in which turn.

Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents, ACL 2024. A sample
is a scope, a turn a document. Questions of category 5 have no answer in the conversation.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import MAIN, Document, Query, View, half_of
from shiyi.eval.readers.fields import (
    Parts,
    id_of,
    linked,
    list_of,
    object_of,
    text_of,
    words_of,
)
from shiyi.eval.readers.strict import Object

_SAID = "%I:%M %p on %d %B, %Y"
_ADVERSARIAL = "adversarial"
_CATEGORIES = {
    1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: _ADVERSARIAL,
}  # fmt: skip
_SESSION = re.compile(r"session_([0-9]{1,9})")
_TURN = re.compile(r"D:?0*([0-9]+):0*([0-9]+)")  # some keys are written D:11:26 or D30:05


def read_locomo(samples: Iterable[Object]) -> Parts:
    """Return the turns of all samples and the questions about them.

    A question whose evidence names no turn of its conversation is left out, and counted. Raises
    UsageError, naming the place, for anything malformed.
    """
    documents: dict[str, Document] = {}
    queries: list[Query] = []
    judgements: dict[str, dict[str, int]] = {}
    without = 0
    scopes: set[str] = set()
    for place, sample in samples:
        scope = id_of(sample, "sample_id", place)
        if scope in scopes:
            raise UsageError(f"{place}: The sample_id {scope!r} stands twice.")
        scopes.add(scope)
        for document in _turns(object_of(sample, "conversation", place), scope, place):
            if document.id in documents:
                raise UsageError(f"{place}: The turn {document.id!r} stands twice.")
            documents[document.id] = document
        for number, question in enumerate(list_of(sample, "qa", dict, place), 1):
            at = f"{place}: qa {number}"
            query = _query(question, f"{scope}:q{number}", scope, at)
            named = {turn: 1 for turn in _evidence(question, scope, at) if turn in documents}
            if query.category == _ADVERSARIAL:
                named = {}
            elif not named:
                without += 1
                continue
            queries.append(query)
            judgements[query.id] = named
    view = View(name=MAIN, queries=tuple(queries), judgements=judgements)
    notes = (f"{without} questions were left out: their evidence names no turn.",)
    return Parts(
        documents=linked(documents.values()), views=(view,), notes=notes if without else ()
    )


def _turns(conversation: dict[str, Any], scope: str, place: str) -> Iterator[Document]:
    order = 0
    sessions = sorted(int(found[1]) for name in conversation if (found := _SESSION.fullmatch(name)))
    for session in sessions:
        name = f"session_{session}"
        written = words_of(conversation, f"{name}_date_time")
        for turn in list_of(conversation, name, dict, place):
            order += 1
            at = f"{place}: {name}"
            yield Document(
                id=f"{scope}:{id_of(turn, 'dia_id', at)}",
                text=text_of(turn, "text", at),
                scope=scope,
                order=order,
                speaker=words_of(turn, "speaker"),
                date=_iso(written),
                session=name,
                attributes={**turn, "session_date_time": written},
            )


def _query(question: dict[str, Any], name: str, scope: str, place: str) -> Query:
    category = question.get("category")
    if type(category) is not int or category not in _CATEGORIES:
        raise UsageError(f"{place}: category is a number from 1 to 5.")
    return Query(
        id=name,
        text=text_of(question, "question", place),
        scope=scope,
        category=_CATEGORIES[category],
        half=half_of(name),
        attributes={key: value for key, value in question.items() if key != "question"},
    )


def _evidence(question: dict[str, Any], scope: str, place: str) -> Iterator[str]:
    """Yield the ids of the turns; one text may name several of them."""
    for words in list_of(question, "evidence", str, place):
        turns = [f"D{session}:{turn}" for session, turn in _TURN.findall(words)]
        yield from (f"{scope}:{turn}" for turn in turns or [words.strip()])


def _iso(written: str | None) -> str | None:
    """Return `1:56 pm on 8 May, 2023` as 2023-05-08T13:56:00, and other words as they are."""
    if written is None:
        return None
    try:
        said = datetime.strptime(f"{written} +0000", f"{_SAID} %z")
        return said.replace(tzinfo=None).isoformat()  # the set names no zone
    except ValueError:
        return written
