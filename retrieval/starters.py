"""A starter: one thing worth asking, from what is stored and nothing else.

The follow-up that is longest overdue, or else one gap that only the person can close. None is made
up: the words of a question are the follow-up's own, or say which gap it is.
"""

from dataclasses import dataclass

import numpy as np

from shiyi.retrieval.asof import day_of
from shiyi.retrieval.maps import Desk, view_of
from shiyi.retrieval.review import DEBTS, Debt, Owed, owed
from shiyi.retrieval.survey import SURVEY_ROOM
from shiyi.retrieval.timeline import heaviest
from shiyi.store import Record
from shiyi.store.rolls import NO_DAY

# Gaps that a question can close, gravest first.
_ASKED: dict[Debt, str] = {
    "corrected": "What is right instead?",
    "unresolved": "Who is meant here?",
    "undated": "When was that?",
    "one_sided": "Has it ever been otherwise?",
}


@dataclass(frozen=True, slots=True)
class Starter:
    """A question, why it is asked, and the record that it rests on."""

    kind: str
    question: str
    why: str
    record: Record
    due: str | None = None


def starter(desk: Desk) -> Starter | None:
    """Return the one thing to ask, or None when nothing is overdue and no gap is left."""
    found = owed(desk)
    return _overdue(desk, found) or _gap(desk, found)


def _overdue(desk: Desk, found: Owed) -> Starter | None:
    today = desk.standing.today()
    due = found.due
    places = np.flatnonzero((due != NO_DAY) & (due < today)).tolist()
    late = sorted((int(due[place]), place) for place in places)
    records = desk.standings.read(desk.standing, [place for _, place in late])
    for day, place in late:
        record = records[place]
        if record.kind == "followup":
            question = record.attrs.get("question")
            on, days = day_of(day).isoformat(), today - day
            why = f"It was due on {on}, {days} day{'s' if days > 1 else ''} ago."
            return Starter("followup", str(question or record.title), why, record, on)
    return None


def _gap(desk: Desk, found: Owed) -> Starter | None:
    weight = view_of(desk, desk.standing.current(), None, SURVEY_ROOM).weight
    for debt, question in _ASKED.items():
        places = np.flatnonzero(found.masks[debt])
        if len(places):
            place = int(heaviest(places, weight[places], 1)[0])
            record = desk.standings.read(desk.standing, [place])[place]
            return Starter("gap", question, f"{DEBTS[debt]}.", record)
    return None
