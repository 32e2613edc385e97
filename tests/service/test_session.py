"""A session opens what it needs, when it needs it, and gives it up."""

import sys
from pathlib import Path

import pytest

import shiyi
from shiyi.core.errors import HomeBusyError, HomeError, NotFoundError
from shiyi.service.session import Session


def test_nothing_is_opened_before_it_is_used(tmp_path: Path) -> None:
    """Naming a home touches nothing."""
    with Session(tmp_path / "home"):
        assert not (tmp_path / "home").exists()


def test_reading_makes_no_home(tmp_path: Path) -> None:
    """Only what keeps something makes a home."""
    with pytest.raises(HomeError), shiyi.open(tmp_path / "home", create=False):
        pass
    assert not (tmp_path / "home").exists()


def test_a_home_has_one_owner(tmp_path: Path) -> None:
    """A second opening is refused, and possible again after the first has closed."""
    with shiyi.open(tmp_path / "home", model="none"), pytest.raises(HomeBusyError):
        shiyi.open(tmp_path / "home")
    with shiyi.open(tmp_path / "home", model="none") as memory:
        memory.close()
        memory.close()


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("none", "No embedding model is chosen"),
        ("/no/such/model", "no model directory"),
        ("./no-such-model", "no model directory"),
        ("hashing", None),
    ],
)
def test_model_is_looked_at_without_loading(
    model: str, problem: str | None, tmp_path: Path
) -> None:
    """Whether a model can be used is said as far as a look tells."""
    found = Session(tmp_path, model=model).model_problem()

    assert (found is None) == (problem is None)
    assert problem is None or problem in str(found)


def test_missing_package_of_the_default_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the package of its weights, status says how to get them."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    for module in ("shiyi.service.session", "shiyi.models.bundled"):
        __import__(module)
        monkeypatch.setattr(sys.modules[module], "find_spec", lambda _: None)

    problem = Session(tmp_path, model="default").model_problem()

    assert problem is not None
    assert "pip install 'shiyi[embedded]'" in problem


def test_scopes_are_named(tmp_path: Path) -> None:
    """A scope that is not there is refused with the names of those that are."""
    with Session(tmp_path / "home", model="none", create=True) as session:
        with pytest.raises(NotFoundError, match="no other one yet"):
            session.existing_scope("me")
        assert session.notes_on("me")
