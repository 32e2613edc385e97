"""One request of a page: whom it asks, in which scope, and in which words it answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.datastructures import QueryParams

from shiyi.service.daemon.jobs import Job
from shiyi.service.dashboard.words import Words

Call = Callable[[str, Mapping[str, Any], str], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """What stands behind the pages.

    call: does an operation in a scope and returns its answer as JSON has it.
    jobs: the long work of the process, newest first.
    scope: the one that is shown when none is named. evals: where the last measurement lies.
    leaving: whether the process is about to end.
    """

    call: Call
    scope: str
    evals: Path
    jobs: Callable[[], Sequence[Job]] = tuple
    leaving: Callable[[], bool] = bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. path: what stands in the address behind the page's name."""

    backing: Backing
    words: Words
    scope: str
    query: QueryParams
    path: str = ""

    async def call(self, operation: str, **values: Any) -> dict[str, Any]:
        """Do an operation; raises what it raises."""
        return await self.backing.call(operation, values, self.scope)

    def given(self, name: str) -> str | None:
        """Return what the query says under a name, if it says anything."""
        return self.query.get(name, "").strip() or None


@dataclass(frozen=True, slots=True)
class Page:
    """What is to be rendered: a template, what it shows, and the answer's status."""

    template: str
    values: dict[str, Any] = field(default_factory=dict)
    status: int = 200
