"""What is asked about tokens."""

from typing import Literal

from pydantic import Field

from shiyi.service.requests.forms import ARGUMENT, MAX_NAME, Request, flag, optional_name

TokenRole = Literal["read", "write", "destroy"]


class TokenCreateRequest(Request):
    """Make a token."""

    role: TokenRole = Field("read", description="what it may do; each includes those before it")
    scopes: list[str] | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="a scope that it is for; may be repeated; all of them by default",
        json_schema_extra=flag("scope"),
    )
    name: str | None = optional_name("what it is called; its id by default")


class TokenListRequest(Request):
    """List the tokens that hold."""


class TokenRevokeRequest(Request):
    """Take a token back."""

    name: str = Field(
        min_length=1,
        max_length=MAX_NAME,
        description="its name or its id",
        json_schema_extra=ARGUMENT,
    )
