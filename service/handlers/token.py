"""Tokens for those who come in over TCP."""

from shiyi.core.ids import check_scope
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.session import Session
from shiyi.service.tokens import Token, create_token, read_tokens, revoke_token


def handle_token_create(
    session: Session, _: str, request: ask.TokenCreateRequest
) -> answer.TokenCreateResult:
    """Make one, and show its secret this once."""
    scopes = None if request.scopes is None else [check_scope(one) for one in request.scopes]
    home = session.store.home
    token, secret = create_token(home, name=request.name, role=request.role, scopes=scopes)
    return answer.TokenCreateResult(token=_view(token), secret=secret)


def handle_token_list(
    session: Session, _: str, request: ask.TokenListRequest
) -> answer.TokenListResult:
    """List those that hold."""
    del request
    return answer.TokenListResult(tokens=[_view(one) for one in read_tokens(session.store.home)])


def handle_token_revoke(
    session: Session, _: str, request: ask.TokenRevokeRequest
) -> answer.TokenRevokeResult:
    """Take one back, at once."""
    return answer.TokenRevokeResult(token=_view(revoke_token(session.store.home, request.name)))


def _view(token: Token) -> answer.TokenView:
    return answer.TokenView(
        id=token.id,
        name=token.name,
        role=token.role,
        scopes=token.scopes,
        created_at=token.created_at,
    )
