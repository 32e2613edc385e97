"""What the Python client stands on: one session, and operations called by name."""

from collections.abc import Mapping
from typing import Any

from shiyi.core.closable import Closable
from shiyi.service.invoke import invoke
from shiyi.service.session import Session


class Connection(Closable):
    """An opened home. Use it as a context manager, or close it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def call(self, operation: str, values: Mapping[str, Any], scope: str | None = None) -> Any:
        """Do an operation of the table; what is None counts as not given."""
        given = {name: value for name, value in values.items() if value is not None}
        return invoke(self._session, operation, given, scope=scope)

    def close(self) -> None:
        """Give the home up; a second time does nothing."""
        self._session.close()
