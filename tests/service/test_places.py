"""A token is told nothing of the machine: no path of the owner's, no process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.service.http.openapi import path_of
from shiyi.service.http.openapi import served as served_operations
from shiyi.service.invoke import path_fields
from shiyi.service.places import without_paths
from shiyi.service.table.operations import find_operation
from shiyi.service.tokens import create_token
from tests.service.serving import Served
from tests.service.writing import CALLS, World, make_world

PLACE = "secret place-9f3c"  # in every path of the home and of its model
_LINES = {"Accept": "application/x-ndjson"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("a") / PLACE)


@pytest.fixture(scope="module")
def served(world: World) -> Iterator[Served]:
    """A home with a model that is not there any more, served to a token that may do everything."""
    one = Served(world.home, str(world.files / "model"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHIYI_MODEL", "none")
        patch.setenv("SHIYI_DAEMON_IDLE", "120")
        patch.setenv("SHIYI_TOKEN_RATE", "0")
        one.listen()
        one.token = create_token(one.home, name="all", role="destroy", scopes=None)[1]
        yield one
        one.stop()


def calls(world: World) -> dict[str, list[dict[str, Any]]]:
    """Return what is asked of each operation that a token may do."""
    own, asked = world.ids, {"text": "芒果"}
    reads: dict[str, list[dict[str, Any]]] = {
        "search": [asked, {**asked, "channel": "dense"}],
        "probe": [{"queries": ["芒果"]}, {"queries": ["芒果"], "format": "markdown"}],
        "deep": [{"queries": ["芒果"]}, {"ids": [own["said"]]}],
        "routing": [{"query": "芒果"}],
        "absence": [{"topic": "腰果"}],
        "show": [{"id": own[name]} for name in ("picture", "said", "fact", "anna")],
        "origins": [{"ids": [own["said"]]}],
        "timeline": [{"turn": "taken"}, {"turn": "nothing"}],
        "reindex": [{}, {"keywords_only": True}, {"scope": "nothing"}],
    }
    made = {name: [values(world)] for name, values in CALLS.items()}
    bare: dict[str, list[dict[str, Any]]] = {one.name: [{}] for one in served_operations()}
    return bare | reads | made


def test_what_is_told_instead(served: Served, world: World) -> None:
    """Names stay, and so does what to do."""
    status = served.ask("POST", "/v1/status", {}).json
    picture = served.ask("POST", "/v1/show?scope=me", {"id": world.ids["picture"]}).json
    found = served.ask("POST", "/v1/search?scope=me", {"text": "芒果"}).json

    assert (status["home"], status["daemon"], status["model"]) == (None, None, "model")
    assert any("There is no model directory at …" in note for note in found["notes"])
    assert picture["attachment"]["path"] is None
    assert picture["attachment"]["source_path"] == "picture.bin"


def test_the_owner_is_told_everything(served: Served, world: World) -> None:
    """The same, at the owner's socket."""
    with served.client() as client:
        status = client.call(find_operation("status"), {}, None)
        shown = client.call(find_operation("search"), {"text": "芒果"}, "me")

    assert status["home"] == str(world.home)
    assert status["daemon"] == served.pid()
    assert shown["outcome"] == "found"


@pytest.mark.parametrize("operation", list(served_operations()), ids=lambda one: one.name)
def test_no_answer_holds_a_path(operation: Any, served: Served, world: World) -> None:
    """Whatever is asked: neither answers nor refusals, in any form."""
    if operation.owner_only or path_fields(operation):
        return
    for values in calls(world)[operation.name]:
        for headers in ({}, _LINES):
            reply = served.ask("POST", f"{path_of(operation)}?scope=me", values, headers)

            assert reply.status != 403, reply.body
            assert PLACE.encode() not in reply.body, reply.body
            assert str(Path.home()).encode() not in reply.body, reply.body


def test_a_home_that_cannot_be_used_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal says what is wrong with it, not where it is."""
    monkeypatch.setenv("SHIYI_MODEL", "none")
    one = Served(tmp_path / PLACE / "home")
    one.home.mkdir(parents=True)
    (one.home / "shiyi.duckdb").write_bytes(b"no database" * 1000)
    try:
        one.listen()
        reply = one.ask("POST", "/v1/list", {})
    finally:
        one.stop()

    assert "HOME" in reply.json["error"]["message"]
    assert PLACE.encode() not in reply.body


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("The home /a/my home is in use.", "The home HOME is in use."),
        ("/a/my home/tokens.json cannot be read.", "HOME/tokens.json cannot be read."),
        ("See '/b/c d/e'; try again.", "See …; try again."),
        ("It lies in /b/c.", "It lies in …."),
        ("In /b/c, /d/e and ~/f; done", "In …, … and …; done"),
        (r"C:\Users\me\x.toml is bad", "… is bad"),
        ("and/or 1/2, 2024/05/01, a / b: at http://x/y", "and/or 1/2, 2024/05/01, a / b: at http://x/y"),
    ],
)  # fmt: skip
def test_paths_in_sentences(sentence: str, told: str) -> None:
    """Those of the home say so; others are left out; what is no path stays."""
    assert without_paths(sentence, Path("/a/my home")) == told
