"""Review: what is owed to a memory, debt by debt: counts and examples, or every record of it.

corrected     said to be wrong by its person, and not changed since
due           follow-ups that are overdue, due today or soon
unresolved    a he, she or they that nobody could name
attribution   says something of the person, and quotes only what others said
summary       something stands behind it, but no words that are kept exactly
unsourced     nothing stands behind it
undated       happened at no known time
one_sided     guesses without anything that speaks against them
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shiyi.core.ids import is_id
from shiyi.retrieval.asof import Mask, Standing, day_of
from shiyi.retrieval.listing import Group, Listing, entry_of, sizes
from shiyi.retrieval.map_results import MapEntry, ReviewResult
from shiyi.retrieval.maps import Desk, told, view_of, written
from shiyi.retrieval.stated import stated
from shiyi.retrieval.survey import SOON, SURVEY_ROOM
from shiyi.retrieval.timeline import TRUNK_KINDS, heaviest
from shiyi.retrieval.window import narrowed
from shiyi.store.rolls import NO_DAY

Debt = Literal[
    "corrected", "due", "unresolved", "attribution", "summary", "unsourced", "undated", "one_sided"
]
DEBTS: dict[Debt, str] = {
    "corrected": "said to be wrong, and not changed since",
    "due": "follow-ups that are due",
    "unresolved": "a he, she or they that nobody could name",
    "attribution": "says something of the person, and quotes only others",
    "summary": "no exact words stand behind it",
    "unsourced": "nothing stands behind it",
    "undated": "happened at no known time",
    "one_sided": "guesses without anything against them",
}
# Kinds that say something of the person, which only the person can have said.
_OF_THE_PERSON = (
    "experience", "feeling", "decision", "preference", "value", "rule", "promise", "boundary",
)  # fmt: skip
_OTHERS = ("assistant", "system", "tool", "model", "ai", "bot")  # speakers
_EXAMPLES = 3
_NOTHING = "Nothing is owed: no debt was found among the records that hold."
_ONE_SIDED = ("unresolved_referent", "counterexample_missing")


@dataclass(frozen=True, slots=True)
class Owed:
    """What is owed: the records of each debt, as a mask, and what is no record but was corrected.

    due: the day on which each record is due, or NO_DAY.
    """

    masks: dict[Debt, Mask]
    due: NDArray[np.int32]
    elsewhere: tuple[str, ...] = ()

    def count(self, debt: Debt) -> int:
        """Return how much there is of a debt."""
        more = len(self.elsewhere) if debt == "corrected" else 0
        return int(self.masks[debt].sum()) + more


def owed(desk: Desk) -> Owed:
    """Return the debts of what holds now."""
    store, standing = desk.store, desk.standing
    among = narrowed(standing.current(), desk.window, standing)
    due = stated(store, desk.standings, standing).due(standing, among)
    rolls, scope, as_of = store.rolls, standing.scope, standing.as_of
    kinds = ("event", "experience", "feeling", "hypothesis")
    said = standing.by_place(rolls.attributes(scope, kinds, _ONE_SIDED, as_of))
    behind = standing.by_place(rolls.behind(scope, _OTHERS, as_of))
    backed = _mask(standing, standing.by_place(rolls.arrivals(scope, ["supports"], as_of)))
    against = _mask(standing, standing.by_place(rolls.arrivals(scope, ["contradicts"], as_of)))
    inexact = _mask(standing, [place for place, (one, _) in behind.items() if one])
    foreign = _mask(standing, [place for place, (_, one) in behind.items() if one])
    guesses = standing.of_kinds(["hypothesis"])
    unnamed = _mask(
        standing, [place for place, (one, _) in said.items() if one not in {None, "[]"}]
    )
    corrected, elsewhere = _corrected(desk)
    masks: dict[Debt, Mask] = {
        "corrected": corrected,
        "due": (due != NO_DAY) & (due <= standing.today() + SOON),
        "unresolved": unnamed & ~guesses,
        "attribution": foreign & standing.of_kinds(_OF_THE_PERSON),
        "summary": inexact | (~standing["sourced"] & backed),
        "unsourced": ~standing["sourced"] & ~backed & ~standing.of_kinds(["entity", "facet"]),
        "undated": ~standing.dated() & standing.of_kinds(TRUNK_KINDS),
        "one_sided": guesses & ~against,
    }
    return Owed({debt: mask & among for debt, mask in masks.items()}, due, elsewhere)


def review(desk: Desk, *, deep: bool) -> ReviewResult:
    """Return the debts with counts and examples; with `deep`, the records as well."""
    found = owed(desk)
    weight = view_of(desk, desk.standing.current(), None, SURVEY_ROOM).weight
    lines = []
    for debt, title in DEBTS.items():
        if found.count(debt):
            own = np.flatnonzero(found.masks[debt])
            places = heaviest(own, weight[own], _EXAMPLES)
            lines.append(_line(desk, found, debt, title, places.tolist()))
    groups = [Group("debts", lines, 4.0), Group("records", _records(desk, found) if deep else [])]
    notes = desk.notes if lines else (*desk.notes, _NOTHING)
    fields = told(desk, "found" if lines else "empty", {}, None)
    return ReviewResult.model_validate(written(desk, groups, fields, notes))


def _line(desk: Desk, found: Owed, debt: Debt, title: str, places: list[int]) -> Listing:
    ids = [desk.short(desk.standing.id(place)) for place in places]
    if debt == "corrected":
        ids += map(desk.short, found.elsewhere)
    line = MapEntry(id=debt, title=title, records=found.count(debt))
    whole = line.model_copy(update={"examples": ids[:_EXAMPLES]})
    return Listing(debt, float(len(DEBTS)), (MapEntry(id=debt), line, whole))


def _records(desk: Desk, found: Owed) -> list[Listing]:
    """Return every record with its debts, the gravest first."""
    debts: dict[int, list[Debt]] = {}
    for debt, mask in found.masks.items():
        for place in np.flatnonzero(mask).tolist():
            debts.setdefault(place, []).append(debt)
    listings = [
        Listing(
            id_,
            float(len(DEBTS)),
            (MapEntry(id=desk.short(id_), context="corrected"),),
            is_record=is_id(id_),
        )
        for id_ in found.elsewhere
    ]
    most = desk.page.budget  # each costs a token at the least
    shown = list(debts)[:most]
    records = desk.standings.read(desk.standing, shown)
    names = list(DEBTS)
    for place, own in debts.items():
        record = records.get(place)
        if record is None:
            listings.append(Listing(desk.standing.id(place), 0.0, (), is_record=True))
            continue
        context = ", ".join(own)
        due = day_of(int(found.due[place])).isoformat() if "due" in own else None
        entry = entry_of(record, desk.short(record.record_id), due=due)
        small, line, *_ = sizes(entry)
        value = float(len(names) - names.index(own[0]))
        line = line.model_copy(update={"context": context})
        listings.append(Listing(record.record_id, value, (small, line), is_record=True))
    return listings


def _corrected(desk: Desk) -> tuple[Mask, tuple[str, ...]]:
    """Return what its person said to be wrong and is as it was: records, and what is none."""
    store, standing = desk.store, desk.standing
    said = store.feedback(standing.scope, verdict="corrected")
    newest = {one.target_id: one.created_at for one in said}
    heads = store.heads(standing.scope, [id_ for id_ in newest if is_id(id_)])
    same = [id_ for id_, head in heads.items() if head.updated_at <= newest[id_]]
    return standing.among(sorted(same)), tuple(id_ for id_ in newest if id_ not in heads)


def _mask(standing: Standing, places: Iterable[int]) -> Mask:
    mask = np.zeros(len(standing), bool)
    mask[list(places)] = True
    return mask
