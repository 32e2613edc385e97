"""From what an operation answers to what a model reads: text and its trust, never more."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shiyi.core.ids import is_id, is_short_id
from shiyi.models.tokens import get_counter
from shiyi.service.mcp.fit import MOST, fitted
from shiyi.service.mcp.schema import without_nulls

Values = dict[str, Any]
_TITLE = 60  # characters
_BUDGET = 8000  # tokens of a text that is read whole
_METADATA = 6000  # and of what is told about it
_DENSE = 8  # characters that a token may stand for in a long text
_OURSELVES = ("counter", "tokens")  # how an answer was counted, which is no matter for a model
FETCH_EXTRA: Values = {
    "start": {
        "type": "integer", "minimum": 0, "default": 0,
        "description": "the character at which to begin: truncated.next_start",
    },
    "budget": {
        "type": "integer", "minimum": 200, "maximum": 100_000, "default": _BUDGET,
        "description": "the most tokens of text, and of metadata",
    },
}  # fmt: skip


def plain(answer: Values, given: Mapping[str, Any]) -> Values:
    """Return an answer without what is null or empty, and no longer than it may be."""
    content: Values = without_nulls(answer)
    if "truncated" in content:
        content["truncated"] = _full(content["truncated"])
    packed = all(name in content for name in _OURSELVES)
    content = _full({name: one for name, one in content.items() if name not in _OURSELVES})
    return content if packed else fitted(content, int(given.get("budget", MOST)))


def kept(answer: Values, given: Mapping[str, Any]) -> Values:
    """Return what was kept; a warning about a record may hold the reason that somebody gave."""
    content = plain(answer, given)
    if "warnings" in content:
        content["warnings"] = [_warning(text) for text in content["warnings"]]
    return content


def closed(answer: Values, given: Mapping[str, Any]) -> Values:
    """Return how a capture was closed, or how a turn stands; every warning is an object."""
    warnings = [{"text": one} if isinstance(one, str) else one for one in answer["warnings"]]
    return plain({**answer, "warnings": warnings}, given)


def mapped(answer: Values, given: Mapping[str, Any]) -> Values:
    """Return a map, or the one thing to begin with, or both sides of what contradicts."""
    if "question" in answer:
        told = {name: answer[name] for name in ("kind", "title", "question", "why")}
        starter = next(({"id": id_, **told} for id_ in answer["ids"]), None)
        outcome = "found" if starter else "empty"
        return plain({"outcome": outcome, "starter": starter, "notes": answer["notes"]}, given)
    if "conflicts" in answer:
        answer = {**answer, "conflicts": [_conflict(one) for one in answer["conflicts"]]}
    if "outcome" not in answer:  # of a list, which says by itself whether there is anything
        there = any(answer.get(name) for name in ("conflicts", "states", "followups"))
        answer = {"outcome": "found" if there else "empty", **answer}
    return plain(answer, {"budget": 6000, **given})


def search(answer: Values, given: Mapping[str, Any]) -> Values:
    """Return the hits of a search as id, title, text and where they are."""
    del given
    results = [_result(hit) for hit in answer["hits"]]
    told = {name: answer[name] for name in ("outcome", "mode", "weak")}
    content = {**told, "results": results, "notes": answer["notes"], "trace": answer["trace"]}
    if answer["truncated"]["omitted"]:
        content["truncated"] = answer["truncated"]
    return _full(without_nulls(content)) | {"results": results}


def fetch(answer: Values, given: Mapping[str, Any]) -> Values:
    """Return one record or capture whole, or as much of its text as the budget takes."""
    record, capture = answer["record"], answer["capture"]
    if answer["attachment"]:
        return _file(answer["attachment"])
    shown: Values = without_nulls(record or capture)
    if record:
        id_, kind = record["record_id"], "record"
        text = "\n\n".join(part for part in (record["gist"], record["detail"]) if part)
        title, left_out = record["title"], {"gist", "detail", "title"}
    else:
        id_, kind = capture["capture_id"], "capture"
        text, title, left_out = capture["text"], _title_of(capture["text"]), {"text"}
    metadata = _full({name: one for name, one in shown.items() if name not in left_out})
    if links := [_link(one, id_) for one in answer["links"]]:
        metadata["links"] = links
    if said := [_said(one) for one in answer["feedback"]]:
        metadata["feedback"] = said
    start, budget = int(given.get("start", 0)), int(given.get("budget", _BUDGET))
    part = _within(text[start:], budget)
    content = {
        "id": id_, "title": title, "text": part, "url": url_of(kind, id_),
        "metadata": fitted({"type": kind, **metadata}, min(_METADATA, budget)),
    }  # fmt: skip
    if start + len(part) < len(text):
        content["truncated"] = {"next_start": start + len(part), "of": len(text)}
    return content


def _file(attachment: Values) -> Values:
    """Return what is known of a file; the words in it are captures of their own."""
    shown = without_nulls(attachment)
    left_out = {"attachment_id", "name", "path", "source_path"}
    metadata = {name: one for name, one in shown.items() if name not in left_out}
    return {
        "id": attachment["attachment_id"], "title": attachment["name"], "text": "",
        "metadata": {"type": "attachment", **metadata},
    }  # fmt: skip


def status(answer: Values, given: Mapping[str, Any]) -> Values:
    """Return how one scope stands, what is open in it, or the trace of an answer.

    Nothing is said of other scopes.
    """
    if "trace" in answer:
        return plain({name: answer[name] for name in ("trace", "notes")}, given)
    if "open" in answer:
        told = {name: answer[name] for name in ("scope", "open", "notes")}
        return {"open": []} | plain(told, given)
    own = [one for one in answer["scopes"] if one["scope"] == given["scope"]]
    counts = {name: one for name, one in (own[0] if own else {}).items() if isinstance(one, int)}
    told = {name: answer[name] for name in ("version", "mode", "model")}
    return {"scope": given["scope"], **told, "counts": counts, "notes": answer["notes"]}


def url_of(kind: str, id_: str) -> str:
    """Return the address of the resource that holds a record or a capture."""
    return f"memory://{kind}/{id_}"


def memories_of(content: Any) -> list[str]:
    """Return the ids of the memories that an answer shows, each once."""
    ids = (one["id"] for one in _entries(content))
    return list(dict.fromkeys(id_ for id_ in ids if _is_memory(id_)))


def with_trust(content: Values, trusts: Mapping[str, str]) -> Values:
    """Write beside everything that an answer shows whose word it is.

    What has a name instead of an id, such as a topic, says of what kind it is in `group`; its name,
    which is stored text, stays in its title.
    """
    for one in list(_entries(content)):
        trust = trusts.get(one["id"])
        if trust is None and not _is_memory(one["id"]):
            one["group"] = one.pop("id").partition(":")[0]
        one.get("metadata", one)["trust"] = trust or "mixed"
    return content


def _is_memory(id_: str) -> bool:
    return is_id(id_) or is_short_id(id_)


def _entries(content: Any) -> Iterator[Values]:
    """Yield every object that shows a memory: one with an id."""
    if isinstance(content, dict):
        if isinstance(content.get("id"), str):
            yield content
        yield from _each(one for name, one in content.items() if name != "metadata")
    elif isinstance(content, list):
        yield from _each(content)


def _full(content: Values) -> Values:
    return {name: one for name, one in content.items() if one not in ([], {}, "")}


def _each(many: Iterable[Any]) -> Iterator[Values]:
    for one in many:
        yield from _entries(one)


def is_about_memory(warning: str) -> bool:
    """Tell whether a warning begins with a memory; it may repeat the reason that somebody gave."""
    return is_id(warning.partition(" ")[0])


def _warning(text: str) -> Values:
    return {"id": text.partition(" ")[0], "text": text} if is_about_memory(text) else {"text": text}


def _result(hit: Values) -> Values:
    shown = {
        "id": hit["id"],
        "title": hit["title"] or _title_of(hit["snippet"]["text"]),
        "text": hit["snippet"]["text"],
        "type": hit["type"],
        "kind": hit["kind"],
        "date": hit["date_start"],
        "said_by": hit["speaker"],
        "fidelity": hit["fidelity"],
        "score": round(hit["score"], 2),
        "also": hit["also"] or None,
        "url": url_of(hit["type"], hit["id"]),
    }
    return {name: one for name, one in shown.items() if one is not None}


def _conflict(pair: Values) -> Values:
    """Return two sides and the words that set them against each other, each with an id.

    The reason is of whoever tied them, which is never the person's own word.
    """
    shown: Values = {"sides": [_side(one) for one in pair["sides"]], "differs": pair["differs"]}
    if pair["reason"]:
        shown["reason"] = {"text": pair["reason"], "trust": "agent"}
    if pair["source"]:
        shown["source"] = _words(pair["source"])
    return shown


def _side(side: Values) -> Values:
    return _full({**side, "sources": [_words(one) for one in side["sources"]]})


def _words(source: Values) -> Values:
    return {"id": source["capture"], **{name: source[name] for name in source if name != "capture"}}


def _said(feedback: Values) -> Values:
    """Return what was said of a memory; the words are read by their capture."""
    shown = {name: feedback[name] for name in ("verdict", "capture", "at")}
    return {**shown, "span": [feedback["start"], feedback["end"]]}


def _title_of(text: str) -> str:
    line = " ".join(text[: 2 * _TITLE].split())
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


def _link(link: Values, own: str) -> Values:
    """Return a link without the end that is the memory itself."""
    end = "dst" if link["src"] == own else "src"
    way = {"rel": link["rel"], ("to" if end == "dst" else "from"): link[end]}
    span = {} if link["start"] is None else {"span": [link["start"], link["end"]]}
    return way | span


def _within(text: str, budget: int) -> str:
    """Return the beginning of a text that costs at most that many tokens."""
    part = text[: budget * _DENSE]
    while len(part.encode("utf-8", "replace")) > budget:  # a token is a byte at the least
        cost = get_counter("o200k").count(part)
        if cost <= budget:
            break
        part = part[: min(len(part) - 1, len(part) * budget // cost)]
    return part
