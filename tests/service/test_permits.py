"""Who may do what: every operation, every role, every door."""

from pathlib import Path

import pytest

import shiyi
from shiyi.cli import call
from shiyi.core.errors import ConflictError, ForbiddenError, NotFoundError, ShiyiError
from shiyi.service.invoke import invoke, path_fields
from shiyi.service.openapi import path_of
from shiyi.service.operations import OPERATIONS, Operation
from shiyi.service.permit import ROLES, Permit, Role
from shiyi.service.session import Session
from shiyi.service.tokens import create_token, permit_of, read_tokens, revoke_token
from tests.service.serving import Served

each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)


def may(operation: Operation, role: Role) -> bool:
    """What is allowed, said once more in other words."""
    reach = {"read": {"read"}, "write": {"read", "write"}, "destroy": {"read", "write", "destroy"}}
    for_tokens = not operation.owner_only and not path_fields(operation)
    return for_tokens and operation.permission in reach[role]


@pytest.fixture(scope="module")
def secrets(door: Served) -> dict[str, str]:
    made: dict[str, str] = {
        role: create_token(door.home, name=role, role=role, scopes=None)[1] for role in ROLES
    }
    _, made["scoped"] = create_token(door.home, name="scoped", role="destroy", scopes=["mine"])
    return made


@each
@pytest.mark.parametrize("role", ROLES)
def test_roles_hold_at_every_door(
    operation: Operation, role: Role, door: Served, secrets: dict[str, str], tmp_path: Path
) -> None:
    """The one way in checks the permit, and so does HTTP, which stands on it."""
    with Session(tmp_path / "home") as session, pytest.raises(ShiyiError) as raised:
        invoke(session, operation.name, {"nothing of": "that name"}, permit=Permit(role))
    assert isinstance(raised.value, ForbiddenError) is not may(operation, role)
    reply = door.ask("POST", path_of(operation), {"nothing of": "that name"}, token=secrets[role])
    if operation.here:
        assert reply.status == 404
    else:
        assert (reply.status == 403) is not may(operation, role)


@each
def test_a_token_for_one_scope_stays_there(
    operation: Operation, door: Served, secrets: dict[str, str]
) -> None:
    """Another scope, and the home as a whole, are refused; there or not is not told."""
    if operation.here:
        return
    path = path_of(operation)
    there, nowhere, mine = (
        door.ask("POST", f"{path}?scope={scope}", {"no": "field"}, token=secrets["scoped"])
        for scope in ("me", "nowhere", "mine")
    )
    allowed = operation.scoped and may(operation, "destroy")

    assert (there.status, there.body) == (nowhere.status, nowhere.body)
    assert there.status == 403
    assert (mine.status != 403) is allowed


def test_other_scopes_are_not_named(door: Served, secrets: dict[str, str]) -> None:
    """A scope that is not there is said to be so without telling which are."""
    reply = door.ask("POST", "/v1/search?scope=mine", {"text": "花生"}, token=secrets["scoped"])

    assert "no scope mine" in reply.json["notes"][0]
    assert "me" not in reply.json["notes"][0].split("mine")[1].split()


def test_a_token_is_kept_as_a_hash_and_can_be_taken_back(tmp_path: Path) -> None:
    """The secret is nowhere; what is revoked holds no more."""
    with shiyi.open(tmp_path / "home", model="none") as memory:
        made = memory.token_create(role="read", scopes=["me"], name="t")
        kept = b"".join(one.read_bytes() for one in (tmp_path / "home").glob("*") if one.is_file())

        assert made.secret.encode() not in kept
        assert (tmp_path / "home" / "tokens.json").stat().st_mode & 0o777 == 0o600
        assert permit_of(tmp_path / "home", made.secret) == Permit(
            "read", frozenset({"me"}), f"token:{made.token.id}"
        )
        with pytest.raises(ConflictError):
            memory.token_create(name="t")
        memory.token_revoke("t")
        assert permit_of(tmp_path / "home", made.secret) is None
        assert memory.token_list().tokens == []
        with pytest.raises(NotFoundError):
            revoke_token(tmp_path / "home", "t")


def test_a_scope_before_the_command_limits_the_token(tmp_path: Path) -> None:
    """`shiyi --scope work token create` makes none for everything."""
    home = str(tmp_path / "home")
    call(["--home", home, "init", "--model", "none"])
    assert call(["--home", home, "--scope", "work", "token", "create"]) == 0

    assert read_tokens(tmp_path / "home")[0].scopes == ["work"]
