"""The model of a daemon: loaded once, beside the work, while keyword search answers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from shiyi.core.errors import ModelLoadingError, ModelUnavailableError
from shiyi.core.settings import Settings

if TYPE_CHECKING:
    from shiyi.models.encoder import Encoder

_AT_ONCE = 0.25  # seconds: a model as quick as that is waited for
_SENTENCE = "The model is being loaded; in a few seconds meaning counts as well."
_patient: ContextVar[bool] = ContextVar("patient", default=False)


@contextmanager
def patience() -> Iterator[None]:
    """Let whoever asks for a model in this block wait until it is there."""
    token = _patient.set(True)
    try:
        yield
    finally:
        _patient.reset(token)


def model_of(settings: Settings) -> tuple[str, str, str]:
    """Return what of the settings decides which vectors there are."""
    return settings.model, settings.query_prompt, settings.passage_prompt


class Loader:
    """Loads an encoder in a thread of its own, from the first time that it is asked for."""

    def __init__(self, load: "Callable[[], Encoder]") -> None:
        self._load = load
        self._lock = threading.Lock()
        self._begun = False
        self._done = threading.Event()
        self._encoder: Encoder | None = None
        self._error: Exception | None = None
        self.refused = 0  # how often somebody could not wait

    def __call__(self) -> "Encoder":
        """Return the encoder.

        Raises ModelLoadingError while it is not there, or whatever loading it raised.
        """
        self._begin()
        if not self._done.wait(None if _patient.get() else _AT_ONCE):
            self.refused += 1
            raise ModelLoadingError(_SENTENCE)
        if self._error is not None:
            raise self._error
        assert self._encoder is not None
        return self._encoder

    def wait(self, seconds: float) -> bool:
        """Wait until the model is there, or cannot be had; tell whether that is so."""
        self._begin()
        return self._done.wait(seconds)

    def _begin(self) -> None:
        with self._lock:
            if not self._begun:
                self._begun = True
                threading.Thread(target=self._run, name="model", daemon=True).start()

    def _run(self) -> None:
        try:
            self._encoder = self._load()
        except Exception as error:  # noqa: BLE001 - whoever asks for the model is told
            known = isinstance(error, ModelUnavailableError | OSError)
            kind = type(error).__name__
            self._error = (
                error if known else ModelUnavailableError(f"The model cannot be loaded ({kind}).")
            )
        finally:
            self._done.set()
