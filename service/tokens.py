"""Tokens: who may come in over TCP, with which role and for which scopes. Only hashes are kept.

HOME/tokens.json  id, name, role, scopes and SHA-256 of each token that holds
HOME/http-token   the token that `shiyi serve` makes on first use, in plain, 0600
"""

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from shiyi.core.errors import ConflictError, HomeDamagedError, NotFoundError
from shiyi.core.files import write_atomically
from shiyi.service.permit import Permit, Role

TOKENS_FILE = "tokens.json"
FIRST_TOKEN_FILE = "http-token"  # noqa: S105 - the name of a file
FIRST_NAME = "serve"
_PREFIX = "shiyi_"
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept. scopes: None for all."""

    id: str
    name: str
    role: Role
    scopes: list[str] | None
    sha256: str
    created_at: str

    def permit(self) -> Permit:
        """Return what its holder may do."""
        scopes = None if self.scopes is None else frozenset(self.scopes)
        return Permit(self.role, scopes, f"token:{self.id}")


def read_tokens(home: Path) -> list[Token]:
    """Return the tokens that hold, oldest first; raises HomeDamagedError."""
    path = home / TOKENS_FILE
    try:
        return [Token(**one) for one in json.loads(path.read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError):
        raise HomeDamagedError(
            f"{path} cannot be read, so no token holds. Remove it and make new ones."
        ) from None


def create_token(
    home: Path, *, name: str | None, role: Role, scopes: Sequence[str] | None
) -> tuple[Token, str]:
    """Make a token; return it as it is kept, and its secret, which is nowhere else.

    Raises ConflictError when there is one of that name.
    """
    secret = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    id_ = secrets.token_hex(4)
    token = Token(
        id=id_, name=name or id_, role=role,
        scopes=None if scopes is None else sorted(set(scopes)),
        sha256=_digest(secret), created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    with _lock:
        known = read_tokens(home)
        if token.name in {one.name for one in known}:
            raise ConflictError("There is a token of that name; revoke it, or choose another name.")
        _write(home, [*known, token])
    return token, secret


def revoke_token(home: Path, name: str) -> Token:
    """Take a token back, by its name or id; raises NotFoundError."""
    with _lock:
        known = read_tokens(home)
        found = next((one for one in known if name in {one.id, one.name}), None)
        if found is None:
            raise NotFoundError("There is no such token; `shiyi token list` shows those that hold.")
        _write(home, [one for one in known if one.id != found.id])
        if found.name == FIRST_NAME:
            (home / FIRST_TOKEN_FILE).unlink(missing_ok=True)
    return found


def first_token(home: Path) -> Path:
    """Return the file with the token for writing that is made on first use, or when it is none."""
    path = home / FIRST_TOKEN_FILE
    if not path.exists() or permit_of(home, path.read_text("utf-8", "replace").strip()) is None:
        if any(one.name == FIRST_NAME for one in read_tokens(home)):
            revoke_token(home, FIRST_NAME)
        _, secret = create_token(home, name=FIRST_NAME, role="write", scopes=None)
        write_atomically(path, f"{secret}\n".encode("ascii"))
    return path


def permit_of(home: Path, secret: str) -> Permit | None:
    """Return what the holder of a secret may do, or None when no token has it."""
    digest, found = _digest(secret), None
    for token in read_tokens(home):  # all of them, so that time tells nothing
        if hmac.compare_digest(token.sha256, digest):
            found = token.permit()
    return found


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _write(home: Path, tokens: Sequence[Token]) -> None:
    content = json.dumps([asdict(one) for one in tokens], ensure_ascii=False, indent=1)
    write_atomically(home / TOKENS_FILE, content.encode("utf-8"))
