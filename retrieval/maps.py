"""Survey and routing, and what every map shares: from what is asked to an answer that fits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.asof import Mask, Standing
from shiyi.retrieval.domain import Domain
from shiyi.retrieval.leaning import Lean, no_lean
from shiyi.retrieval.listing import Group, Page, Sheet, pack_groups
from shiyi.retrieval.map_results import RoutingResult, SurveyResult
from shiyi.retrieval.packing import Order
from shiyi.retrieval.standings import Standings
from shiyi.retrieval.survey import ROUTING_ROOM, SURVEY_ROOM, Room, View, survey_groups
from shiyi.retrieval.timeline import weights
from shiyi.retrieval.trace import SILENT, Tracer
from shiyi.retrieval.window import Window, narrowed
from shiyi.store import Store

_SMALLER = ("full", "short", "line", "id")  # how many sizes below the largest
_NO_RECORDS = (
    "There is no record to show here; `shiyi remember` and `shiyi import` make records, and "
    "`shiyi search` also finds words that no record was drawn from."
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


def survey(desk: Desk, lean: Lean | None = None) -> SurveyResult:
    """Return the map of a scope, leaning towards a query if there is one."""
    if lean is not None and not lean.near.any():
        desk = desk.noting(_NEAR_NOTHING)
    among = narrowed(desk.standing.current(), desk.window, desk.standing)
    view = view_of(desk, among, lean, SURVEY_ROOM, whole=desk.window is None)
    return _answer(SurveyResult, desk, view)


def routing(desk: Desk, domain: Domain | None, lean: Lean | None) -> RoutingResult:
    """Return the map of one domain or, when there is none, of what a query leans to."""
    current = narrowed(desk.standing.current(), desk.window, desk.standing)
    if domain is not None:
        view = view_of(desk, current & domain.members, None, ROUTING_ROOM)
        return _answer(RoutingResult, desk, view, about=domain.kind, members=domain.members)
    lean = lean or no_lean(desk.standing)
    desk = desk.noting(_AS_QUERY)
    among = current & (lean.near > 0)  # only what is current was searched
    view = view_of(desk, among, lean, ROUTING_ROOM)
    return _answer(RoutingResult, desk, view, about="query", members=among)


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


def view_of(desk: Desk, among: Mask, lean: Lean | None, room: Room, *, whole: bool = False) -> View:
    """Return a view of the records `among` all that stand."""
    leaning = lean or no_lean(desk.standing)
    return View(
        standing=desk.standing, among=among, weight=weights(desk.standing, leaning.near),
        words=leaning.words, leans=lean is not None, window=desk.window, whole=whole, room=room,
        short=desk.short,
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


def _left_out(groups: Sequence[Group], sheet: Sheet) -> list[str]:
    """Return the records that are not in an answer for want of budget."""
    ids = (one.id for group in groups for one in group.listings if one.is_record)
    return [id_ for id_ in dict.fromkeys(ids) if id_ not in sheet.forms]


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
    desk.trace.chose(sheet.forms)
    desk.trace.stepped_down({id_: _SMALLER[down] for id_, down in sheet.forms.items() if down})
    desk.trace.left_out("budget", _left_out(groups, sheet))
    packed = sheet.packed
    return {
        **fields, **sheet.shown, "held_back": fields["held_back"] or {}, "notes": list(notes),
        "scope": desk.standing.scope, "truncated": packed.truncated, "counter": packed.counter,
        "tokens": packed.tokens, "text": packed.text,
    }  # fmt: skip
