"""No door that writes keeps a secret, in whatever field it is given, and only an owner insists."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import ForbiddenError, ShiyiError, UsageError
from shiyi.service.invoke import invoke, path_fields, request_model
from shiyi.service.mcp.tools import TOOLS
from shiyi.service.permit import ROLES, Permit, Role
from shiyi.service.table.operations import find_operation
from tests.lifecycle.test_secrets import FAKES
from tests.service.writing import CALLS, World, do, make_world

SECRET = FAKES["github-token"]
NOT_KEPT = {("preflight", "text")}  # of a judged text only the hash is kept


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


def fields(name: str, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (field, value) with the secret for each field that takes text."""
    operation = find_operation(name)
    for field, info in request_model(operation).model_fields.items():
        kind = str(info.annotation)
        free = "Literal" not in kind and field not in path_fields(operation)
        if (name, field) in NOT_KEPT or not free:
            continue
        if field in {"topics", "aliases"}:
            yield field, [SECRET]
        elif field == "attrs":
            yield field, {**values.get(field, {}), "x": {"y": [SECRET]}}
        elif info.annotation in {str, str | None}:
            yield field, SECRET


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"import"}))
def test_no_field_takes_a_secret(world: World, name: str) -> None:
    """It is refused, the secret is not repeated, and nothing is written."""
    values = CALLS[name](world)
    with world.open() as session:
        before = session.store.last_seq
        for field, value in fields(name, values):
            with pytest.raises(ShiyiError) as raised:
                do(session, name, **{**values, field: value})
            assert SECRET not in str(raised.value), field
        assert session.store.last_seq == before
        session.store.checkpoint()
    files = [path for path in world.home.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


def test_no_attachment_is_named_like_a_secret(world: World, tmp_path: Path) -> None:
    """Neither the name of a file nor its words are kept with one."""
    named, holding = tmp_path / f"{SECRET}.txt", tmp_path / "a.txt"
    named.write_text("plain")
    holding.write_text(SECRET)
    with world.open() as session:
        for path in (named, holding):
            with pytest.raises(UsageError, match="rule github-token"):
                do(session, "capture-attachment", path=str(path), turn="open")
    assert SECRET not in "".join(str(path) for path in world.home.rglob("*"))


@pytest.mark.parametrize("role", ROLES)
def test_no_token_insists(world: World, role: Role, tmp_path: Path) -> None:
    """What an owner may insist on, a token of any role may not."""
    home = shutil.copytree(world.home, tmp_path / "home")
    values = {"text": SECRET, "allow_secret": True}
    with World(home, world.files, world.ids).open() as session:
        with pytest.raises(ForbiddenError):
            invoke(session, "remember", values, permit=Permit(role))
        assert invoke(session, "remember", values)


def test_no_model_is_offered_it() -> None:
    """No tool has an argument for what only a person says."""
    for tool in TOOLS:
        for argument in tool.inputs.values():
            for full in argument.fields:
                name, _, own = full.partition(".")
                extra = request_model(find_operation(name)).model_fields[own].json_schema_extra
                assert not (isinstance(extra, dict) and "only" in extra), full
