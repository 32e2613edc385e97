"""The pages that read. Each asks operations and says which template shows the answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from shiyi.core.ids import is_trace_id
from shiyi.service.dashboard import reading, tracing
from shiyi.service.dashboard.asking import Asked, Page
from shiyi.service.dashboard.charts import recall_charts
from shiyi.store.kinds import KINDS, STATUSES
from shiyi.store.shapes.persons import STATE_BLOCKS

_SURVEY, _CATALOG, _WALK, _COUNTS = 24_000, 12_000, 16_000, 4_000  # tokens
_FEW, _SOME, _PAGE, _MANY = 5, 20, 50, 300
_LOOSE = "other"  # states that belong to no block
Reader = Callable[[Asked], Awaitable[Page]]


async def overview(asked: Asked) -> Page:
    """Show how things stand: counts, what is due, what waits, and warnings."""
    status = await asked.call("status")
    own = next((one for one in status["scopes"] if one["scope"] == asked.scope), None)
    pending = await asked.call("pending") if own else {"open": []}
    survey = await asked.call("survey", budget=_SURVEY, format="json") if own else {}
    gaps = survey.get("gaps", [])
    examples = [id_ for one in gaps for id_ in one["examples"] or []]
    traces = await asked.call("trace", limit=10 * _FEW)
    return Page("overview", {
        "status": status,
        "own": own,
        "due": survey.get("followups", [])[:_FEW],
        "waiting": pending["open"],
        "few": _FEW,
        "warnings": status["notes"],
        "gaps": gaps,
        "titles": await reading.titles(asked, examples),
        "jobs": [one for one in asked.backing.jobs() if one.is_open],
        "traces": _once(traces["traces"])[:_FEW],
    })  # fmt: skip


async def now(asked: Asked) -> Page:
    """Show the states that hold today, or held on another day."""
    day = asked.given("as_of")
    found = await asked.call("current", as_of=day, limit=_MANY)
    blocks: dict[str, list[dict[str, Any]]] = {name: [] for name in (*STATE_BLOCKS, _LOOSE)}
    for one in found["states"]:
        blocks[one["block"] if one["block"] in blocks else _LOOSE].append(one)
    return Page("now", {"found": found, "blocks": blocks, "as_of": day})


async def search(asked: Asked) -> Page:
    """Show what a question finds, and why."""
    text = asked.given("q")
    only = asked.given("only") or "all"
    values: dict[str, Any] = {"q": text, "only": only, "found": None}
    if text is not None:
        values["found"] = await asked.call(
            "search", text=text, only=only, limit=_SOME, budget=_WALK
        )
    return Page("search", values)


async def traces(asked: Asked) -> Page:
    """List what was asked lately."""
    found = await asked.call("trace", limit=4 * _PAGE)
    return Page("traces", {"traces": [one for one in found["traces"] if one["text"]][:_PAGE],
                           "notes": found["notes"]})  # fmt: skip


async def trace(asked: Asked) -> Page:
    """Show how one answer came about."""
    if not is_trace_id(asked.path):
        return Page("error", {"says": "error.unknown"}, 404)
    found = (await asked.call("trace", id=asked.path))["trace"]
    titles = await reading.titles(asked, tracing.ids_of(found))
    return Page("trace", {"trace": found, "questions": tracing.questions_of(found),
                          "titles": titles})  # fmt: skip


async def timeline(asked: Asked) -> Page:
    """List titles along time: of everything by phase, or of one name."""
    about, phase, resume = asked.given("about"), asked.given("phase"), asked.given("resume")
    if about is not None or phase is not None:
        return await _walk(asked, about, phase, resume)
    found = await asked.call("catalog", by="phase", budget=_CATALOG, format="json", resume=resume)
    groups = found.get("groups", [])
    return Page("timeline", {
        "groups": groups, "parts_of_time": _by_phase(groups, found.get("records", [])),
        "more": found["truncated"]["resume"], "resume": resume,
    })  # fmt: skip


async def names(asked: Asked) -> Page:
    """List people, places and things; facets and topics; guesses."""
    found = await asked.call("survey", budget=_SURVEY, format="json")
    kinds = await asked.call("catalog", by="kind", budget=_COUNTS, format="json")
    totals = {one["title"]: one["records"] or 0 for one in kinds.get("groups", [])}
    return Page("names", {"found": found, "totals": totals})


async def records(asked: Asked) -> Page:
    """List records or captures, page by page."""
    what = "captures" if asked.given("what") == "captures" else "records"
    kind, status = asked.given("kind"), asked.given("status")
    order = "newest" if asked.given("order") == "newest" else "updated"
    filters = {"kind": kind, "status": status} if what == "records" else {}
    given = {name: value for name, value in filters.items() if value is not None}
    after = asked.given("after")
    found = await asked.call("list", what=what, order=order, limit=_PAGE, after=after, **given)
    return Page("records", {"found": found, "what": what, "kind": kind, "status": status,
                            "order": order, "after": after, "kinds": KINDS, "statuses": STATUSES,
                            })  # fmt: skip


async def followups(asked: Asked) -> Page:
    """List questions to come back to."""
    found = await asked.call(
        "followup list", closed=asked.given("closed") is not None, limit=2 * _PAGE
    )
    return Page("followups", {"found": found, "closed": asked.given("closed") is not None})


async def review(asked: Asked) -> Page:
    """Show what is owed to the memory, and both sides of what contradicts."""
    owed = await asked.call("review", budget=_WALK, format="json")
    conflicts = await asked.call("conflicts", limit=_SOME)
    examples = [id_ for one in owed.get("debts", []) for id_ in one["examples"] or []]
    return Page("review", {
        "debts": owed.get("debts", []),
        "conflicts": conflicts["conflicts"],
        "titles": await reading.titles(asked, examples),
    })  # fmt: skip


async def pending(asked: Asked) -> Page:
    """List turns that are not closed."""
    found = await asked.call("pending")
    return Page("pending", {"found": found, "most": 2 * _PAGE})


async def validation(asked: Asked) -> Page:
    """Say whether everything fits together, when somebody wants to know."""
    found = await asked.call("validate") if asked.given("run") else None
    return Page(
        "validation", {"found": found, "busy": any(j.is_open for j in asked.backing.jobs())}
    )


async def jobs(asked: Asked) -> Page:
    """List the long work of the daemon."""
    return Page("jobs", {"jobs": asked.backing.jobs()})


async def recall(asked: Asked) -> Page:
    """Draw recall against budget, as last measured."""
    charts = await asyncio.to_thread(recall_charts, asked.backing.evals, asked.words)
    return Page("recall", {"measured": charts, "path": str(asked.backing.evals)})


def _once(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest trace of each question, newest first."""
    newest: dict[str, dict[str, Any]] = {}
    for one in traces:
        newest.setdefault(one["text"], one)
    return [one for text, one in newest.items() if text]


async def _walk(asked: Asked, about: str | None, phase: str | None, resume: str | None) -> Page:
    """Walk along one record, or along the phase that has a number; an address holds no name."""
    title, named = "", about
    if about is not None:
        title = (await reading.titles(asked, [about])).get(about, "")
    else:
        groups = (await asked.call("catalog", by="phase", budget=_CATALOG, format="json"))["groups"]
        known = {str(n): str(one["title"]) for n, one in enumerate(groups)}
        named = title = known.get(phase or "", "")
    walk = await asked.call(
        "recall", about=named or None, budget=_WALK, format="json", resume=resume
    )
    return Page("walk", {"found": walk, "about": about, "phase": phase, "title": title,
                         "more": walk["truncated"]["resume"]})  # fmt: skip


def _by_phase(
    groups: list[dict[str, Any]], found: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the records of each phase, in the order in which they came."""
    heads: Mapping[str, dict[str, Any]] = {str(one["title"]): one for one in groups}
    parts: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    before: str | None = None
    for one in found:
        phase = one.get("phase") or (one.get("date") or "")[:4]
        if phase != before or not parts:
            parts.append((heads.get(phase, {"title": phase, "date": None}), []))
            before = phase
        parts[-1][1].append(one)
    return parts


READERS: Mapping[str, Reader] = {
    "": overview,
    "now": now,
    "search": search,
    "timeline": timeline,
    "names": names,
    "records": records,
    "followups": followups,
    "pending": pending,
    "review": review,
    "validation": validation,
    "jobs": jobs,
    "recall": recall,
    "traces": traces,
}
OF_ONE: Mapping[str, Reader] = {"memory": reading.memory, "trace": trace}
