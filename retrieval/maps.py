"""Survey and routing, and what every map shares: from what is asked to an answer that fits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shiyi.indexer.documents import RECORD
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.asof import Mask, Standing, Standings
from shiyi.retrieval.domain import Domain
from shiyi.retrieval.listing import Group, Page, pack_groups
from shiyi.retrieval.map_results import RoutingResult, SurveyResult
from shiyi.retrieval.packing import Order
from shiyi.retrieval.search import Finding
from shiyi.retrieval.survey import ROUTING_ROOM, SURVEY_ROOM, Room, View, survey_groups
from shiyi.retrieval.trace import SILENT, Tracer
from shiyi.retrieval.window import Window, narrowed
from shiyi.store import Store

_LEAST = 0.1  # of the best score; as in search
_NO_RECORDS = (
    "There is no record to show here; `remember` and `import` make records, and `search` also "
    "finds words that no record was drawn from."
)
_NOT_YET = "Nothing was recorded by then; as_of asks for what was known at a time."
_NEAR_NOTHING = "Nothing here is about that, so the map leans nowhere."
_WIDER = "Leave the window out, or make it wider."
_AS_QUERY = "No entity, topic or phase has that name, so it was taken as a query."
Survey = TypeVar("Survey", SurveyResult, RoutingResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What maps are made from: the store, what stands in one scope, and how to answer."""

    store: Store
    standings: Standings
    standing: Standing
    counter: TokenCounter
    page: Page
    short: Callable[[str], str] = str
    trace: Tracer = SILENT
    window: Window | None = None
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> "Desk":
        """Return the desk with more notes to give."""
        return replace(self, notes=(*self.notes, *notes))


def survey(desk: Desk, found: Finding | None = None) -> SurveyResult:
    """Return the map of a scope; a finding of search makes it lean towards a query."""
    near = nearness(desk.standing, found)
    if found is not None and not near.any():
        desk = desk.noting(_NEAR_NOTHING)
    among = narrowed(desk.standing.current(), desk.window, desk.standing)
    view = _view(desk, among, near, found, SURVEY_ROOM, whole=desk.window is None)
    return _answer(SurveyResult, desk, view)


def routing(desk: Desk, domain: Domain | None, found: Finding | None) -> RoutingResult:
    """Return the map of one domain or, when there is none, of what a query found."""
    current = narrowed(desk.standing.current(), desk.window, desk.standing)
    if domain is not None:
        near = np.zeros(len(desk.standing))
        view = _view(desk, current & domain.members, near, None, ROUTING_ROOM)
        return _answer(RoutingResult, desk, view, about=domain.kind, members=domain.members)
    near = nearness(desk.standing, found)
    desk = desk.noting(_AS_QUERY)
    view = _view(desk, current & (near > 0), near, found, ROUTING_ROOM)
    return _answer(RoutingResult, desk, view, about="query")


def nearness(standing: Standing, found: Finding | None) -> NDArray[np.float64]:
    """Return how near each record is to what was searched, as a share of the best score."""
    near = np.zeros(len(standing))
    if found is None or found.outcome != "found":
        return near
    score = np.where(found.fused.speaks, np.round(found.fused.score, 9), 0.0)
    best = float(score.max(initial=0.0))
    speaking = np.flatnonzero(score >= _LEAST * best) if best > 0 else np.empty(0, np.int64)
    rows = found.index.columns.rows(found.slots[speaking])
    own = rows["type"] == RECORD
    shares = (score[speaking][own] / best).tolist()
    ids = [id_.decode("ascii") for id_ in rows["id"][own].tolist()]
    for place, share in standing.by_place(dict(zip(ids, shares, strict=True))).items():
        near[place] = share
    return near


def held_back(desk: Desk, shown: Mask, members: Mask | None = None) -> dict[str, int]:
    """Return how many records that would fit are left out since they hold no longer, by status."""
    standing = desk.standing
    fitting = narrowed(standing.kept(), desk.window, standing) & ~shown
    if members is not None:
        fitting &= members
    counts = {
        status: int((fitting & standing.of_status(status)).sum())
        for status in ("superseded", "archived")
    }
    return {status: count for status, count in counts.items() if count}


def notes_on_nothing(desk: Desk) -> tuple[str, ...]:
    """Return what could be widened when a map is empty."""
    if desk.notes:
        return desk.notes
    if desk.standing.as_of is not None and not len(desk.standing):
        return (_NOT_YET,)
    return (_NO_RECORDS,) if desk.window is None else (_WIDER,)


def told(desk: Desk, outcome: str, held: Mapping[str, int], about: str | None) -> dict[str, Any]:
    """Return the plain fields of an answer."""
    as_of = desk.standing.as_of
    return {
        "outcome": outcome, "about": about, "as_of": as_of and as_of.isoformat(),
        "held_back": dict(held) or None, "trace": desk.trace.id,
    }  # fmt: skip


def _view(
    desk: Desk,
    among: Mask,
    near: NDArray[np.float64],
    found: Finding | None,
    room: Room,
    *,
    whole: bool = False,
) -> View:
    words = frozenset(found.asked.terms) if found is not None else frozenset()
    return View(
        standing=desk.standing, among=among, near=near, words=words, window=desk.window,
        whole=whole, room=room, short=desk.short,
    )  # fmt: skip


def _answer(
    model: type[Survey],
    desk: Desk,
    view: View,
    about: str | None = None,
    members: Mask | None = None,
) -> Survey:
    groups: Sequence[Group] = survey_groups(desk.store, desk.standings, view)
    outcome = "found" if view.among.any() else "empty"
    notes = desk.notes if outcome == "found" else notes_on_nothing(desk)
    fields = told(desk, outcome, held_back(desk, view.among, members), about)
    return model.model_validate(written(desk, groups, fields, notes))


def written(
    desk: Desk,
    groups: Sequence[Group],
    fields: Mapping[str, Any],
    notes: Sequence[str],
    order: Order = "value",
) -> dict[str, Any]:
    """Pack an answer, tell the trace of it, and return the fields of its result."""
    with desk.trace.stage("pack"):
        sheet = pack_groups(groups, desk.page, desk.counter, fields, notes=notes, order=order)
    desk.trace.chose(sheet.ids)
    packed = sheet.packed
    return {
        **fields, **sheet.shown, "held_back": fields["held_back"] or {}, "notes": list(notes),
        "scope": desk.standing.scope, "truncated": packed.truncated, "counter": packed.counter,
        "tokens": packed.tokens, "text": packed.text,
    }  # fmt: skip
