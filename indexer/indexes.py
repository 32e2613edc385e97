"""The indexes of a home: opened when needed, kept up with the store, rebuilt when unusable."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np

from shiyi.core.errors import IndexUnusableError, ModelLoadingError, ModelUnavailableError
from shiyi.indexer.documents import documents_fingerprint
from shiyi.indexer.embeddings import open_embeddings
from shiyi.indexer.generation import Generation, only_writer, open_current, scope_directory
from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.reindex import Model, Progress, build_generation, no_progress
from shiyi.indexer.segment import Array
from shiyi.indexer.vectors import VectorTable
from shiyi.models.calibration import Calibration
from shiyi.models.encoder import Encoder
from shiyi.models.interaction import Signs
from shiyi.store import Store
from shiyi.store.rows import SEARCHED

_EMBED_AT_ONCE = 64  # fresh passages embedded on the way to an answer: about a second
_SOON = 1024  # waiting passages that a few answers take on; of more only what their words find
_COMPACT = 2000  # documents in memory above which a new generation is written


class Indexes:
    """One live index for each scope in use. The model is loaded when vectors are first wanted."""

    def __init__(self, store: Store, load_model: Callable[[], Encoder]) -> None:
        """Take the store and how to load the encoder, which may raise ModelUnavailableError."""
        self._store = store
        self._load_model = load_model
        self._model: Model | None = None
        self._model_error: str | None = None
        self._making = threading.Lock()
        self._building = False
        self._open: dict[str, ScopeIndex] = {}
        # Slots and kept vectors when those that wait were last looked for, where many wait.
        self._missing: dict[str, tuple[int, int]] = {}
        self.notes: list[str] = []

    @property
    def store(self) -> Store:
        """The store that is indexed."""
        return self._store

    def close(self) -> None:
        """Release the files of the vectors that are kept."""
        if self._model is not None:
            self._model.embeddings.close()

    def model(self) -> Model:
        """Return the model, with the vectors that are kept.

        Raises ModelUnavailableError, always with the first reason, and OSError when the kept
        vectors cannot be opened.
        """
        if self._model is None:
            if self._model_error is not None:
                raise ModelUnavailableError(self._model_error)
            try:
                encoder = self._load_model()
            except ModelLoadingError:
                raise  # the next who asks may have it
            except ModelUnavailableError as error:
                self._model_error = str(error)
                raise
            except OSError as error:
                self._model_error = (
                    f"The model cannot be prepared ({error.strerror}); make the cache directory "
                    "writable, or set SHIYI_CACHE to one that is."
                )
                raise ModelUnavailableError(self._model_error) from None
            with self._making:
                if self._model is None:
                    self._model = self._made(encoder)
        return self._model

    def kept(self, scope: str) -> tuple[int, int]:
        """Return how many documents of the generation are embedded, and of how many that is kept.

        Raises ModelUnavailableError and OSError as `model` does.
        """
        embeddings = self.model().embeddings
        generation = self._generation_or_none(scope)
        if generation is None or generation.manifest.encoder != self.model().encoder.fingerprint:
            return 0, 0
        keys = [bytes(key) for key in generation.columns["passage"][generation.embedded()]]
        return len(keys), sum(key in embeddings for key in keys)

    def _made(self, encoder: Encoder) -> Model:
        calibration = encoder.calibration or Calibration.identity(
            encoder.dimension, encoder.fingerprint
        )
        directory = self._store.home / "vectors" / encoder.fingerprint[:32]
        return Model(encoder, calibration, open_embeddings(directory, encoder.dimension))

    def take_calibration(self, calibration: Calibration) -> None:
        """Score by another calibration of the same model; indexes in use are opened anew for it."""
        with self._making:
            if self._model is not None:
                self._model = replace(self._model, calibration=calibration)
        self._open = {}  # a search that runs ends with the one it has

    @contextmanager
    def building(self) -> Iterator[None]:
        """Leave writing generations to the block, which another thread runs; it is never nested.

        Meanwhile answers come from what serves, and from what came since in memory.
        """
        self._building = True
        try:
            yield
        finally:
            self._building = False

    def follow(self, scope: str) -> None:
        """Bring the index of a scope, if it is in use, up to date with the store."""
        index = self._open.get(scope)
        if index is not None:
            index.refresh(self._store)

    def get(self, scope: str, *, vectors: bool = True) -> ScopeIndex:
        """Return the index of a scope, up to date with the store.

        With `vectors`, fresh documents are embedded first, up to a bound; what could not be done
        (no model, another model, too many waiting) is said in `notes`, and keywords still work.
        """
        self.notes = []
        index = self._open.get(scope)
        if index is None:
            index = self._open[scope] = ScopeIndex(scope, self._usable_generation(scope))
        index.refresh(self._store)
        if index.added > _COMPACT and index.added > len(index) // 5:
            index = self._rebuilt(scope) or index
        return self._with_vectors(index) if vectors else index

    def reindex(
        self, scope: str, *, keywords_only: bool = False, full: bool = False,
        progress: Progress = no_progress,
    ) -> Generation:  # fmt: skip
        """Build a new generation of a scope and let it serve.

        Raises ModelUnavailableError unless `keywords_only`. With `full`, every text is analysed
        again instead of taking unchanged terms from the generation before.
        """
        model = None if keywords_only else self.model()
        with only_writer(scope_directory(self._store.home, scope), wait=True):
            reuse = None if full else self._generation_or_none(scope)
            generation = build_generation(
                self._store, scope, model=model, reuse=reuse, progress=progress
            )
        self._open[scope] = ScopeIndex(scope, generation)
        return generation

    def settle(self, scope: str, *, progress: Progress = no_progress) -> None:
        """Write a generation when many changes came since the last, so that opening stays quick."""
        generation = self._generation_or_none(scope)
        seq = generation.manifest.seq if generation else 0
        changes = self._store.changes_since(scope, seq)
        if sum(change.what in SEARCHED for change in changes) > _COMPACT:
            built = self._build(scope, wait=True, progress=progress)
            if scope in self._open and built:
                self._open[scope] = ScopeIndex(scope, built)

    def _build(
        self, scope: str, *, wait: bool, progress: Progress = no_progress
    ) -> Generation | None:
        """Write a generation from what is known, without waiting for the encoder.

        None when somebody else is just writing one and that is not to be waited for.
        """
        try:
            model = self.model()
        except ModelUnavailableError:
            model = None
        with only_writer(scope_directory(self._store.home, scope), wait=wait) as alone:
            if not alone:
                return None
            reuse = self._generation_or_none(scope)
            return build_generation(
                self._store, scope, model=model, embed=False, reuse=reuse, progress=progress
            )

    def _rebuilt(self, scope: str, reason: object = None) -> ScopeIndex | None:
        """Write a generation on the way to an answer.

        None when the disk does not take it, or somebody else is just writing one.
        """
        if self._building:
            return None
        try:
            generation = self._build(scope, wait=False)
        except OSError as error:
            self.notes.append(
                f"The index of {scope} is kept in memory for now, because it cannot be written: "
                f"{error.strerror or error}."
            )
            return None
        if generation is None:
            return None
        if reason is not None:
            self.notes.append(f"The index of {scope} was rebuilt because {reason}.")
        self._open[scope] = ScopeIndex(scope, generation)
        return self._open[scope]

    def _generation_or_none(self, scope: str) -> Generation | None:
        """Return the generation that serves, if what it knows may be used again."""
        try:
            generation = open_current(scope_directory(self._store.home, scope))
            if generation is not None:
                self._check_belongs(generation, scope)
        except IndexUnusableError:
            return None
        return generation

    def _usable_generation(self, scope: str) -> Generation | None:
        """Open what serves; when it cannot be used, say so in one line and rebuild it."""
        try:
            generation = open_current(scope_directory(self._store.home, scope))
            if generation is None:
                return self._first_generation(scope)
            self._check_belongs(generation, scope)
        except IndexUnusableError as error:
            rebuilt = self._rebuilt(scope, error)
            return rebuilt.generation if rebuilt else None
        return generation

    def _first_generation(self, scope: str) -> Generation | None:
        counts = self._store.counts(scope)
        if counts["captures"] + counts["records"] <= _COMPACT:
            return None  # few enough to read straight into memory
        built = self._rebuilt(scope)
        return built.generation if built else None

    def _check_belongs(self, generation: Generation, scope: str) -> None:
        manifest = generation.manifest
        if manifest.home_id != self._store.home_id or manifest.scope != scope:
            raise IndexUnusableError("it belongs to another home")
        if manifest.analyzer != documents_fingerprint():
            raise IndexUnusableError("another version of the analyzer made it")
        if not self._store.holds(manifest.seq):
            raise IndexUnusableError("it is ahead of the database")

    # Vectors

    def _with_vectors(self, index: ScopeIndex) -> ScopeIndex:
        """Return the index with as many vectors as can be had, or the one built in its place."""
        try:
            model = self.model()
            if index.vectors is None:
                index = self._attached(index, model)
            self._embed_waiting(index, model)
        except ModelUnavailableError as error:
            self.notes.append(f"Keywords only: {error}")
        except OSError as error:  # read-only, or full
            self.notes.append(_unwritable(error))
        return index

    def _attached(self, index: ScopeIndex, model: Model) -> ScopeIndex:
        try:
            index.attach_vectors(self._vectors_of(index, model))
        except IndexUnusableError as error:
            another = self._made_way_for(index)
            if another is not None:
                return self._attached(another, model)
            rebuilt = self._rebuilt(index.scope, error)
            if rebuilt is None:
                index.attach_vectors(_no_vectors(index, model))
            else:
                index = rebuilt
                index.attach_vectors(self._vectors_of(index, model))
        return index

    def _made_way_for(self, index: ScopeIndex) -> ScopeIndex | None:
        """Return the index in whose favour another session, of another model, removed this one."""
        served = self._generation_or_none(index.scope)
        if served is None or index.generation is None:
            return None
        if served.directory == index.generation.directory:
            return None
        another = self._open[index.scope] = ScopeIndex(index.scope, served)
        another.refresh(self._store)
        return another

    def _embed_waiting(self, index: ScopeIndex, model: Model) -> None:
        waiting = index.waiting()
        state = (index.slots, len(model.embeddings))
        if len(waiting) and self._missing.get(index.scope) != state:
            waiting = self._take_kept(index, model, waiting)
        if 0 < len(waiting) <= _SOON:
            self._embed(index, model, waiting[-_EMBED_AT_ONCE:])  # the newest
            waiting = waiting[:-_EMBED_AT_ONCE]
        if len(waiting):
            self._missing[index.scope] = index.slots, len(model.embeddings)
            self.notes.append(
                f"{len(waiting)} of {len(index)} documents are found by keywords only until "
                "`shiyi reindex` has embedded them."
            )

    def embed_first(self, index: ScopeIndex, slots: Array) -> None:
        """Embed those of some documents that wait, before an answer ranks them.

        With words alone they would stand behind whatever counts by its meaning, too. A model or a
        disk that cannot be used leaves it at that.
        """
        if index.vectors is not None and len(slots):
            waiting = slots[~index.vectors.embedded[slots]]
            with suppress(ModelUnavailableError, OSError):
                if len(waiting):
                    self._embed(index, self.model(), waiting)

    def _vectors_of(self, index: ScopeIndex, model: Model) -> VectorTable:
        """Return the vectors of the generation, or none of them when another model made them.

        Raises IndexUnusableError when they are damaged.
        """
        generation = index.generation
        if generation is None or not generation.manifest.dimension:
            return _no_vectors(index, model)
        manifest = generation.manifest
        if (manifest.encoder, manifest.calibration) != (
            model.encoder.fingerprint,
            model.calibration.digest,
        ):
            return _no_vectors(index, model)
        return VectorTable(generation.vectors(), generation.embedded(), generation.quantised())

    def _take_kept(self, index: ScopeIndex, model: Model, waiting: Array) -> Array:
        """Give the waiting documents the vectors that are already kept; return the others."""
        raw, found = model.embeddings.get(index.passage_keys(waiting))
        _set(index, model, waiting[found], raw[found])
        left: Array = waiting[~found]
        return left

    def _embed(self, index: ScopeIndex, model: Model, waiting: Array) -> None:
        """Embed the waiting documents; equal passages once."""
        keys = index.passage_keys(waiting)
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        passages = index.passages(self._store, waiting[list(first.values())])
        made = model.encoder.embed_passages(passages, quickly=True)
        model.embeddings.add(list(first), made, durable=False)  # quickly made again, if need be
        self._take_kept(index, model, waiting)

    def tokens(self, index: ScopeIndex, slots: Array) -> list[Signs]:
        """Return the tokens of documents, one array each, empty for what is not embedded.

        What was lost from `vectors/` since the generation was built is embedded again.
        """
        model, table = self.model(), index.vectors
        keys = index.passage_keys(slots)
        found = model.embeddings.tokens(keys)
        empty = [n for n, tokens in enumerate(found) if not len(tokens)]
        lost = slots[[n for n in empty if keys[n] not in model.embeddings]]
        if len(lost) and table is not None and table.embedded[lost].any():
            with suppress(ModelUnavailableError, OSError):
                self._embed(index, model, lost[table.embedded[lost]])
            found = model.embeddings.tokens(keys)
        return found


def _unwritable(error: OSError) -> str:
    place = f"{error.filename} " if error.filename else "The directory of vectors "
    return f"Keywords only: {place}cannot be written ({error.strerror})."


def _no_vectors(index: ScopeIndex, model: Model) -> VectorTable:
    """Return a table in which every document of the generation waits to be embedded."""
    empty = np.zeros((index.base_size, model.encoder.dimension), np.float32)
    return VectorTable(empty, np.zeros(index.base_size, bool))


def _set(index: ScopeIndex, model: Model, slots: Array, raw: Array) -> None:
    assert index.vectors is not None
    if len(slots):
        centred = model.calibration.center_passages(raw)
        for slot, vector in zip(slots.tolist(), centred, strict=True):
            index.vectors.set(slot, vector)
