"""A memory to try things on, in a home of its own that is thrown away."""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from shiyi.core.errors import ModelUnavailableError, UsageError
from shiyi.core.files import make_private_directory, replacing
from shiyi.core.settings import Settings
from shiyi.eval.door import Channel
from shiyi.indexer.analyze import leaving_out
from shiyi.indexer.documents import documents_fingerprint
from shiyi.indexer.embeddings import KEYS, ROWS
from shiyi.indexer.generation import scope_directory
from shiyi.models.cache import default_cache
from shiyi.retrieval.fuse import STEPS
from shiyi.retrieval.level_results import DeepResult, ProbeResult
from shiyi.retrieval.results import SearchResult
from shiyi.service import responses as answer
from shiyi.service.invoke import invoke
from shiyi.service.session import Session
from shiyi.service.trial_home import temporary_home

ANALYSIS = ("fold", "bigrams")
PARTS = (*ANALYSIS, "vector", *STEPS)
_UNBOUNDED = 10_000_000  # tokens
_PAGE = 1000


@contextmanager
def open_trial(settings: Settings | str, without: Collection[str] = ()) -> Iterator["Trial"]:
    """Lend a memory in a temporary home, without some parts of the search.

    settings: those of somebody's home, or just a model.

    Vectors of texts are kept in Shiyi's cache from one trial to the next.

    Raises UsageError for a part that there is none of.
    """
    for part in without:
        if part not in PARTS:
            raise UsageError(f"There is no part {part!r} to leave out; there are {_list(PARTS)}.")
    steps = [part for part in without if part in STEPS]
    with (
        temporary_home() as directory,
        leaving_out(without),
        Session(directory / "home", create=True, without=steps) as session,
    ):
        if isinstance(settings, str):
            settings = replace(session.settings, model=settings)
        session.settings = replace(settings, traces="off")
        trial = Trial(session, words_only="vector" in without)
        trial.take_vectors()
        try:
            yield trial
        finally:  # also of a run that is stopped, so that the next one goes on sooner
            with suppress(OSError):
                trial.keep_vectors()


class Trial:
    """A memory for `shiyi.eval`; see `shiyi.eval.door.Door`."""

    def __init__(self, session: Session, *, words_only: bool) -> None:
        self._session, self._words_only = session, words_only

    @property
    def model(self) -> str:
        """The fingerprint of the encoder, or `none`."""
        try:
            return self._session.indexes.model().encoder.fingerprint
        except ModelUnavailableError:
            return "none"

    @property
    def analyzer(self) -> str:
        """The fingerprint of what turns texts into terms and documents."""
        return documents_fingerprint()

    def take_in(self, path: Path, scope: str) -> None:
        """Import a file. Raises UsageError with the first failure when some of it stays out."""
        taken = invoke(
            self._session, "import", {"path": str(path), "allow_secret": True}, scope=scope
        )
        assert isinstance(taken, answer.ImportResult)
        if taken.failed:
            raise UsageError(
                f"The memory cannot take {taken.failed} of the documents; the first: "
                f"{taken.errors[0]}"
            )

    def index(self, scopes: Iterable[str]) -> int:
        """Build the indexes of scopes anew and return how many texts were embedded for them."""
        before = self._vectors()
        for scope in scopes:
            invoke(self._session, "reindex", {"scope": scope})
        return self._vectors() - before

    def index_bytes(self) -> int:
        """Return the bytes of the indexes on disk."""
        home = self._session.home
        return sum(
            file.stat().st_size
            for scope in self._session.store.scopes()
            for file in scope_directory(home, scope).rglob("*")
            if file.is_file()
        )

    def names(self, scope: str) -> Mapping[str, str]:
        """Return the name of each capture and record of a scope, by its id.

        It is the one from outside, else the id itself: what comes with an id of ours keeps it.
        """
        names: dict[str, str] = {}
        for what in ("captures", "records"):
            after: str | None = None
            while True:
                asked = {"what": what, "limit": _PAGE, "after": after}
                page = invoke(self._session, "list", asked, scope=scope)
                assert isinstance(page, answer.ListResult)
                names |= {one.id: one.external_id or one.id for one in page.items}
                after = page.next
                if after is None:
                    break
        return names

    def search(
        self, scope: str, text: str, *, channel: Channel, limit: int, now: datetime
    ) -> SearchResult:
        """Search with no bound on tokens, the nearest included where nothing stands out."""
        asked = {
            "text": text, "limit": limit, "budget": _UNBOUNDED, "weak": True,
            "channel": "keyword" if self._words_only else channel, "now": now.isoformat(),
        }  # fmt: skip
        found = invoke(self._session, "search", asked, scope=scope)
        assert isinstance(found, SearchResult)
        return found

    def probe(
        self, scope: str, text: str, *, budget: int, limit: int, now: datetime,
        order: Literal["value", "top"],
    ) -> ProbeResult:  # fmt: skip
        """Read cards in JSON, the nearest included where nothing stands out."""
        found = self._read("probe", scope, text, budget=budget, limit=limit, now=now, order=order)
        assert isinstance(found, ProbeResult)
        return found

    def deep(self, scope: str, text: str, *, budget: int, limit: int, now: datetime) -> DeepResult:
        """Read words in JSON, the nearest included where nothing stands out."""
        found = self._read("deep", scope, text, budget=budget, limit=limit, now=now)
        assert isinstance(found, DeepResult)
        return found

    def _read(self, level: str, scope: str, text: str, *, now: datetime, **asked: Any) -> BaseModel:
        values = {"queries": [text], "weak": True, "format": "json", "now": now.isoformat()}
        return invoke(self._session, level, {**values, **asked}, scope=scope)

    def take_vectors(self) -> None:
        """Take the vectors that trials before this one have kept."""
        for source, target in self._kept():
            if source.exists():
                make_private_directory(target.parent)
                shutil.copyfile(source, target)

    def keep_vectors(self) -> None:
        """Keep the vectors for later trials, where there are more of them than were kept.

        Raises OSError when the cache does not take them.
        """
        kept = self._kept()
        if kept and _size(kept[-1][1]) > _size(kept[-1][0]):  # the keys tell how many there are
            make_private_directory(kept[-1][0].parent)
            for target, source in kept:  # a mixture with those of another trial fails its checksums
                with source.open("rb") as old, replacing(target) as new:
                    shutil.copyfileobj(old, new)

    def _kept(self) -> list[tuple[Path, Path]]:
        """Return the files of the cache, each with its place in this home."""
        try:
            fingerprint = self._session.load_encoder().fingerprint[:32]
        except ModelUnavailableError:
            return []
        cache = Path(default_cache()) / "trials" / fingerprint
        home = self._session.home / "vectors" / fingerprint
        return [(cache / name, home / name) for name in (ROWS, KEYS)]

    def _vectors(self) -> int:
        try:
            return len(self._session.indexes.model().embeddings)
        except ModelUnavailableError:
            return 0


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
