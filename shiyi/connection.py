"""What the Python client stands on: a way to call operations by name."""

from collections.abc import Mapping
from typing import Any

from shiyi.core.closable import Closable
from shiyi.service.daemon.callers import Caller
from shiyi.service.table.operations import find_operation


class Connection(Closable):
    """An opened home. Use it as a context manager, or close it."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def call(self, operation: str, values: Mapping[str, Any], scope: str | None = None) -> Any:
        """Do an operation of the table; what is None counts as not given."""
        given = {name: value for name, value in values.items() if value is not None}
        return self._caller.call(find_operation(operation), given, scope)

    def close(self) -> None:
        """Give the home up, or leave the daemon to itself; a second time does nothing."""
        self._caller.close()
