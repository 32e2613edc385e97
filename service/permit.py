"""Who may do what: checked once, on the one way in, for every door."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from shiyi.core.errors import ForbiddenError
from shiyi.service.table.operations import Operation

Role = Literal["read", "write", "destroy"]
ROLES: tuple[Role, ...] = ("read", "write", "destroy")  # each may do what those before it may


@dataclass(frozen=True, slots=True)
class Permit:
    """What somebody may do. `role` None is the owner of the home, who may do everything.

    scopes: those that may be seen; None for all.
    name: under which calls are counted.
    """

    role: Role | None = None
    scopes: frozenset[str] | None = None
    name: str = "owner"

    @property
    def sees_all(self) -> bool:
        """Whether the whole home may be seen."""
        return self.scopes is None

    def sees(self, scope: str) -> bool:
        """Tell whether there may be a scope of that name, as far as the holder is concerned."""
        return self.scopes is None or scope in self.scopes

    def scope_of(self, named: str | None, default: str) -> str:
        """Return the scope of a call: the one it names, else the only one that may be seen."""
        if named is None and self.scopes is not None and len(self.scopes) == 1:
            return next(iter(self.scopes))
        return default if named is None else named

    def check(self, operation: Operation, scope: str, *, files: bool) -> None:
        """Raise ForbiddenError unless the operation may be done in the scope.

        files: whether it is given paths. Those of the machine that holds the home are nobody's
        business but its owner's, whatever is read from them or written there.
        """
        if self.role is None:
            return
        if operation.owner_only or files:
            raise ForbiddenError(
                f"{operation.name} is for the owner of the home only, not for a token."
            )
        if ROLES.index(operation.permission) > ROLES.index(self.role):
            raise ForbiddenError(
                f"{operation.name} needs the role {operation.permission}; this token has the role "
                f"{self.role}."
            )
        if not operation.scoped:
            if not operation.partial:
                self.check_whole(operation.name)
        elif not self.sees(scope):  # the same, whether there is such a scope or not
            raise ForbiddenError("This token is not for that scope.")

    def check_whole(self, what: str) -> None:
        """Raise ForbiddenError for a holder of single scopes; `what` is about the whole home."""
        if not self.sees_all:
            raise ForbiddenError(
                f"{what} is about the whole home; this token is for single scopes."
            )


OWNER = Permit()
_current: ContextVar[Permit] = ContextVar("permit", default=OWNER)


def current_permit() -> Permit:
    """Return that of whoever asks."""
    return _current.get()


@contextmanager
def permitted(permit: Permit) -> Iterator[None]:
    """Do what is in the block for the holder of a permit."""
    token = _current.set(permit)
    try:
        yield
    finally:
        _current.reset(token)
