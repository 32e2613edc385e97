"""Where in an export a conversation stands, and what its reader needs to say about it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shiyi.core.dates import parse_timestamp
from shiyi.core.errors import UsageError
from shiyi.lifecycle.readers.items import LineError
from shiyi.lifecycle.readers.source import Reading


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation: the file and place for errors, the name for source_path."""

    source: str
    line: int | str
    name: str
    reading: Reading

    def error(self, reason: str) -> LineError:
        """Return the error for something at this place."""
        return LineError(self.source, self.line, reason)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count something that is left out on purpose."""
        self.reading.skip(reason, count)

    def instant(self, value: Any) -> datetime | None:
        """Return a time as exports write it; one that is not understood is counted."""
        if value is None:
            return None
        try:
            if isinstance(value, (str, int, float)):
                return parse_timestamp(value)
        except UsageError:
            pass
        self.skip("a time that was not understood; the message is kept without it")
        return None
