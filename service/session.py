"""One opened home: the store, its indexes and the settings, each made when first needed."""

from pathlib import Path
from types import TracebackType
from typing import Self

from shiyi.core.errors import UsageError
from shiyi.core.settings import Settings, home_directory, load_settings
from shiyi.indexer.indexes import Indexes
from shiyi.indexer.reindex import Progress, no_progress
from shiyi.models.cache import default_cache
from shiyi.models.encoder import Encoder, load_encoder
from shiyi.models.tokens import TokenCounter, get_counter
from shiyi.store import Store


class Session:
    """What an operation works on. The home is opened, and owned, from the first use of `store`."""

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        model: str | None = None,
        create: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        """Name a home; nothing is opened yet. `model` wins over the settings.

        Raises UsageError for settings that cannot be read.
        """
        self.home = home_directory(home)
        self.settings: Settings = load_settings(self.home, model=model)
        self.create = create
        self.progress = progress
        self._store: Store | None = None
        self._indexes: Indexes | None = None

    @property
    def store(self) -> Store:
        """The store; raises HomeError when there is no home or it cannot be used."""
        if self._store is None:
            self._store = Store(self.home, create=self.create)
        return self._store

    @property
    def indexes(self) -> Indexes:
        """The indexes of the home."""
        if self._indexes is None:
            self._indexes = Indexes(self.store, self.load_encoder)
        return self._indexes

    @property
    def counter(self) -> TokenCounter:
        """The counter behind budgets."""
        return get_counter(self.settings.tokens)

    def load_encoder(self) -> Encoder:
        """Load the encoder that the settings name; raises ModelUnavailableError."""
        return load_encoder(
            self.settings.model,
            cache=Path(default_cache()),
            query_prompt=self.settings.query_prompt or None,
            passage_prompt=self.settings.passage_prompt or None,
        )

    def existing_scope(self, scope: str) -> str:
        """Return `scope`; raises UsageError that names the others when it is not there."""
        known = self.store.scopes()
        if scope not in known:
            others = ", ".join(known[:10]) or "none yet"
            raise UsageError(f"There is no scope {scope}; there are: {others}.")
        return scope

    def close(self) -> None:
        """Give the home up."""
        if self._indexes is not None:
            self._indexes.close()
        if self._store is not None:
            self._store.close()
        self._store = self._indexes = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
