"""Answers about tokens, for people."""

from shiyi.core.text import visible
from shiyi.service.responses import (
    TokenCreateResult,
    TokenListResult,
    TokenRevokeResult,
    TokenView,
)


def render_token_create(answer: TokenCreateResult) -> str:
    """Say what was made, and its secret alone on the last line."""
    return (
        f"Token {_named(answer.token)} may {_may(answer.token)}. "
        f"It is shown this once:\n{answer.secret}"
    )


def render_token_list(answer: TokenListResult) -> str:
    """Return one line a token."""
    lines = [f"{one.id}  {one.created_at}  {_named(one)} may {_may(one)}" for one in answer.tokens]
    return "\n".join(lines or ["There are no tokens."])


def render_token_revoke(answer: TokenRevokeResult) -> str:
    """Say what holds no more."""
    return f"Token {_named(answer.token)} holds no more."


def _named(token: TokenView) -> str:
    return visible(token.name)


def _may(token: TokenView) -> str:
    where = "in every scope" if token.scopes is None else f"in {', '.join(token.scopes)}"
    return f"{token.role} {where}"
