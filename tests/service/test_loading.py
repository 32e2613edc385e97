"""The model is loaded once, beside the work; nobody who cannot wait waits for it."""

import asyncio
import threading
from pathlib import Path

import pytest

from shiyi.core.errors import ModelLoadingError, ModelUnavailableError
from shiyi.models.encoder import Encoder
from shiyi.models.hashing import HashingEncoder
from shiyi.retrieval.results import SearchResult
from shiyi.service.daemon.host import Call, Host
from shiyi.service.daemon.loading import Loader, patience
from shiyi.service.session import Session
from tests.service.serving import PATIENCE


class Slow:
    """Loads an encoder when it is let."""

    def __init__(self) -> None:
        self.go, self.loaded = threading.Event(), 0

    def __call__(self) -> Encoder:
        self.loaded += 1
        assert self.go.wait(PATIENCE)
        return HashingEncoder()


def test_it_is_loaded_once_however_many_ask() -> None:
    """Those who cannot wait are told so; the others get the same one."""
    load = Slow()
    loader = Loader(load)
    with pytest.raises(ModelLoadingError):
        loader()
    with pytest.raises(ModelLoadingError):
        loader()
    load.go.set()
    with patience():
        encoder = loader()

    assert loader() is encoder
    assert (load.loaded, loader.refused) == (1, 2)


def test_why_it_cannot_be_loaded_is_said_without_words_of_others() -> None:
    """A known reason as it is, any other by its kind."""

    def fails() -> Encoder:
        raise RuntimeError("secret words")

    with patience(), pytest.raises(ModelUnavailableError, match="RuntimeError") as raised:
        Loader(fails)()
    assert "secret" not in str(raised.value)


def test_who_waits_may_go(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A question that is given up while the model is loaded is no fault, and others go on."""
    session = Session(tmp_path / "home", model="hashing", create=True)
    asked = Call(operation="search", values={"text": "花生"}, wait=30)
    with Host(session) as host:
        load = Slow()
        session.loader = Loader(load)
        host.do_now(Call(operation="remember", values={"text": "花生過敏"}))

        async def give_up() -> None:
            async with asyncio.timeout(0.6):
                await host.do(asked)

        with pytest.raises(TimeoutError):
            asyncio.run(give_up())
        waiting = [one for one in threading.enumerate() if one.name == "waits"]
        load.go.set()
        for one in waiting:
            one.join(PATIENCE)
        late = host.do_now(asked)

    assert isinstance(late, SearchResult)
    assert late.mode == "hybrid"
    assert not caplog.records


def test_keywords_answer_until_the_model_is_there(tmp_path: Path) -> None:
    """Without waiting: found by words, and said why; with waiting, or later: by both."""
    session = Session(tmp_path / "home", model="hashing", create=True)
    with Host(session) as host:
        load = Slow()
        session.loader = Loader(load)
        asked = {"text": "花生"}
        host.do_now(Call(operation="remember", values={"text": "花生過敏"}))

        early = host.do_now(Call(operation="search", values=asked))
        threading.Timer(0.2, load.go.set).start()
        patient = asyncio.run(host.do(Call(operation="search", values=asked, wait=30)))
        late = host.do_now(Call(operation="search", values=asked))

    assert isinstance(early, SearchResult)
    assert isinstance(patient, SearchResult)
    assert isinstance(late, SearchResult)
    assert (early.mode, patient.mode, late.mode) == ("keyword", "hybrid", "hybrid")
    assert any("being loaded" in note for note in early.notes)
    assert early.hits
    assert load.loaded == 1
