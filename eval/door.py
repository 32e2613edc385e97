"""What a run needs of a memory. The service floor lends one: a home of its own, thrown away."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from shiyi.retrieval.level_results import DeepResult, ProbeResult
from shiyi.retrieval.results import SearchResult

Channel = Literal["hybrid", "keyword", "dense"]


class Door(Protocol):
    """A memory in a home of its own, asked as any client asks one."""

    @property
    def model(self) -> str:
        """The fingerprint of the encoder, or `none`."""
        ...

    @property
    def analyzer(self) -> str:
        """The fingerprint of what turns texts into terms and documents."""
        ...

    def take_in(self, path: Path, scope: str) -> None:
        """Import a file into a scope, or into the scopes below it that its lines name."""
        ...

    def index(self, scopes: Iterable[str]) -> int:
        """Build the indexes of scopes anew and return how many texts were embedded for them."""
        ...

    def index_bytes(self) -> int:
        """Return the bytes of the indexes on disk."""
        ...

    def names(self, scope: str) -> Mapping[str, str]:
        """Return the name of each capture and record of a scope, by its id.

        It is the one from outside, else the id itself.
        """
        ...

    def search(
        self, scope: str, text: str, *, channel: Channel, limit: int, now: datetime
    ) -> SearchResult:
        """Search with no bound on tokens, the nearest included where nothing stands out."""
        ...

    def probe(
        self, scope: str, text: str, *, budget: int, limit: int, now: datetime,
        order: Literal["value", "top"],
    ) -> ProbeResult:  # fmt: skip
        """Read cards in JSON, the nearest included where nothing stands out."""
        ...

    def deep(self, scope: str, text: str, *, budget: int, limit: int, now: datetime) -> DeepResult:
        """Read words in JSON, the nearest included where nothing stands out."""
        ...


OpenDoor = Callable[[], AbstractContextManager[Door]]
