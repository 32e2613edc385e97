"""What one operation is declared as."""

from dataclasses import dataclass
from typing import Literal

Permission = Literal["read", "write", "destroy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be done.

    request and response are pydantic models in `service/requests/` and `service/responses/`;
    room is the module of `service/handlers/` with its handler, a function of (session, scope,
    request). repeatable: doing it twice is as good as once. scoped: it works inside one scope.
    creates_home: a missing home is made. job: it may take long, and reports its progress in these.
    slow: it may take long without any progress to report; both run beside what is quick.
    here: it is done in the process that asks, since it needs no home, or somebody to ask.
    partial: of the whole home, a token of single scopes gets what is about these.
    owner_only: only whoever owns the home may ask: no token and no model.
    alone: nothing else is done in the home meanwhile; it is slow then, to wait for jobs.
    A name of two words belongs to the group that the first one names.
    """

    name: str
    purpose: str
    room: str
    request: str
    response: str
    permission: Permission
    repeatable: bool
    scoped: bool = True
    partial: bool = False
    creates_home: bool = False
    job: Literal["bytes", "documents", "queries"] | None = None
    slow: bool = False
    here: bool = False
    owner_only: bool = False
    alone: bool = False

    @property
    def handler(self) -> str:
        """The name of the function that does it."""
        return f"handle_{self.python_name}"

    @property
    def python_name(self) -> str:
        """The name as Python can have it."""
        return self.name.replace("-", "_").replace(" ", "_")
