"""The sessions of a daemon: one for each of the settings that its clients ask with.

What two of them can share, they share. A few are kept; the one that was used least lately makes
room, and with the last one of a model goes the model.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from shiyi.core.settings import Settings
from shiyi.service.daemon.loading import Loader, model_of
from shiyi.service.session import Session

MOST_SESSIONS = 16  # beside that of the daemon's own settings
MOST_MODELS = 4  # in memory at once, that one's included
_Model = tuple[str, str, str]


class Sessions:
    """Those of one home. Any thread may use them."""

    def __init__(self, own: Session) -> None:
        self._own = own
        self._lock = threading.Lock()
        self._roots: dict[_Model, Session] = {model_of(own.settings): own}
        self._kept: dict[Settings, Session] = {}  # in the order of use
        self._using: Counter[Settings] = Counter()

    @contextmanager
    def using(self, settings: Settings | None) -> Iterator[Session]:
        """Lend the session with some settings, None for the daemon's own; it stays meanwhile."""
        wanted = self._own.settings if settings is None else settings
        with self._lock:
            session = self._own if wanted == self._own.settings else self._found(wanted)
            self._using[wanted] += 1
        try:
            yield session
        finally:
            with self._lock:
                self._using[wanted] -= 1
                self._using += Counter()  # what is not used is forgotten

    def _found(self, settings: Settings) -> Session:
        found = self._kept.pop(settings, None)
        if found is None:
            self._make_room(model_of(settings))
            found = self._root(settings).beside(settings)
        self._kept[settings] = found
        return found

    def _root(self, settings: Settings) -> Session:
        """Return the session that holds what all with the same model share."""
        model = model_of(settings)
        if model not in self._roots:
            root = self._roots[model] = self._own.beside(settings)
            root.loader = Loader(root.load_encoder)
        return self._roots[model]

    def _make_room(self, model: _Model) -> None:
        """Close what was used least lately, so that one more fits."""
        unused = [one for one in self._kept if not self._using[one]]
        for settings in unused[: max(0, len(self._kept) + 1 - MOST_SESSIONS)]:
            self._close(settings)
        if model in self._roots or len(self._roots) < MOST_MODELS:
            return
        last_used = list(dict.fromkeys(model_of(one) for one in reversed(self._kept)))
        busy = {model_of(one) for one in self._using} | {model_of(self._own.settings)}
        for other in [one for one in reversed(last_used) if one not in busy][:1]:
            for settings in [one for one in self._kept if model_of(one) == other]:
                self._close(settings)

    def _close(self, settings: Settings) -> None:
        self._kept.pop(settings).close()
        model = model_of(settings)
        if model != model_of(self._own.settings) and model not in map(model_of, self._kept):
            self._roots.pop(model).close()
