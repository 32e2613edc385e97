"""One memory whole: a record with its versions, links and words, a capture, or an attachment."""

from collections.abc import Iterable, Mapping
from typing import Any

from shiyi.service.dashboard.asking import Asked, Page
from shiyi.service.dashboard.page import is_reference
from shiyi.store.kinds import RELATIONS

_WORDS, _CARDS = 24_000, 24_000  # tokens
_MOST_TITLES = 100
_TITLE = 40  # characters


async def memory(asked: Asked) -> Page:
    """Show what an id stands for."""
    shown = await asked.call("show", id=asked.path)
    origins = (await asked.call("origins", ids=[asked.path]))["origins"]
    trust = origins[0]["trust"] if origins else None
    if shown["capture"] is not None:
        quoted = [one["src"] for one in shown["links"] if one["rel"] == "quotes"]
        ends = [*quoted, *(one["capture"] for one in shown["feedback"])]
        return Page("capture", {"capture": shown["capture"], "trust": trust, "quoted": quoted,
                                "feedback": shown["feedback"],
                                "titles": await titles(asked, ends)})  # fmt: skip
    if shown["attachment"] is not None:
        return Page("attachment", {"attachment": shown["attachment"]})
    record = shown["record"]
    id_ = record["record_id"]
    whole = await asked.call("show", id=id_, versions=True)
    words = await asked.call("deep", ids=[id_], budget=_WORDS, format="json")
    ends = [_other_end(one, id_) for one in whole["links"] if one["rel"] != "quotes"]
    ends += [one["capture"] for one in shown["feedback"]]
    ends += _named_in(record["attrs"])
    return Page("record", {
        "record": record,
        "trust": trust,
        "versions": list(reversed(whole["versions"])),
        "fragments": words.get("fragments", []),
        "more_words": words["truncated"]["omitted"],
        "links": _grouped(whole["links"], id_),
        "feedback": shown["feedback"],
        "titles": await titles(asked, ends),
        "closes": record["kind"] == "followup"
        and record["attrs"].get("state", "open") == "open"
        and record["status"] == "active",
        "outcomes": ("answered", "declined", "resolved"),
    })  # fmt: skip


async def titles(asked: Asked, ids: Iterable[str]) -> dict[str, str]:
    """Return what memories are called, by the ids given; what has no title is left out."""
    wanted = [one for one in dict.fromkeys(ids) if is_reference(one)][:_MOST_TITLES]
    if not wanted:
        return {}
    found = await asked.call("probe", ids=wanted, budget=_CARDS, format="json", order="top")
    cards = [
        card
        for section in ("records", "related", "entities", "facets", "beside")
        for card in found.get(section, [])
    ]
    called = {card["id"]: _short(card.get("title") or card.get("text") or "") for card in cards}
    return {
        one: title
        for one in wanted
        for id_, title in called.items()
        if title and (one.startswith(id_) or id_.startswith(one))
    }


def _named_in(attrs: Mapping[str, Any]) -> list[str]:
    """Return what may be the id of a memory among the values of attrs."""
    lists = ([one] if isinstance(one, str) else one for one in attrs.values())
    return [id_ for one in lists if isinstance(one, list) for id_ in one if isinstance(id_, str)]


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _TITLE].split())
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


def _grouped(links: list[dict[str, Any]], id_: str) -> list[tuple[str, bool, list[str]]]:
    """Return the other ends by relation: those that the record names, then those that name it."""
    groups = []
    for rel in RELATIONS:
        if rel == "quotes":
            continue
        for outward in (True, False):
            ends = [
                _other_end(one, id_)
                for one in links
                if one["rel"] == rel and (one["src"] == id_) is outward
            ]
            if ends:
                groups.append((rel, outward, ends))
    return groups


def _other_end(link: dict[str, Any], id_: str) -> str:
    return str(link["dst"] if link["src"] == id_ else link["src"])
