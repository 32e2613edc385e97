"""Choosing an encoder by name."""

from pathlib import Path

import pytest

from shiyi.core.errors import ModelUnavailableError
from shiyi.models import sentence
from shiyi.models.encoder import load_encoder


def test_no_model_is_said_plainly(tmp_path: Path) -> None:
    """The name `none` leaves keyword search, and the message says how to have more."""
    with pytest.raises(ModelUnavailableError, match="only keywords are searched"):
        load_encoder("none", cache=tmp_path)


@pytest.mark.parametrize("path", ["/no/such/model", "./no-such-model", "~/no-such-model"])
def test_a_path_that_does_not_exist_is_named(tmp_path: Path, path: str) -> None:
    """A path is never taken for the name of something to look up elsewhere."""
    with pytest.raises(ModelUnavailableError, match=r"There is no model directory at .*no"):
        load_encoder(path, cache=tmp_path)


def test_a_directory_that_is_no_model_is_named(tmp_path: Path) -> None:
    """An empty directory is refused with what is wanted instead."""
    with pytest.raises(ModelUnavailableError, match="give a complete sentence-transformers"):
        load_encoder(str(tmp_path), cache=tmp_path)


@pytest.mark.parametrize("name", ["no-such/model-anywhere", "no-such-model", "not a name!"])
def test_a_name_that_is_not_in_the_local_cache_is_named(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub name is looked up locally and nothing is fetched."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))

    with pytest.raises(ModelUnavailableError, match="nor in the local hub cache"):
        load_encoder(name, cache=tmp_path)


def test_without_torch_other_models_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the library."""
    monkeypatch.setattr(sentence, "installed", lambda: False)

    with pytest.raises(ModelUnavailableError, match="pip install sentence-transformers"):
        load_encoder(str(tmp_path), cache=tmp_path)
