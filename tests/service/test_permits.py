"""Who may do what: every operation, every role, every door."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiyi
from shiyi.cli import call
from shiyi.core.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    ShiyiError,
    UsageError,
)
from shiyi.service.daemon.host import Call, Host
from shiyi.service.http.openapi import path_of
from shiyi.service.invoke import invoke, path_fields
from shiyi.service.mcp.mount import HostDoor
from shiyi.service.permit import OWNER, ROLES, Permit, Role
from shiyi.service.session import Session
from shiyi.service.table.operations import OPERATIONS, Operation
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


UNFIT = {"nothing of": "that name"}  # refused after the permit was looked at
PERMITS: dict[str, Permit] = {
    "owner": OWNER, **{role: Permit(role, None, role) for role in ROLES},
    "other": Permit("destroy", frozenset({"other"}), "other"),
}  # fmt: skip


def allowed(operation: Operation, role: str) -> bool:
    """Tell who may do an operation in the scope `me`."""
    return role == "owner" or operation.partial or (role in ROLES and may(operation, role))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A home as a daemon holds it, in this process."""
    session = Session(tmp_path_factory.mktemp("hosted") / "home", model="none", create=True)
    with Host(session) as one:
        one.do_now(Call(operation="remember", values={"text": "花生過敏"}))
        yield one


@each
@pytest.mark.parametrize("role", PERMITS)
def test_in_the_process(operation: Operation, role: str, tmp_path: Path) -> None:
    """The one way in looks at the permit before anything else."""
    with Session(tmp_path / "home") as session, pytest.raises(ShiyiError) as raised:
        invoke(session, operation.name, UNFIT, scope="me", permit=PERMITS[role])
    assert isinstance(raised.value, ForbiddenError) is not allowed(operation, role)
    assert not (tmp_path / "home").exists()


@each
@pytest.mark.parametrize("role", PERMITS)
def test_for_agents(operation: Operation, role: str, host: Host) -> None:
    """What the tools of MCP stand on in a daemon."""
    door = HostDoor(host, PERMITS[role], "me")

    with pytest.raises(ShiyiError) as raised:
        asyncio.run(door.call(operation.name, UNFIT))
    if operation.here:
        assert isinstance(raised.value, NotFoundError)
    else:
        assert isinstance(raised.value, ForbiddenError) is not allowed(operation, role)


@each
def test_at_the_socket(operation: Operation, door: Served, secrets: dict[str, str]) -> None:
    """Whoever reaches it is the owner, with a token or without: nothing is forbidden."""
    with door.client() as client, pytest.raises(ShiyiError) as raised:
        client.call(operation, UNFIT, "me")
    assert isinstance(raised.value, NotFoundError if operation.here else UsageError)
    assert secrets


@each
@pytest.mark.parametrize("role", ["none", *ROLES, "other"])
def test_over_http(operation: Operation, role: str, door: Served, secrets: dict[str, str]) -> None:
    """Without a token nothing, not even whether there is such an operation."""
    token = {"none": "", "other": secrets["scoped"]}.get(role) or secrets.get(role, "")
    reply = door.ask("POST", f"{path_of(operation)}?scope=me", UNFIT, token=token)

    if role == "none":
        assert reply.status == 401
    elif operation.here:
        assert reply.status == 404
    else:
        assert reply.status == (400 if allowed(operation, role) else 403)


@each
def test_a_token_for_one_scope_stays_there(
    operation: Operation, door: Served, secrets: dict[str, str]
) -> None:
    """Another scope, and the home as a whole, are refused; there or not is not told."""
    if operation.here or operation.partial:
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


def test_a_token_for_one_scope_is_told_how_that_one_stands(door: Served) -> None:
    """Its own scope, without naming it; nothing of the home, of other scopes, or of the machine."""
    _, token = create_token(door.home, name="own", role="destroy", scopes=["own"])
    door.ask("POST", "/v1/remember", {"text": "只在這裡"}, token=token)
    hello = door.ask("GET", "/v1/hello", token=token).json
    reply = door.ask("POST", "/v1/status", {}, token=token)
    whole = door.ask("POST", "/v1/status", {}).json

    told = reply.json
    assert [(one["scope"], one["captures"]) for one in told["scopes"]] == [("own", 1)]
    assert (told["home"], told["last_change"], told["daemon"]) == (None, None, None)
    assert b'"me"' not in reply.body
    assert len(whole["scopes"]) > 1
    assert whole["last_change"] is not None
    assert (hello["role"], hello["scopes"]) == ("destroy", ["own"])
    assert not {"pid", "instance"} & set(hello)
    assert hello["version"] == told["version"]


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
