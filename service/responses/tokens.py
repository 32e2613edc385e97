"""What is answered about tokens. A secret is shown once, by the call that makes it."""

from pydantic import BaseModel, Field


class TokenView(BaseModel):
    """A token, without its secret."""

    id: str
    name: str
    role: str
    scopes: list[str] | None = Field(description="none: all of them")
    created_at: str


class TokenCreateResult(BaseModel):
    """A new token."""

    token: TokenView
    secret: str = Field(description="what its holder sends; it is kept nowhere")


class TokenListResult(BaseModel):
    """The tokens that hold, oldest first."""

    tokens: list[TokenView]


class TokenRevokeResult(BaseModel):
    """What held until now."""

    token: TokenView
