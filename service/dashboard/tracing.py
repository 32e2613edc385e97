"""A trace as a page shows it: the best of each channel, the ranking, and what was left out."""

from collections.abc import Iterator
from typing import Any

from shiyi.retrieval.results import PARTS

_BEST, _RANKED = 8, 20


def questions_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions of a trace, each cut to what a page shows."""
    return [
        {
            **question,
            "channels": {name: best[:_BEST] for name, best in question["channels"].items()},
            "ranking": question["ranking"][:_RANKED],
            "parts": [
                part for part in PARTS if any(one[part] for one in question["ranking"][:_RANKED])
            ],
        }
        for question in trace["questions"]
    ]


def ids_of(trace: dict[str, Any]) -> list[str]:
    """Return the ids that the page of a trace names."""
    return list(dict.fromkeys(_named(trace)))


def _named(trace: dict[str, Any]) -> Iterator[str]:
    for question in questions_of(trace):
        yield from (one["id"] for one in question["ranking"])
        for best in question["channels"].values():
            yield from (one["id"] for one in best)
    yield from trace["chosen"][:_RANKED]
